//! Requests within the limits of their clients, for the names of the server.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::RwLock;
use serde_json::json;

use crate::{
    access::{AccessControl, Caller, Reason, Refusal},
    admission::Client,
    hosts::AllowedHosts,
    incoming::Peer,
    limits::{Account, CallOfSlot, Hold, Limit, Limits, Rate, RateLimit, Refused},
};

/// Requests of a client, of paths without a rate of their own.
pub const REQUESTS: RateLimit = RateLimit {
    limit: Limit { name: "requests", counts: "requests" },
    rate: Rate { per_s: 100, burst: 200 },
};
/// Reading metrics, which may be long; a scraper comes once a second at most.
pub const SCRAPES: RateLimit = RateLimit {
    limit: Limit { name: "scrapes", counts: "scrapes" },
    rate: Rate { per_s: 5, burst: 50 },
};

/// The rates of paths; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Rates(Arc<RwLock<HashMap<String, RateLimit>>>);

impl Rates {
    /// Gives a path a rate of its own.
    pub fn set(&self, path: &str, rate: RateLimit) {
        self.0.write().insert(path.to_owned(), rate);
    }

    fn of(&self, path: &str) -> RateLimit {
        self.0.read().get(path).copied().unwrap_or(REQUESTS)
    }
}

/// Makes the answer of a refusal: status, sentence, and the time to come again.
pub type Render = fn(StatusCode, &str, Option<Duration>) -> Response;

/// What requests are admitted by.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Who may do what.
    pub access: Arc<AccessControl>,
    /// How much of it.
    pub limits: Limits,
    /// How often.
    pub rates: Rates,
    /// The names of the server.
    pub hosts: AllowedHosts,
    /// [`plain`] or [`problem`].
    pub render: Render,
}

/// Routes behind the admission, which adds the [`Client`] to each request.
pub fn admitted(routes: Router, admission: Admission) -> Router {
    routes.layer(middleware::from_fn_with_state(admission, admit))
}

/// An open request of a connection; an extension of it.
#[derive(Clone, Debug)]
pub struct OpenRequest(Arc<CallOfSlot>);

impl OpenRequest {
    /// The answer is a stream, which may last for ever; others have a minute.
    pub fn streams(&self) {
        self.0.streams();
    }

    /// Ends the connection now.
    pub fn cut(&self) {
        self.0.close();
    }
}

/// Adds the [`Client`] to each request, and refuses requests beyond its limits and those to other hosts.
async fn admit(
    State(state): State<Admission>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let authorization = request.headers().get(header::AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
    let slot = peer.slot.clone();
    // No name resolves to a Unix socket.
    let is_named_safely = peer.is_encrypted || peer.address.is_unix();
    let caller = Caller::new(&state.access, peer, authorization);
    let call = slot.as_ref().map(|slot| Arc::new(slot.begin_call(false)));
    let (client, identified) = Client::new(&state.limits, caller, slot.as_ref());
    let rate = state.rates.of(request.uri().path());
    let held = identified.and_then(|()| client.account.begin(rate, client.now_us()));
    let hold = match held {
        Ok(hold) => hold,
        Err(refused) => return too_many(state.render, &client.account, &refused).await,
    };
    if let Err((status, message)) = state.hosts.check(request.headers(), is_named_safely) {
        return (state.render)(status, &message, None);
    }
    request.extensions_mut().insert(client);
    if let Some(call) = &call {
        request.extensions_mut().insert(OpenRequest(Arc::clone(call)));
    }
    let response = next.run(request).await;
    response.map(|body| Body::new(OpenAnswer { body, _open: (hold, call) }))
}

/// 429 (RFC 6585 §4), after a pause.
async fn too_many(render: Render, account: &Arc<Account>, refused: &Refused) -> Response {
    account.refusal_pause().await;
    let wait = refused.retry_after().unwrap_or(Duration::from_secs(1));
    render(StatusCode::TOO_MANY_REQUESTS, refused.message(), Some(wait))
}

/// A refusal as a line of text.
pub fn plain(status: StatusCode, message: &str, retry_after: Option<Duration>) -> Response {
    to_come_again((status, format!("{message}\n")).into_response(), retry_after)
}

/// A refusal as a ProblemDetails object (RFC 9457).
pub fn problem(status: StatusCode, message: &str, retry_after: Option<Duration>) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({
        "type": "about:blank", "title": title, "status": status.as_u16(), "detail": message,
    });
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    to_come_again((status, kind, body.to_string()).into_response(), retry_after)
}

/// Adds `Retry-After`, whole seconds (RFC 9110 §10.2.3).
fn to_come_again(mut response: Response, wait: Option<Duration>) -> Response {
    if let Some(wait) = wait {
        let seconds = HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

/// 401 for an unknown client, 403 for a missing right.
pub fn refused(refusal: Refusal) -> Response {
    let message = format!("{}\n", refusal.message);
    match refusal.reason {
        Reason::Unauthenticated => {
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], message)
                .into_response()
        }
        Reason::Right | Reason::Node => (StatusCode::FORBIDDEN, message).into_response(),
    }
}

/// Body of an answer; the request is open until it is dropped.
struct OpenAnswer {
    body: Body,
    _open: (Hold, Option<Arc<CallOfSlot>>),
}

impl HttpBody for OpenAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
