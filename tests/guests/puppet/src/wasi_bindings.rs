//! WASI as wit-bindgen sees it.
#![allow(
    unsafe_code,
    missing_docs,
    clippy::all,
    reason = "generated: the canonical ABI passes pointers"
)]

wit_bindgen::generate!({ path: "wit", world: "asks", generate_all });
