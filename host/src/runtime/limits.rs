//! What one guest may use, and how many there may be at once.

/// Every bound of this room. The defaults fit Rust, TinyGo and the like; see [`RuntimeLimits::wide`] for guests that bring
/// an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeLimits {
    /// How many calls run at once; one more is [`super::Stop::Busy`].
    pub calls_max: u32,
    /// CPU time of one call, in milliseconds; waiting in the door is not counted.
    pub cpu_ms_max: u64,
    /// Time from the start of a call to its end, waiting included, in milliseconds.
    pub wall_clock_ms_max: u64,
    /// How long a guest may compute before the others have their turn, in milliseconds. CPU time is looked at as often.
    pub tick_ms: u64,
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

impl Default for RuntimeLimits {
    fn default() -> Self {
        RuntimeLimits {
            calls_max: 128,
            cpu_ms_max: 1_000,
            wall_clock_ms_max: 60_000,
            tick_ms: 2,
            memory_bytes_max: 64 << 20,
            memories_max: 4,
            tables_max: 8,
            table_elements_max: 20_000,
            core_instances_max: 16,
            instance_bytes_max: 1 << 20,
            handles_max: 1_000,
            stack_bytes_max: 512 << 10,
            hostcall_bytes_max: 8 << 20,
            output_bytes_max: 1 << 20,
            log_lines_max: 200,
            log_bytes_max: 64 << 10,
            component_bytes_max: 32 << 20,
        }
    }
}

impl RuntimeLimits {
    /// For guests that bring an interpreter (JavaScript, Python): seen to run with these.
    pub fn wide() -> Self {
        RuntimeLimits {
            cpu_ms_max: 5_000,
            memory_bytes_max: 256 << 20,
            memories_max: 10,
            tables_max: 50,
            table_elements_max: 50_000,
            core_instances_max: 50,
            instance_bytes_max: 10 << 20,
            ..RuntimeLimits::default()
        }
    }
}
