//! The HTTP door: `/healthz` and `/readyz` for everyone, `/metrics` for clients with the right to read.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{sync::oneshot, time::timeout};

use super::{
    access::{AccessControl, Caller, Reason, Refusal, Right},
    command::{Command, Commands},
    door::Peer,
    health::Health,
    metrics::Exposition,
};

/// Content type of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Well below the default scrape timeout of Prometheus, 10 s.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);

/// What the handlers need.
#[derive(Clone)]
pub(super) struct HttpDoor {
    pub(super) commands: Commands,
    pub(super) exposition: Arc<Exposition>,
    pub(super) access: Arc<AccessControl>,
    pub(super) health: Health,
}

/// Routes of the door.
pub(super) fn router(door: HttpDoor) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(door)
}

async fn readyz(State(door): State<HttpDoor>) -> Response {
    let (is_ready, report) = door.health.report();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let report = format!("{report}\n");
    (status, [(header::CONTENT_TYPE, "application/json")], report).into_response()
}

async fn scrape(
    State(door): State<HttpDoor>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Response {
    let authorization = headers.get(header::AUTHORIZATION);
    let authorization = authorization.map(|value| value.to_str().unwrap_or_default());
    let caller = Caller::new(&door.access, peer, authorization);
    if let Err(refusal) = caller.require(Right::Read, None) {
        return refused(refusal);
    }
    let (reply, answer) = oneshot::channel();
    if let Err(status) = door.commands.send(Command::Measure { reply }) {
        return (StatusCode::SERVICE_UNAVAILABLE, status.message().to_owned()).into_response();
    }
    let Ok(Ok(measured)) = timeout(SCRAPE_TIMEOUT, answer).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the node did not answer within 1 s")
            .into_response();
    };
    match door.exposition.text(measured) {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
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
