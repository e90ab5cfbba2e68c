//! Oversized requests, garbage, a world that stalls or panics, addresses that cannot be used.

use std::net::SocketAddr;

use bytes::Bytes;
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tonic::Code;

use super::{
    double::{ACCEPT, DIE},
    harness::*,
};
use crate::{
    Gateway, ServeError, ServeOptions,
    proto::{ControlRequest, ListNodesRequest, Subscription},
};

#[tokio::test]
async fn oversized_requests_are_refused_and_the_next_is_served() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let huge = Bytes::from(vec![0; 2 << 20]);
    let request = ControlRequest { message: huge.clone(), ..control(ACCEPT) };
    let status = send_control(&mut client, request).await.expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let request = Subscription { event_trigger: huge, ..every(1) };
    let status = end(&mut subscribe(&mut client, request).await).await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    send_control(&mut client, control(ACCEPT)).await.expect("served");
}

#[tokio::test]
async fn garbage_on_the_ports_harms_nobody() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    for address in [gateway.address(), gateway.metrics_address().expect("metrics are on")] {
        for garbage in
            [&b""[..], b"\0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff", &[255; 4096]]
        {
            let mut raw = TcpStream::connect(address).await.expect("a connection");
            // The server may have hung up already.
            let _ = raw.write_all(garbage).await;
        }
    }
    next(&mut stream).await;
    client.list_nodes(ListNodesRequest {}).await.expect("nodes");
    let metrics = gateway.metrics_address().expect("metrics are on");
    assert!(http_get(metrics, "/").await.0.contains("404"));
    assert!(http_get(metrics, "/metrics").await.0.contains("200"));
}

#[tokio::test]
async fn a_stalled_node_skips_ahead_and_its_time_stamps_with_it() {
    let (gateway, script) = start().await;
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    let before = next(&mut stream).await;
    let offset =
        |script: &super::double::ScriptHandle| *script.lock().epochs_us.last().expect("an epoch");
    let first_epoch_us = offset(&script);
    script.lock().stall_ms = 1_200;
    until(async || offset(&script) != first_epoch_us).await;
    assert!(offset(&script) - first_epoch_us > 1_000_000);
    let after = loop {
        let indication = next(&mut stream).await;
        if indication.collected_at_us > before.collected_at_us + 1_000_000 {
            break indication;
        }
    };
    assert!(after.received_at_us >= after.collected_at_us);
    assert!(metric(&gateway, "sojourn_gateway_skipped_seconds_total").await > 1.0);
}

#[tokio::test]
async fn a_world_that_panics_ends_everything_as_unavailable() {
    let (mut gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    let status = send_control(&mut client, control(DIE)).await.expect_err("dead");
    assert_code(&status, Code::Unavailable, &[]);
    assert_code(&end(&mut stream).await, Code::Unavailable, &[]);
    let status = end(&mut subscribe(&mut client, every(1)).await).await;
    assert_code(&status, Code::Unavailable, &[]);
    patiently(gateway.ended()).await;
    assert!(matches!(patiently(gateway.stop()).await, Err(ServeError::World)));
}

async fn refusal(options: ServeOptions) -> ServeError {
    let (double, _script) = super::double::Double::new();
    Gateway::start(double, &options).await.expect_err("refused")
}

#[tokio::test]
async fn addresses_that_cannot_be_used_are_named() {
    let nowhere = ServeOptions { listen: "not an address".to_owned(), ..options() };
    assert!(refusal(nowhere).await.to_string().contains("--listen: \"not an address\""));
    let open = ServeOptions { listen: "0.0.0.0:0".to_owned(), ..options() };
    let text = refusal(open).await.to_string();
    assert!(text.contains("plaintext") && text.contains("--insecure"), "{text}");

    let (gateway, _script) = start().await;
    let taken: SocketAddr = gateway.address();
    let text = refusal(ServeOptions { listen: taken.to_string(), ..options() }).await.to_string();
    assert!(text.contains(&taken.to_string()), "{text}");
    let metrics = Some(taken.to_string());
    let text = refusal(ServeOptions { metrics_listen: metrics, ..options() }).await.to_string();
    assert!(text.contains("--metrics-listen"), "{text}");
}

#[tokio::test]
async fn plaintext_beyond_loopback_needs_insecure() {
    let options = ServeOptions { listen: "0.0.0.0:0".to_owned(), insecure: true, ..options() };
    let (gateway, _script) = start_with(&options).await;
    assert!(gateway.address().ip().is_unspecified());
}
