//! The closed WASI: the same step sees the same world on every attempt, and nothing of ours.

use super::*;
use handmade::{Guest, OK, send};

const IMPORTS: &str = r#"
  (import "wasi:clocks/wall-clock@0.2.3" (instance $wall
    (type $datetime-t (record (field "seconds" u64) (field "nanoseconds" u32)))
    (export "datetime" (type $datetime (eq $datetime-t)))
    (export "now" (func (result $datetime)))))
  (import "wasi:io/poll@0.2.0" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $mono
    (alias outer 1 $pollable (type $p)) (export "pollable" (type $pe (eq $p)))
    (export "now" (func (result u64)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pe))))))
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))
    (export "get-random-u64" (func (result u64)))))
  (import "wasi:random/insecure@0.2.0" (instance $insecure (export "get-insecure-random-u64" (func (result u64)))))
  (import "wasi:random/insecure-seed@0.2.0" (instance $seed (export "insecure-seed" (func (result (tuple u64 u64))))))
  (import "wasi:cli/environment@0.2.0" (instance $env
    (export "get-environment" (func (result (list (tuple string string)))))
    (export "get-arguments" (func (result (list string))))
    (export "initial-cwd" (func (result (option string))))))
  (import "wasi:filesystem/types@0.2.0" (instance $files (export "descriptor" (type (sub resource)))))
  (alias export $files "descriptor" (type $descriptor))
  (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
    (alias outer 1 $descriptor (type $d)) (export "descriptor" (type $de (eq $d)))
    (export "get-directories" (func (result (list (tuple (own $de) string)))))))
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
  (alias export $error "error" (type $error-r))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "input-stream" (type $input (sub resource)))
    (export "output-stream" (type $output (sub resource)))
    (alias outer 1 $error-r (type $e)) (export "error" (type $ee (eq $e)))
    (type $failed-t (variant (case "last-operation-failed" (own $ee)) (case "closed")))
    (export "stream-error" (type $failed (eq $failed-t)))
    (export "[method]input-stream.blocking-read"
      (func (param "self" (borrow $input)) (param "len" u64) (result (result (list u8) (error $failed)))))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $output)) (param "contents" (list u8)) (result (result (error $failed)))))))
  (alias export $streams "input-stream" (type $input))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:cli/stdin@0.2.0" (instance $stdin
    (alias outer 1 $input (type $i)) (export "input-stream" (type $ie (eq $i)))
    (export "get-stdin" (func (result (own $ie))))))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $output (type $o)) (export "output-stream" (type $oe (eq $o)))
    (export "get-stdout" (func (result (own $oe))))))
  (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
"#;

/// Core function, instance, function, core signature.
type Asked = (&'static str, &'static str, &'static str, &'static str);

const ASKED: [Asked; 18] = [
    ("wall", "wall", "now", "(param i32)"),
    ("tick", "mono", "now", "(result i64)"),
    ("timer", "mono", "subscribe-duration", "(param i64) (result i32)"),
    ("block", "poll", "[method]pollable.block", "(param i32)"),
    ("bytes", "random", "get-random-bytes", "(param i64 i32)"),
    ("number", "random", "get-random-u64", "(result i64)"),
    ("insecure", "insecure", "get-insecure-random-u64", "(result i64)"),
    ("seed", "seed", "insecure-seed", "(param i32)"),
    ("env", "env", "get-environment", "(param i32)"),
    ("args", "env", "get-arguments", "(param i32)"),
    ("cwd", "env", "initial-cwd", "(param i32)"),
    ("dirs", "preopens", "get-directories", "(param i32)"),
    ("stdin", "stdin", "get-stdin", "(result i32)"),
    (
        "read",
        "streams",
        "[method]input-stream.blocking-read",
        "(param i32 i64 i32)",
    ),
    ("stdout", "stdout", "get-stdout", "(result i32)"),
    (
        "print",
        "streams",
        "[method]output-stream.blocking-write-and-flush",
        "(param i32 i32 i32 i32)",
    ),
    ("exit", "exit", "exit", "(param i32)"),
    ("tock", "mono", "now", "(result i64)"),
];

fn asking(perform: &str) -> Guest {
    let each = |make: &dyn Fn(&Asked) -> String| ASKED.iter().map(make).collect::<String>();
    Guest {
        imports: IMPORTS.to_owned(),
        lowered: each(&|(name, from, function, _)| {
            format!(
                "(core func ${name} (canon lower (func ${from} \"{function}\") (memory $memory) (realloc $realloc)))\n"
            )
        }),
        host: each(&|(name, ..)| format!("(export \"{name}\" (func ${name}))\n")),
        uses: each(&|(name, _, _, signature)| format!("(import \"host\" \"{name}\" (func ${name} {signature}))\n")),
        perform: perform.to_owned(),
        ..Guest::default()
    }
}

/// Asks everything and sends the answers as a request body of 128 bytes.
fn curious() -> Guest {
    let asks = "
      (call $wall (i32.const 2048))
      (i64.store (i32.const 2064) (call $tick))
      (i64.store (i32.const 2072) (call $tick))
      (call $block (call $timer (i64.const 3600000000000)))
      (i64.store (i32.const 2080) (call $tock))
      (i64.store (i32.const 2088) (call $number))
      (i64.store (i32.const 2096) (call $insecure))
      (call $seed (i32.const 2104))
      (call $bytes (i64.const 8) (i32.const 1300))
      (i64.store (i32.const 2120) (i64.load (i32.load (i32.const 1300))))
      (call $env (i32.const 1300)) (i32.store (i32.const 2128) (i32.load (i32.const 1304)))
      (call $args (i32.const 1300)) (i32.store (i32.const 2132) (i32.load (i32.const 1304)))
      (call $dirs (i32.const 1300)) (i32.store (i32.const 2136) (i32.load (i32.const 1304)))
      (call $cwd (i32.const 2140))
      (call $read (call $stdin) (i64.const 10) (i32.const 2152))";
    asking(&format!("{asks} {} {OK}", send(2048, 112)))
}

async fn seen(runtime: &Runtime, component: &Component, key: &str, at_ms: i64) -> Vec<u8> {
    let (mut door, returned) = runtime.perform(component, call(key), at_ms, Recorder::default()).await;
    assert_eq!(returned, completed());
    door.requests.remove(0).body
}

fn number(seen: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(seen[at..at + 8].try_into().unwrap())
}

fn small_number(seen: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(seen[at..at + 4].try_into().unwrap())
}

#[tokio::test]
async fn the_closed_world_answers_the_same_for_the_same_step() {
    let (runtime, component) = loaded(brief(), &curious()).await;
    let first = seen(&runtime, &component, "og1_a", EVENT_MS).await;
    let again = seen(&runtime, &component, "og1_a", EVENT_MS).await;
    assert_eq!(first, again, "the same step builds the same request");

    assert_eq!(
        (number(&first, 0), small_number(&first, 8)),
        (1_000_000_000, 123_000_000)
    );
    assert_eq!(
        (number(&first, 16), number(&first, 24)),
        (0, 1_000),
        "the monotonic clock counts looks"
    );
    assert!(
        number(&first, 32) >= 3_600_000_000_000,
        "an hour's sleep is over at once, and it shows"
    );
    assert_eq!(
        (small_number(&first, 80), small_number(&first, 84)),
        (0, 0),
        "no environment, no arguments"
    );
    assert_eq!((small_number(&first, 88), first[92]), (0, 0), "no folders");
    assert_eq!((first[104], first[108]), (1, 1), "standard input is closed");

    let other = seen(&runtime, &component, "og1_b", EVENT_MS).await;
    for at in [40, 48, 56, 64, 72] {
        assert_ne!(
            number(&first, at),
            number(&other, at),
            "another step has other randomness, at {at}"
        );
    }
    let numbers: std::collections::BTreeSet<u64> = [40, 48, 56, 64, 72].map(|at| number(&first, at)).into();
    assert_eq!(numbers.len(), 5, "the stream does not repeat");
}

#[tokio::test]
async fn what_a_guest_prints_comes_to_its_log_before_what_follows() {
    let print = "(call $print (call $stdout) (i32.const 32) (i32.const 15) (i32.const 1300))
        (i32.store8 (i32.const 3000) (i32.const 10))
        (call $print (call $stdout) (i32.const 3000) (i32.const 1) (i32.const 1300))
        (call $log (i32.const 3) (i32.const 48) (i32.const 4) (i32.const 0) (i32.const 0))
        (call $print (call $stdout) (i32.const 56) (i32.const 3) (i32.const 1300))";
    let (door, returned) = perform(brief(), &asking(&format!("{print} {OK}"))).await;
    assert_eq!(returned, completed());
    let expected = [
        (LogLevel::Info, "a line of a log"),
        (LogLevel::Error, "POST"),
        (LogLevel::Info, "api"),
    ];
    assert_eq!(door.log, expected.map(|(level, message)| (level, message.to_owned())));
}

#[tokio::test]
async fn a_flood_of_output_is_bounded_and_harms_nobody() {
    let print = "(local $left i32) (local $out i32) (local.set $left (i32.const 2000)) (local.set $out (call $stdout))
        (memory.fill (i32.const 65536) (i32.const 65) (i32.const 4000)) (i32.store8 (i32.const 69535) (i32.const 10))
        (loop $more (call $print (local.get $out) (i32.const 65536) (i32.const 4000) (i32.const 1300))
          (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))";
    let (door, returned) = perform(brief(), &asking(&format!("{print} {OK}"))).await;
    assert_eq!(returned, completed());
    let bytes: usize = door.log.iter().map(|(_, message)| message.len()).sum();
    assert!(bytes > 30_000 && bytes < (64 << 10) + 200, "{bytes}");
}

#[tokio::test]
async fn leaving_by_exit_is_a_fault_of_the_connector() {
    let (_, returned) = perform(brief(), &asking("(call $exit (i32.const 1)) unreachable")).await;
    assert_eq!(
        returned,
        Err(Stop::Trap("it exited with status 1 instead of returning".to_owned()))
    );
}

#[tokio::test]
async fn too_much_randomness_at_once_is_refused() {
    let (_, returned) = perform(
        brief(),
        &asking("(call $bytes (i64.const 1048577) (i32.const 1300)) unreachable"),
    )
    .await;
    assert!(
        matches!(&returned, Err(Stop::Trap(why)) if why.contains("random bytes")),
        "{returned:?}"
    );
}

/// Does this so many times.
fn again(times: u32, what: &str) -> String {
    format!(
        "(local $left i32) (local.set $left (i32.const {times}))
         (loop $more {what} (br_if $more (local.tee $left (i32.sub (local.get $left) (i32.const 1))))) {OK}"
    )
}

#[tokio::test]
async fn a_call_holds_so_many_handles_and_is_told_when_it_wants_more() {
    let of_the_host = |times: u32| asking(&again(times, "(drop (call $stdout))"));
    let its_own = |times: u32| Guest {
        lowered: "(type $thing (resource (rep i32))) (core func $new (canon resource.new $thing))".to_owned(),
        host: r#"(export "new" (func $new))"#.to_owned(),
        uses: r#"(import "host" "new" (func $new (param i32) (result i32)))"#.to_owned(),
        perform: again(times, "(drop (call $new (i32.const 1)))"),
        ..Guest::default()
    };
    let why = "it held more than 1000 handles at the same time (streams and other resources): it must drop what it \
               does not need any more";
    for (at, past) in [
        (of_the_host(1_000), of_the_host(1_001)),
        (its_own(1_000), its_own(1_001)),
    ] {
        assert_eq!(perform(brief(), &at).await.1, completed());
        assert_eq!(perform(brief(), &past).await.1, Err(Stop::Trap(why.to_owned())));
    }
}
