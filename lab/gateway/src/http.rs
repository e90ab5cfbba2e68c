//! The HTTP listener: `/healthz` and `/readyz` for everyone, `/metrics` for clients with the right to read.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::time::sleep;

use super::{
    access::{AccessControl, Caller, Reason, Refusal, Right},
    admission::{Client, REFUSAL_PAUSE},
    health::Health,
    hosts::AllowedHosts,
    incoming::Peer,
    limits::{Limits, Refused, Slot},
    metrics::Format,
    scrapes::Scrapes,
};

/// What the handlers need.
#[derive(Clone)]
pub(super) struct HttpState {
    pub(super) scrapes: Arc<Scrapes>,
    pub(super) access: Arc<AccessControl>,
    pub(super) limits: Limits,
    pub(super) health: Health,
    pub(super) hosts: AllowedHosts,
}

/// Routes of the listener.
pub(super) fn router(state: HttpState) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .layer(middleware::from_fn_with_state(state.clone(), admit))
        .with_state(state)
}

/// Adds the [`Client`] to each request, and refuses requests beyond its limits and those to other hosts.
async fn admit(
    State(state): State<HttpState>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let authorization = request.headers().get(header::AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
    let (slot, is_encrypted) = (peer.slot.clone(), peer.is_encrypted);
    let caller = Caller::new(&state.access, peer, authorization);
    let admitted = Client::new(&state.limits, caller, slot.as_ref())
        .and_then(|client| Ok((client.account.begin_call(client.now_us())?, client)));
    match admitted {
        Ok((_open, client)) => {
            let _call = slot.as_ref().map(Slot::begin_call);
            if let Err((status, message)) = state.hosts.check(request.headers(), is_encrypted) {
                return (status, format!("{message}\n")).into_response();
            }
            request.extensions_mut().insert(client);
            next.run(request).await
        }
        Err(refused) => {
            sleep(REFUSAL_PAUSE).await;
            too_many(&refused)
        }
    }
}

/// 429 with `Retry-After` (RFC 6585 §4).
fn too_many(refused: &Refused) -> Response {
    let message = format!("{}\n", refused.message());
    let mut response = (StatusCode::TOO_MANY_REQUESTS, message).into_response();
    if let Some(wait) = refused.retry_after() {
        let seconds = HeaderValue::from(wait.as_secs() + 1);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

async fn readyz(State(state): State<HttpState>) -> Response {
    let (is_ready, report) = state.health.report();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let report = format!("{report}\n");
    (status, [(header::CONTENT_TYPE, "application/json")], report).into_response()
}

async fn scrape(
    State(state): State<HttpState>,
    Extension(Client { caller, .. }): Extension<Client>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = caller.require(Right::Read, None) {
        return refused(refusal);
    }
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = Format::negotiated(accepted);
    match state.scrapes.text().await {
        Ok(text) => {
            let headers = [(header::CONTENT_TYPE, format.content_type()), (header::VARY, "Accept")];
            (headers, text.in_format(format)).into_response()
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

fn refused(refusal: Refusal) -> Response {
    let message = format!("{}\n", refusal.message);
    match refusal.reason {
        Reason::Unauthenticated => {
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], message)
                .into_response()
        }
        Reason::Right | Reason::Node => (StatusCode::FORBIDDEN, message).into_response(),
    }
}
