//! A gRPC server: the procedures of one service, health and reflection.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture, stream::select_all};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serving::{
    access::Right,
    address::Bound as BoundAddress,
    admission::{Admission, Client},
    incoming::Protocol,
    limits::{Connections, OpenStream, OpenStreams},
};
use tokio::{sync::watch, time::timeout};
use tonic::{
    Request, Response, Status,
    body::Body,
    codegen::{Service, http},
    server::{ClientStreamingService, Grpc, StreamingService},
    service::{Routes, interceptor::InterceptedService},
    transport::Server,
};
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{
    caller::right_of,
    calls::{self, FIRST_REQUEST, Responses, Shape},
    codec::BytesCodec,
    guard::{Files, Front, Guard, Shared},
    mailbox::Event,
};

/// HTTP/2 windows for requests; clients set those for responses.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// A peer that disappears without closing is detected within twice this.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Concurrent calls per connection; a client of the SDK needs four.
const MAX_CALLS: u32 = 64;
/// Header fields of a call; a token and what meshes add are far smaller. h2 bounds the fragments of a header
/// block, its CONTINUATION frames and its table by this and by the frame size.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// Frames but DATA: the initial SETTINGS_MAX_FRAME_SIZE (RFC 9113 §6.5.2).
const MAX_FRAME_BYTES: u32 = 16 << 10;
/// Calls that a client has given up before they were served: a flood of them ends its connection.
const MAX_RESETS: usize = 64;

/// One procedure, as Python names it: right, many requests, many responses, most bytes of a request.
type GivenProcedure = (String, bool, bool, usize);

struct Procedure {
    name: Arc<str>,
    path: String,
    right: Right,
    shape: Shape,
    max_request_bytes: usize,
}

/// What calls of the service share.
struct Calls {
    number: u64,
    shared: Arc<Shared>,
    procedures: HashMap<String, Arc<Procedure>>,
    streams: OpenStreams,
}

/// The service with any name: calls come here by their path.
#[derive(Clone)]
struct Procedures(Arc<Calls>);

impl Service<http::Request<axum::body::Body>> for Procedures {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<axum::body::Body>) -> Self::Future {
        let procedure = self.0.procedures.get(request.uri().path()).cloned();
        let client = request.extensions().get::<Client>().cloned();
        let calls = Arc::clone(&self.0);
        async move {
            let (Some(procedure), Some(client)) = (procedure, client) else {
                return Ok(Status::unimplemented("Method not found!").into_http());
            };
            let has_many_requests = procedure.shape.has_many_requests;
            Ok(match calls.admit(procedure, client).await {
                Ok(admitted) => admitted.serve(request).await,
                Err(status) => {
                    if has_many_requests {
                        let mut body = request.into_body();
                        // Whatever comes, or does not.
                        let _ = timeout(FIRST_REQUEST, body.frame()).await;
                    }
                    status.into_http()
                }
            })
        }
        .boxed()
    }
}

impl Calls {
    /// Whether the client of a call may use its procedure, and has a stream left if it needs one.
    // The error is the status of the call.
    #[allow(clippy::result_large_err)]
    async fn admit(
        self: Arc<Self>,
        procedure: Arc<Procedure>,
        client: Client,
    ) -> Result<Admitted, Status> {
        client.caller.require(procedure.right, None, &procedure.path)?;
        let Shape { has_many_requests, has_many_responses } = procedure.shape;
        let stream = if has_many_requests || has_many_responses {
            match self.streams.open(&client.account) {
                Ok(stream) => Some(stream),
                Err(refused) => {
                    client.account.refusal_pause().await;
                    return Err(refused.into());
                }
            }
        } else {
            None
        };
        Ok(Admitted { calls: self, procedure, client, stream })
    }
}

struct Admitted {
    calls: Arc<Calls>,
    procedure: Arc<Procedure>,
    client: Client,
    stream: Option<OpenStream>,
}

impl Admitted {
    async fn serve(self, request: http::Request<axum::body::Body>) -> http::Response<Body> {
        let max_request_bytes = self.procedure.max_request_bytes;
        let has_many_responses = self.procedure.shape.has_many_responses;
        let mut grpc = Grpc::new(BytesCodec).max_decoding_message_size(max_request_bytes);
        let handler = Handler(Some(self));
        if has_many_responses {
            grpc.streaming(Streamed(handler), request).await
        } else {
            grpc.client_streaming(Single(handler), request).await
        }
    }
}

/// Hands the call to Python; used once.
struct Handler(Option<Admitted>);

impl Handler {
    fn begin(
        &mut self,
        request: Request<tonic::Streaming<Bytes>>,
    ) -> BoxFuture<'static, Result<Responses, Status>> {
        let admitted = self.0.take();
        async move {
            let admitted = admitted.ok_or_else(|| Status::internal("a call is served once"))?;
            let Admitted { calls, procedure, client, stream } = admitted;
            let (mailbox, name) = (&calls.shared.mailbox, Arc::clone(&procedure.name));
            calls::begin(mailbox, calls.number, name, procedure.shape, stream, client, request)
                .await
        }
        .boxed()
    }
}

struct Streamed(Handler);

impl StreamingService<Bytes> for Streamed {
    type Response = Bytes;
    type ResponseStream = Responses;
    type Future = BoxFuture<'static, Result<Response<Responses>, Status>>;

    fn call(&mut self, request: Request<tonic::Streaming<Bytes>>) -> Self::Future {
        let begun = self.0.begin(request);
        async move { begun.await?.begun().await.map(Response::new) }.boxed()
    }
}

struct Single(Handler);

impl ClientStreamingService<Bytes> for Single {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<tonic::Streaming<Bytes>>) -> Self::Future {
        let begun = self.0.begin(request);
        async move { begun.await?.only().await.map(Response::new) }.boxed()
    }
}

