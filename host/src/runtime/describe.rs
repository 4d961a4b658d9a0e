//! Runs the module that says what a connector's actions look like: the same source, built once more by `connector build`
//! with `--cfg oncegate_describe`. It is the author's code on the author's machine, and gets nothing all the same: every
//! import traps, and fuel and memory are bounded.

use wasmtime::{Engine, Instance, Linker, Module, Store, StoreLimits, StoreLimitsBuilder, Trap};

use super::engine::features;

/// What the module exports: no parameters, a pointer in the upper and a length in the lower half of the result.
const EXPORT: &str = "oncegate_describe";
/// About two seconds of work; deriving schemas takes thousandths of it.
const FUEL_MAX: u64 = 2_000_000_000;
const MEMORY_BYTES_MAX: usize = 64 << 20;
/// The document that it returns.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// Why a connector does not describe itself.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// No core module, or one that uses what is off.
    #[error("the describing module cannot be compiled: {0}")]
    Compile(String),
    /// The export is missing, or has another type.
    #[error(
        "the describing module does not export `oncegate_describe`: {0}. Use the SDK's export macro exactly once, in the \
         crate that is built"
    )]
    NoExport(String),
    /// It failed while it ran.
    #[error(
        "describing the connector failed: {0}. Only the `JsonSchema` code of its types runs there: see what in it panics, or \
         asks for something from outside"
    )]
    Failed(String),
    /// What it returned lies outside its memory, is too large, or is no text.
    #[error("the description of the connector cannot be read: {0}")]
    Unreadable(String),
}

/// The JSON document that a module built with `--cfg oncegate_describe` returns. Takes as long as compiling the module
/// does: call it where nothing waits.
///
/// # Errors
/// As [`DescribeError`] says; the module never got anything to work with.
pub fn describe(core_wasm: &[u8]) -> Result<String, DescribeError> {
    let (mut store, module) = prepare(core_wasm).map_err(|error| DescribeError::Compile(format!("{error:#}")))?;
    let instance = instantiate(&mut store, &module).map_err(|error| DescribeError::Failed(why(&error)))?;
    let function = instance
        .get_typed_func::<(), u64>(&mut store, EXPORT)
        .map_err(|error| DescribeError::NoExport(error.to_string()))?;
    let packed = function
        .call(&mut store, ())
        .map_err(|error| DescribeError::Failed(why(&error)))?;
    let (pointer, len) = ((packed >> 32) as usize, (packed & u64::from(u32::MAX)) as usize);
    let unreadable = |why: &str| DescribeError::Unreadable(why.to_owned());
    if len > DOCUMENT_BYTES_MAX {
        return Err(unreadable(&format!(
            "it has {len} bytes; {DOCUMENT_BYTES_MAX} are allowed"
        )));
    }
    let memory = instance
        .get_memory(&mut store, "memory")
        .ok_or_else(|| unreadable("the module exports no memory"))?;
    let document = memory
        .data(&store)
        .get(pointer..pointer + len)
        .ok_or_else(|| unreadable("it lies outside of the memory"))?;
    String::from_utf8(document.to_vec()).map_err(|_| unreadable("it is not UTF-8"))
}

fn prepare(core_wasm: &[u8]) -> wasmtime::Result<(Store<StoreLimits>, Module)> {
    let engine = Engine::new(features().consume_fuel(true))?;
    let module = Module::from_binary(&engine, core_wasm)?;
    let limits = StoreLimitsBuilder::new()
        .memory_size(MEMORY_BYTES_MAX)
        .instances(1)
        .memories(1)
        .tables(4)
        .build();
    let mut store = Store::new(&engine, limits);
    store.limiter(|limits| limits);
    store.set_fuel(FUEL_MAX)?;
    Ok((store, module))
}

fn instantiate(store: &mut Store<StoreLimits>, module: &Module) -> wasmtime::Result<Instance> {
    let mut linker = Linker::new(store.engine());
    linker.define_unknown_imports_as_traps(module)?;
    linker.instantiate(store, module)
}

fn why(error: &wasmtime::Error) -> String {
    match error.downcast_ref() {
        Some(Trap::OutOfFuel) => "it computed for too long".to_owned(),
        Some(Trap::UnreachableCodeReached) => "it panicked, or asked for more memory than 64 MiB".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
