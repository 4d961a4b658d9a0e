//! The runtime by itself: a fresh instance, one call of `perform`, one `http.send` that is answered at once by this process.
//! No ledger, no network, no other call beside it.

use super::figures::rounded;
use super::percentile::Percentiles;
use crate::catalog::BUILTIN;
use crate::clock::monotonic_ns;
use crate::runtime::{
    Call, Component, Door, LogLevel, PerformReturn, Request, Response, Runtime, RuntimeLimits, SendError,
};
use anyhow::{Context, bail};
use serde::Serialize;

/// Calls that are not counted, and those that are.
const WARM_UP_CALLS: usize = 1_000;
const CALLS: usize = 20_000;
/// What is given up when calls are slow, as in a build for tests.
const CALLING_NS_MAX: u64 = 5_000_000_000;
/// An event of 2026.
const EVENT_MS: i64 = 1_780_000_000_000;

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Alone {
    /// Marks the line.
    pub runtime: bool,
    /// How many calls were measured.
    pub calls: usize,
    /// One call, in microseconds.
    pub call_p50_us: f64,
    /// The same.
    pub call_p99_us: f64,
}

/// A destination that has answered before anybody asks.
struct Answered;

impl Door for Answered {
    async fn send(&mut self, _request: Request) -> Result<Response, SendError> {
        Ok(Response {
            status: 201,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: br#"{"id":"effect-4711"}"#.to_vec(),
        })
    }

    fn log(&mut self, _level: LogLevel, _message: String, _fields: Vec<(String, String)>) {}
}

/// Calls the built-in `http` connector again and again.
///
/// # Errors
/// There is no runtime, or the connector does not do its work.
pub fn run() -> anyhow::Result<Alone> {
    let waiting = tokio::runtime::Runtime::new().context("cannot start the async runtime")?;
    waiting.block_on(async {
        let runtime = Runtime::new(RuntimeLimits::default(), None)?;
        let http = BUILTIN.iter().find(|connector| connector.name == "http");
        let component = runtime
            .load(http.context("the http connector is not built in")?.bytes)
            .await?;
        let (begun_ns, mut taken_ns) = (monotonic_ns(), Vec::with_capacity(CALLS));
        for nth in 0..WARM_UP_CALLS + CALLS {
            let ns = call(&runtime, &component).await?;
            if nth >= WARM_UP_CALLS {
                taken_ns.push(ns);
            }
            if monotonic_ns() - begun_ns > CALLING_NS_MAX && !taken_ns.is_empty() {
                break;
            }
        }
        let calls = taken_ns.len();
        let taken = Percentiles::of(taken_ns);
        let us = |ns: u64| rounded(ns as f64 / 1e3);
        Ok(Alone {
            runtime: true,
            calls,
            call_p50_us: us(taken.p50),
            call_p99_us: us(taken.p99),
        })
    })
}

/// One call; how long it took, in nanoseconds.
async fn call(runtime: &Runtime, component: &Component) -> anyhow::Result<u64> {
    let call = Call {
        action: "send".to_owned(),
        input: r#"{"path":"/effects/1","body":{"id":"bench-000000000001","email":"ada@example.com"}}"#.to_owned(),
        key: "og1_bench".to_owned(),
        settings: "{}".to_owned(),
    };
    let from_ns = monotonic_ns();
    let (_, returned) = runtime.perform(component, call, EVENT_MS, Answered).await;
    let taken_ns = monotonic_ns() - from_ns;
    match returned {
        Ok(PerformReturn::Completed(_)) => Ok(taken_ns),
        Ok(other) => bail!("the http connector said {other:?}"),
        Err(stop) => bail!("the http connector was stopped: {stop}"),
    }
}
