//! Admits calls of the gRPC listener within the limits of their clients.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tonic::{
    Code, Status,
    body::Body,
    codegen::{Bytes, Service, http},
};
use tower_layer::Layer;

use crate::{
    access::{AccessControl, Caller},
    incoming::Peer,
    limits::{Account, CallOfSlot, Hold, Limits, Refused, Slot},
};

type Request = http::Request<Body>;
type Response = http::Response<Body>;
/// What an open call counts for its client and its connection.
type Open = (Hold, Option<CallOfSlot>);
/// The status of a call that is not admitted, and whose refusal it is.
type NotAdmitted = (Status, Option<Arc<Account>>);
/// What tonic says of a request that is longer than it may be.
const TOO_LONG: &str = "Error, decoded message length too large";

/// A call's client: its rights and its account.
#[derive(Clone, Debug)]
pub struct Client {
    /// Who it is.
    pub caller: Caller,
    /// What it uses.
    pub account: Arc<Account>,
    /// Where the accounts are.
    pub limits: Limits,
}

impl Client {
    /// The client of a call or request on the connection of `slot`, whose connections may be too many.
    pub fn new(
        limits: &Limits,
        caller: Caller,
        slot: Option<&Slot>,
    ) -> (Self, Result<(), Refused>) {
        let key = caller.client_key();
        let account = limits.account(&key);
        let identified = slot.map_or(Ok(()), |slot| slot.identified(&key));
        (Self { caller, account, limits: limits.clone() }, identified)
    }

    /// Monotonic time of the account's buckets.
    pub fn now_us(&self) -> u64 {
        self.limits.now_us()
    }
}

/// Adds the [`Client`] to each call, and refuses calls beyond its limits.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Who may do what.
    pub access: Arc<AccessControl>,
    /// How much of it.
    pub limits: Limits,
}

impl<S> Layer<S> for Admission {
    type Service = Admitting<S>;

    fn layer(&self, inner: S) -> Admitting<S> {
        Admitting { inner, admission: self.clone() }
    }
}

/// The services behind the [`Admission`].
#[derive(Clone, Debug)]
pub struct Admitting<S> {
    inner: S,
    admission: Admission,
}

impl Admission {
    /// The client of a call, and what the call counts; or whose refusal it is.
    // The error is the status of the call.
    #[allow(clippy::result_large_err)]
    fn admit(&self, request: &Request) -> Result<(Client, Open), NotAdmitted> {
        let peer = request.extensions().get::<Peer>().cloned();
        let peer = peer.ok_or_else(|| (Status::internal("the call has no connection"), None))?;
        let peer_slot = peer.slot.clone();
        let authorization = request.headers().get(http::header::AUTHORIZATION);
        let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
        let caller = Caller::new(&self.access, peer, authorization);
        let (client, identified) = Client::new(&self.limits, caller, peer_slot.as_ref());
        let held = identified.and_then(|()| client.account.begin_call(client.now_us()));
        match held {
            Ok(hold) => {
                let call = peer_slot.as_ref().map(|slot| slot.begin_call(true));
                Ok((client, (hold, call)))
            }
            Err(refused) => Err((refused.into(), Some(client.account))),
        }
    }
}

impl<S> Service<Request> for Admitting<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.admission.admit(&request) {
            Ok((client, open)) => {
                request.extensions_mut().insert(client.clone());
                let response = self.inner.call(request);
                async move {
                    let mut response = response.await?;
                    judge(response.headers_mut(), &client);
                    Ok(response.map(|body| Body::new(OpenCall { body, client, _open: open })))
                }
                .boxed()
            }
            Err((status, account)) => async move {
                if let Some(account) = account {
                    account.refusal_pause().await;
                }
                Ok(status.into_http())
            }
            .boxed(),
        }
    }
}

/// Counts a call that failed for a fault of the client as several: reading its request has cost as much. A
/// request that is longer than it may be is `RESOURCE_EXHAUSTED`, as the table of gRPC's status codes has it;
/// tonic says `OUT_OF_RANGE`. `fields` are those of a response, or its trailers.
fn judge(fields: &mut http::HeaderMap, client: &Client) {
    const STATUS: &str = "grpc-status";
    let code = fields.get(STATUS).map(|value| Code::from_bytes(value.as_bytes()));
    let is_too_long = code == Some(Code::OutOfRange)
        && Status::from_header_map(fields)
            .is_some_and(|status| status.message().starts_with(TOO_LONG));
    if is_too_long {
        fields.insert(STATUS, http::HeaderValue::from(Code::ResourceExhausted as i32));
    }
    if is_too_long || code == Some(Code::InvalidArgument) {
        client.account.charge_failed_call(client.now_us());
    }
}

/// Body of a response; the call is open until it is dropped.
struct OpenCall {
    body: Body,
    client: Client,
    _open: Open,
}

impl HttpBody for OpenCall {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(trailers) = frame.trailers_mut()
        {
            judge(trailers, &self.client);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
