//! File descriptors: how many this process may have, and how they are shared out.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any host needs; some systems allow a thousand times as many, and tables are as large as the limit.
const DESCRIPTORS_MAX: u64 = 65_536;

/// Raises the limit as far as the system lets anybody, and says what it is. Systems set it low for programs that cannot
/// count beyond 1024.
pub fn raised() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.unwrap_or(DESCRIPTORS_MAX).min(DESCRIPTORS_MAX);
    let now = limit.current.unwrap_or(DESCRIPTORS_MAX);
    if now >= allowed {
        return now;
    }
    let wider = Rlimit {
        current: Some(allowed),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, wider) {
        Ok(()) => allowed,
        Err(_) => now,
    }
}

/// How many connections may be open to us: so many as configured, and never more than half of the descriptors, for the
/// rest must reach the destinations.
pub fn connections_max(configured: usize, descriptors: u64) -> usize {
    configured
        .min(usize::try_from(descriptors / 2).unwrap_or(usize::MAX))
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_never_take_more_than_half_of_the_descriptors() {
        assert_eq!(connections_max(4_096, 1_024), 512);
        assert_eq!(connections_max(100, 1_024), 100);
        assert_eq!(connections_max(0, 0), 1);
    }
}
