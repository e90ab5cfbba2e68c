//! An HTTP server, whose requests Python answers.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, StatusCode},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream::select_all;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use parking_lot::Mutex;
use pyo3::{exceptions::PyValueError, prelude::*};
use serving::{
    address::Bound as BoundAddress,
    admission::Client,
    hosts::{AllowedHosts, HostName},
    http::{Admission, OpenRequest, Rates, admitted, plain, problem, serve},
    incoming::Protocol,
    limits::Connections,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::timeout,
};
use tonic::Status;
use tracing::dispatcher::{Dispatch, get_default};

use crate::{
    caller::Caller,
    calls::Sent,
    guard::{Files, Front, Guard, Shared},
    limits::Rate,
    mailbox::{Event, ForPython, Mailbox},
    outgoing::{Outgoing, OutgoingStream},
    setup_error,
};

/// Time for the body of a request to come.
const BODY: Duration = Duration::from_secs(10);

/// A request that was admitted.
struct NewRequest {
    number: u64,
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    has_body: bool,
    client: Client,
    log: Dispatch,
    exchange: Arc<Exchange>,
}

/// What the connection and Python share of a request.
struct Exchange {
    answer: Mutex<Option<oneshot::Sender<Response>>>,
    /// Python wants the body.
    reading: Notify,
    outgoing: Arc<Outgoing>,
    open: Option<OpenRequest>,
}

/// Tells Python when the client leaves before it has its answer.
struct Unanswered {
    number: u64,
    mailbox: Arc<Mailbox>,
    is_answered: bool,
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if !self.is_answered {
            self.mailbox.push(Event::Gone(self.number));
        }
    }
}

/// What requests of a server share.
#[derive(Clone)]
struct Requests {
    server: u64,
    mailbox: Arc<Mailbox>,
    max_body_bytes: usize,
}

async fn handle(
    State(requests): State<Requests>,
    Extension(client): Extension<Client>,
    open: Option<Extension<OpenRequest>>,
    request: HttpRequest<Body>,
) -> Response {
    let Requests { server, mailbox, max_body_bytes } = requests;
    let number = mailbox.number();
    let (head, body) = request.into_parts();
    let (answer, answered) = oneshot::channel();
    let exchange = Arc::new(Exchange {
        answer: Mutex::new(Some(answer)),
        reading: Notify::new(),
        outgoing: Outgoing::new(number, &mailbox),
        open: open.map(|Extension(open)| open),
    });
    let path = percent_encoding::percent_decode_str(head.uri.path()).decode_utf8_lossy();
    let new = NewRequest {
        number,
        method: head.method.to_string(),
        path: path.into_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: headers_of(&head.headers),
        has_body: !axum::body::HttpBody::is_end_stream(&body),
        client,
        // That of the runtime's threads.
        log: get_default(Dispatch::clone),
        exchange: Arc::clone(&exchange),
    };
    let mut unanswered = Unanswered { number, mailbox: Arc::clone(&mailbox), is_answered: false };
    mailbox.push(Event::Begin(server, Box::new(new)));
    let read = async {
        exchange.reading.notified().await;
        mailbox.push(Event::Body(number, read(body, max_body_bytes).await));
        std::future::pending::<Infallible>().await
    };
    let answer = tokio::select! {
        answer = answered => answer,
        never = read => match never {},
    };
    unanswered.is_answered = true;
    // Without an answer the handler has failed to give one.
    answer.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// Header fields with names in lower case; those of a name are joined (RFC 9110 §5.3).
fn headers_of(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .keys()
        .map(|name| {
            let values = headers.get_all(name).iter();
            let values: Vec<_> =
                values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
            (name.as_str().to_owned(), values.join(", "))
        })
        .collect()
}

/// The body within its bounds, or status and sentence of the refusal.
async fn read(body: Body, max_bytes: usize) -> Result<Bytes, (u16, String)> {
    match timeout(BODY, Limited::new(body, max_bytes).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let status = StatusCode::PAYLOAD_TOO_LARGE.as_u16();
            Err((status, format!("body: longer than expected; expected at most {max_bytes} bytes")))
        }
        Ok(Err(_)) => {
            Err((StatusCode::BAD_REQUEST.as_u16(), "body: not complete; expected all of it".into()))
        }
        Err(_) => {
            let seconds = BODY.as_secs();
            let message = format!("body: not complete; expected within {seconds} s");
            Err((StatusCode::REQUEST_TIMEOUT.as_u16(), message))
        }
    }
}

/// One request.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Request {
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    method: String,
    #[pyo3(get)]
    path: String,
    #[pyo3(get)]
    query: String,
    #[pyo3(get)]
    headers: Vec<(String, String)>,
    #[pyo3(get)]
    has_body: bool,
    #[pyo3(get)]
    caller: Py<Caller>,
    exchange: Arc<Exchange>,
}

impl ForPython for NewRequest {
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Self { number, method, path, query, headers, has_body, client, log, exchange } = *self;
        let caller = Py::new(py, Caller::new(py, client, log)?)?;
        let request = Request { number, method, path, query, headers, has_body, caller, exchange };
        Ok(Bound::new(py, request)?.into_any())
    }
}

