//! What one client can take, and that another keeps its own: a client on loopback is a connection.

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::{io::AsyncReadExt, net::TcpStream};
use tonic::Code;

use super::{double::*, harness::*, pki::*};
use crate::ServeOptions;
use crate::proto::{
    ControlRequest, ListNodesRequest, Subscription, control_response, subscription_event::Event,
};

/// A client that reads reports every millisecond and controls.
struct Honest {
    client: Client,
    reports: Indications,
    seen: u64,
}

impl Honest {
    async fn new(gateway: &crate::Gateway) -> Self {
        let mut client = connect(gateway).await;
        let reports = subscribe(&mut client, deep(every(1))).await;
        Self { client, reports, seen: 0 }
    }

    /// The next reports, none of them lost, and a control.
    async fn keeps_its_own(&mut self) {
        for _ in 0..20 {
            let report = next(&mut self.reports).await;
            assert_eq!((report.sequence, report.dropped), (self.seen, 0));
            self.seen += 1;
        }
        let answer = send_control(&mut self.client, control(ACCEPT)).await.expect("an answer");
        assert_eq!(answer.outcome, Bytes::from_static(b"done"));
    }
}

fn deep(subscription: Subscription) -> Subscription {
    Subscription { queue_depth: 4096, ..subscription }
}

