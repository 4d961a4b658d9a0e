//! TLS: who is believed, and which failures fall before the first byte of a request.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use super::server::{Peer, Stream};
use super::*;

/// A certificate authority and a certificate of it for `name`.
struct Authority {
    root: Vec<u8>,
    acceptor: TlsAcceptor,
}

fn authority(name: &str, versions: &[&'static rustls::SupportedProtocolVersion]) -> Authority {
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let root = ca.self_signed(&ca_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.into()])
        .unwrap()
        .signed_by(&key, &Issuer::new(ca, ca_key))
        .unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    Authority {
        root: root.der().to_vec(),
        acceptor: TlsAcceptor::from(Arc::new(config)),
    }
}

async fn serve<F, R>(authority: &Authority, script: F) -> Server
where
    F: Fn(Peer) -> R + Send + Sync + 'static,
    R: Future<Output = std::io::Result<Option<Peer>>> + Send + 'static,
{
    let acceptor = authority.acceptor.clone();
    let layer = move |tcp: tokio::net::TcpStream| {
        let accept = acceptor.accept(tcp);
        async { Ok(Box::new(accept.await?) as Box<dyn Stream>) }
    };
    Server::start_over(script, layer).await
}

fn secure_place(server: &Server, host: &str, ca: Option<&Authority>) -> Place {
    let mut place = Place::new(&format!("https://{host}:{}", server.port()), false, &["127.0.0.1/32"]).unwrap();
    place.ca = ca.map(|authority| authority.root.clone());
    place
}

async fn post_to(place: &Place, permit: Permit) -> Exchange {
    let egress = egress();
    let channel = egress.connect(place, Reuse::Never).await.unwrap();
    let out = request(place, "POST", "/", b"{}");
    egress
        .send(channel, &out, Credential::None, permit, &patient(), &Mask::none())
        .await
}

const BOTH: [&[&rustls::SupportedProtocolVersion]; 2] = [&[&rustls::version::TLS13], &[&rustls::version::TLS12]];

