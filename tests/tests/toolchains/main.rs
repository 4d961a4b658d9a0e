//! Connectors of other toolchains, made from `sdk/javascript` and `sdk/python`: built by their tool, packed by the command,
//! run by a whole host, counted at the destination. Both keep the same promises.
//!
//! The tools are looked for in the folder `ONCEGATE_GUEST_TOOLS`, which `scripts/guest-tools` makes. Without them these
//! tests say that they skip, and pass.
#![allow(clippy::unwrap_used, reason = "a test fails loudly")]
#![allow(clippy::disallowed_methods, reason = "these tests tell how long things took")]

mod billing;
mod called;
mod made;
mod odd;
mod pages;
mod promises;

/// The host's command line.
const HOST: &str = env!("CARGO_BIN_EXE_host-under-test");

macro_rules! kept_in {
    ($tests:ident, $language:ident, $promises:ident: $($promise:ident)*) => {
        mod $tests {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $promise() {
                    if let Some(wasm) = crate::made::connector(&crate::made::$language()).await {
                        crate::$promises::$promise(&wasm).await;
                    }
                }
            )*
        }
    };
}

kept_in! { javascript_mistakes, javascript, odd: a_whole_number_of_any_size_may_leave_and_nothing_may_not }
kept_in! { python_mistakes, python, odd: what_python_reads_late_is_there_and_numbers_are_exact }

macro_rules! kept_in_both {
    ($promises:ident, $javascript:ident, $python:ident: $($promise:ident)*) => {
        kept_in!($javascript, javascript, $promises: $($promise)*);
        kept_in!($python, python, $promises: $($promise)*);
    };
}

kept_in_both! { odd, javascript_boundary, python_boundary:
    what_is_no_json_is_refused_by_name
    the_words_of_a_failure_are_text_or_refused_by_name
    a_pause_is_whole_milliseconds_within_a_day
    a_query_has_a_pair_for_each_element_and_none_for_what_is_not_there
    a_byte_order_mark_is_passed_over
    values_are_compared_by_value_and_to_the_last_digit
    a_lookup_by_content_says_absent_only_of_what_could_be_compared
}

kept_in_both! { promises, javascript, python:
    the_packed_connector_passes_the_check
    one_invoice_is_created_under_our_key_and_every_digit_arrives
    a_lost_answer_is_looked_up_and_found
    a_request_that_got_lost_is_sent_again_once_it_is_known_to_be_absent
    an_answer_that_is_not_understood_is_settled_by_asking
    a_refusal_goes_to_a_person_with_the_fields_that_are_at_fault
    every_status_means_what_it_usually_means
    what_cannot_be_built_is_refused_before_anything_is_sent
    an_unforeseen_error_is_logged_and_harms_nobody
    a_call_by_hand_shows_what_the_connector_logged
    it_passes_the_drill
    the_largest_answer_can_be_read
    a_call_takes_thousandths_of_a_second
}
