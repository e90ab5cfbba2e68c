//! A gateway on free loopback ports and clients of it.

use std::{collections::VecDeque, future::Future, net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{
    Code, Status, Streaming,
    transport::{Channel, Endpoint},
};

use super::double::{CONTROLLER, Double, NODE, REPORTER, ScriptHandle};
use crate::{
    Gateway, MetricsDetail, ServeOptions,
    proto::{
        self, ControlAnswer, Indication, SubscribeRequest, SubscribeResponse, Subscription,
        control_response, e2_gateway_client::E2GatewayClient, subscribe_request::Procedure,
        subscription_event::Event,
    },
};

pub(super) type Client = E2GatewayClient<Channel>;

pub(super) fn options() -> ServeOptions {
    ServeOptions {
        listen: "127.0.0.1:0".to_owned(),
        metrics_listen: Some("127.0.0.1:0".to_owned()),
        metrics_detail: vec![MetricsDetail::Flows],
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
pub(super) fn every(period_ms: u32) -> Subscription {
    Subscription {
        node_id: NODE.to_owned(),
        ran_function_oid: REPORTER.to_owned(),
        event_trigger: Bytes::copy_from_slice(&period_ms.to_le_bytes()),
        ..Subscription::default()
    }
}

pub(super) fn control(what: u8) -> proto::ControlRequest {
    proto::ControlRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: CONTROLLER.to_owned(),
        message: Bytes::copy_from_slice(&[what]),
        ..proto::ControlRequest::default()
    }
}

/// A control over a call of its own; its error, or that of the call, as a status.
pub(super) async fn send_control(
    client: &mut Client,
    request: proto::ControlRequest,
) -> Result<ControlAnswer, Status> {
    let mut responses = client.control(tokio_stream::once(request)).await?.into_inner();
    let response = patiently(responses.message()).await?.expect("a response");
    match response.result.expect("a result") {
        control_response::Result::Answer(answer) => Ok(answer),
        control_response::Result::Error(error) => {
            Err(Status::new(Code::from(error.code.cast_signed()), error.detail))
        }
    }
}

/// The client's end of a `Subscribe` call.
pub(super) struct Call {
    pub(super) requests: mpsc::UnboundedSender<SubscribeRequest>,
    pub(super) responses: Streaming<SubscribeResponse>,
    received: VecDeque<(u64, Event)>,
    /// Largest number of events in one response.
    pub(super) most_in_one: usize,
}

impl Call {
    pub(super) async fn open(client: &mut Client) -> Self {
        let (requests, stream) = mpsc::unbounded_channel();
        let stream = UnboundedReceiverStream::new(stream);
        let responses = client.subscribe(stream).await.expect("a call").into_inner();
        Self { requests, responses, received: VecDeque::new(), most_in_one: 0 }
    }

    pub(super) fn send(&self, subscription_id: u64, procedure: Procedure) {
        let request = SubscribeRequest { subscription_id, procedure: Some(procedure) };
        self.requests.send(request).expect("an open call");
    }

    pub(super) fn subscribe(&self, subscription_id: u64, subscription: Subscription) {
        self.send(subscription_id, Procedure::Subscribe(subscription));
    }

    /// The next event; the status that ends the call.
    pub(super) async fn event(&mut self) -> Result<(u64, Event), Status> {
        loop {
            if let Some(event) = self.received.pop_front() {
                return Ok(event);
            }
            let response = patiently(self.responses.message()).await?.expect("no end");
            self.most_in_one = self.most_in_one.max(response.events.len());
            let events = response.events.into_iter();
            self.received
                .extend(events.map(|one| (one.subscription_id, one.event.expect("an event"))));
        }
    }
}

/// One subscription over a call of its own.
pub(super) struct Indications(Call);

pub(super) async fn subscribe(client: &mut Client, subscription: Subscription) -> Indications {
    let call = Call::open(client).await;
    call.subscribe(1, subscription);
    Indications(call)
}

/// What [`next`] and [`end`] read.
pub(super) trait Messages {
    type Message;
    async fn message(&mut self) -> Result<Option<Self::Message>, Status>;
}

impl<T> Messages for Streaming<T> {
    type Message = T;
    async fn message(&mut self) -> Result<Option<T>, Status> {
        Streaming::message(self).await
    }
}

impl Messages for Indications {
    type Message = Indication;
    async fn message(&mut self) -> Result<Option<Indication>, Status> {
        match self.0.event().await?.1 {
            Event::Indication(indication) => Ok(Some(indication)),
            Event::End(end) => Err(Status::new(Code::from(end.code.cast_signed()), end.detail)),
        }
    }
}

pub(super) async fn next<M: Messages>(stream: &mut M) -> M::Message {
    patiently(stream.message()).await.expect("no error").expect("no end")
}

/// The error that ends a stream.
pub(super) async fn end(stream: &mut impl Messages) -> Status {
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
    http_get_with(address, path, "").await
}

/// [`http_get`] with a header, which ends with CR LF.
pub(super) async fn http_get_with(
    address: SocketAddr,
    path: &str,
    header: &str,
) -> (String, String) {
    let (head, body) = http_ask(address, path, &format!("Host: localhost\r\n{header}")).await;
    (head.lines().next().unwrap_or_default().to_owned(), body)
}

/// `GET path` with these headers: head and body.
pub(super) async fn http_ask(address: SocketAddr, path: &str, headers: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    patiently(stream.read_to_string(&mut answer)).await.expect("read");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// `count` requests over one connection; all of the answers.
pub(super) async fn http_flood(address: SocketAddr, path: &str, count: usize) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let last = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let requests = request.repeat(count - 1) + &last;
    let (mut reader, mut writer) = stream.split();
    let mut answer = String::new();
    let write = writer.write_all(requests.as_bytes());
    let (written, read) =
        patiently(async { tokio::join!(write, reader.read_to_string(&mut answer)) }).await;
    written.expect("written");
    read.expect("read");
    answer
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
