//! The HTTP listener: `/healthz` and `/readyz` for everyone, `/metrics` for clients with the right to read.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serving::{
    access::Right,
    admission::Client,
    http::{Admission, admitted, refused},
};

use super::{health::Health, metrics::Format, scrapes::Scrapes};

/// What the handlers need.
#[derive(Clone)]
pub(super) struct HttpState {
    pub(super) scrapes: Arc<Scrapes>,
    pub(super) health: Health,
}

/// Routes of the listener.
pub(super) fn router(state: HttpState, admission: Admission) -> Router {
    let routes = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(state);
    admitted(routes, admission)
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
    if let Err(refusal) = caller.require(Right::Read, None, "/metrics") {
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
