//! What a guest may allocate. Memory is summed over all its memories, and a refusal ends the guest at once, so that a hit
//! is told apart from a fault of its code.

use wasmtime::{ResourceLimiter, format_err};

use super::limits::CallLimits;

/// The allocations of one call.
pub(super) struct Limiter {
    memory_bytes: usize,
    memory_bytes_max: usize,
    memories_max: usize,
    tables_max: usize,
    table_elements_max: usize,
    instances_max: usize,
    memory_refused: bool,
}

impl Limiter {
    pub(super) fn new(limits: &CallLimits) -> Limiter {
        Limiter {
            memory_bytes: 0,
            memory_bytes_max: limits.memory_bytes_max,
            memories_max: limits.memories_max as usize,
            tables_max: limits.tables_max as usize,
            table_elements_max: limits.table_elements_max,
            instances_max: limits.core_instances_max as usize,
            memory_refused: false,
        }
    }

    /// Whether the guest was refused memory.
    pub(super) fn memory_refused(&self) -> bool {
        self.memory_refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|own| desired > own && own < self.memory_bytes_max) {
            // The guest's own bound, not ours: it gets the -1 that it would get anywhere.
            return Ok(false);
        }
        let sum = self.memory_bytes.saturating_add(desired.saturating_sub(current));
        if sum > self.memory_bytes_max {
            self.memory_refused = true;
            return Err(format_err!(
                "the guest asked for {sum} bytes of memory; it may have {}",
                self.memory_bytes_max
            ));
        }
        self.memory_bytes = sum;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // The machine had none: for this guest the same as no more.
        self.memory_refused = true;
        Err(error)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements_max)
    }

    fn instances(&self) -> usize {
        self.instances_max
    }

    fn tables(&self) -> usize {
        self.tables_max
    }

    fn memories(&self) -> usize {
        self.memories_max
    }
}
