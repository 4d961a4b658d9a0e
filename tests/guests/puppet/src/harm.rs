//! Ways to hurt a host.

use std::hint::black_box;

use oncegate_sdk::log::{self, Level};

/// The step by which memory grows: one page of WebAssembly.
const PAGE_BYTES: u64 = 64 * 1024;

/// Uses the CPU for ever.
pub(crate) fn spin() {
    let mut n = 0_u64;
    loop {
        n = black_box(n.wrapping_add(1));
    }
}

/// Takes memory, and writes to it, up to so many bytes.
pub(crate) fn grow(bytes: u64) {
    let mut held: Vec<Vec<u8>> = Vec::new();
    while (held.len() as u64) < bytes / PAGE_BYTES {
        held.push(black_box(vec![1; PAGE_BYTES as usize]));
    }
    black_box(held);
}

/// Calls itself until the stack is at its end.
pub(crate) fn recurse() {
    #[allow(unconditional_recursion, reason = "that is the harm")]
    fn deeper(n: u64) -> u64 {
        let frame = black_box([n; 64]);
        deeper(n + 1).wrapping_add(frame[0])
    }
    black_box(deeper(0));
}

/// Writes many long lines.
pub(crate) fn flood(lines: u64, bytes: usize, level: &str) {
    let level = match level {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    let line = "x".repeat(bytes);
    for _ in 0..lines {
        log::write(level, &line, &[("from", "puppet")]);
    }
}
