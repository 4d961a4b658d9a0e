//! What wit-bindgen makes of `wit/`: the raw functions that cross the border of the sandbox. Only `host` and `raw` use it.
#![allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated: the canonical ABI passes pointers, and the code is wit-bindgen's"
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "connector",
    runtime_path: "::oncegate_sdk::__private::rt",
    pub_export_macro: true,
    export_macro_name: "__export_component",
    default_bindings_module: "oncegate_sdk::bindings",
});
