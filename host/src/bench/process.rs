//! What the host has used, as the kernel counts it: of the host's process alone, whatever load and destination need.

use anyhow::Context;
use std::fs;

/// One unit of `utime` and `stime` in `/proc/PID/stat`: proc(5) calls it a clock tick, and Linux shows a hundred of them a
/// second on every machine that we build for, whatever its own timer does.
const TICK_MS: u64 = 10;

/// What one process has used so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user and kernel mode, of all its threads, in milliseconds.
    pub cpu_ms: u64,
    /// Memory that is really there (`VmRSS`), in bytes.
    pub rss_bytes: u64,
}

impl Used {
    /// Asks the kernel about a process.
    ///
    /// # Errors
    /// It is gone, or this system has no `/proc` like Linux's.
    pub fn by(process: u32) -> anyhow::Result<Self> {
        let read = |name: &str| {
            let path = format!("/proc/{process}/{name}");
            fs::read_to_string(&path).with_context(|| format!("cannot read {path}; the bench measures on Linux only"))
        };
        Ok(Self {
            cpu_ms: cpu_ms(&read("stat")?).context("/proc/PID/stat is not as proc(5) says")?,
            rss_bytes: rss_bytes(&read("status")?).context("/proc/PID/status is not as proc(5) says")?,
        })
    }
}

fn cpu_ms(stat: &str) -> Option<u64> {
    // The second field is the program's name in parentheses, which may hold anything; `utime` and `stime` are fields 14, 15.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    Some(ticks * TICK_MS)
}

fn rss_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_whatever_the_program_is_called() {
        let stat = "4711 (a ) b (c) S 1 4711 4711 0 -1 4194560 900 0 3 0 120 35 0 0 20 0 9 0 1234 1000000 2000";
        assert_eq!(cpu_ms(stat), Some(1_550));
        assert_eq!(cpu_ms("4711 (a) S 1 2"), None);
    }

    #[test]
    fn memory_is_the_resident_part() {
        let status = "Name:\toncegate\nVmHWM:\t   99999 kB\nVmRSS:\t   61440 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(rss_bytes(status), Some(61_440 * 1_024));
        assert_eq!(rss_bytes("Name:\tx\n"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let used = Used::by(std::process::id()).unwrap();
        assert!(used.rss_bytes > 1 << 20, "{used:?}");
        assert!(Used::by(u32::MAX).is_err());
    }
}
