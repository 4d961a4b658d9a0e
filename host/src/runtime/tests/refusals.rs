//! What is no connector is refused before any of it is compiled, with one sentence that says how to mend it.

use super::*;
use crate::runtime::wasi::SERVED;
use crate::runtime::{LoadError, check_core_imports, check_interface};
use handmade::Guest;

fn refused(bytes: &[u8]) -> String {
    check_interface(bytes).unwrap_err().to_string()
}

fn importing(name: &str) -> String {
    let guest = Guest {
        imports: format!(r#"(import "{name}" (instance))"#),
        ..Guest::default()
    };
    refused(&guest.build())
}

#[test]
fn what_is_not_a_component_is_told_apart() {
    assert!(refused(b"#!/bin/sh").contains("not WebAssembly"));
    assert!(refused(b"").contains("not WebAssembly"));
    assert!(refused(&handmade::text("(module)")).contains("core WebAssembly module"));
    let whole = Guest::default().build();
    assert!(refused(&whole[..whole.len() / 2]).contains("cannot be read"));
    assert!(refused(b"\0asm\x0d\0\x01\0\xff\xff").contains("cannot be read"));
}

#[test]
fn a_forbidden_import_is_named_with_what_usually_brings_it_in() {
    let http = importing("wasi:http/outgoing-handler@0.2.0");
    assert!(
        http.starts_with(
            "it imports `wasi:http/outgoing-handler@0.2.0`, which no connector may have. That usually comes from"
        ) && http.contains("`fetch` in JavaScript"),
        "{http}"
    );
    let plain = Guest {
        imports: r#"(import "now" (func (result u64)))"#.to_owned(),
        ..Guest::default()
    };
    assert!(refused(&plain.build()).contains("`now`"));
}

#[test]
fn a_core_module_is_refused_by_the_names_that_its_compiler_gave() {
    let module = |import: &str| handmade::text(&format!("(module (import {import} (func)))"));
    let refused = |import: &str| check_core_imports(&module(import)).unwrap_err().to_string();
    let browser = refused(r#""__wbindgen_placeholder__" "__wbg_now_1""#);
    assert!(
        browser.starts_with("it imports `__wbindgen_placeholder__::__wbg_now_1`") && browser.contains("browser"),
        "{browser}"
    );
    assert!(refused(r#""env" "getentropy""#).contains("`env::getentropy`"));
    for fine in [
        r#""oncegate:connector/http@0.1.0" "send""#,
        r#""wasi:random/random@0.2.3" "get-random-u64""#,
        r#""[export]oncegate:connector/actions@0.1.0" "[task-return]perform""#,
    ] {
        check_core_imports(&module(fine)).unwrap();
    }
    assert!(check_core_imports(b"\0asm\x01\0\0\0\xff").is_err());
}

#[test]
fn a_component_that_is_no_connector_says_so() {
    let empty = handmade::text("(component)");
    assert!(refused(&empty).contains("does not export `oncegate:connector/actions@0.1.0`"));
    let program = handmade::text(r#"(component (instance $run) (export "wasi:cli/run@0.2.0" (instance $run)))"#);
    assert!(refused(&program).contains("it is a program, not a connector"));
    let old = handmade::text(r#"(component (instance $a) (export "oncegate:connector/actions@0.0.9" (instance $a)))"#);
    assert!(refused(&old).contains("another version of the interface"));
}

#[test]
fn every_interface_that_is_served_may_be_imported() {
    for interface in SERVED {
        let guest = Guest {
            imports: format!(r#"(import "{interface}@0.2.8" (instance))"#),
            ..Guest::default()
        };
        check_interface(&guest.build()).unwrap();
    }
}

#[tokio::test]
async fn every_interface_that_is_served_is_linked() {
    let runtime = runtime(brief());
    let imports: String = SERVED
        .map(|interface| format!("(import \"{interface}@0.2.0\" (instance))\n"))
        .concat();
    let guest = Guest {
        imports,
        ..Guest::default()
    };
    runtime.load(&guest.build()).await.unwrap();
}

#[tokio::test]
async fn the_right_name_with_the_wrong_type_is_refused() {
    let runtime = runtime(brief());
    let wrong = handmade::text(
        r#"(component
          (core module $m (func (export "perform")))
          (core instance $i (instantiate $m))
          (func $perform (canon lift (core func $i "perform")))
          (instance $actions (export "perform" (func $perform)))
          (export "oncegate:connector/actions@0.1.0" (instance $actions)))"#,
    );
    let error = runtime.load(&wrong).await.unwrap_err();
    assert!(matches!(error, LoadError::Mismatch(_)), "{error}");
    let missing = Guest {
        imports: r#"(import "wasi:clocks/wall-clock@0.2.9" (instance (export "tomorrow" (func (result u64)))))"#
            .to_owned(),
        ..Guest::default()
    };
    let error = runtime.load(&missing.build()).await.unwrap_err();
    assert!(
        matches!(&error, LoadError::Mismatch(why) if why.contains("wall-clock")),
        "{error}"
    );
}

#[tokio::test]
async fn what_needs_more_than_a_call_may_have_is_refused_at_load() {
    let runtime = runtime(brief());
    let guest = Guest {
        pages: 1025,
        ..Guest::default()
    };
    let error = runtime.load(&guest.build()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the component needs 67174400 bytes of memory to start with; one call may have 67108864. Build it with less: a \
         smaller initial memory, fewer native modules"
    );
    let wide = Guest {
        extra: "(memory i64 1)".to_owned(),
        ..Guest::default()
    };
    let error = runtime.load(&wide.build()).await.unwrap_err();
    assert!(matches!(error, LoadError::Compile(_)), "{error}");
}

#[tokio::test]
async fn a_component_that_is_too_large_is_refused() {
    let exact = Guest::default().build();
    let with_max = |component_bytes_max| {
        runtime(RuntimeLimits {
            component_bytes_max,
            ..brief()
        })
    };
    with_max(exact.len()).load(&exact).await.unwrap();
    let error = with_max(exact.len() - 1).load(&exact).await.unwrap_err();
    assert!(matches!(error, LoadError::TooLarge { .. }), "{error}");
}
