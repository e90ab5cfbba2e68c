//! A gateway on free loopback ports and clients of it.

use std::{future::Future, net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tonic::{
    Code, Status, Streaming,
    transport::{Channel, Endpoint},
};

use super::double::{CONTROLLER, Double, NODE, REPORTER, ScriptHandle};
use crate::gateway::{
    Gateway, ServeOptions,
    proto::{self, e2_gateway_client::E2GatewayClient},
};

pub(super) type Client = E2GatewayClient<Channel>;

pub(super) fn options() -> ServeOptions {
    ServeOptions {
        listen: "127.0.0.1:0".to_owned(),
        metrics_listen: Some("127.0.0.1:0".to_owned()),
        ..ServeOptions::default()
    }
}

pub(super) async fn start() -> (Gateway, ScriptHandle) {
    start_with(&options()).await
}

pub(super) async fn start_with(options: &ServeOptions) -> (Gateway, ScriptHandle) {
    let (double, script) = Double::new();
    (Gateway::start(double, options).await.expect("a gateway"), script)
}

pub(super) async fn connect(gateway: &Gateway) -> Client {
    Client::new(channel(gateway).await)
}

pub(super) async fn channel(gateway: &Gateway) -> Channel {
    let uri = format!("http://{}", gateway.address());
    Endpoint::try_from(uri).expect("a URI").connect().await.expect("a connection")
}

/// A report subscription with this period.
pub(super) fn every(period_ms: u32) -> proto::SubscribeRequest {
    proto::SubscribeRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: REPORTER.to_owned(),
        event_trigger: Bytes::copy_from_slice(&period_ms.to_le_bytes()),
        ..proto::SubscribeRequest::default()
    }
}

pub(super) fn control(what: u8) -> proto::ControlRequest {
    proto::ControlRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: CONTROLLER.to_owned(),
        header: Bytes::new(),
        message: Bytes::copy_from_slice(&[what]),
    }
}

pub(super) async fn subscribe(
    client: &mut Client,
    request: proto::SubscribeRequest,
) -> Streaming<proto::Indication> {
    client.subscribe(request).await.expect("admission").into_inner()
}

pub(super) async fn next<T>(stream: &mut Streaming<T>) -> T {
    patiently(stream.message()).await.expect("no error").expect("no end")
}

/// The error that ends a stream.
pub(super) async fn end<T>(stream: &mut Streaming<T>) -> Status {
    patiently(async {
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the stream ended without a status"),
                Err(status) => return status,
            }
        }
    })
    .await
}

/// A test that hangs is a test that failed; the limit is no expectation about speed.
pub(super) async fn patiently<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future).await.expect("an answer within a minute")
}

/// Waits until a condition holds.
pub(super) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    patiently(async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// `GET path`: status line and body.
pub(super) async fn http_get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    patiently(stream.read_to_string(&mut answer)).await.expect("read");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

/// The value of one line of the metrics, by its name and labels; 0 when absent.
pub(super) async fn metric(gateway: &Gateway, line: &str) -> f64 {
    let address = gateway.metrics_address().expect("metrics are on");
    let (status, body) = http_get(address, "/metrics").await;
    assert!(status.contains("200"), "{status}: {body}");
    body.lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '))
        .map_or(0.0, |value| value.parse().expect("a number"))
}

pub(super) fn assert_code(status: &Status, code: Code, words: &[&str]) {
    assert_eq!(status.code(), code, "{status}");
    for word in words {
        assert!(status.message().contains(word), "{word:?} is not in {:?}", status.message());
    }
}