#[tokio::test]
async fn a_request_over_tls_is_answered_and_counted_above_tls() {
    for versions in BOTH {
        let authority = authority("localhost", versions);
        let server = serve(&authority, |mut peer| async {
            while !peer.request().await?.is_empty() {
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await?;
            }
            peer.stay()
        })
        .await;
        let (egress, place) = (egress(), secure_place(&server, "localhost", Some(&authority)));
        let mut handed = 0;
        for round in 0..3 {
            let channel = egress.connect(&place, Reuse::Pool("crm")).await.unwrap();
            assert_eq!(channel.is_reused(), round > 0);
            let out = request(&place, "POST", "/", b"{}");
            let exchange = egress
                .send(
                    channel,
                    &out,
                    Credential::None,
                    write_permit(),
                    &patient(),
                    &Mask::none(),
                )
                .await;
            assert_evidence(&exchange, Evidence::Answered(200));
            handed += exchange.bytes_handed;
            assert_eq!(handed, server.bytes().await);
        }
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn c6g_a_failed_handshake_sends_nothing() {
    let authority = authority("localhost", BOTH[0]);
    let other = self::authority("localhost", BOTH[0]);
    let server = serve(&authority, |peer| async { peer.stay() }).await;
    for (host, ca, says) in [
        ("localhost", None, "UnknownIssuer"),
        ("localhost", Some(&other), "certificate"),
        ("127.0.0.1", Some(&authority), "not valid for name"),
    ] {
        let error = egress()
            .connect(&secure_place(&server, host, ca), Reuse::Never)
            .await
            .unwrap_err();
        assert!(
            matches!(&error, NothingSent::Tls { why, .. } if why.contains(says)),
            "{error}"
        );
    }
    let plain = Server::start(|mut peer| async {
        peer.write("HTTP/1.1 400 Bad Request\r\n\r\n").await?;
        peer.close().await
    })
    .await;
    let error = egress()
        .connect(&secure_place(&plain, "localhost", Some(&authority)), Reuse::Never)
        .await
        .unwrap_err();
    assert!(matches!(error, NothingSent::Tls { .. }), "{error}");
    let silent = Server::start(|peer| async { peer.reset() }).await;
    let error = egress()
        .connect(&secure_place(&silent, "localhost", Some(&authority)), Reuse::Never)
        .await
        .unwrap_err();
    assert!(
        matches!(error, NothingSent::Tls { .. } | NothingSent::Connect { .. }),
        "{error}"
    );
    assert_eq!(server.bytes().await, 0);
}

#[tokio::test]
async fn c6g_an_alert_or_a_close_after_the_request_is_maybe_sent() {
    for versions in BOTH {
        let authority = authority("localhost", versions);
        let server = serve(&authority, |mut peer| async {
            peer.request().await?;
            peer.close().await
        })
        .await;
        let place = secure_place(&server, "localhost", Some(&authority));
        assert_evidence(&post_to(&place, write_permit()).await, Evidence::MaybeSent);
        let broken = serve_broken_record(&authority).await;
        let place = secure_place(&broken, "localhost", Some(&authority));
        assert_evidence(&post_to(&place, write_permit()).await, Evidence::MaybeSent);
    }
}

/// After the request it sends a plain fatal alert into the encrypted stream.
async fn serve_broken_record(authority: &Authority) -> Server {
    use tokio::io::AsyncWriteExt;
    let acceptor = authority.acceptor.clone();
    let layer = move |tcp: tokio::net::TcpStream| {
        let accept = acceptor.accept(tcp);
        async move {
            let mut tls = accept.await?;
            let mut buffer = [0; 4_096];
            tokio::io::AsyncReadExt::read(&mut tls, &mut buffer).await?;
            let (mut tcp, _) = tls.into_inner();
            tcp.write_all(&[21, 3, 3, 0, 2, 2, 40]).await?;
            Ok(Box::new(tcp) as Box<dyn Stream>)
        }
    };
    Server::start_over(|peer| async { peer.stay() }, layer).await
}

#[tokio::test]
async fn a_reset_over_tls_is_maybe_sent() {
    let authority = authority("localhost", BOTH[0]);
    let server = serve(&authority, |mut peer| async {
        peer.request().await?;
        peer.reset()
    })
    .await;
    let exchange = post_to(&secure_place(&server, "localhost", Some(&authority)), write_permit()).await;
    assert_evidence(&exchange, Evidence::MaybeSent);
}

#[tokio::test]
async fn an_answer_without_framing_is_whole_only_for_a_read_whose_end_is_authenticated() {
    let authority = authority("localhost", BOTH[0]);
    for polite in [true, false] {
        let server = serve(&authority, move |mut peer| async move {
            peer.request().await?;
            peer.write("HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}").await?;
            // Without its close_notify a TLS stream may have been cut by anybody.
            if polite { peer.close().await } else { Ok(None) }
        })
        .await;
        let place = secure_place(&server, "localhost", Some(&authority));
        assert_evidence(&post_to(&place, write_permit()).await, Evidence::MaybeSent);
        let read = if polite {
            Evidence::Answered(200)
        } else {
            Evidence::MaybeSent
        };
        assert_evidence(&post_to(&place, Permit::Read).await, read);
    }
}

#[tokio::test]
async fn no_session_is_kept_that_could_send_early() {
    let authority = authority("localhost", BOTH[0]);
    let settings = super::tls_settings_of(&authority.root);
    assert!(!settings.enable_early_data);
    assert_eq!(settings.alpn_protocols, [b"http/1.1"]);
}

#[tokio::test]
async fn past_send_by_nothing_leaves_over_tls_either() {
    let authority = authority("localhost", BOTH[0]);
    let server = serve(&authority, |peer| async { peer.stay() }).await;
    let place = secure_place(&server, "localhost", Some(&authority));
    let past = permit(SystemClock.now_ms() - 1, i64::MAX);
    assert_evidence(&post_to(&place, past).await, Evidence::NothingSent);
    assert_eq!(server.bytes().await, 0);
}
