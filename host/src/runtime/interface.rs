//! What a component must export and may import, by name, before anything of it is compiled.

use wasmparser::{Encoding, Parser, Payload};

use super::component::LoadError;
use super::wasi;

/// What a connector exports.
const ACTIONS: &str = "oncegate:connector/actions@0.1.0";
/// What it may import of ours.
const OURS: [&str; 2] = ["oncegate:connector/http@0.1.0", "oncegate:connector/log@0.1.0"];

/// What `connector check` asks, without compiling: a component, its imports and its exports, by name.
///
/// # Errors
/// The first [`LoadError`] found; the size is not looked at here.
pub fn check_interface(bytes: &[u8]) -> Result<(), LoadError> {
    if Parser::is_core_wasm(bytes) {
        return Err(LoadError::CoreModule);
    }
    if !Parser::is_component(bytes) {
        return Err(LoadError::NotWasm);
    }
    let names = Names::read(bytes).map_err(|error| LoadError::Malformed(error.to_string()))?;
    if let Some(name) = names.imports.iter().find(|name| !may_import(name)) {
        return Err(LoadError::ForbiddenImport {
            name: name.escape_debug().to_string(),
            hint: hint(name),
        });
    }
    if !names.exports.iter().any(|name| name == ACTIONS) {
        return Err(LoadError::MissingExport {
            name: ACTIONS,
            hint: missing_hint(&names.exports),
        });
    }
    Ok(())
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

fn may_import(name: &str) -> bool {
    if OURS.contains(&name) {
        return true;
    }
    // Any 0.2: its releases only add to each other, and what is missing here is refused when it is linked.
    name.split_once('@')
        .is_some_and(|(interface, version)| wasi::SERVED.contains(&interface) && version.starts_with("0.2."))
}

/// What usually brings an import in, and how to be rid of it.
fn hint(name: &str) -> &'static str {
    let (interface, _version) = name.split_once('@').unwrap_or((name, ""));
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    match package {
        "wasi:sockets" => {
            "this usually comes from a library that opens connections itself (an HTTP client, a database driver, \
             a telemetry exporter); send requests with the connector's `http` instead and build without that library"
        }
        "wasi:http" => {
            "this usually comes from the toolchain's own HTTP client (`fetch` in JavaScript, `net/http` in Go, a wasi-http \
             crate); send requests with the connector's `http` instead, and for componentize-js disable the features `http` \
             and `fetch-event`"
        }
        "oncegate:connector" => {
            "it was built against another version of the interface than 0.1.0, which this host speaks; build it again with \
             the SDK of this version"
        }
        _ if wasi::SERVED.contains(&interface) => {
            "of WASI this host serves 0.2; build for the target `wasm32-wasip2`, or for `wasm32-unknown-unknown` without WASI"
        }
        _ if package.starts_with("wasi:") => {
            "of WASI this host serves `cli`, `io`, `clocks`, `random` and `filesystem`, closed; build without what needs more"
        }
        _ => {
            "a connector may import only `oncegate:connector` and a closed WASI 0.2; this usually comes from a world of its own \
             or a binding generator for another host (wasm-bindgen, another plugin system)"
        }
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
