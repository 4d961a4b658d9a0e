//! Whatever a server does, the evidence agrees with what it received.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// What a server does, in this order.
#[derive(Clone, Copy, Debug)]
enum Act {
    Read(usize),
    Write(usize),
    Pause,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Reset,
    Close,
    Stay,
}

const ANSWER: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"ok\":true}";

fn acts() -> impl Strategy<Value = (Vec<Act>, End)> {
    let act = prop_oneof![
        4 => prop_oneof![Just(0usize), 1..300usize, 300..200_000usize].prop_map(Act::Read),
        3 => prop_oneof![1..40usize, Just(ANSWER.len())].prop_map(Act::Write),
        1 => Just(Act::Pause),
    ];
    (
        prop::collection::vec(act, 0..5),
        prop_oneof![Just(End::Reset), Just(End::Close), Just(End::Stay)],
    )
}

async fn play(script: Vec<Act>, end: End, body_bytes: usize, late: bool) -> (Exchange, u64) {
    let server = Server::start(move |mut peer| {
        let script = script.clone();
        async move {
            let mut written = 0;
            for act in script {
                match act {
                    Act::Read(bytes) => drop(peer.read(bytes).await?),
                    Act::Write(bytes) => {
                        let end = (written + bytes).min(ANSWER.len());
                        peer.write(&ANSWER[written..end]).await?;
                        written = end;
                    }
                    Act::Pause => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
            match end {
                End::Reset => peer.reset(),
                End::Close => peer.close().await,
                End::Stay => peer.stay(),
            }
        }
    })
    .await;
    let (egress, place) = (egress(), place(&server));
    let channel = egress.connect(&place, Reuse::Never).await.unwrap();
    let send_by_ms = SystemClock.now_ms() + if late { -1 } else { 5_000 };
    let permit = permit(send_by_ms, i64::MAX);
    let out = request(&place, "POST", "/", &vec![b'x'; body_bytes]);
    let limits = ExchangeLimits {
        timeout_ms: 60,
        ..ExchangeLimits::default()
    };
    let exchange = egress
        .send(channel, &out, Credential::None, permit, &limits, &Mask::none())
        .await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let seen = server.seen().iter().map(|seen| seen.len() as u64).sum();
    (exchange, seen)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_sent_is_said_exactly_when_nothing_left(
        (script, end) in acts(),
        body_bytes in prop_oneof![Just(0usize), 1..2_000usize, Just(4usize << 20)],
        late in prop::bool::weighted(0.2),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (exchange, seen) = runtime.block_on(play(script, end, body_bytes, late));
        prop_assert!(seen <= exchange.bytes_handed, "the server got {seen}: {exchange:?}");
        prop_assert_eq!(exchange.evidence == Evidence::NothingSent, exchange.bytes_handed == 0);
        if late || seen > 0 {
            prop_assert_eq!(exchange.evidence == Evidence::NothingSent, seen == 0, "{:?}", exchange);
        }
        if let Evidence::Answered(status) = exchange.evidence {
            prop_assert_eq!(status, 200);
            prop_assert!(exchange.bytes_handed >= body_bytes as u64);
            prop_assert_eq!(exchange.answer.unwrap().body, br#"{"ok":true}"#.to_vec());
        }
    }
}
