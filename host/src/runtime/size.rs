//! Which pool a component runs in, by what it needs to start, read from its bytes before anything of it is compiled.
//!
//! This is a forecast: each definition counts once. The engine counts every instance when it has compiled, and is the
//! judge; a forecast that is wrong costs a second compilation, or an error at load.

use wasmparser::{Instance, Parser, Payload};

use super::component::LoadError;
use super::limits::{CallLimits, RuntimeLimits};

const PAGE_BYTES: u64 = 64 << 10;

/// How large a component is, as its limits see it: [`RuntimeLimits::small`] or [`RuntimeLimits::large`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// It fits the limits of the small ones.
    Small,
    /// It needs more, as one with an interpreter does.
    Large,
}

/// The size of a component, by its bytes alone.
///
/// # Errors
/// It is larger, or needs more, than even a large one may.
pub fn check_size(bytes: &[u8], limits: &RuntimeLimits) -> Result<Size, LoadError> {
    let bytes_max = limits.component_bytes_max;
    if bytes.len() > bytes_max {
        return Err(LoadError::TooLarge {
            bytes: bytes.len(),
            bytes_max,
        });
    }
    let needs = Needs::read(bytes).map_err(|error| LoadError::Malformed(error.to_string()))?;
    if needs.excess(&limits.small).is_none() {
        return Ok(Size::Small);
    }
    match needs.excess(&limits.large) {
        None => Ok(Size::Large),
        Some((what, needed, max)) => Err(LoadError::NeedsTooMuch { what, needed, max }),
    }
}

/// What a component needs to start.
#[derive(Debug, Default)]
struct Needs {
    memory_bytes: u64,
    memories: u64,
    tables: u64,
    /// Of the largest table.
    table_elements: u64,
    core_instances: u64,
}

impl Needs {
    fn read(bytes: &[u8]) -> wasmparser::Result<Needs> {
        let mut needs = Needs::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::MemorySection(memories) => {
                    for memory in memories {
                        needs.memories += 1;
                        needs.memory_bytes = needs
                            .memory_bytes
                            .saturating_add(memory?.initial.saturating_mul(PAGE_BYTES));
                    }
                }
                Payload::TableSection(tables) => {
                    for table in tables {
                        needs.tables += 1;
                        needs.table_elements = needs.table_elements.max(table?.ty.initial);
                    }
                }
                Payload::InstanceSection(instances) => {
                    for instance in instances {
                        match instance? {
                            Instance::Instantiate { .. } => needs.core_instances += 1,
                            Instance::FromExports(_) => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(needs)
    }

    /// The first need that is beyond the limits: what, how much, and how much is allowed.
    fn excess(&self, limits: &CallLimits) -> Option<(&'static str, u64, u64)> {
        let needs = [
            (
                "bytes of memory to start with",
                self.memory_bytes,
                limits.memory_start_bytes_max as u64,
            ),
            ("memories", self.memories, limits.memories_max.into()),
            ("tables", self.tables, limits.tables_max.into()),
            (
                "elements in one table",
                self.table_elements,
                limits.table_elements_max as u64,
            ),
            ("core instances", self.core_instances, limits.core_instances_max.into()),
        ];
        needs.into_iter().find(|(_, needed, max)| needed > max)
    }
}
