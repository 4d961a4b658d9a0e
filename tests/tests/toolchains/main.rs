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
mod pages;
mod promises;

/// The host's command line.
const HOST: &str = env!("CARGO_BIN_EXE_host-under-test");

macro_rules! kept_in {
    ($language:ident: $($promise:ident)*) => {
        mod $language {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $promise() {
                    if let Some(wasm) = crate::made::connector(&crate::made::$language()).await {
                        crate::promises::$promise(&wasm).await;
                    }
                }
            )*
        }
    };
}

macro_rules! kept_in_both {
    ($($promise:ident)*) => {
        kept_in!(javascript: $($promise)*);
        kept_in!(python: $($promise)*);
    };
}

kept_in_both! {
    the_packed_connector_passes_the_check
    one_invoice_is_created_under_our_key_and_every_digit_arrives
    a_lost_answer_is_looked_up_and_found
    a_request_that_got_lost_is_sent_again_once_it_is_known_to_be_absent
    an_answer_that_is_not_understood_is_settled_by_asking
    a_refusal_goes_to_a_person_with_the_fields_that_are_at_fault
    every_status_means_what_it_usually_means
    what_cannot_be_built_is_refused_before_anything_is_sent
    an_unforeseen_error_is_logged_and_harms_nobody
    it_passes_the_drill
    the_largest_answer_can_be_read
    a_call_takes_thousandths_of_a_second
}