/// A gRPC server.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct GrpcServer {
    #[pyo3(get)]
    number: u64,
    bound: BoundAddress,
    service: String,
    connections: Connections,
    calls: Arc<Calls>,
    reflection: Vec<u8>,
    reporter: HealthReporter,
    front: Mutex<Option<Front>>,
    stop: watch::Sender<bool>,
}

#[pymethods]
impl GrpcServer {
    #[new]
    #[pyo3(signature = (
        guard, section, listen, service, procedures, descriptors, files, insecure,
        max_connections, max_streams,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        guard: &Guard,
        section: &str,
        listen: &str,
        service: String,
        procedures: HashMap<String, GivenProcedure>,
        descriptors: Vec<u8>,
        files: Option<Files>,
        insecure: bool,
        max_connections: usize,
        max_streams: u64,
    ) -> PyResult<Self> {
        let protocol = Protocol::Grpc;
        let front = guard.front(protocol, section, listen, files, insecure, max_connections)?;
        let procedures = procedures.into_iter().map(|(name, given)| {
            let (right, has_many_requests, has_many_responses, max_request_bytes) = given;
            let path = format!("/{service}/{name}");
            let procedure = Procedure {
                name: name.into(),
                path: path.clone(),
                right: right_of(&right)?,
                shape: Shape { has_many_requests, has_many_responses },
                max_request_bytes,
            };
            Ok((path, Arc::new(procedure)))
        });
        let number = guard.shared.mailbox.number();
        let calls = Calls {
            number,
            shared: Arc::clone(&guard.shared),
            procedures: procedures.collect::<PyResult<_>>()?,
            streams: OpenStreams::new(max_streams),
        };
        Ok(Self {
            number,
            bound: front.bound().clone(),
            service,
            connections: front.connections.clone(),
            calls: Arc::new(calls),
            reflection: descriptors,
            reporter: HealthReporter::new(),
            front: Mutex::new(Some(front)),
            stop: watch::channel(false).0,
        })
    }

    #[getter]
    fn address(&self) -> String {
        self.bound.to_string()
    }

    #[getter]
    fn port(&self) -> u16 {
        self.bound.port()
    }

    /// Accepts connections from now on, unless it was stopped.
    fn start(&self, py: Python<'_>, guard: &Guard) -> PyResult<()> {
        let Some(front) = self.front.lock().take() else { return Ok(()) };
        self.set_ready(py, guard, false)?;
        let handle = guard.handle()?;
        let _entered = handle.enter();
        let incoming = front.incoming(&guard.shared)?;
        let routes = self.routes().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let shared = Arc::clone(&guard.shared);
        let admission =
            Admission { access: Arc::clone(&shared.access), limits: shared.limits.clone() };
        // What each setting is for is said at its value. Floods of SETTINGS and PING are answered one at a
        // time by h2, which reads no further meanwhile.
        let router = Server::builder()
            .layer(admission)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(MAX_CALLS)
            .max_frame_size(MAX_FRAME_BYTES)
            .http2_max_header_list_size(MAX_HEADER_BYTES)
            .http2_max_pending_accept_reset_streams(Some(MAX_RESETS))
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE))
            .add_routes(routes);
        let mut stopping = self.stop.subscribe();
        let number = self.number;
        tokio::spawn(async move {
            let stopped = async move {
                // A dropped sender means that the server was dropped.
                let _ = stopping.wait_for(|stop| *stop).await;
            };
            let served = router.serve_with_incoming_shutdown(select_all(incoming), stopped).await;
            if let Err(error) = served {
                tracing::error!(%error, "the gRPC server has failed");
            }
            shared.mailbox.push(Event::ServerEnded(number));
        });
        Ok(())
    }

    /// Sets the status of the health service.
    fn set_ready(&self, py: Python<'_>, guard: &Guard, ready: bool) -> PyResult<()> {
        let handle = guard.handle()?;
        let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        py.detach(|| {
            handle.block_on(async {
                self.reporter.set_service_status("", status).await;
                self.reporter.set_service_status(&self.service, status).await;
            });
        });
        Ok(())
    }

    /// Accepts no more connections and calls; an event tells when those that are open have ended. Whether
    /// there will be one.
    fn stop(&self) -> bool {
        self.stop.send_replace(true);
        self.front.lock().take().is_none()
    }

    /// Ends all connections.
    fn cut(&self) {
        self.connections.end_all();
    }
}

impl GrpcServer {
    fn routes(&self) -> Result<Routes, tonic_reflection::server::Error> {
        let health =
            tonic_health::server::HealthService::from_health_reporter(self.reporter.clone());
        let health = tonic_health::pb::health_server::HealthServer::new(health);
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(&self.reflection)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let v1 = InterceptedService::new(reflection().build_v1()?, may_read);
        // Most command-line clients use v1alpha.
        let v1alpha = InterceptedService::new(reflection().build_v1alpha()?, may_read);
        let procedures = axum::Router::new().fallback_service(Procedures(Arc::clone(&self.calls)));
        Ok(Routes::from(procedures).add_service(health).add_service(v1).add_service(v1alpha))
    }
}

/// Passes on a call whose client may read.
// The error is the status of the call.
#[allow(clippy::result_large_err)]
fn may_read(request: Request<()>) -> Result<Request<()>, Status> {
    let client = request.extensions().get::<Client>();
    let client = client.ok_or_else(|| Status::internal("the call was not admitted"))?;
    client.caller.require(Right::Read, None, "reflection")?;
    Ok(request)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<GrpcServer>()?;
    module.add_class::<calls::Call>()?;
    module.add_class::<calls::Message>()
}
