//! What a component must export and may import, by name, before anything of it is compiled.

mod imports;

use wasmparser::{Encoding, Parser, Payload};

use super::component::LoadError;
use imports::{cause, may_import};

/// What a connector exports.
const ACTIONS: &str = "oncegate:connector/actions@0.1.0";

/// What `connector check` asks, without compiling: a component, its imports and its exports, by name.
///
/// # Errors
/// The first [`LoadError`] found; the size is not looked at here, but by [`super::check_size`].
pub fn check_interface(bytes: &[u8]) -> Result<(), LoadError> {
    if Parser::is_core_wasm(bytes) {
        return Err(LoadError::CoreModule);
    }
    if !Parser::is_component(bytes) {
        return Err(LoadError::NotWasm);
    }
    let names = Names::read(bytes).map_err(|error| LoadError::Malformed(error.to_string()))?;
    if let Some(name) = names.imports.iter().find(|name| !may_import(name)) {
        return Err(forbidden(name, name));
    }
    if !names.exports.iter().any(|name| name == ACTIONS) {
        return Err(LoadError::MissingExport {
            name: ACTIONS,
            hint: missing_hint(&names.exports),
        });
    }
    Ok(())
}

/// The same question for the core module that a component is made of, where an import still has the name that the compiler
/// gave it: `__wbindgen_placeholder__` says more than what an encoder makes of it.
///
/// # Errors
/// The first import that no connector may have.
pub fn check_core_imports(core_wasm: &[u8]) -> Result<(), LoadError> {
    let malformed = |error: wasmparser::BinaryReaderError| LoadError::Malformed(error.to_string());
    for payload in Parser::new(0).parse_all(core_wasm) {
        let Payload::ImportSection(imports) = payload.map_err(malformed)? else {
            continue;
        };
        for import in imports.into_imports() {
            let import = import.map_err(malformed)?;
            // `[export]…` are the encoder's own, for what our exports need.
            if !may_import(import.module) && !import.module.starts_with("[export]") {
                return Err(forbidden(import.module, &format!("{}::{}", import.module, import.name)));
            }
        }
    }
    Ok(())
}

fn forbidden(from: &str, name: &str) -> LoadError {
    let cause = cause(from);
    LoadError::ForbiddenImport {
        name: name.escape_debug().to_string(),
        usually: cause.usually,
        mend: cause.mend,
    }
}

/// The names at the outermost level of a component.
struct Names {
    imports: Vec<String>,
    exports: Vec<String>,
}

impl Names {
    fn read(bytes: &[u8]) -> wasmparser::Result<Names> {
        let mut names = Names {
            imports: Vec::new(),
            exports: Vec::new(),
        };
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::Version { encoding, .. } => {
                    depth += 1;
                    debug_assert!(depth > 1 || encoding == Encoding::Component);
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(imports) if depth == 1 => {
                    for import in imports {
                        names.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 1 => {
                    for export in exports {
                        names.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }
}

fn missing_hint(exports: &[String]) -> &'static str {
    if exports
        .iter()
        .any(|name| name.starts_with("oncegate:connector/actions"))
    {
        "it exports another version of the interface; build it again with the SDK of this version"
    } else if exports
        .iter()
        .any(|name| name.starts_with("wasi:cli/run") || name.starts_with("wasi:http/"))
    {
        "it is a program, not a connector; build it as a library with the SDK's export macro"
    } else {
        "build it with the SDK's export macro and `oncegate connector build`"
    }
}
