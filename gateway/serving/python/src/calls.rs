//! One call of gRPC, of the server's side and of Python's.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture};
use pyo3::{prelude::*, types::PyBytes};
use serving::{admission::Client, limits::OpenStream};
use tokio::{
    sync::{Semaphore, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tonic::{Code, Request, Status, Streaming, metadata::KeyAndValueRef};
use tracing::dispatcher::{Dispatch, get_default};

use crate::{
    caller::Caller,
    mailbox::{Event, ForPython, Mailbox},
    outgoing::{Outgoing, OutgoingStream},
};

/// Request messages of a call that wait for Python.
const REQUESTS_AHEAD: usize = 4;
/// Time for the first request of a call with many of them before the call ends with an error: gRPC's client
/// shows INTERNAL in place of a status that comes while it begins to send.
pub(crate) const FIRST_REQUEST: Duration = Duration::from_millis(100);

/// What a procedure takes and gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) has_many_requests: bool,
    pub(crate) has_many_responses: bool,
}

/// A call that was admitted.
pub(crate) struct NewCall {
    number: u64,
    procedure: Arc<str>,
    client: Client,
    log: Dispatch,
    metadata: Vec<(String, String)>,
    /// The request of a procedure with one.
    request: Option<Bytes>,
    outgoing: Arc<Outgoing>,
    requests: Arc<Semaphore>,
}

/// Responses of a call, which is over when they are dropped.
pub(crate) struct Responses {
    stream: OutgoingStream,
    reading: Option<Reading>,
    /// Ready once a request has come, or should have.
    has_begun: BoxFuture<'static, ()>,
    /// An error that waits for that.
    failed: Option<Status>,
    /// A message that has been waited for.
    first: Option<Bytes>,
}

/// The task that reads requests, which ends with the call.
struct Reading(JoinHandle<()>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Stream for Responses {
    type Item = Result<Bytes, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.failed.is_none() {
            match ready!(self.stream.poll_next_unpin(context)) {
                Some(Err(status)) => self.failed = Some(status),
                polled => return Poll::Ready(polled),
            }
        }
        ready!(self.has_begun.poll_unpin(context));
        Poll::Ready(self.failed.take().map(Err))
    }
}

impl Responses {
    /// Waits for the first message, or the end, of a call with one request: one that is refused is then answered
    /// by its status alone (Trailers-Only, gRPC over HTTP/2, "Responses"), as clients expect that open a stream.
    pub(crate) async fn begun(mut self) -> Result<Self, Status> {
        // A client with many may wait for the head of the response before it sends the first.
        if self.reading.is_none() {
            self.first = self.stream.next().await.transpose()?;
        }
        Ok(self)
    }

    /// Waits for the response of a procedure with one.
    pub(crate) async fn only(self) -> Result<Bytes, Status> {
        let Self { stream, reading, has_begun, .. } = self;
        let message = stream.only_message().await;
        if message.is_err() {
            has_begun.await;
        }
        drop(reading);
        message
    }
}

/// Hands a call to Python. A request of a procedure with one is read first, so that Python sees it at once.
pub(crate) async fn begin(
    mailbox: &Arc<Mailbox>,
    server: u64,
    procedure: Arc<str>,
    shape: Shape,
    stream: Option<OpenStream>,
    client: Client,
    request: Request<Streaming<Bytes>>,
) -> Result<Responses, Status> {
    let (metadata, _, mut requests) = request.into_parts();
    let first = if shape.has_many_requests {
        None
    } else {
        let message = requests.message().await?;
        Some(message.ok_or_else(|| Status::invalid_argument("no request came"))?)
    };
    let number = mailbox.number();
    let outgoing = Outgoing::new(number, mailbox);
    let permits = Arc::new(Semaphore::new(REQUESTS_AHEAD));
    let metadata = metadata.iter().filter_map(|pair| match pair {
        KeyAndValueRef::Ascii(key, value) => {
            value.to_str().ok().map(|value| (key.to_string(), value.to_owned()))
        }
        KeyAndValueRef::Binary(..) => None,
    });
    let call = NewCall {
        number,
        procedure,
        client,
        // That of the runtime's threads.
        log: get_default(Dispatch::clone),
        metadata: metadata.collect(),
        request: first,
        outgoing: Arc::clone(&outgoing),
        requests: Arc::clone(&permits),
    };
    mailbox.push(Event::Begin(server, Box::new(call)));
    let mut has_begun = std::future::ready(()).boxed();
    let reading = shape.has_many_requests.then(|| {
        let (begun, first) = oneshot::channel();
        // Also when the sender is dropped.
        has_begun = timeout(FIRST_REQUEST, first).map(drop).boxed();
        let mailbox = Arc::clone(mailbox);
        Reading(tokio::spawn(read_requests(mailbox, number, requests, permits, begun)))
    });
    let revoked = async move {
        match stream {
            Some(stream) => stream.ended().await.into(),
            None => std::future::pending().await,
        }
    };
    let stream = OutgoingStream::new(outgoing, revoked);
    Ok(Responses { stream, reading, has_begun, failed: None, first: None })
}

/// Passes the requests of a call on, a few ahead of Python.
async fn read_requests(
    mailbox: Arc<Mailbox>,
    number: u64,
    mut requests: Streaming<Bytes>,
    permits: Arc<Semaphore>,
    begun: oneshot::Sender<()>,
) {
    let mut begun = Some(begun);
    loop {
        // Never closed.
        if let Ok(permit) = permits.acquire().await {
            permit.forget();
        }
        let message = requests.message().await;
        drop(begun.take());
        match message {
            Ok(Some(message)) => mailbox.push(Event::Message(number, message)),
            Ok(None) => {
                mailbox.push(Event::RequestsEnded(number, None));
                return;
            }
            Err(status) => {
                let why = (status.code() as i32, status.message().to_owned());
                mailbox.push(Event::RequestsEnded(number, Some(why)));
                return;
            }
        }
    }
}

/// Bytes that several calls are sent without a copy for each.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Message(Bytes);

#[pymethods]
impl Message {
    #[new]
    fn new(data: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(data))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bytes__(&self) -> &[u8] {
        &self.0
    }
}

/// A message as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum Sent<'py> {
    Message(Bound<'py, Message>),
    Bytes(Bound<'py, PyBytes>),
}

impl Sent<'_> {
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Message(message) => message.get().0.clone(),
            Self::Bytes(bytes) => Bytes::copy_from_slice(bytes.as_bytes()),
        }
    }
}

