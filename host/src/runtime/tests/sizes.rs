//! Which components run in which pool, and that the limits of both hold on both sides.

use super::*;
use crate::runtime::LoadError;
use handmade::{Guest, OK, send};

/// 4 MiB of memory to start with are the most that a small one has.
const SMALL_PAGES: u32 = 64;

fn starting_with(pages: u32, perform: &str) -> Guest {
    Guest {
        pages,
        ..Guest::performing(perform)
    }
}

/// As many more core instances, none with a memory.
fn with_instances(more: u32) -> Guest {
    let one = |n| format!("(core module $m{n}) (core instance (instantiate $m{n}))");
    Guest {
        lowered: (0..more).map(one).collect(),
        ..Guest::default()
    }
}

/// So many linear memories: `room` has one, and each further instance.
fn with_memories(memories: u32) -> Guest {
    let one = |n| format!("(core module $m{n} (memory 1)) (core instance (instantiate $m{n}))");
    Guest {
        lowered: (1..memories).map(one).collect(),
        ..Guest::default()
    }
}

fn with_tables(tables: usize) -> Guest {
    Guest {
        extra: "(table 1 funcref)".repeat(tables),
        ..Guest::default()
    }
}

fn with_table(elements: u32) -> Guest {
    Guest {
        extra: format!("(table {elements} funcref)"),
        ..Guest::default()
    }
}

async fn size_of(runtime: &Runtime, guest: &Guest) -> Size {
    runtime.load(&guest.build()).await.unwrap().size()
}

#[tokio::test]
async fn what_a_component_needs_to_start_decides_its_size() {
    let runtime = runtime(brief());
    let size = async |guest: Guest| size_of(&runtime, &guest).await;
    // `room` and `guest` are two core instances.
    assert_eq!(size(with_instances(16 - 2)).await, Size::Small);
    assert_eq!(size(with_instances(17 - 2)).await, Size::Large);
    assert_eq!(size(starting_with(SMALL_PAGES, OK)).await, Size::Small);
    assert_eq!(size(starting_with(SMALL_PAGES + 1, OK)).await, Size::Large);
    assert_eq!(size(with_memories(4)).await, Size::Small);
    assert_eq!(size(with_memories(5)).await, Size::Large);
    assert_eq!(size(with_tables(8)).await, Size::Small);
    assert_eq!(size(with_tables(9)).await, Size::Large);
    assert_eq!(size(with_table(20_000)).await, Size::Small);
    assert_eq!(size(with_table(20_001)).await, Size::Large);
}

#[tokio::test]
async fn more_than_a_large_one_may_have_is_refused_before_it_is_compiled() {
    let runtime = runtime(brief());
    let refused = async |guest: Guest| match runtime.load(&guest.build()).await {
        Err(LoadError::NeedsTooMuch { what, needed, max }) => (what, needed, max),
        other => panic!("{other:?}"),
    };
    assert_eq!(size_of(&runtime, &with_instances(64 - 2)).await, Size::Large);
    assert_eq!(refused(with_instances(65 - 2)).await, ("core instances", 65, 64));
    assert_eq!(size_of(&runtime, &with_memories(10)).await, Size::Large);
    assert_eq!(refused(with_memories(11)).await, ("memories", 11, 10));
    assert_eq!(size_of(&runtime, &with_tables(50)).await, Size::Large);
    assert_eq!(refused(with_tables(51)).await, ("tables", 51, 50));
    assert_eq!(size_of(&runtime, &with_table(50_000)).await, Size::Large);
    assert_eq!(
        refused(with_table(50_001)).await,
        ("elements in one table", 50_001, 50_000)
    );
    assert_eq!(size_of(&runtime, &starting_with(1_024, OK)).await, Size::Large);
}

/// The forecast counts a module once. This one is instantiated by a component that is itself instantiated again and again.
#[tokio::test]
async fn what_only_the_engine_sees_when_it_has_compiled_goes_to_the_large_ones_as_well() {
    let again = |times: u32| Guest {
        lowered: format!(
            "(component $many (core module $m) {}) {}",
            "(core instance (instantiate $m))".repeat(4),
            "(instance (instantiate $many))".repeat(times as usize)
        ),
        ..Guest::default()
    };
    let runtime = runtime(brief());
    assert_eq!(size_of(&runtime, &again(3)).await, Size::Small);
    assert_eq!(size_of(&runtime, &again(4)).await, Size::Large);
    assert_eq!(size_of(&runtime, &again(15)).await, Size::Large);
    let error = runtime.load(&again(16).build()).await.unwrap_err();
    assert!(
        matches!(&error, LoadError::Compile(why) if why.contains("core module instances")),
        "{error}"
    );
}

#[tokio::test]
async fn a_large_one_has_more_memory_and_a_hit_of_its_limit_is_told_apart_too() {
    let pages = 256 * 16;
    let growing = |to: u32| {
        let by = to - SMALL_PAGES - 1;
        starting_with(
            SMALL_PAGES + 1,
            &format!("(if (i32.eq (memory.grow (i32.const {by})) (i32.const -1)) (then unreachable)) {OK}"),
        )
    };
    assert_eq!(perform(brief(), &growing(pages)).await.1, completed());
    assert_eq!(perform(brief(), &growing(pages + 1)).await.1, Err(Stop::Memory));
    let trapping = starting_with(SMALL_PAGES + 1, "unreachable");
    assert!(matches!(perform(brief(), &trapping).await.1, Err(Stop::Trap(_))));
}

#[tokio::test]
async fn a_large_one_has_cpu_time_and_places_of_its_own() {
    let mut limits = brief();
    (limits.small.calls_max, limits.large.calls_max) = (1, 1);
    let runtime = runtime(limits);
    let body = format!("{}{OK}", send(16, 11));
    let small = runtime.load(&starting_with(4, &body).build()).await.unwrap();
    let large = runtime
        .load(&starting_with(SMALL_PAGES + 1, &body).build())
        .await
        .unwrap();
    let calling = async |component: &Component, wait_ms: u64| {
        let door = Recorder::waiting(Duration::from_millis(wait_ms));
        runtime.perform(component, call("key"), EVENT_MS, door).await.1
    };
    let late = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        (calling(&large, 0).await, calling(&small, 0).await)
    };
    let (first, (second, beside)) = tokio::join!(calling(&large, 300), late);
    assert_eq!((first, second, beside), (completed(), Err(Stop::Busy), completed()));
    let looping = starting_with(SMALL_PAGES + 1, handmade::LOOP);
    assert_eq!(perform(brief(), &looping).await.1, Err(Stop::Cpu));
}

/// The pool of the large ones keeps pages mapped from one call to the next; never what was in them.
#[tokio::test]
async fn nothing_is_kept_from_one_call_to_the_next_in_pages_that_stay() {
    let look =
        "(if (i32.load (i32.const 4096)) (then unreachable)) (if (i32.load (i32.const 4000000)) (then unreachable))";
    let leave = "(i32.store (i32.const 4096) (i32.const 1)) (i32.store (i32.const 4000000) (i32.const 1))";
    let (runtime, component) = loaded(
        brief(),
        &starting_with(SMALL_PAGES + 1, &format!("{look} {leave} {OK}")),
    )
    .await;
    for _ in 0..40 {
        let (_, returned) = runtime
            .perform(&component, call("key"), EVENT_MS, Recorder::default())
            .await;
        assert_eq!(returned, completed());
    }
}
