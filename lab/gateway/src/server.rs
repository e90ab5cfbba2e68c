//! A running gateway: the world's thread, the gRPC and the HTTP server.

use std::{
    net::SocketAddr,
    pin::pin,
    sync::{Arc, atomic::Ordering, mpsc},
    time::Duration,
};

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    sync::watch,
    task::JoinHandle,
    time::{interval, timeout},
};
use tonic::{Request, service::interceptor::InterceptedService, transport::Server};

use serving::{
    SetupError,
    access::{AccessControl, Audit, Caller, Right},
    admission::Admission,
    hosts::AllowedHosts,
    incoming::{Certificates, ClientCertificate, Identify, Incoming, Protocol, Terms},
    limits::Limits,
    listener::{self, Listening},
    metrics::ServingMetrics,
};

use super::{
    clock::WallClock,
    command::{COMMAND_QUEUE, Commands, Waker},
    controls::ControlHandler,
    error::{ServeError, cause},
    forecasts::{ForecastStream, Forecaster},
    health::Health,
    http::{self, HttpState},
    hub::Hub,
    local_client::LocalClient,
    metrics::{Exposition, GatewayMetrics},
    node::{E2Node, Recording},
    options::ServeOptions,
    paced::{Paced, PacerState},
    pacer::Pacer,
    proto::{FILE_DESCRIPTOR_SET, e2_gateway_server::E2GatewayServer},
    scrapes::Scrapes,
    service::{GatewayService, require},
    subscriptions::SubscribeHandler,
    world_thread::WorldThread,
};

/// Largest request; controls and actions of E2SM-TC are far smaller. A request that is refused by its
/// content is decoded first, which takes as long as its length.
const MAX_REQUEST_BYTES: usize = 256 << 10;
/// HTTP/2 windows for requests; clients set those for responses.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// A peer that disappears without closing is detected within twice this.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Concurrent calls per connection; a client of the SDK needs four.
const MAX_CALLS: u32 = 64;
/// Header fields of a call; a token and what meshes add are far smaller.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// Time for open calls to end on stop.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Time for the world's thread to end; longer than any step.
const WORLD_GRACE: Duration = Duration::from_secs(10);
/// Period of checking certificates and access file for changes.
const RELOAD_PERIOD: Duration = Duration::from_secs(1);

/// A running gateway. Dropping it stops it without waiting; see [`stop`](Self::stop).
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    local: LocalClient,
    state: StopOnDrop,
    world: WorldThread,
    shutdown: watch::Sender<bool>,
    tasks: Vec<(&'static str, JoinHandle<Result<(), ServeError>>)>,
}

/// Stops the world's thread when the gateway is dropped.
#[derive(Debug)]
struct StopOnDrop(Arc<PacerState>);

impl Gateway {
    /// Binds the addresses and starts the world.
    ///
    /// # Errors
    /// An address, certificate, key, access file or audit file that cannot be used.
    pub async fn start<W: E2Node>(world: W, options: &ServeOptions) -> Result<Self, ServeError> {
        Self::start_recorded(world, None, options).await
    }

