//! One connection of a service: read a request as far as its behaviour wants it, let the effect take place when it should,
//! answer or not, and end the connection as told.

use super::answer;
use super::judge::{Said, key_of};
use super::rules::{Facts, Known};
use super::script::{Answer, Behaviour, End, Read};
use super::seen::Seen;
use super::service::{Dedup, Service};
use super::shared::Shared;
use super::wire::{Came, Head, Reader};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long a kept connection may stay idle, and how long a request may take to come.
const IDLE_MS: Duration = Duration::from_secs(60);
/// How long the rest of a request is read after an early answer, so that closing does not tear the answer down.
const DRAIN_MS: Duration = Duration::from_millis(500);

/// A request once it was read as far as its behaviour wants.
struct Request {
    head: Head,
    key: Option<String>,
    body: Vec<u8>,
}

pub(super) struct Connection {
    pub shared: Arc<Shared>,
    pub service: Service,
    /// From 1, over all services.
    pub number: u64,
    /// False once the service refuses connections: then none is kept either.
    pub open: watch::Receiver<bool>,
}

impl Connection {
    /// Serves until either side ends it.
    pub async fn serve(mut self, stream: TcpStream) {
        // An answer in two writes must not wait for the other side's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        let at_connect = self.shared.with(|judge| {
            judge.connected(&self.service.name);
            judge.rules.at_connect(&self.service.name)
        });
        let mut reader = Reader::new(stream);
        if let Some(behaviour) = at_connect {
            sleep(Duration::from_millis(behaviour.answer_after_ms)).await;
            return end(reader.stream, behaviour.end).await;
        }
        loop {
            let begins = tokio::select! {
                begins = timeout(IDLE_MS, reader.begins()) => begins.unwrap_or(false),
                _ = self.open.wait_for(|open| !open) => false,
            };
            if !begins {
                return end(reader.stream, End::Close).await;
            }
            match self.exchange(&mut reader).await {
                End::Keep if *self.open.borrow() => {}
                End::Keep | End::Close => return end(reader.stream, End::Close).await,
                End::Reset => return end(reader.stream, End::Reset).await,
            }
        }
    }

    /// One request and its answer; says how the connection is to end.
    async fn exchange(&self, reader: &mut Reader) -> End {
        let mut seen = self.seen();
        let head = match timeout(IDLE_MS, reader.head()).await.unwrap_or(Came::Nothing) {
            Came::Head(head) => head,
            Came::Nothing => return End::Close,
            Came::Broken(why) => {
                seen.bytes = reader.request_bytes;
                self.shared.with(|judge| judge.saw(seen));
                return self.complain(reader, why).await;
            }
        };
        seen.method = head.method.clone();
        seen.path = head.target.clone();
        seen.headers = head.headers.clone();
        seen.bytes = reader.request_bytes;
        seen.key = key_of(&self.service, |name| head.header(name), None);
        let at = self.shared.with(|judge| judge.saw(seen));

        let early = self.at_head(&head);
        let wanted = match early.as_ref().map(|behaviour| behaviour.read) {
            Some(Read::Nothing | Read::Head) => 0,
            Some(Read::HalfBody) => head.body_bytes / 2,
            Some(Read::All) | None => head.body_bytes,
        };
        let Some(request) = self.rest(reader, head, wanted, at).await else {
            return End::Close;
        };
        let behaviour = match early {
            Some(behaviour) => behaviour,
            None => self.at_body(&request),
        };
        self.act(reader, request, behaviour).await
    }

    /// Reads so much of the body; `None` where the client left before.
    async fn rest(&self, reader: &mut Reader, head: Head, wanted: usize, at: Option<usize>) -> Option<Request> {
        let body = timeout(IDLE_MS, reader.body(wanted)).await.unwrap_or_default();
        let key = key_of(&self.service, |name| head.header(name), Some(&body));
        self.shared.with(|judge| {
            judge.update(at, |seen| {
                seen.whole = body.len() == head.body_bytes;
                seen.body = body.clone();
                seen.bytes = reader.request_bytes;
                seen.key = key.clone();
            });
        });
        (body.len() >= wanted).then_some(Request { head, key, body })
    }

    fn seen(&self) -> Seen {
        Seen {
            service: self.service.name.clone(),
            connection: self.number,
            at_ms: self.shared.elapsed_ms(),
            method: String::new(),
            path: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
            bytes: 0,
            whole: false,
            key: None,
        }
    }

    fn is_write(&self, head: &Head) -> bool {
        self.service.is_write(&head.method, &head.target)
    }

    fn at_head(&self, head: &Head) -> Option<Behaviour> {
        let key = key_of(&self.service, |name| head.header(name), None);
        let key = match &self.service.dedup {
            Dedup::None | Dedup::Header(_) => Known::Is(key.as_deref()),
            Dedup::Field(_) | Dedup::Natural(_) | Dedup::Repeat => Known::NotYet,
        };
        let facts = Facts {
            service: &self.service.name,
            write: self.is_write(head),
            key,
            body: Known::NotYet,
        };
        self.shared.with(|judge| judge.rules.at_head(&facts))
    }

    /// A rule, else the dice, else all goes well.
    fn at_body(&self, request: &Request) -> Behaviour {
        let text = String::from_utf8_lossy(&request.body);
        let name = &self.service.name;
        let (key, write) = (request.key.as_deref(), self.is_write(&request.head));
        let facts = Facts {
            service: name,
            write,
            key: Known::Is(key),
            body: Known::Is(Some(&text)),
        };
        let found = self.shared.with(|judge| {
            let ruled = judge.rules.at_body(&facts);
            ruled.or_else(|| write.then(|| judge.roll(name, key, &request.body)).flatten())
        });
        found.unwrap_or_default()
    }

    async fn act(&self, reader: &mut Reader, request: Request, behaviour: Behaviour) -> End {
        if let Some(ms) = behaviour.then_refuse_ms {
            self.shared.refuse_for(&self.service.name, ms).await;
        }
        let keep_alive = request.head.keep_alive;
        let rest_bytes = request.head.body_bytes - request.body.len();
        let usual = self.effect_and_wait(request, &behaviour).await;
        let written = answer::write(&mut reader.stream, &behaviour, (usual.status, &usual.body), keep_alive).await;
        let clean = written.unwrap_or(false) && rest_bytes == 0;
        if rest_bytes > 0 && behaviour.end != End::Reset {
            let _ = timeout(DRAIN_MS, reader.body(rest_bytes)).await;
        }
        match behaviour.end {
            End::Keep if clean => End::Keep,
            End::Keep => End::Close,
            end @ (End::Close | End::Reset) => end,
        }
    }

    /// Lets the effect take place and waits until the answer is due. An effect that is due later than an answer that does not
    /// need it goes on by itself, as behind a gateway that gave up waiting.
    async fn effect_and_wait(&self, request: Request, behaviour: &Behaviour) -> Said {
        let answer_after = Duration::from_millis(behaviour.answer_after_ms);
        let Some(effect_after_ms) = behaviour.effect_after_ms else {
            sleep(answer_after).await;
            return Said {
                status: 202,
                body: r#"{"taken":true}"#.to_owned(),
            };
        };
        let commit_after_ms = if self.is_write(&request.head) {
            self.service.commit_after_ms
        } else {
            0
        };
        let effect_after = Duration::from_millis(effect_after_ms + commit_after_ms);
        if effect_after > answer_after && behaviour.answer != Answer::Usual {
            let (shared, service) = (Arc::clone(&self.shared), self.service.clone());
            self.shared.later(async move {
                sleep(effect_after).await;
                carry_out(&shared, &service, &request);
            });
            sleep(answer_after).await;
            return Said {
                status: 202,
                body: String::new(),
            };
        }
        sleep(effect_after).await;
        let said = carry_out(&self.shared, &self.service, &request);
        sleep(answer_after.saturating_sub(effect_after)).await;
        said
    }

    async fn complain(&self, reader: &mut Reader, why: &str) -> End {
        let behaviour = Behaviour::status_with(400, &[], &format!("{{\"error\":\"{why}\"}}"));
        // The client may be gone: there is nobody to tell then.
        let _ = answer::write(&mut reader.stream, &behaviour, (400, ""), false).await;
        End::Close
    }
}