async fn limited(gateway: &crate::Gateway, limit: &str) -> f64 {
    let line = format!(r#"sojourn_limited_total{{client="127.0.0.1",limit="{limit}"}}"#);
    metric(gateway, &line).await
}

#[tokio::test]
async fn subscriptions_at_1_ms_are_admitted_within_the_share_of_the_report_load() {
    for count in [300, 1024] {
        let (gateway, script) = start().await;
        let mut honest = Honest::new(&gateway).await;
        let mut call = Call::open(&mut connect(&gateway).await).await;
        for number in 0..count {
            call.subscribe(number, deep(every(1)));
        }
        let mut refused = 0;
        let mut served = std::collections::BTreeSet::new();
        while refused + (served.len() as u64) < count {
            match call.event().await.expect("no end of the call") {
                (number, Event::Indication(_)) => {
                    served.insert(number);
                }
                (_, Event::End(end)) => {
                    assert_eq!(Code::from(end.code.cast_signed()), Code::ResourceExhausted);
                    refused += 1;
                }
            }
        }
        // Two thirds of what the honest client leaves of 400 MB/s, by 8,208 bytes a millisecond each.
        assert_eq!(served.len(), 31);
        honest.keeps_its_own().await;
        assert!(limited(&gateway, "report_load").await > 0.0);
        drop(call);
        until(async || script.lock().open.len() == 1).await;
        let mut other = connect(&gateway).await;
        next(&mut subscribe(&mut other, every(1)).await).await;
    }
}

#[tokio::test]
async fn a_flood_of_subscribe_requests_is_refused_with_the_time_to_come_again() {
    let (gateway, _script) = start().await;
    let mut honest = Honest::new(&gateway).await;
    let mut call = Call::open(&mut connect(&gateway).await).await;
    for number in 0..2_000 {
        call.subscribe(number, Subscription { node_id: "gnb-x".to_owned(), ..every(1) });
    }
    let mut ends = [0, 0];
    while ends[1] < 10 {
        let (_, Event::End(end)) = call.event().await.expect("no end of the call") else {
            panic!("no such node");
        };
        match Code::from(end.code.cast_signed()) {
            Code::NotFound => ends[0] += 1,
            Code::ResourceExhausted => {
                assert!(end.detail.contains("more than 200 procedures/s (burst 400); again in"));
                ends[1] += 1;
            }
            code => panic!("{code:?}"),
        }
    }
    assert!(ends[0] >= 400, "{ends:?}");
    honest.keeps_its_own().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_own_reports_only() {
    let (gateway, script) = start().await;
    script.change(|script| script.message_bytes = 1 << 20);
    let mut idle = connect(&gateway).await.max_decoding_message_size(64 << 20);
    let hoarder = subscribe(&mut idle, deep(every(10))).await;
    let mut reader = connect(&gateway).await.max_decoding_message_size(64 << 20);
    let mut reports = subscribe(&mut reader, every(50)).await;
    // The share is 127 of these reports; what it counts is what the queues hold.
    let mut last = next(&mut reports).await;
    until(async || {
        last = next(&mut reports).await;
        assert_eq!(last.dropped, 0);
        limited(&gateway, "queued_bytes").await >= 1.0
    })
    .await;
    drop(hoarder);
    until(async || script.lock().open.len() == 1).await;
}

#[tokio::test]
async fn a_flood_of_controls_is_refused_and_others_are_answered() {
    let (gateway, _script) = start().await;
    let mut honest = Honest::new(&gateway).await;
    let mut client = connect(&gateway).await;
    let flood = tokio_stream::iter((0..).map(|number| ControlRequest {
        request_id: number,
        message: Bytes::from(vec![ACCEPT; 40_000]),
        ..control(ACCEPT)
    }));
    let mut answers = client.control(flood).await.expect("a call").into_inner();
    let (mut accepted, mut refused) = (0, 0);
    while refused < 5 {
        match next(&mut answers).await.result.expect("a result") {
            control_response::Result::Answer(_) => accepted += 1,
            control_response::Result::Error(error) => {
                assert_eq!(Code::from(error.code.cast_signed()), Code::ResourceExhausted);
                assert!(error.detail.contains("more than 2000 controls/s"), "{}", error.detail);
                refused += 1;
            }
        }
    }
    // Each counts as three.
    assert!(accepted >= 4_000 / 3, "{accepted}");
    honest.keeps_its_own().await;
    assert!(limited(&gateway, "controls").await >= 5.0);
}

#[tokio::test]
async fn a_flood_of_calls_is_refused_on_both_listeners() {
    let (gateway, _script) = start().await;
    let mut honest = Honest::new(&gateway).await;
    let mut client = connect(&gateway).await;
    let refused = patiently(async {
        loop {
            if let Err(status) = client.list_nodes(ListNodesRequest {}).await {
                return status;
            }
        }
    })
    .await;
    assert_code(&refused, Code::ResourceExhausted, &["127.0.0.1", "100 calls/s (burst 200)"]);
    assert!(refused.metadata().get("grpc-retry-pushback-ms").is_some());
    honest.keeps_its_own().await;
    assert!(limited(&gateway, "calls").await >= 1.0);

    let address = gateway.metrics_address().expect("metrics are on");
    until(async || {
        let answers = http_flood(address, "/healthz", 300).await.to_lowercase();
        answers.contains("429 too many requests") && answers.contains("retry-after: 1")
    })
    .await;
}

#[tokio::test]
async fn open_calls_are_shared() {
    let (gateway, _script) = start().await;
    let mut honest = Honest::new(&gateway).await;
    // A connection carries 64; a further call waits for one to end.
    let mut client = connect(&gateway).await;
    let mut open = Vec::new();
    for _ in 0..64 {
        open.push(client.watch_nodes(crate::proto::WatchNodesRequest {}).await.expect("a call"));
    }
    let mut waiting = client.clone();
    let further = tokio::spawn(async move { waiting.list_nodes(ListNodesRequest {}).await });
    honest.keeps_its_own().await;
    assert!(!further.is_finished());
    open.pop();
    patiently(further).await.expect("no panic").expect("a place");
}

/// Opens silent connections to a listener; how many are left once at most `open` are.
async fn silent(address: std::net::SocketAddr, count: usize, open: usize) -> usize {
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(TcpStream::connect(address).await.expect("a connection"));
    }
    let mut alive = sockets.len();
    until(async || {
        alive = 0;
        for socket in &mut sockets {
            let mut byte = [0];
            // HTTP/2 servers send their settings first.
            let read = socket.read(&mut byte).now_or_never();
            alive += usize::from(!matches!(read, Some(Ok(0) | Err(_))));
        }
        alive <= open
    })
    .await;
    alive
}

#[tokio::test]
async fn silent_sockets_give_way_and_those_with_calls_stay() {
    let (gateway, _script) = start_with(&ServeOptions { max_connections: 20, ..options() }).await;
    let mut honest = Honest::new(&gateway).await;
    assert_eq!(silent(gateway.address(), 90, 19).await, 19);
    honest.keeps_its_own().await;
    let mut other = Honest::new(&gateway).await;
    other.keeps_its_own().await;
    let address = gateway.metrics_address().expect("metrics are on");
    assert!(silent(address, 90, 20).await <= 20);
    assert!(limited(&gateway, "connections").await >= 130.0);
    let line = r#"sojourn_server_connections{server="grpc"}"#;
    assert!((1.0..=20.0).contains(&metric(&gateway, line).await));
}

#[tokio::test]
async fn half_open_tls_handshakes_give_way_to_clients() {
    let (files, authority) = (Files::new(), Authority::new());
    let tls = ServeOptions { max_connections: 20, ..files.mutual_tls(&authority) };
    let (gateway, _script) = start_with(&tls).await;
    let pair = authority.client("xapp");
    let channel = dial(&gateway, tls_client(&authority, Some(&pair))).await.expect("a handshake");
    let mut honest = Client::new(channel);
    let mut reports = subscribe(&mut honest, deep(every(1))).await;
    assert_eq!(silent(gateway.address(), 90, 19).await, 19);
    let channel = dial(&gateway, tls_client(&authority, Some(&pair))).await.expect("a handshake");
    let mut other = Client::new(channel);
    other.list_nodes(ListNodesRequest {}).await.expect("nodes");
    for sequence in 0..20 {
        assert_eq!(next(&mut reports).await.sequence, sequence);
    }
}
