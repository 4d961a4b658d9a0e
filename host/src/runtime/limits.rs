//! What one guest may use, and how many there may be at once.

use oncegate_domain::limits;

/// Every bound of this room: what holds for any call, and what depends on the size of the component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeLimits {
    /// For components that fit: what Rust, TinyGo and the like make.
    pub small: CallLimits,
    /// For the others: those that bring an interpreter (JavaScript, Python), or start with much memory.
    pub large: CallLimits,
    /// Time from the start of a call to its end, waiting included, in milliseconds. Longer than any exchange may take, so that it
    /// is the exchange's own limit that ends it.
    pub wall_clock_ms_max: u64,
    /// How long a guest may compute before the others have their turn, in milliseconds. CPU time is looked at as often.
    pub tick_ms: u64,
    /// Handles to resources (WASI streams and the like) that one call may hold.
    pub handles_max: usize,
    /// The stack of one call, in bytes.
    pub stack_bytes_max: usize,
    /// What a guest may hand over in one call of the host, in bytes (a request with its body).
    pub hostcall_bytes_max: usize,
    /// The output of a call, in bytes.
    pub output_bytes_max: usize,
    /// Lines that one call may log; the rest is counted and dropped.
    pub log_lines_max: u32,
    /// Bytes of all lines that one call may log.
    pub log_bytes_max: usize,
    /// A component as it is loaded, in bytes.
    pub component_bytes_max: usize,
}

/// What a component of one size may need, and a call of it may have. Each size has a pool of its own, so that a few large
/// components do not make the pool of the many small ones dear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// How many calls run at once; one more is [`super::Stop::Busy`]. With `memory_bytes_max` it bounds what all guests
    /// together can take from the machine.
    pub calls_max: u32,
    /// CPU time of one call, in milliseconds; waiting in the door is not counted.
    pub cpu_ms_max: u64,
    /// All linear memories with which a component may start together, in bytes.
    pub memory_start_bytes_max: usize,
    /// All linear memories of one call together, in bytes.
    pub memory_bytes_max: usize,
    /// Linear memories of one call.
    pub memories_max: u32,
    /// Tables of one call.
    pub tables_max: u32,
    /// Elements of one table.
    pub table_elements_max: usize,
    /// Core instances of one call.
    pub core_instances_max: u32,
    /// What the engine keeps for one instance beside its memory, in bytes.
    pub instance_bytes_max: usize,
    /// What of a memory stays with its place in the pool from one call to the next (its content does not), in bytes.
    /// Pages that stay need no page fault; they are also taken from the machine for as long as the host runs.
    pub resident_bytes_max: usize,
    /// Whether closed pages around a memory bound it; else the code of the guest checks each access. Where they do, the
    /// system opens pages when a guest grows its memory and closes them for the next call, and all cores take note of it:
    /// dear for calls of microseconds, and nothing beside those of an interpreter, whose code is quicker for it.
    pub guard_pages: bool,
}

impl Default for RuntimeLimits {
    fn default() -> Self {
        RuntimeLimits {
            small: CallLimits::small(),
            large: CallLimits::large(),
            wall_clock_ms_max: limits::REQUEST_TIMEOUT_MS_MAX + 30_000,
            tick_ms: 2,
            handles_max: 1_000,
            stack_bytes_max: 512 << 10,
            hostcall_bytes_max: 8 << 20,
            output_bytes_max: limits::OUTPUT_BYTES_MAX,
            log_lines_max: 200,
            log_bytes_max: 64 << 10,
            component_bytes_max: limits::COMPONENT_BYTES_MAX,
        }
    }
}

impl CallLimits {
    fn small() -> CallLimits {
        CallLimits {
            calls_max: 128,
            cpu_ms_max: 1_000,
            memory_start_bytes_max: 4 << 20,
            memory_bytes_max: 64 << 20,
            memories_max: 4,
            tables_max: 8,
            table_elements_max: 20_000,
            core_instances_max: 16,
            instance_bytes_max: 1 << 20,
            resident_bytes_max: 512 << 10,
            guard_pages: false,
        }
    }

    /// componentize-js makes 3 core instances and 8,000 table elements and starts with 10 MB; componentize-py makes 38
    /// core instances and starts with 13 MB. A usual call writes to 2 to 7 MB of it; the largest answer that the egress
    /// lets in (4 MiB), read as values of JavaScript, needs more than 128 MiB.
    fn large() -> CallLimits {
        CallLimits {
            calls_max: 16,
            cpu_ms_max: 5_000,
            memory_start_bytes_max: 64 << 20,
            memory_bytes_max: 256 << 20,
            memories_max: 10,
            tables_max: 50,
            table_elements_max: 50_000,
            core_instances_max: 64,
            instance_bytes_max: 10 << 20,
            resident_bytes_max: 4 << 20,
            guard_pages: true,
        }
    }
}
