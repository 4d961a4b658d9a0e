//! Compiling once, keeping what was compiled, and the module that describes a connector.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::runtime::{DescribeError, RuntimeError, describe};
use handmade::Guest;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_bytes_are_compiled_once() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(brief(), Some(&folder.path().join("cache"))).unwrap();
    let bytes = Guest::default().build();
    let (one, two) = tokio::join!(runtime.load(&bytes), runtime.load(&bytes));
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(Arc::ptr_eq(&one.0, &two.0));
    assert_eq!(one.digest().len(), "sha256:".len() + 64);
    assert_eq!(runtime.cache_hits_and_misses().0, 0);
    assert!(runtime.cache_hits_and_misses().1 > 0);

    let next = Runtime::new(brief(), Some(&folder.path().join("cache"))).unwrap();
    let again = next.load(&bytes).await.unwrap();
    assert_eq!(again.digest(), one.digest());
    assert!(next.cache_hits_and_misses().0 > 0 && next.cache_hits_and_misses().1 == 0);
    let (_, returned) = next.perform(&again, call("key"), EVENT_MS, Recorder::default()).await;
    assert_eq!(returned, completed());
}

#[test]
fn the_cache_folder_is_ours_alone_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    Runtime::new(brief(), Some(&cache)).unwrap();
    assert_eq!(cache.metadata().unwrap().permissions().mode() & 0o777, 0o700);

    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o750)).unwrap();
    let error = Runtime::new(brief(), Some(&cache)).unwrap_err().to_string();
    assert!(error.contains("mode 750") && error.contains("Remove it"), "{error}");

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).unwrap();
    assert!(
        Runtime::new(brief(), Some(&link))
            .unwrap_err()
            .to_string()
            .contains("not a folder")
    );

    let nowhere = folder.path().join("no/such");
    assert!(matches!(
        Runtime::new(brief(), Some(&nowhere)),
        Err(RuntimeError::CacheFolder { .. })
    ));
}

fn described(module: &str) -> Result<String, DescribeError> {
    describe(&handmade::text(module))
}

#[test]
fn a_module_describes_itself_with_every_import_trapping() {
    let good = r#"(module
        (import "oncegate:connector/http@0.1.0" "send" (func $send (param i32)))
        (memory (export "memory") 1) (data (i32.const 8) "{\"a\":1}")
        (func (export "oncegate_describe") (result i64) (i64.const 0x0000000800000007)))"#;
    assert_eq!(described(good).unwrap(), r#"{"a":1}"#);
    let curious = good.replace("(i64.const", "(call $send (i32.const 1)) (i64.const");
    assert!(matches!(described(&curious), Err(DescribeError::Failed(_))));
}

#[test]
fn a_module_that_does_not_describe_itself_says_why() {
    let with = |body: &str| {
        described(&format!(
            r#"(module (memory (export "memory") 1) (func (export "oncegate_describe") (result i64) {body}))"#
        ))
    };
    assert!(
        matches!(with("(loop $ever (br $ever)) unreachable"), Err(DescribeError::Failed(why)) if why.contains("too long"))
    );
    assert!(matches!(with("unreachable"), Err(DescribeError::Failed(why)) if why.contains("panicked")));
    assert!(matches!(
        with("(i64.const 0x0000fff0000000ff)"),
        Err(DescribeError::Unreadable(_))
    ));
    assert!(matches!(
        with("(i64.const 0xfffffff0ffffffff)"),
        Err(DescribeError::Unreadable(_))
    ));
    assert!(matches!(
        with("(i32.store8 (i32.const 0) (i32.const 255)) (i64.const 1)"),
        Err(DescribeError::Unreadable(_))
    ));
    assert!(matches!(described("(module)"), Err(DescribeError::NoExport(_))));
    assert!(matches!(described("(component)"), Err(DescribeError::Compile(_))));
}

#[test]
fn a_description_is_read_up_to_its_limit() {
    let of = |bytes: usize| {
        described(&format!(
            r#"(module (memory (export "memory") 80) (func (export "oncegate_describe") (result i64) (i64.const {bytes})))"#
        ))
    };
    assert_eq!(of(4 << 20).unwrap().len(), 4 << 20);
    let error = of((4 << 20) + 1).unwrap_err().to_string();
    assert!(error.contains("it has 4194305 bytes; 4194304 are allowed"), "{error}");
}
