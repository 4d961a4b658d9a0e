//! The connector alone, called by the runtime, where what it says is not yet judged by anybody.

use oncegate::runtime::{
    Call, Component, Door, GuestDoubt, LogLevel, LookupReturn, PerformReturn, Request, Response, Runtime, SendError,
    Stop,
};

/// The connector under test.
pub struct Called {
    runtime: Runtime,
    component: Component,
}

/// A line of the log: how much it matters, its words, and names and values beside them.
pub type Line = (LogLevel, String, Vec<(String, String)>);

/// Answers every request like this, and keeps what came.
pub struct Answering {
    status: u16,
    body: Vec<u8>,
    /// What was sent.
    pub requests: Vec<Request>,
    /// What was logged.
    pub log: Vec<Line>,
}

impl Door for Answering {
    async fn send(&mut self, request: Request) -> Result<Response, SendError> {
        self.requests.push(request);
        Ok(Response {
            status: self.status,
            headers: Vec::new(),
            body: self.body.clone(),
        })
    }

    fn log(&mut self, level: LogLevel, message: String, fields: Vec<(String, String)>) {
        self.log.push((level, message, fields));
    }
}

impl Called {
    /// Loads it; it was compiled before.
    pub async fn of(wasm: &[u8]) -> Called {
        let runtime = oncegate_tests::compiled::runtime_ahead();
        let component = runtime.load(wasm).await.unwrap();
        Called { runtime, component }
    }

    /// Creates an invoice whose answer is this.
    pub async fn perform(&self, status: u16, body: &str) -> (Answering, Result<PerformReturn, Stop>) {
        let input = r#"{"customer": 1, "currency": "EUR", "lines": [{"text": "Tea", "amount": 12.30}]}"#;
        self.perform_with(input, status, body).await
    }

    /// The same with an input of one's own.
    pub async fn perform_with(&self, input: &str, status: u16, body: &str) -> (Answering, Result<PerformReturn, Stop>) {
        let (call, door) = (call("create-invoice", input), answering(status, body));
        self.runtime.perform(&self.component, call, 0, door).await
    }

    /// A case of what an author may do by mistake.
    pub async fn odd(&self, input: &str) -> (Answering, Result<PerformReturn, Stop>) {
        let (call, door) = (call("odd", input), answering(200, "{}"));
        self.runtime.perform(&self.component, call, 0, door).await
    }

    /// The same, in a lookup.
    pub async fn odd_lookup(&self, input: &str) -> (Answering, Result<LookupReturn, Stop>) {
        let (call, door) = (call("odd", input), answering(200, "{}"));
        let doubt = GuestDoubt {
            first_sent_ms: 1,
            status: None,
        };
        self.runtime.lookup(&self.component, call, doubt, 0, door).await
    }
}

fn call(action: &str, input: &str) -> Call {
    Call {
        action: action.to_owned(),
        input: input.to_owned(),
        key: "og1_key".to_owned(),
        settings: "{}".to_owned(),
    }
}

fn answering(status: u16, body: &str) -> Answering {
    Answering {
        status,
        body: body.as_bytes().to_vec(),
        requests: Vec::new(),
        log: Vec::new(),
    }
}
