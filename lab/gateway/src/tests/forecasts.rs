//! The CU's own way to forecasts, against a forecaster that does what a test tells it.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use e2sm_tc::v1;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{
        Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
    },
    time::{sleep, timeout},
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{
    Request, Response, Status,
    transport::{Certificate, Identity, Server, ServerTlsConfig},
};

use super::{
    double::Double,
    harness::*,
    lab_world::{lab_with, tc_control},
    pki::{Authority, Files},
};
use crate::{
    ForecastOptions, Gateway, ServeOptions,
    forecasts::proto::{
        Bearer, Forecast, ForecastBatch, ForecastRequest, Quantity, Series,
        forecaster_server::{Forecaster, ForecasterServer},
    },
};

const NODE: &str = "gnb-001-01-0xe00";
const RNTI: u32 = 17_921;
const PACED: &str = r#"sojourn_cu_paced_by_forecast{node="gnb-001-01-0xe00",ue="17921",drb="1"}"#;
const OPEN: &str = "sojourn_cu_forecast_stream_open";

fn at(address: SocketAddr) -> ForecastOptions {
    ForecastOptions { address: Some(address.to_string()), ..ForecastOptions::default() }
}

/// One end of an open forecast stream.
struct Opened {
    request: ForecastRequest,
    authorization: Option<String>,
    batches: Sender<Result<ForecastBatch, Status>>,
}

/// Serves streams that the test fills.
struct Scripted {
    opened: UnboundedSender<Opened>,
    /// Quantities that it does not forecast.
    lacks: &'static [Quantity],
}

#[tonic::async_trait]
impl Forecaster for Scripted {
    type SubscribeStream = ReceiverStream<Result<ForecastBatch, Status>>;

    async fn subscribe(
        &self,
        request: Request<ForecastRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let authorization = request.metadata().get("authorization");
        let authorization = authorization.map(|value| value.to_str().expect("ASCII").to_owned());
        let request = request.into_inner();
        if let Some(lacking) = request.quantities().find(|it| self.lacks.contains(it)) {
            return Err(Status::invalid_argument(format!("{lacking:?} is not forecast")));
        }
        let (batches, stream): (_, Receiver<_>) = channel(16);
        let _ = self.opened.send(Opened { request, authorization, batches });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn predict(
        &self,
        _: Request<ForecastRequest>,
    ) -> Result<Response<ForecastBatch>, Status> {
        Err(Status::unimplemented("the CU only subscribes"))
    }
}

async fn forecaster(lacks: &'static [Quantity]) -> (SocketAddr, UnboundedReceiver<Opened>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    let (opened, streams) = unbounded_channel();
    let service = ForecasterServer::new(Scripted { opened, lacks });
    let incoming = TcpListenerStream::new(listener);
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    (address, streams)
}

/// The default cell, its bearer paced by forecasts, and the stream it opened.
async fn start(lacks: &'static [Quantity]) -> (Gateway, UnboundedReceiver<Opened>, Opened) {
    start_with("drql_forecast", lacks).await
}

async fn start_with(
    template: &str,
    lacks: &'static [Quantity],
) -> (Gateway, UnboundedReceiver<Opened>, Opened) {
    let (address, mut streams) = forecaster(lacks).await;
    let options = ServeOptions { forecasts: at(address), ..options() };
    let pipeline = format!("ues[0].drbs[0].pipeline={template}");
    let gateway = lab_with(&[&pipeline], &options).await;
    let stream = patiently(streams.recv()).await.expect("a stream");
    (gateway, streams, stream)
}

fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(now.as_micros()).expect("before the year 500 000")
}

fn series(quantity: Quantity, values: Vec<f32>) -> Series {
    Series { quantity: quantity.into(), values }
}

/// A forecast of now for the 20 ms to come: a point each ms.
fn forecast(rnti: u32) -> Forecast {
    Forecast {
        bearer: Some(Bearer { rnti, drb: 1 }),
        // The node's time is a little behind that of this test.
        origin_us: now_us() - 10_000,
        series: vec![
            series(Quantity::OccupancyBytes, vec![3_000.0; 40]),
            series(Quantity::DrainBytes, vec![2_500.0; 40]),
            series(Quantity::LimitBytes, vec![5_000.0; 40]),
        ],
        ..Forecast::default()
    }
}

