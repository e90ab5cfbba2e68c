//! How a gateway ends: on request, by duration, with readers that do not read.

use std::time::Duration;

use tokio::net::TcpStream;
use tonic::Code;

use super::{double::NEVER_ANSWER, harness::*};
use crate::{
    ServeOptions,
    proto::{Subscription, WatchNodesRequest},
};

#[tokio::test]
async fn stopping_ends_streams_and_controls_as_unavailable_and_closes_the_listeners() {
    let (gateway, _script) = start().await;
    let (address, metrics) = (gateway.address(), gateway.metrics_address().expect("metrics"));
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    let mut events = client.watch_nodes(WatchNodesRequest {}).await.expect("events").into_inner();
    next(&mut stream).await;
    next(&mut events).await;
    let mut other = client.clone();
    let pending =
        tokio::spawn(async move { send_control(&mut other, control(NEVER_ANSWER)).await });
    // A client that keeps its side open.
    let requests = tokio_stream::StreamExt::chain(
        tokio_stream::once(control(NEVER_ANSWER)),
        tokio_stream::pending(),
    );
    let mut controls = client.control(requests).await.expect("a call").into_inner();
    until(async || metric(&gateway, "sojourn_node_time_seconds_total").await > 0.0).await;

    let summary = patiently(gateway.stop()).await.expect("a summary");
    assert!(summary["time_us"].as_u64().expect("a time") > 0);
    assert_code(&end(&mut stream).await, Code::Unavailable, &["stopped"]);
    assert_code(&end(&mut events).await, Code::Unavailable, &["stopped"]);
    assert_code(&end(&mut controls).await, Code::Unavailable, &["stopped"]);
    let status = patiently(pending).await.expect("no panic").expect_err("stopped");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(TcpStream::connect(address).await.is_err());
    assert!(TcpStream::connect(metrics).await.is_err());
}

#[tokio::test]
async fn a_reader_that_does_not_read_cannot_hold_up_the_end() {
    let (gateway, script) = start().await;
    script.lock().message_bytes = 150_000;
    let mut client = connect(&gateway).await;
    let _unread = subscribe(&mut client, Subscription { queue_depth: 4, ..every(1) }).await;
    let dropped =
        r#"sojourn_gateway_indications_dropped_total{ran_function_oid="0.0.0.0.0.0.0.0.1.143.0"}"#;
    until(async || metric(&gateway, dropped).await > 0.0).await;
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn the_duration_ends_the_run_at_its_virtual_time() {
    let options = ServeOptions { duration: Some(Duration::from_millis(50)), ..options() };
    let (mut gateway, _script) = start_with(&options).await;
    patiently(gateway.ended()).await;
    let summary = patiently(gateway.stop()).await.expect("a summary");
    assert_eq!(summary["time_us"], 50_000);
}