    /// Starts as [`start`](Self::start) does; `recording` is completed when the world ends or its
    /// thread panics.
    ///
    /// # Errors
    /// An address, certificate, key, access file or audit file that cannot be used.
    pub async fn start_recorded<W: E2Node>(
        mut world: W,
        recording: Option<Box<dyn Recording<W>>>,
        options: &ServeOptions,
    ) -> Result<Self, ServeError> {
        let listener = bind("--listen", options.grpc_address()?)?;
        let http_listener = match options.http_address()? {
            Some(address) => Some(bind("--metrics-listen", address)?),
            None => None,
        };
        let forecaster = Forecaster::from_options(&options.forecasts, options.insecure)?;
        let metrics = GatewayMetrics::default();
        let files = options.certificate_files()?;
        let certificates = |protocol: Protocol| {
            let read = |files| Certificates::new(protocol, files, metrics.serving().clone());
            files.clone().map(read).transpose().map(|read| read.map(Arc::new))
        };
        let grpc_certificates = certificates(Protocol::Grpc)?;
        let http_certificates = match &http_listener {
            Some(_) => certificates(Protocol::Http)?,
            None => None,
        };
        let access = access_control(options, metrics.serving())?;
        log_protection(options, grpc_certificates.as_deref(), listener.address);

        let (sender, commands) = mpsc::sync_channel(COMMAND_QUEUE);
        let sender = Commands(Arc::new(sender));
        world.set_waker(Waker(sender.clone()));
        let (nodes, nodes_seen) = watch::channel(Arc::new(world.nodes()));
        let state = Arc::new(PacerState::new());
        let stop_on_drop = StopOnDrop(Arc::clone(&state));
        let clock = WallClock::anchored_at(world.now_us());
        let hub = Hub::new(metrics.clone(), nodes, clock);
        let paced = Paced::new(
            world,
            recording,
            hub,
            clock,
            Arc::clone(&state),
            metrics.clone(),
            options.duration,
        );
        let uses_cumulated_drain = paced.uses_cumulated_drain();
        let paced = Arc::new(Mutex::new(paced));
        let held = Arc::downgrade(&paced);
        let world = WorldThread::spawn(Pacer { paced, commands, state: Arc::clone(&state) })?;

        let (shutdown, stopping) = watch::channel(false);
        let address = listener.address;
        let forecast_nodes = nodes_seen.clone();
        let pools = options.node_pools();
        let service = GatewayService {
            nodes: nodes_seen,
            subscriptions: SubscribeHandler {
                commands: sender.clone(),
                metrics: metrics.clone(),
                pools: pools.clone(),
                stopping: stopping.clone(),
            },
            controls: ControlHandler {
                commands: sender.clone(),
                metrics: metrics.clone(),
                timeout: options.control_timeout,
                owners: Arc::default(),
                pools,
                stopping: stopping.clone(),
            },
        };
        let (reporter, health_service) = tonic_health::server::health_reporter();
        let health = Health {
            state: Arc::clone(&state),
            stopping: stopping.clone(),
            has_forecaster: forecaster.is_some(),
            metrics: metrics.clone(),
        };
        tokio::spawn(health.clone().report_to(reporter));
        let client = forecaster.as_ref().and(options.forecasts.cert.clone());
        let client =
            client.map(|file| ClientCertificate::new("forecasts", file, metrics.serving().clone()));
        let reread =
            [&grpc_certificates, &http_certificates].into_iter().flatten().cloned().collect();
        tokio::spawn(reload(reread, client, Arc::clone(&access), stopping.clone()));
        let may_read =
            |request: Request<()>| require(&request, Right::Read, "reflection").map(|_| request);
        let limits = Limits::new(metrics.serving().limited());
        let connections = |protocol: Protocol| {
            access.expect(protocol);
            let open = limits.connections(
                options.max_connections,
                protocol == Protocol::Http,
                metrics.serving().connections(protocol.name()),
            );
            tokio::spawn(stopped_by(open.clone().end_idle(), stopping.clone()));
            open
        };
        let terms = |protocol: Protocol, certificates: Option<&Arc<Certificates>>| Terms {
            protocol,
            has_client_ca: certificates.is_some_and(|certificates| certificates.has_client_ca()),
            is_insecure: options.insecure,
        };
        let grpc_connections = connections(Protocol::Grpc);
        tokio::spawn(stopped_by(metrics.serving().limited().log(), stopping.clone()));
        let v1 = reflection().build_v1().map_err(|error| reflection_failed(&error))?;
        let v1alpha = reflection().build_v1alpha().map_err(|error| reflection_failed(&error))?;
        let router = Server::builder()
            .layer(Admission { access: Arc::clone(&access), limits: limits.clone() })
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(MAX_CALLS)
            .http2_max_header_list_size(MAX_HEADER_BYTES)
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .add_service(E2GatewayServer::new(service).max_decoding_message_size(MAX_REQUEST_BYTES))
            .add_service(health_service)
            .add_service(InterceptedService::new(v1, may_read))
            // Most command-line clients use v1alpha.
            .add_service(InterceptedService::new(v1alpha, may_read));
        let known = Arc::clone(&access);
        let identify: Identify =
            Arc::new(move |peer| Caller::new(&known, peer.clone(), None).client_key());
        let incoming = Incoming::new(
            terms(Protocol::Grpc, grpc_certificates.as_ref()),
            listener.accept()?,
            grpc_certificates,
            grpc_connections,
            Arc::clone(&identify),
        );
        let stop = until(stopping.clone());
        let local = LocalClient {
            world: held,
            commands: sender.clone(),
            metrics: metrics.clone(),
            runtime: Handle::current(),
        };
        let mut tasks = vec![(
            "gRPC",
            tokio::spawn(async move {
                router
                    .serve_with_incoming_shutdown(incoming, stop)
                    .await
                    .map_err(|error| ServeError::Server { server: "gRPC", detail: cause(&error) })
            }),
        )];

        if let Some(forecaster) = forecaster {
            let stream = ForecastStream {
                forecaster,
                nodes: forecast_nodes,
                uses_cumulated_drain,
                commands: sender.clone(),
                metrics: metrics.clone(),
            };
            tokio::spawn(stopped_by(stream.run(), stopping.clone()));
        }

        let metrics_address = http_listener.as_ref().map(|listener| listener.address);
        if let Some(listener) = http_listener {
            let connections = connections(Protocol::Http);
            let terms = terms(Protocol::Http, http_certificates.as_ref());
            let listener = listener.accept()?;
            let incoming = Incoming::new(terms, listener, http_certificates, connections, identify);
            let (detail, top) = (&options.metrics_detail, options.metrics_top_bearers);
            let exposition = Exposition::new(metrics, options.program, detail, top);
            let scrapes = Scrapes::new(sender, exposition);
            let listen = options.metrics_listen.as_deref().unwrap_or_default();
            let hosts = AllowedHosts::new(listen, &options.allowed_hosts);
            let rates = serving::http::Rates::default();
            rates.set("/metrics", serving::http::SCRAPES);
            let render = serving::http::plain;
            let admission = serving::http::Admission { access, limits, rates, hosts, render };
            let app = http::router(HttpState { scrapes, health }, admission.clone());
            let served = serving::http::serve(incoming, app, admission, stopping);
            tasks.push(("HTTP", tokio::spawn(served.map(Ok))));
        }
        Ok(Self { address, metrics_address, local, state: stop_on_drop, world, shutdown, tasks })
    }

