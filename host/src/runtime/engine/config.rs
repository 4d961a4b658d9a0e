//! How the engine is set up. What the SDKs do not need is off: every proposal is code that a guest could reach.

use wasmtime::{Cache, Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures};

use crate::runtime::limits::{CallLimits, RuntimeLimits};

/// What of WebAssembly is on, for connectors and for the module that describes them. Threads and garbage collection are
/// not even compiled in.
pub(in super::super) fn features() -> Config {
    let mut config = Config::new();
    config
        .wasm_features(
            WasmFeatures::GC
                | WasmFeatures::FUNCTION_REFERENCES
                | WasmFeatures::RELAXED_SIMD
                | WasmFeatures::SIMD
                | WasmFeatures::TAIL_CALL
                | WasmFeatures::MULTI_MEMORY
                | WasmFeatures::MEMORY64
                | WasmFeatures::CUSTOM_PAGE_SIZES
                | WasmFeatures::WIDE_ARITHMETIC,
            false,
        )
        .concurrency_support(false)
        // Else the bits of a NaN, and with them a request, could differ between machines.
        .cranelift_nan_canonicalization(true);
    config
}

/// The engine that runs the connectors of one size.
pub(super) fn of(all: &RuntimeLimits, limits: &CallLimits, cache: Option<Cache>) -> Config {
    let mut config = features();
    config
        .cache(cache)
        .epoch_interruption(true)
        .signals_based_traps(limits.guard_pages)
        .max_wasm_stack(all.stack_bytes_max)
        // Host functions run on the same stack, above the guest.
        .async_stack_size(all.stack_bytes_max + (1 << 20))
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    if !limits.guard_pages {
        // With any guard at all, the pages that a guest grew into would be closed again for the next call.
        config.memory_guard_size(0);
    }
    config
}

fn pool(limits: &CallLimits) -> PoolingAllocationConfig {
    let calls = limits.calls_max;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_stacks(calls)
        .total_core_instances(calls.saturating_mul(limits.core_instances_max))
        .total_memories(calls.saturating_mul(limits.memories_max))
        .total_tables(calls.saturating_mul(limits.tables_max))
        .max_component_instance_size(limits.instance_bytes_max)
        .max_core_instance_size(limits.instance_bytes_max)
        .max_core_instances_per_component(limits.core_instances_max)
        .max_memories_per_component(limits.memories_max)
        .max_tables_per_component(limits.tables_max)
        .max_tables_per_module(limits.tables_max)
        .table_elements(limits.table_elements_max)
        .max_memory_size(limits.memory_bytes_max);
    // Where the kernel (6.7 and newer) tells which pages a call has written, only those are put back, and the rest stays
    // mapped. Where it does not, all that stays would be overwritten after each call, which costs more than it saves.
    if limits.resident_bytes_max > 0 && PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes)
            .linear_memory_keep_resident(limits.resident_bytes_max)
            .table_keep_resident(limits.resident_bytes_max);
    }
    pool
}