/// One call.
#[pyclass(frozen, module = "sojourn_serving")]
pub(crate) struct Call {
    #[pyo3(get)]
    number: u64,
    #[pyo3(get)]
    procedure: String,
    #[pyo3(get)]
    caller: Py<Caller>,
    #[pyo3(get)]
    metadata: Vec<(String, String)>,
    #[pyo3(get)]
    request: Option<Py<PyBytes>>,
    outgoing: Arc<Outgoing>,
    requests: Arc<Semaphore>,
}

impl ForPython for NewCall {
    fn object(self: Box<Self>, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Self { number, procedure, client, log, metadata, request, outgoing, requests } = *self;
        let call = Call {
            number,
            procedure: procedure.as_ref().to_owned(),
            caller: Py::new(py, Caller::new(py, client, log)?)?,
            metadata,
            request: request.map(|request| PyBytes::new(py, &request).unbind()),
            outgoing,
            requests,
        };
        Ok(Bound::new(py, call)?.into_any())
    }
}

#[pymethods]
impl Call {
    /// Sends a response; False if another waits for the connection.
    fn try_send(&self, message: Sent<'_>) -> bool {
        self.outgoing.try_send(message.bytes())
    }

    /// Takes a request that has come: another may be read.
    fn taken(&self) {
        self.requests.add_permits(1);
    }

    /// Ends the call after what was sent.
    #[pyo3(signature = (code = 0, detail = ""))]
    fn finish(&self, code: i32, detail: &str) {
        let end = match Code::from(code) {
            Code::Ok => Ok(()),
            code => Err(Status::new(code, detail)),
        };
        self.outgoing.end(end);
    }
}
