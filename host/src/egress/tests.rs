//! The egress against raw servers on loopback. The server's own count of bytes is the judge, not ours.

mod counts;
mod limits;
mod order;
mod pool;
mod property;
mod secrets;
mod server;
mod tls;

use super::*;
use crate::clock::{Clock, ManualClock, SystemClock};
use server::Server;

const SECRET: &str = "s3cr3t/token+with=signs";

fn egress() -> Egress {
    Egress::new(Arc::new(SystemClock))
}

/// A place on loopback, opened on purpose.
fn place(server: &Server) -> Place {
    Place::new(&server.origin(), true, &["127.0.0.1/32"]).unwrap()
}

fn request(place: &Place, method: &str, path: &str, body: &[u8]) -> Outgoing {
    Outgoing {
        method: method.into(),
        origin: place.origin.to_string(),
        path_and_query: path.into(),
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.to_vec(),
    }
}

fn permit(send_by_ms: i64, send_by_boot_ms: i64) -> Permit {
    let step = oncegate_domain::id::Id::new(0, [0; 10]);
    Permit::Write(Intent::for_test(step, send_by_ms, send_by_boot_ms))
}

fn write_permit() -> Permit {
    let clock = SystemClock;
    permit(clock.now_ms() + 5_000, clock.boot_ms() + 5_000)
}

/// For everything that does not wait for the timeout: a busy machine must not decide a test.
fn patient() -> ExchangeLimits {
    ExchangeLimits::default()
}

/// For tests of the timeout.
fn quick() -> ExchangeLimits {
    ExchangeLimits {
        timeout_ms: 400,
        ..ExchangeLimits::default()
    }
}

/// One write to the server, on a fresh connection.
async fn post(server: &Server, body: &[u8]) -> Exchange {
    post_within(server, body, &patient()).await
}

async fn post_within(server: &Server, body: &[u8], limits: &ExchangeLimits) -> Exchange {
    let (egress, place) = (egress(), place(server));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let out = request(&place, "POST", "/leads", body);
    egress
        .send(channel, &out, Credential::None, write_permit(), limits, &Mask::none())
        .await
}

async fn get(server: &Server, limits: &ExchangeLimits) -> Exchange {
    let (egress, place) = (egress(), place(server));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let out = request(&place, "GET", "/leads?id=1", b"");
    egress
        .send(channel, &out, Credential::None, Permit::Read, limits, &Mask::none())
        .await
}

fn assert_evidence(exchange: &Exchange, evidence: Evidence) {
    assert_eq!(exchange.evidence, evidence, "{exchange:?}");
    assert_eq!(
        exchange.answer.is_some(),
        matches!(evidence, Evidence::Answered(_)),
        "{exchange:?}"
    );
    assert_eq!(exchange.error.is_none(), exchange.answer.is_some(), "{exchange:?}");
}

fn tls_settings_of(root: &[u8]) -> Arc<rustls::ClientConfig> {
    let mut place = Place::new("https://localhost", false, &[]).unwrap();
    place.ca = Some(root.to_vec());
    super::tls::Settings::new().for_place(&place).unwrap()
}
