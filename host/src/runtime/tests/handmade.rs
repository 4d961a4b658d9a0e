//! Guests written by hand, for what no honest toolchain would make.

/// A guest, in WebAssembly text, that fits the interface of `wit/`. Its memory has the return area at 1024, free room from
/// 2048 on, and `{"ok":true}` at 16.
pub struct Guest {
    /// Component-level imports beside ours.
    pub imports: String,
    /// Component-level lines that make core functions of them.
    pub lowered: String,
    /// `(export …)` items of the core instance `host`, which the guest imports from.
    pub host: String,
    /// Core imports of the guest, from `host`.
    pub uses: String,
    /// Functions and globals of the core module, and its `(start …)`.
    pub extra: String,
    /// The body of `perform`: leaves the address of the result on the stack.
    pub perform: String,
    /// The body of `lookup`: leaves the address of the result on the stack.
    pub lookup: String,
    /// Pages of memory at the start.
    pub pages: u32,
}

/// Returns `completed("{\"ok\":true}")`.
pub const OK: &str =
    "(i32.store (i32.const 1036) (i32.const 16)) (i32.store (i32.const 1040) (i32.const 11)) (i32.const 1024)";

/// Returns `absent`.
pub const ABSENT: &str = "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.const 1024)";

/// Computes for ever.
pub const LOOP: &str = "(loop $ever (br $ever)) unreachable";

/// `log.write(info, "a line of a log", [])`.
pub const LOG: &str = "(call $log (i32.const 1) (i32.const 32) (i32.const 15) (i32.const 0) (i32.const 0))";

impl Default for Guest {
    fn default() -> Guest {
        Guest {
            imports: String::new(),
            lowered: String::new(),
            host: String::new(),
            uses: String::new(),
            extra: String::new(),
            perform: OK.to_owned(),
            lookup: ABSENT.to_owned(),
            pages: 4,
        }
    }
}

/// `POST` of `len` bytes at `at` to the endpoint `api`, path `/x`; the answer is left at 1200.
pub fn send(at: u32, len: u32) -> String {
    format!(
        "(call $send (i32.const 48) (i32.const 4) (i32.const 56) (i32.const 3) (i32.const 64) (i32.const 2)
           (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
           (i32.const 1) (i32.const {at}) (i32.const {len}) (i32.const 1200))"
    )
}

impl Guest {
    pub fn performing(body: &str) -> Guest {
        Guest {
            perform: body.to_owned(),
            ..Guest::default()
        }
    }

    pub fn build(&self) -> Vec<u8> {
        wat::parse_str(self.text()).unwrap()
    }

    pub fn text(&self) -> String {
        let Guest {
            imports,
            lowered,
            host,
            uses,
            extra,
            perform,
            lookup,
            pages,
        } = self;
        format!(
            r#"(component
  (import "oncegate:connector/http@0.1.0" (instance $http
    (type $body-t (variant (case "none") (case "bytes" (list u8))))
    (export "body" (type $body (eq $body-t)))
    (type $request-t (record (field "method" string) (field "endpoint" string) (field "path" string)
      (field "query" (list (tuple string string))) (field "headers" (list (tuple string string))) (field "body" $body)))
    (export "request" (type $request (eq $request-t)))
    (type $response-t (record (field "status" u16) (field "headers" (list (tuple string string))) (field "body" (list u8))))
    (export "response" (type $response (eq $response-t)))
    (type $error-t (variant (case "denied" string) (case "nothing-sent" string) (case "maybe-sent" string)))
    (export "send-error" (type $error (eq $error-t)))
    (export "send" (func (param "request" $request) (result (result $response (error $error)))))))
  (import "oncegate:connector/log@0.1.0" (instance $log
    (type $level-t (enum "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level-t)))
    (export "write" (func (param "level" $level) (param "message" string) (param "fields" (list (tuple string string)))))))
  {imports}
  (core module $room
    (memory (export "memory") {pages})
    (global $free (mut i32) (i32.const 65536))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $free (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.get $free)
      (global.set $free (i32.add (global.get $free) (local.get 3)))))
  (core instance $room (instantiate $room))
  (alias core export $room "memory" (core memory $memory))
  (alias core export $room "realloc" (core func $realloc))
  (core func $send (canon lower (func $http "send") (memory $memory) (realloc $realloc)))
  (core func $write (canon lower (func $log "write") (memory $memory)))
  {lowered}
  (core module $guest
    (import "room" "memory" (memory {pages}))
    (import "host" "send" (func $send
      (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "host" "log" (func $log (param i32 i32 i32 i32 i32)))
    {uses}
    (data (i32.const 16) "{{\"ok\":true}}")
    (data (i32.const 32) "a line of a log")
    (data (i32.const 48) "POST")
    (data (i32.const 56) "api")
    (data (i32.const 64) "/x")
    {extra}
    (func (export "perform") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) {perform})
    (func (export "lookup") (param i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32) (result i32) {lookup}))
  (core instance $host
    (export "send" (func $send)) (export "log" (func $write)) {host})
  (core instance $run (instantiate $guest (with "room" (instance $room)) (with "host" (instance $host))))
  {ACTIONS}
)"#
        )
    }
}

/// The exports, lifted from the core instance `run`.
const ACTIONS: &str = r#"
  (type $call (record (field "action" string) (field "input" string) (field "key" string) (field "settings" string)))
  (type $problem (record (field "code" string) (field "message" string) (field "fields" (list (tuple string string)))
    (field "retry-after-ms" (option u64))))
  (type $failure (variant (case "rejected" $problem) (case "unauthorized" $problem) (case "temporary" $problem)
    (case "unsure" $problem)))
  (type $done (variant (case "completed" string)))
  (type $doubt (record (field "first-sent-ms" u64) (field "status" (option u16))))
  (type $matched (enum "key" "content"))
  (type $effect (record (field "output" string) (field "reference" string) (field "matched" $matched)))
  (type $finding (variant (case "found" $effect) (case "absent") (case "unsure" string)))
  (type $perform-t (func (param "call" $call) (result (result $done (error $failure)))))
  (type $lookup-t (func (param "call" $call) (param "doubt" $doubt) (result $finding)))
  (func $perform (type $perform-t)
    (canon lift (core func $run "perform") (memory $memory) (realloc $realloc)))
  (func $lookup (type $lookup-t)
    (canon lift (core func $run "lookup") (memory $memory) (realloc $realloc)))
  (instance $actions
    (export "call" (type $call)) (export "problem" (type $problem)) (export "failure" (type $failure))
    (export "done" (type $done)) (export "doubt" (type $doubt)) (export "matched" (type $matched))
    (export "effect" (type $effect)) (export "finding" (type $finding))
    (export "perform" (func $perform)) (export "lookup" (func $lookup)))
  (export "oncegate:connector/actions@0.1.0" (instance $actions))
"#;

/// Any WebAssembly text.
pub fn text(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}