/// What a well-behaved service does and says.
fn carry_out(shared: &Shared, service: &Service, request: &Request) -> Said {
    let (method, target) = (&request.head.method, &request.head.target);
    if let Some(told) = service.scripted(method, target) {
        return shared.with(|judge| judge.scripted(&service.name, told, request.key.as_deref(), &request.body));
    }
    if service.takes(method, target) {
        let key = request.key.as_deref();
        let done = shared.with(|judge| judge.commit(&service.name, key, &request.body));
        return done.unwrap_or_else(|error| Said {
            status: 500,
            body: format!("{{\"error\":\"the journal cannot be written: {:?}\"}}", error.kind()),
        });
    }
    if let Some(key) = service.asked_for(method, target) {
        return shared.with(|judge| judge.look_up(&service.name, &key, target));
    }
    if service.searches(method, target) {
        return shared.with(|judge| judge.search(&service.name, &request.body));
    }
    if method == "GET" && target.split('?').next() == Some("/account") {
        return Said {
            status: 200,
            body: format!("{{\"account\":\"{}\"}}", service.name),
        };
    }
    Said {
        status: 404,
        body: r#"{"error":"no such path"}"#.to_owned(),
    }
}

async fn end(mut stream: TcpStream, end: End) {
    match end {
        End::Keep | End::Close => {
            let _ = stream.shutdown().await;
        }
        // Dropped with no time to linger, the kernel sends a reset.
        End::Reset => {
            let _ = stream.set_zero_linger();
        }
    }
}
