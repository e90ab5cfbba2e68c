//! Admits calls of the gRPC listener within the limits of their clients.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tonic::{
    Status,
    body::Body,
    codegen::{Bytes, Service, http},
};
use tower_layer::Layer;

use crate::{
    access::{AccessControl, Caller},
    incoming::Peer,
    limits::{Account, CallOfSlot, Hold, Limits, Refused, Slot},
};

/// Before a refusal is sent, or the next request of a refused client is read: what it sends meanwhile
/// waits in its own connection and costs nothing.
pub const REFUSAL_PAUSE: Duration = Duration::from_millis(100);

type Request = http::Request<Body>;
type Response = http::Response<Body>;
/// What an open call counts for its client and its connection.
type Open = (Hold, Option<CallOfSlot>);

/// A call's client: its rights and its account.
#[derive(Clone, Debug)]
pub struct Client {
    /// Who it is.
    pub caller: Caller,
    /// What it uses.
    pub account: Arc<Account>,
    limits: Limits,
}

impl Client {
    /// The client of a call on the connection of `slot`.
    ///
    /// # Errors
    /// Its connections are too many.
    pub fn new(limits: &Limits, caller: Caller, slot: Option<&Slot>) -> Result<Self, Refused> {
        let key = caller.client_key();
        slot.map_or(Ok(()), |slot| slot.identified(&key))?;
        let account = limits.account(&key);
        Ok(Self { caller, account, limits: limits.clone() })
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
    // The error is the status of the call.
    #[allow(clippy::result_large_err)]
    fn admit(&self, request: &mut Request) -> Result<Open, Status> {
        let peer = request.extensions().get::<Peer>().cloned();
        let peer = peer.ok_or_else(|| Status::internal("the call has no connection"))?;
        let peer_slot = peer.slot.clone();
        let authorization = request.headers().get(http::header::AUTHORIZATION);
        let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
        let caller = Caller::new(&self.access, peer, authorization);
        let client = Client::new(&self.limits, caller, peer_slot.as_ref())?;
        let call = peer_slot.as_ref().map(Slot::begin_call);
        let open = (client.account.begin_call(client.now_us())?, call);
        request.extensions_mut().insert(client);
        Ok(open)
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
        match self.admission.admit(&mut request) {
            Ok(open) => {
                let response = self.inner.call(request);
                async move {
                    let response = response.await?;
                    Ok(response.map(|body| Body::new(OpenCall { body, _open: open })))
                }
                .boxed()
            }
            Err(status) => async move {
                tokio::time::sleep(REFUSAL_PAUSE).await;
                Ok(status.into_http())
            }
            .boxed(),
        }
    }
}

/// Body of a response; the call is open until it is dropped.
struct OpenCall {
    body: Body,
    _open: Open,
}

impl HttpBody for OpenCall {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