    /// Address of the gRPC server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Address of the HTTP server, if enabled.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Client within this process.
    pub fn local(&self) -> LocalClient {
        self.local.clone()
    }

    /// Waits until the world ends by itself: its duration has passed, or its thread panicked.
    pub async fn ended(&mut self) {
        self.world.ended().await;
    }

    /// Ends all calls with `UNAVAILABLE`, closes the listeners and returns the summary of the run.
    ///
    /// # Errors
    /// The world or a server failed.
    pub async fn stop(mut self) -> Result<serde_json::Value, ServeError> {
        self.state.0.stop.store(true, Ordering::Relaxed);
        let ended = timeout(WORLD_GRACE, self.ended()).await;
        self.shutdown.send_replace(true);
        let mut failure = None;
        for (server, mut task) in std::mem::take(&mut self.tasks) {
            match timeout(STOP_GRACE, &mut task).await {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(error))) => failure = Some(error),
                Ok(Err(error)) => {
                    failure = Some(ServeError::Server { server, detail: error.to_string() });
                }
                // A client does not read its stream to the end.
                Err(_) => task.abort(),
            }
        }
        let summary = self.world.summary(ended.is_ok());
        failure.map_or(summary, Err)
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

struct Bound {
    listener: Listening,
    address: SocketAddr,
    option: &'static str,
}

fn bind(option: &'static str, address: SocketAddr) -> Result<Bound, ServeError> {
    let listener = Listening::bind(address);
    let listener = listener.map_err(|source| ServeError::Bind { option, address, source })?;
    let address = listener.address().unwrap_or(address);
    Ok(Bound { listener, address, option })
}

impl Bound {
    fn accept(self) -> Result<listener::Accepting, ServeError> {
        let Self { listener, address, option } = self;
        listener.accept().map_err(|source| ServeError::Bind { option, address, source })
    }
}

/// Runs until the gateway stops.
async fn stopped_by(running: impl Future<Output = ()>, stopping: watch::Receiver<bool>) {
    tokio::select! {
        () = running => {}
        () = until(stopping) => {}
    }
}

async fn until(mut stopping: watch::Receiver<bool>) {
    // A dropped sender means that the gateway was dropped.
    let _ = stopping.wait_for(|stop| *stop).await;
}

fn access_control(
    options: &ServeOptions,
    metrics: &ServingMetrics,
) -> Result<Arc<AccessControl>, ServeError> {
    let audit = Audit::new(options.audit.as_deref(), options.access.is_some(), metrics.clone());
    let audit = audit.map_err(|source| SetupError::Audit {
        setting: "--audit".to_owned(),
        path: options.audit.clone().unwrap_or_default(),
        source,
    })?;
    let path = options.access.clone();
    AccessControl::new(path, audit, metrics.clone())
        .map(Arc::new)
        .map_err(|error| SetupError::Access(error.to_string()).into())
}

fn log_protection(
    options: &ServeOptions,
    certificates: Option<&Certificates>,
    address: SocketAddr,
) {
    if options.insecure {
        tracing::warn!(%address, "plain text beyond loopback is allowed (--insecure)");
    }
    if options.access.is_none() && certificates.is_some_and(Certificates::has_client_ca) {
        tracing::warn!(
            "no access file: every client with a certificate of the CA may do everything"
        );
    }
}

/// Checks certificates and access file for changes until the gateway stops.
async fn reload(
    certificates: Vec<Arc<Certificates>>,
    mut client: Option<ClientCertificate>,
    access: Arc<AccessControl>,
    stopping: watch::Receiver<bool>,
) {
    let mut ticks = interval(RELOAD_PERIOD);
    let mut stop = pin!(until(stopping));
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = &mut stop => return,
        }
        access.reload();
        if let Some(client) = &mut client {
            client.check();
        }
        certificates.iter().for_each(|certificates| certificates.reload(&access.audit));
    }
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

fn reflection_failed(error: &tonic_reflection::server::Error) -> ServeError {
    ServeError::Server { server: "gRPC reflection", detail: error.to_string() }
}
