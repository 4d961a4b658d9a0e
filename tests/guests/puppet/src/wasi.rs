//! Asks WASI for all that would make two runs of a step differ, or let something out.

#[cfg(target_family = "wasm")]
pub(crate) use component::{ask, exit, print, sleep};
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::{ask, exit, print, sleep};

#[cfg(target_family = "wasm")]
mod component {
    use serde_json::{Value, json};

    use crate::wasi_bindings::wasi::cli::{environment, exit as process, stderr, stdout};
    use crate::wasi_bindings::wasi::clocks::{monotonic_clock, wall_clock};
    use crate::wasi_bindings::wasi::filesystem::{preopens, types};
    use crate::wasi_bindings::wasi::random::{insecure, insecure_seed, random};

    pub(crate) fn ask() -> Value {
        let wall = |now: wall_clock::Datetime| json!([now.seconds, now.nanoseconds]);
        json!({
            "wall": [wall(wall_clock::now()), wall(wall_clock::now())],
            "monotonic": [monotonic_clock::now(), monotonic_clock::now()],
            "random": [random::get_random_bytes(16), random::get_random_bytes(16)],
            "insecure": insecure::get_insecure_random_u64(),
            "seed": insecure_seed::insecure_seed(),
            "environment": environment::get_environment(),
            "arguments": environment::get_arguments(),
            "cwd": environment::initial_cwd(),
            "files": files(),
        })
    }

    /// What can be opened: for each folder that the host shows, its name and how an open of `/etc/passwd` ends there.
    fn files() -> Vec<Value> {
        let open = |folder: types::Descriptor| {
            let (path, flags) = (types::PathFlags::SYMLINK_FOLLOW, types::DescriptorFlags::READ);
            folder.open_at(path, "etc/passwd", types::OpenFlags::empty(), flags)
        };
        let folders = preopens::get_directories().into_iter();
        folders
            .map(|(folder, name)| json!([name, open(folder).map(|_| "opened").map_err(|e| format!("{e:?}"))]))
            .collect()
    }

    pub(crate) fn print(lines: u64, bytes: usize) {
        let line = format!("{}\n", "y".repeat(bytes));
        for _ in 0..lines {
            // A refusal is as good as an acceptance here: what counts is what the host's log takes.
            for chunk in line.as_bytes().chunks(4096) {
                let _ = stdout::get_stdout().blocking_write_and_flush(chunk);
                let _ = stderr::get_stderr().blocking_write_and_flush(chunk);
            }
        }
    }

    pub(crate) fn sleep(ms: u64) {
        monotonic_clock::subscribe_duration(ms.saturating_mul(1_000_000)).block();
    }

    pub(crate) fn exit() {
        process::exit(Ok(()));
    }
}

/// Natively there is no WASI to ask.
#[cfg(not(target_family = "wasm"))]
mod native {
    use serde_json::Value;

    pub(crate) fn ask() -> Value {
        Value::Null
    }

    pub(crate) fn print(_lines: u64, _bytes: usize) {}

    pub(crate) fn sleep(_ms: u64) {}

    pub(crate) fn exit() {}
}