impl Request {
    fn answer(&self, status: u16, headers: Vec<(String, String)>, body: Body) -> PyResult<()> {
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status)
            .map_err(|error| PyValueError::new_err(format!("{status}: {error}")))?;
        for (name, value) in headers {
            let parsed = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(&value).ok());
            let (name, value) = parsed
                .ok_or_else(|| PyValueError::new_err(format!("{name}: {value:?} is no header")))?;
            response.headers_mut().append(name, value);
        }
        if let Some(answer) = self.exchange.answer.lock().take() {
            // Fails if the client has left.
            let _ = answer.send(response);
        }
        Ok(())
    }
}

#[pymethods]
impl Request {
    /// Asks for the body; an event has it.
    fn read(&self) {
        self.exchange.reading.notify_one();
    }

    /// Answers.
    fn respond(&self, status: u16, headers: Vec<(String, String)>, body: &[u8]) -> PyResult<()> {
        self.answer(status, headers, Body::from(Bytes::copy_from_slice(body)))
    }

    /// Begins an answer of chunks, which may last for ever.
    fn begin(&self, status: u16, headers: Vec<(String, String)>) -> PyResult<()> {
        if let Some(open) = &self.exchange.open {
            open.streams();
        }
        let outgoing = Arc::clone(&self.exchange.outgoing);
        let chunks = OutgoingStream::new(outgoing, std::future::pending::<Status>());
        self.answer(status, headers, Body::from_stream(chunks))
    }

    /// Sends a chunk; False if another waits for the connection.
    fn try_send(&self, chunk: Sent<'_>) -> bool {
        self.exchange.outgoing.try_send(chunk.bytes())
    }

    /// Ends the answer; one that has failed is cut off.
    #[pyo3(signature = (*, failed = false))]
    fn finish(&self, failed: bool) {
        let end = if failed { Err(Status::unknown("the answer has failed")) } else { Ok(()) };
        self.exchange.outgoing.end(end);
    }

    /// Ends the connection now.
    fn cut(&self) {
        if let Some(open) = &self.exchange.open {
            open.cut();
        }
    }
}

/// An HTTP server.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct HttpServer {
    #[pyo3(get)]
    number: u64,
    bound: BoundAddress,
    connections: Connections,
    admission: Admission,
    requests: Requests,
    front: Mutex<Option<Front>>,
    stop: watch::Sender<bool>,
    shared: Arc<Shared>,
}

#[pymethods]
impl HttpServer {
    #[new]
    #[pyo3(signature = (
        guard, section, label, listen, allowed_hosts, files, insecure, max_connections,
        max_body_bytes, problems,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        guard: &Guard,
        section: &str,
        label: &str,
        listen: &str,
        allowed_hosts: Vec<String>,
        files: Option<Files>,
        insecure: bool,
        max_connections: usize,
        max_body_bytes: usize,
        problems: bool,
    ) -> PyResult<Self> {
        let protocol = match label {
            "http" => Protocol::Http,
            "a1" => Protocol::A1,
            _ => return Err(setup_error(format!("label: {label:?}; expected http or a1"))),
        };
        let names = allowed_hosts.iter().enumerate().map(|(index, name)| {
            HostName::parse(name).map_err(|expected| {
                setup_error(format!("{section}.allowed_hosts[{index}]: {name:?}; {expected}"))
            })
        });
        let hosts = AllowedHosts::new(listen, &names.collect::<PyResult<Vec<_>>>()?);
        let front = guard.front(protocol, section, listen, files, insecure, max_connections)?;
        let shared = Arc::clone(&guard.shared);
        let number = shared.mailbox.number();
        Ok(Self {
            number,
            bound: front.bound().clone(),
            connections: front.connections.clone(),
            admission: Admission {
                access: Arc::clone(&shared.access),
                limits: shared.limits.clone(),
                rates: Rates::default(),
                hosts,
                render: if problems { problem } else { plain },
            },
            requests: Requests {
                server: number,
                mailbox: Arc::clone(&shared.mailbox),
                max_body_bytes,
            },
            front: Mutex::new(Some(front)),
            stop: watch::channel(false).0,
            shared,
        })
    }

    #[getter]
    fn address(&self) -> String {
        self.bound.to_string()
    }

    fn set_rate(&self, path: &str, rate: &Rate) {
        self.admission.rates.set(path, rate.0);
    }

    /// Accepts connections from now on, unless it was stopped.
    fn start(&self, guard: &Guard) -> PyResult<()> {
        let Some(front) = self.front.lock().take() else { return Ok(()) };
        let runtime = guard.handle()?;
        let _entered = runtime.enter();
        let incoming = select_all(front.incoming(&self.shared)?);
        let app = Router::new().fallback(handle).with_state(self.requests.clone());
        let app = admitted(app, self.admission.clone());
        let (number, mailbox) = (self.number, Arc::clone(&self.shared.mailbox));
        let served = serve(incoming, app, self.admission.clone(), self.stop.subscribe());
        tokio::spawn(async move {
            served.await;
            mailbox.push(Event::ServerEnded(number));
        });
        Ok(())
    }

    /// Accepts no more connections; an event tells when those that are open have ended. Whether there will be
    /// one.
    fn stop(&self) -> bool {
        self.stop.send_replace(true);
        self.front.lock().take().is_none()
    }

    /// Ends all connections.
    fn cut(&self) {
        self.connections.end_all();
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HttpServer>()?;
    module.add_class::<Request>()
}
