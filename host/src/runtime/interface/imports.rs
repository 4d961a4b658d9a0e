//! Which imports a connector may have, and for all others: what usually brings them in, and how to be rid of it.

use super::super::wasi;

/// What a connector may import of ours.
const OURS: [&str; 2] = ["oncegate:connector/http@0.1.0", "oncegate:connector/log@0.1.0"];

/// Whether this host gives it to a connector. `name` is an interface, with its version.
pub(super) fn may_import(name: &str) -> bool {
    if OURS.contains(&name) {
        return true;
    }
    // Any 0.2: its releases only add to each other, and what is missing here is refused when it is linked.
    name.split_once('@')
        .is_some_and(|(interface, version)| wasi::SERVED.contains(&interface) && version.starts_with("0.2."))
}

/// Why an import is there that no connector may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// What usually brings it in.
    pub(super) usually: &'static str,
    /// How to be rid of it.
    pub(super) mend: &'static str,
}

/// The cause of a forbidden import: of a component (an interface), or of a core module (the module that is imported from).
pub(super) fn cause(name: &str) -> Cause {
    let (interface, _version) = name.split_once('@').unwrap_or((name, ""));
    let (package, _) = interface.split_once('/').unwrap_or((interface, ""));
    let (usually, mend) = match package {
        "wasi:sockets" => (
            "a library that opens connections itself: an HTTP client (reqwest, ureq), a database driver, an SMTP client, an \
             exporter of telemetry",
            "send requests with the connector's own `http`, and build without that library; componentize-py brings it in \
             without `--stub-wasi`",
        ),
        "wasi:http" => (
            "the toolchain's own HTTP client: `fetch` in JavaScript, `net/http` in Go, a wasi-http crate in Rust",
            "send requests with the connector's own `http`; for componentize-js disable the features `http` and `fetch-event`",
        ),
        "oncegate:connector" => (
            "a build against another version of the interface than 0.1.0, which this host speaks",
            "build it again with the SDK of this version",
        ),
        _ if wasi::SERVED.contains(&interface) => (
            "a toolchain of another WASI than 0.2, which is the one that this host serves",
            "build for the target `wasm32-wasip2`, or for `wasm32-unknown-unknown` without WASI",
        ),
        _ if package.starts_with("wasi:") => (
            "a library that asks for more than `cli`, `io`, `clocks`, `random` and `filesystem`, which this host serves, closed",
            "build without what needs more",
        ),
        "__wbindgen_placeholder__" | "__wbindgen_externref_xform__" | "wbg" => (
            "a crate built for the browser: web-sys, js-sys, reqwest, or a feature that asks the browser for time or \
             randomness (`js` or `wasm_js` of getrandom, `js` of uuid, `wasmbind` or `clock` of chrono, `wasm-bindgen` of time)",
            "see which with `cargo tree --target wasm32-unknown-unknown -i wasm-bindgen` and turn that feature off; times come \
             in by the input, and what must be unique is made of `call.key`",
        ),
        "env" => (
            "a function that was declared and never linked: C code behind a crate (openssl-sys, libsqlite3-sys, ring), or \
             getrandom's `custom` backend",
            "take a crate that is Rust alone; what must be unique is made of `call.key`, not of randomness",
        ),
        "wasi_snapshot_preview1" | "wasi_unstable" => (
            "a build for `wasm32-wasip1`, or C code that was compiled for it",
            "build with `oncegate connector build`, or with another toolchain for `wasm32-wasip2`",
        ),
        _ => (
            "a world of its own, or a binding generator for another host (another plugin system)",
            "build without it: a connector may import only `oncegate:connector` and a closed WASI 0.2",
        ),
    };
    Cause { usually, mend }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_is_named_with_what_usually_brings_it_in() {
        for (import, usually, mend) in [
            ("wasi:sockets/tcp@0.2.3", "opens connections itself", "own `http`"),
            ("wasi:http/outgoing-handler@0.2.0", "`fetch`", "`fetch-event`"),
            (
                "wasi:clocks/wall-clock@0.3.0",
                "another WASI than 0.2",
                "`wasm32-wasip2`",
            ),
            ("wasi:random/random@0.1.0", "another WASI than 0.2", "`wasm32-wasip2`"),
            (
                "wasi:keyvalue/store@0.2.0-draft",
                "asks for more",
                "without what needs more",
            ),
            (
                "oncegate:connector/http@0.9.0",
                "another version of the interface",
                "SDK of this version",
            ),
            ("__wbindgen_placeholder__", "built for the browser", "cargo tree"),
            ("__wbindgen_externref_xform__", "`wasm_js` of getrandom", "call.key"),
            ("wbg", "`wasmbind`", "turn that feature off"),
            ("env", "C code", "Rust alone"),
            ("wasi_snapshot_preview1", "`wasm32-wasip1`", "connector build"),
            ("acme:host/api@1.0.0", "another plugin system", "may import only"),
            ("$root", "a world of its own", "may import only"),
        ] {
            assert!(!may_import(import), "{import}");
            let cause = cause(import);
            assert!(cause.usually.contains(usually), "{import}: {cause:?}");
            assert!(cause.mend.contains(mend), "{import}: {cause:?}");
        }
    }
}
