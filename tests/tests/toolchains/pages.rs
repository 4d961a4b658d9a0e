//! The page of each language tells the limits that hold.

use oncegate::config::Limits;
use oncegate::runtime::RuntimeLimits;

const PAGES: [&str; 2] = [
    include_str!("../../../docs/connectors-javascript.md"),
    include_str!("../../../docs/connectors-python.md"),
];

#[test]
fn the_pages_tell_the_limits_that_hold() {
    let (runtime, host) = (RuntimeLimits::default(), Limits::default());
    let (small, large) = (&runtime.small, &runtime.large);
    let (mib, s) = (|bytes: usize| bytes >> 20, |ms: u64| ms / 1_000);
    let file = mib(runtime.component_bytes_max);
    for told in [
        format!(
            "up to {} MiB | 0.1 MB, up to {} MiB |",
            mib(large.memory_bytes_max),
            mib(small.memory_bytes_max)
        ),
        format!(
            "| calls at once | {} (`large_calls_max` in `oncegate.toml`) | {} (`calls_max`) |",
            host.large_calls_max(),
            host.calls_max
        ),
        format!(
            "| CPU time that a call may use | {} s | {} s |",
            s(large.cpu_ms_max),
            s(small.cpu_ms_max)
        ),
        format!("| the `.wasm` file | {file} MiB | {file} MiB |"),
        format!("{} MiB of memory", mib(small.memory_start_bytes_max)),
    ] {
        for page in PAGES {
            let line = page.replace('\n', " ");
            assert!(line.contains(&told), "{told}");
        }
    }
    assert!(PAGES[1].contains(&format!("more than {} core instances", small.core_instances_max)));
}
