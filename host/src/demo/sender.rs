//! Sends the leads as a website would: several at a time, some twice at the same moment, and again when nobody answers.

use super::leads::Lead;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Leads on their way at the same time.
const AT_ONCE: usize = 8;
/// How often a delivery that nobody took is sent again, and how long between: 20 seconds in all.
const AGAIN_MAX: usize = 200;
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// How far the sending is.
#[derive(Default)]
pub struct Progress {
    next: AtomicUsize,
    /// Leads taken in by the host.
    pub taken: AtomicUsize,
    /// Deliveries without an id that the host refused.
    pub refused: AtomicUsize,
    /// Deliveries that nobody took, however often they were sent.
    pub given_up: AtomicUsize,
}

/// Sends everything; returns when the last one is answered.
pub fn send(hook: &str, leads: &[Lead], without_id: &[Value], progress: &Progress) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(5)))
        .build()
        .into();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(lead) = leads.get(progress.next.fetch_add(1, Ordering::Relaxed)) {
                    send_lead(&agent, hook, lead, progress);
                }
            });
        }
    });
    for body in without_id {
        let refused = deliver(&agent, hook, body) == Some(400);
        progress.refused.fetch_add(usize::from(refused), Ordering::Relaxed);
    }
}

fn send_lead(agent: &ureq::Agent, hook: &str, lead: &Lead, progress: &Progress) {
    let statuses = thread::scope(|scope| {
        let twin = lead.doubled.then(|| scope.spawn(|| deliver(agent, hook, &lead.body)));
        let first = deliver(agent, hook, &lead.body);
        [Some(first), twin.and_then(|twin| twin.join().ok())]
    });
    for status in statuses.into_iter().flatten() {
        let counter = if status == Some(202) {
            &progress.taken
        } else {
            &progress.given_up
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(other) = &lead.conflict {
        deliver(agent, hook, other);
    }
}

/// Sends until somebody answers with something other than *later*.
fn deliver(agent: &ureq::Agent, hook: &str, body: &Value) -> Option<u16> {
    for _ in 0..AGAIN_MAX {
        match agent
            .post(hook)
            .header("content-type", "application/json")
            .send(body.to_string())
        {
            Ok(answer) if !matches!(answer.status().as_u16(), 429 | 500..) => return Some(answer.status().as_u16()),
            Ok(_) | Err(_) => thread::sleep(AGAIN_AFTER),
        }
    }
    None
}