fn batch(node_id: &str, forecasts: Vec<Forecast>) -> ForecastBatch {
    ForecastBatch {
        cumulated_quantiles: Vec::new(),
        node_id: node_id.to_owned(),
        sent_at_us: now_us(),
        quantiles: vec![0.5, 0.9],
        points_us: (11..31).map(|ms| ms * 1_000).collect(),
        forecasts,
    }
}

/// Sends good forecasts until the metric says that the pacer goes by them.
async fn convince(gateway: &Gateway, stream: &Opened) {
    let sending = async {
        loop {
            let good = batch(NODE, vec![forecast(RNTI)]);
            stream.batches.send(Ok(good)).await.expect("an open stream");
            sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        () = sending => {}
        () = until(async || metric(gateway, PACED).await > 0.5) => {}
    }
}

async fn taken(gateway: &Gateway, result: &str) -> f64 {
    metric(gateway, &format!(r#"sojourn_cu_forecasts_total{{result="{result}"}}"#)).await
}

#[tokio::test]
async fn a_stream_that_stalls_or_ends_leaves_the_pacer_to_its_own_measure_until_it_is_back() {
    let (gateway, mut streams, stream) = start(&[]).await;
    assert_eq!(stream.request.node_id, NODE);
    assert_eq!(stream.request.quantiles, [0.5, e2sm_tc::v1::DRAIN_QUANTILE]);
    assert_eq!(stream.request.quantities.len(), 3);
    assert!(metric(&gateway, PACED).await < 0.5, "nothing came yet");
    convince(&gateway, &stream).await;
    assert!(metric(&gateway, OPEN).await > 0.5);

    // It stalls: open, and silent.
    until(async || metric(&gateway, PACED).await < 0.5).await;
    assert!(metric(&gateway, OPEN).await > 0.5);
    convince(&gateway, &stream).await;

    // It ends, and is there again.
    drop(stream);
    until(async || metric(&gateway, PACED).await < 0.5).await;
    until(async || metric(&gateway, OPEN).await < 0.5).await;
    let stream = patiently(streams.recv()).await.expect("another stream");
    convince(&gateway, &stream).await;

    // It fails.
    let failure = Err(Status::internal("the model is on fire"));
    stream.batches.send(failure).await.expect("an open stream");
    until(async || metric(&gateway, OPEN).await < 0.5).await;
    let stream = patiently(streams.recv()).await.expect("another stream");
    convince(&gateway, &stream).await;
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn rubbish_is_counted_and_what_makes_sense_beside_it_is_taken() {
    let (gateway, _streams, stream) = start(&[]).await;
    let spoilt = |change: fn(&mut Forecast)| {
        let mut forecast = forecast(RNTI);
        change(&mut forecast);
        forecast
    };
    let forecasts = vec![
        spoilt(|f| f.series[0].values[2] = f32::NAN),
        spoilt(|f| f.series[1].values[0] = -1e6),
        spoilt(|f| f.series[2].values.truncate(7)),
        spoilt(|f| f.bearer = None),
        spoilt(|f| f.series[0].values.truncate(7)),
        forecast(1),
        spoilt(|f| f.origin_us += 3_600_000_000),
        forecast(RNTI),
        // Older than the last, its points long past: passed over.
        spoilt(|f| f.origin_us = 5),
    ];
    stream.batches.send(Ok(batch(NODE, forecasts))).await.expect("an open stream");
    let elsewhere = batch("gnb-of-others", vec![forecast(RNTI)]);
    stream.batches.send(Ok(elsewhere)).await.expect("an open stream");
    let nothing = ForecastBatch { quantiles: Vec::new(), ..batch(NODE, vec![forecast(RNTI)]) };
    stream.batches.send(Ok(nothing)).await.expect("an open stream");
    until(async || taken(&gateway, "malformed").await > 5.5).await;
    until(async || taken(&gateway, "unknown_node").await > 0.5).await;
    assert!((taken(&gateway, "malformed").await - 6.0).abs() < 0.5);
    assert!((taken(&gateway, "unknown_bearer").await - 1.0).abs() < 0.5);
    assert!((taken(&gateway, "refused").await - 1.0).abs() < 0.5);
    assert!((taken(&gateway, "taken").await - 2.0).abs() < 0.5);
    convince(&gateway, &stream).await;
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn a_forecaster_that_knows_no_limits_is_asked_for_the_rest() {
    let (gateway, _streams, stream) = start(&[Quantity::LimitBytes]).await;
    let asked: Vec<Quantity> = stream.request.quantities().collect();
    assert_eq!(asked, [Quantity::OccupancyBytes, Quantity::DrainBytes]);
    convince(&gateway, &stream).await;
}

#[tokio::test]
async fn the_cumulated_drain_is_requested_for_a_pacer_that_uses_it_as_far_as_the_forecaster_knows_it()
 {
    use Quantity::{CumulatedDrainBytes, DrainBytes, LimitBytes, OccupancyBytes};
    let cases: [(&'static [Quantity], &[Quantity]); 4] = [
        (&[], &[OccupancyBytes, DrainBytes, CumulatedDrainBytes, LimitBytes]),
        (&[LimitBytes], &[OccupancyBytes, DrainBytes, CumulatedDrainBytes]),
        (&[CumulatedDrainBytes], &[OccupancyBytes, DrainBytes, LimitBytes]),
        (&[CumulatedDrainBytes, LimitBytes], &[OccupancyBytes, DrainBytes]),
    ];
    for (lacks, expected) in cases {
        let (_gateway, _streams, stream) = start_with("base_stock", lacks).await;
        let requested: Vec<Quantity> = stream.request.quantities().collect();
        assert_eq!(requested, expected, "without {lacks:?}");
    }
}

#[tokio::test]
async fn a_pipeline_that_comes_to_use_the_cumulated_drain_has_it_requested() {
    let (gateway, mut streams, stream) = start(&[]).await;
    assert!(stream.request.quantities().all(|it| it != Quantity::CumulatedDrainBytes));
    convince(&gateway, &stream).await;
    let pipeline = tc_rf::templates::by_name("base_stock").expect("a template");
    let transaction = v1::ControlMessage::Transaction(v1::Transaction {
        bearer: v1::BearerId { ue: v1::UeId::Rnti(17_921), drb: 1 },
        expected_revision: None,
        lease_ms: None,
        owner: None,
        as_safe: false,
        dry_run: false,
        change: v1::PipelineChange::Replace(pipeline),
    });
    let message = v1::encode(&transaction).expect("within its ranges");
    let control = tc_control(NODE, message.into());
    send_control(&mut connect(&gateway).await, control).await.expect("an answer");
    let stream = patiently(streams.recv()).await.expect("another stream");
    assert!(stream.request.quantities().any(|it| it == Quantity::CumulatedDrainBytes));
    until(async || metric(&gateway, PACED).await < 0.5).await;
    // Its points reach over the lead time.
    let sums = (1..=20u16).flat_map(|ms| [2_500.0, 3_000.0].map(|rate| rate * f32::from(ms)));
    let sums: Vec<f32> = sums.collect();
    let sending = async {
        loop {
            let mut batch = batch(NODE, vec![forecast(RNTI)]);
            batch.cumulated_quantiles = vec![0.5, 0.99];
            batch.forecasts[0].cumulated_drain_bytes.clone_from(&sums);
            stream.batches.send(Ok(batch)).await.expect("an open stream");
            sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        () = sending => {}
        () = until(async || metric(&gateway, PACED).await > 0.5) => {}
    }
}

#[tokio::test]
async fn a_forecaster_that_comes_later_is_found() {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = free.local_addr().expect("its address");
    drop(free);
    let options = ServeOptions { forecasts: at(address), ..options() };
    let gateway = lab_with(&["ues[0].drbs[0].pipeline=drql_forecast"], &options).await;
    until(async || metric(&gateway, "sojourn_node_time_seconds_total").await > 0.2).await;
    assert!(metric(&gateway, OPEN).await < 0.5);
    let listener = TcpListener::bind(address).await.expect("the port again");
    let (opened, mut streams) = unbounded_channel();
    let service = ForecasterServer::new(Scripted { opened, lacks: &[] });
    let incoming = TcpListenerStream::new(listener);
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    let stream = patiently(streams.recv()).await.expect("a stream");
    convince(&gateway, &stream).await;
}

#[tokio::test]
async fn a_protected_forecaster_gets_certificate_and_token() {
    let (files, authority) = (Files::new(), Authority::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let (opened, mut streams) = unbounded_channel();
    let (certificate, key) = authority.server();
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(certificate, key))
        .client_ca_root(Certificate::from_pem(authority.pem()));
    let mut server = Server::builder().tls_config(tls).expect("TLS");
    let service = ForecasterServer::new(Scripted { opened, lacks: &[] });
    let incoming = TcpListenerStream::new(listener);
    tokio::spawn(server.add_service(service).serve_with_incoming(incoming));

    let (certificate, key) = authority.client("gnb");
    let forecasts = ForecastOptions {
        address: Some(format!("localhost:{port}")),
        ca: files.write("ca.pem", &authority.pem()),
        cert: files.write("client.pem", &certificate),
        key: files.write("client.key", &key),
        token: files.write("token", "0123456789abcdef0123456789abcdef\n"),
        ..ForecastOptions::default()
    };
    let options = ServeOptions { forecasts, ..options() };
    let gateway = lab_with(&["ues[0].drbs[0].pipeline=drql_forecast"], &options).await;
    let stream = patiently(streams.recv()).await.expect("a stream");
    let token = Some("Bearer 0123456789abcdef0123456789abcdef");
    assert_eq!(stream.authorization.as_deref(), token);
    let not_after = r#"sojourn_tls_certificate_not_after_seconds{use="forecasts"}"#;
    until(async || metric(&gateway, not_after).await > 4e9).await;
    convince(&gateway, &stream).await;
}

#[tokio::test]
async fn forecast_options_that_cannot_be_used_are_named() {
    let files = Files::new();
    let remote = || Some("192.0.2.1:36422".to_owned());
    let default = ForecastOptions::default;
    for (forecasts, word) in [
        (ForecastOptions { address: Some("nowhere".to_owned()), ..default() }, "HOST:PORT"),
        (ForecastOptions { address: remote(), ..default() }, "--forecasts-ca"),
        (
            ForecastOptions { address: remote(), ca: Some(files.path("absent.pem")), ..default() },
            "absent.pem",
        ),
        (
            ForecastOptions {
                address: remote(),
                ca: files.write("ca.pem", &Authority::new().pem()),
                token: files.write("token", "short"),
                ..default()
            },
            "expected a first line of 32",
        ),
    ] {
        let (double, _script) = Double::new();
        let options = ServeOptions { forecasts, ..options() };
        let error = Gateway::start(double, &options).await.expect_err("refused").to_string();
        assert!(error.contains("--forecasts") && error.contains(word), "{error}");
    }
}

/// HTTP/2 pings (RFC 9113 §6.7) of a client whose calls nobody answers, within six seconds.
async fn pings(mut stream: TcpStream) -> usize {
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const ACK: u8 = 1;
    let settings = |flags| [0, 0, 0, SETTINGS, flags, 0, 0, 0, 0];
    let mut pings = 0;
    let serve = async {
        stream.write_all(&settings(0)).await?;
        stream.read_exact(&mut [0; 24]).await?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await?;
            let [a, b, c, kind, flags, ..] = head;
            let mut payload = vec![0; usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c)];
            stream.read_exact(&mut payload).await?;
            if kind == SETTINGS && flags & ACK == 0 {
                stream.write_all(&settings(ACK)).await?;
            }
            pings += usize::from(kind == PING && flags & ACK == 0);
        }
    };
    let ended: Result<std::io::Result<()>, _> = timeout(Duration::from_secs(6), serve).await;
    assert!(ended.is_err(), "the client stays: {ended:?}");
    pings
}

#[tokio::test]
async fn a_stream_without_forecasts_is_kept_without_pings() {
    // A server of gRPC permits one in 300 s, and ends the connection of who sends more (gRFC A8).
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    let options = ServeOptions { forecasts: at(address), ..options() };
    let _gateway = lab_with(&[], &options).await;
    let (stream, _) = patiently(listener.accept()).await.expect("a connection");
    assert_eq!(pings(stream).await, 0);
}
