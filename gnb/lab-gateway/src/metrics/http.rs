//! The `/metrics` endpoint.

use std::time::Duration;

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use tokio::{sync::oneshot, time::timeout};

use super::GatewayMetrics;
use crate::command::{Command, Commands};

/// Content type of the OpenMetrics text format.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Prometheus gives up after 10 s by default; a node that does not answer in one is stuck.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone)]
struct Scraper {
    commands: Commands,
    metrics: GatewayMetrics,
}

/// Serves `GET /metrics`.
pub(crate) fn router(commands: Commands, metrics: GatewayMetrics) -> Router {
    Router::new().route("/metrics", get(scrape)).with_state(Scraper { commands, metrics })
}

async fn scrape(State(scraper): State<Scraper>) -> Response {
    let (reply, answer) = oneshot::channel();
    if let Err(status) = scraper.commands.send(Command::Measure { reply }) {
        return (StatusCode::SERVICE_UNAVAILABLE, status.message().to_owned()).into_response();
    }
    let Ok(Ok(measured)) = timeout(SCRAPE_TIMEOUT, answer).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the node does not answer").into_response();
    };
    match scraper.metrics.exposition(measured) {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
