//! What the host keeps for one running guest, and the two interfaces of ours that the guest can call.

use super::bindings::oncegate::connector::{http, log as wit_log};
use super::door::{AnyDoor, LogLevel, Request, SendError};
use super::limiter::Limiter;
use super::log::{Fields, LogBudget};
use super::meter::{CpuMeter, CpuSpent, Turn};
use super::wasi::Wasi;
use std::sync::Arc;

/// The data of a call's store.
pub(super) struct Guest {
    pub(super) door: Box<dyn AnyDoor>,
    pub(super) wasi: Wasi,
    pub(super) limiter: Limiter,
    pub(super) log: LogBudget,
    pub(super) meter: Arc<CpuMeter>,
    /// Set once `perform` or `lookup` is called. Code that runs while the component is instantiated must not send: a call
    /// that ends there as *busy* counts as never begun.
    pub(super) called: bool,
}

impl Guest {
    fn say(&mut self, level: LogLevel, message: String, fields: Fields) {
        self.log.say(&mut *self.door, level, message, fields);
    }

    /// Moves what the guest printed into the log, so that it stands before what comes next. Lines without a word, which set
    /// others apart on a terminal, say nothing in a log.
    pub(super) fn log_output(&mut self, rest: bool) {
        let (stdout, stderr) = (
            self.wasi.output().take_stdout(rest),
            self.wasi.output().take_stderr(rest),
        );
        for (level, lines) in [(LogLevel::Info, stdout), (LogLevel::Warn, stderr)] {
            for line in lines.into_iter().filter(|line| !line.trim().is_empty()) {
                self.say(level, line, Vec::new());
            }
        }
    }
}

impl http::Host for Guest {
    async fn send(&mut self, request: http::Request) -> Result<http::Response, http::SendError> {
        self.log_output(false);
        if !self.called {
            return Err(http::SendError::Denied(
                "a request can be sent only while perform or lookup runs, not while the component starts".to_owned(),
            ));
        }
        match self.door.send(request.into()).await {
            Ok(response) => Ok(http::Response {
                status: response.status,
                headers: response.headers,
                body: response.body,
            }),
            Err(error) => Err(error.into()),
        }
    }
}

impl wit_log::Host for Guest {
    /// What is handed over costs time, and code that does nothing else is never asked for its turn: so it is asked here.
    async fn write(&mut self, level: wit_log::Level, message: String, fields: Fields) -> wasmtime::Result<()> {
        self.log_output(false);
        self.say(level.into(), message, fields);
        match self.meter.turn() {
            Turn::GoesOn => {}
            Turn::Over => tokio::task::yield_now().await,
            Turn::Spent => return Err(CpuSpent.into()),
        }
        Ok(())
    }
}

impl From<http::Request> for Request {
    fn from(request: http::Request) -> Request {
        let (body, has_body) = match request.body {
            http::Body::None => (Vec::new(), false),
            http::Body::Bytes(bytes) => (bytes, true),
        };
        Request {
            method: request.method,
            endpoint: request.endpoint,
            path: request.path,
            query: request.query,
            headers: request.headers,
            body,
            has_body,
        }
    }
}

impl From<SendError> for http::SendError {
    fn from(error: SendError) -> http::SendError {
        match error {
            SendError::Denied(why) => http::SendError::Denied(why),
            SendError::NothingSent(why) => http::SendError::NothingSent(why),
            SendError::MaybeSent(why) => http::SendError::MaybeSent(why),
        }
    }
}

impl From<wit_log::Level> for LogLevel {
    fn from(level: wit_log::Level) -> LogLevel {
        match level {
            wit_log::Level::Debug => LogLevel::Debug,
            wit_log::Level::Info => LogLevel::Info,
            wit_log::Level::Warn => LogLevel::Warn,
            wit_log::Level::Error => LogLevel::Error,
        }
    }
}
