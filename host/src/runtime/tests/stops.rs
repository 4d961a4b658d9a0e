//! Each way in which a guest is stopped, told apart from the others, and what is left of it.

use super::*;
use handmade::{Guest, LOG, LOOP, OK, send};

fn trap(returned: Result<PerformReturn, Stop>) -> String {
    match returned {
        Err(Stop::Trap(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_guest_that_computes_for_ever_is_cut_by_its_cpu_budget() {
    let (_, returned) = perform(brief(), &Guest::performing(LOOP)).await;
    assert_eq!(returned, Err(Stop::Cpu));
}

#[tokio::test]
async fn a_start_function_that_computes_for_ever_is_cut_as_well() {
    let guest = Guest {
        extra: format!("(func $begin {LOOP}) (start $begin)"),
        ..Guest::default()
    };
    assert_eq!(perform(brief(), &guest).await.1, Err(Stop::Cpu));
}

#[tokio::test]
async fn a_guest_that_calls_the_host_for_ever_is_cut_by_its_cpu_budget() {
    let (door, returned) = perform(
        brief(),
        &Guest::performing(&format!("(loop $ever {LOG} (br $ever)) unreachable")),
    )
    .await;
    assert_eq!(returned, Err(Stop::Cpu));
    assert!(door.log.len() <= 201, "{}", door.log.len());
}

/// Without a loop or a function of its own it is never asked for its turn by the code of the guest.
#[tokio::test]
async fn a_guest_that_does_nothing_but_log_is_cut_by_its_cpu_budget_and_keeps_nobody_waiting() {
    let large = LOG.replace("(i32.const 32) (i32.const 15)", "(i32.const 2048) (i32.const 4000000)");
    let guest = Guest {
        pages: 64,
        ..Guest::performing(&format!("{}{OK}", large.repeat(4_000)))
    };
    let (runtime, component) = loaded(brief(), &guest).await;
    let logging = runtime.perform(&component, call("key"), EVENT_MS, Recorder::default());
    let mut turns = 0;
    // On one thread: it gets a turn whenever the guest gives one up.
    let others = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let returned = tokio::select! {
        biased;
        (_, returned) = logging => returned,
        () = others => unreachable!(),
    };
    assert_eq!(returned, Err(Stop::Cpu));
    assert!(turns > 10, "{turns}");
}

#[tokio::test]
async fn waiting_in_the_door_costs_no_cpu_time() {
    let limits = small(|call| call.cpu_ms_max = 20);
    let (runtime, component) = loaded(
        limits,
        &Guest::performing(&format!("{}{}{OK}", send(16, 11), send(16, 11))),
    )
    .await;
    let door = Recorder::waiting(Duration::from_millis(150));
    let (door, returned) = runtime.perform(&component, call("key"), EVENT_MS, door).await;
    assert_eq!((returned, door.answered), (completed(), 2));
}

#[tokio::test]
async fn a_guest_that_waits_in_the_door_is_cut_by_the_wall_clock_and_the_evidence_stays() {
    let limits = RuntimeLimits {
        wall_clock_ms_max: 100,
        ..brief()
    };
    let (runtime, component) = loaded(limits, &Guest::performing(&format!("{}{OK}", send(16, 11)))).await;
    let door = Recorder::waiting(Duration::from_secs(60));
    let (door, returned) = runtime.perform(&component, call("key"), EVENT_MS, door).await;
    assert_eq!(returned, Err(Stop::WallClock));
    assert_eq!((door.requests.len(), door.answered), (1, 0));
    let (_, next) = runtime
        .perform(&component, call("key"), EVENT_MS, Recorder::default())
        .await;
    assert_eq!(next, completed(), "the instance is free again");
}

#[tokio::test]
async fn a_guest_that_takes_its_cpu_time_too_slowly_is_cut_by_the_wall_clock() {
    let limits = RuntimeLimits {
        wall_clock_ms_max: 100,
        ..small(|call| call.cpu_ms_max = 60_000)
    };
    assert_eq!(perform(limits, &Guest::performing(LOOP)).await.1, Err(Stop::WallClock));
}

#[tokio::test]
async fn a_guest_that_grows_for_ever_is_told_apart_as_memory() {
    let body = "(loop $ever (drop (memory.grow (i32.const 16))) (br $ever)) unreachable";
    assert_eq!(perform(brief(), &Guest::performing(body)).await.1, Err(Stop::Memory));
    let at_once = "(drop (memory.grow (i32.const 65535))) unreachable";
    assert_eq!(perform(brief(), &Guest::performing(at_once)).await.1, Err(Stop::Memory));
}

#[tokio::test]
async fn memory_up_to_the_limit_is_given() {
    // 4 pages at the start and 1,020 more are 64 MiB.
    let body = format!("(if (i32.eq (memory.grow (i32.const 1020)) (i32.const -1)) (then unreachable)) {OK}");
    assert_eq!(perform(brief(), &Guest::performing(&body)).await.1, completed());
    let one_more = format!("(drop (memory.grow (i32.const 1021))) {OK}");
    assert_eq!(
        perform(brief(), &Guest::performing(&one_more)).await.1,
        Err(Stop::Memory)
    );
}

#[tokio::test]
async fn memory_is_summed_over_all_memories() {
    let two = format!("(drop (memory.grow (i32.const 600))) (drop (call $grow (i32.const 600))) {OK}");
    let guest = Guest {
        lowered: r#"(core module $second (memory 1) (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
            (core instance $second (instantiate $second))
            (alias core export $second "grow" (core func $grow))"#
            .to_owned(),
        host: r#"(export "grow" (func $grow))"#.to_owned(),
        uses: r#"(import "host" "grow" (func $grow (param i32) (result i32)))"#.to_owned(),
        perform: two,
        ..Guest::default()
    };
    assert_eq!(perform(brief(), &guest).await.1, Err(Stop::Memory));
}

/// Unlike one that asks for memory: the -1 is an answer, and what goes on is the guest's own affair.
#[tokio::test]
async fn a_table_grows_up_to_its_limit_and_is_refused_more_without_being_stopped() {
    let growing = |by: u32, refused: &str| Guest {
        extra: "(table $t 1 funcref)".to_owned(),
        perform: format!(
            "(if ({refused} (table.grow $t (ref.null func) (i32.const {by})) (i32.const -1)) (then unreachable)) {OK}"
        ),
        ..Guest::default()
    };
    assert_eq!(perform(brief(), &growing(19_999, "i32.eq")).await.1, completed());
    assert_eq!(perform(brief(), &growing(20_000, "i32.ne")).await.1, completed());
}

#[tokio::test]
async fn a_trap_says_what_happened() {
    let why = trap(perform(brief(), &Guest::performing("unreachable")).await.1);
    assert!(why.contains("gave up"), "{why}");
    let deep = Guest {
        extra: "(func $deep (param i64) (result i64) (i64.add (call $deep (i64.add (local.get 0) (i64.const 1))) (i64.const 1)))"
            .to_owned(),
        perform: "(drop (call $deep (i64.const 0))) unreachable".to_owned(),
        ..Guest::default()
    };
    let why = trap(perform(brief(), &deep).await.1);
    assert!(why.contains("out of stack"), "{why}");
}

#[tokio::test]
async fn an_output_that_is_too_large_is_a_fault_of_the_connector() {
    let returning = |len: u32| {
        Guest {
        perform: format!(
            "(memory.fill (i32.const 65536) (i32.const 32) (i32.const {len}))
             (i32.store (i32.const 1036) (i32.const 65536)) (i32.store (i32.const 1040) (i32.const {len})) (i32.const 1024)"
        ),
        pages: 200,
        ..Guest::default()
    }
    };
    let (_, returned) = perform(brief(), &returning(1 << 20)).await;
    assert!(matches!(returned, Ok(PerformReturn::Completed(output)) if output.len() == 1 << 20));
    let why = trap(perform(brief(), &returning((1 << 20) + 1)).await.1);
    assert!(why.contains("1048577 bytes; 1048576 are allowed"), "{why}");
    let why = trap(perform(brief(), &returning(10 << 20)).await.1);
    assert!(
        why.contains("handed more than 8 MiB to the host in one call"),
        "not even taken over: {why}"
    );
}

#[tokio::test]
async fn a_request_that_is_too_large_never_reaches_the_door() {
    let guest = |len: usize| Guest {
        perform: format!("{}{OK}", send(65536, len.try_into().unwrap())),
        pages: 200,
        ..Guest::default()
    };
    // Method, endpoint and path count as well.
    let largest = (8 << 20) - "POSTapi/x".len();
    let (door, returned) = perform(brief(), &guest(largest)).await;
    assert_eq!((returned, door.requests[0].body.len()), (completed(), largest));
    let (door, returned) = perform(brief(), &guest(largest + 1)).await;
    let why = trap(returned);
    assert!(why.contains("handed more than 8 MiB to the host in one call"), "{why}");
    assert!(door.requests.is_empty());
}

#[tokio::test]
async fn a_flood_of_log_lines_is_bounded_and_counted() {
    let body = format!(
        "(local $left i32) (local.set $left (i32.const 10000))
         (loop $more {LOG} (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1))))) {OK}"
    );
    let (door, returned) = perform(brief(), &Guest::performing(&body)).await;
    assert_eq!((returned, door.log.len()), (completed(), 201));
    let (level, last) = &door.log[200];
    assert_eq!(*level, LogLevel::Warn);
    assert!(last.starts_with("9800 more lines were dropped"), "{last}");
}

#[tokio::test]
async fn long_log_lines_are_cut_and_their_bytes_summed() {
    let line = "(call $log (i32.const 1) (i32.const 65536) (i32.const 100000) (i32.const 0) (i32.const 0))";
    let guest = Guest {
        perform: format!(
            "(memory.fill (i32.const 65536) (i32.const 65) (i32.const 100000)) {} {OK}",
            line.repeat(20)
        ),
        ..Guest::default()
    };
    let (door, returned) = perform(brief(), &guest).await;
    assert_eq!(returned, completed());
    let bytes: usize = door.log.iter().map(|(_, message)| message.len()).sum();
    assert!(door.log[0].1.len() == 4096 && bytes < (64 << 10) + 200, "{bytes}");
}

#[tokio::test]
async fn nothing_is_sent_while_the_component_starts() {
    let guest = Guest {
        extra: format!("(func $begin {}) (start $begin)", send(16, 11)),
        // The answer's first byte says whether it was an error.
        perform: format!("(if (i32.eqz (i32.load8_u (i32.const 1200))) (then unreachable)) {OK}"),
        ..Guest::default()
    };
    let (door, returned) = perform(brief(), &guest).await;
    assert_eq!(returned, completed());
    assert!(door.requests.is_empty());
}

#[tokio::test]
async fn without_room_it_is_busy_and_the_guest_did_not_start() {
    let limits = small(|call| call.calls_max = 2);
    let (runtime, component) = loaded(limits, &Guest::performing(&format!("{}{OK}", send(16, 11)))).await;
    let waiting = || {
        runtime.perform(
            &component,
            call("key"),
            EVENT_MS,
            Recorder::waiting(Duration::from_millis(300)),
        )
    };
    let late = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        runtime
            .perform(&component, call("key"), EVENT_MS, Recorder::default())
            .await
    };
    let (one, two, (door, busy)) = tokio::join!(waiting(), waiting(), late);
    assert_eq!((one.1, two.1, busy), (completed(), completed(), Err(Stop::Busy)));
    assert!(door.requests.is_empty());
    let (_, after) = runtime
        .perform(&component, call("key"), EVENT_MS, Recorder::default())
        .await;
    assert_eq!(after, completed());
}

#[tokio::test]
async fn nothing_is_kept_from_one_call_to_the_next() {
    let body =
        format!("(if (i32.load (i32.const 4096)) (then unreachable)) (i32.store (i32.const 4096) (i32.const 1)) {OK}");
    let (runtime, component) = loaded(brief(), &Guest::performing(&body)).await;
    for _ in 0..20 {
        let (_, returned) = runtime
            .perform(&component, call("key"), EVENT_MS, Recorder::default())
            .await;
        assert_eq!(returned, completed());
    }
}
