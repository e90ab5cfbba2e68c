//! Readiness: of the gRPC health service and of `/readyz`.

use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::watch, time::interval};

use super::{
    metrics::GatewayMetrics, paced::PacerState, proto::e2_gateway_server::E2GatewayServer,
    service::GatewayService,
};

/// The node is not ready if it completed no step for this long.
const FRESH: Duration = Duration::from_secs(2);

/// The conditions of readiness; evaluated at each probe.
#[derive(Clone, Debug)]
pub(super) struct Health {
    pub(super) state: Arc<PacerState>,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
    /// Whether forecasts are asked for.
    pub(super) has_forecaster: bool,
    pub(super) metrics: GatewayMetrics,
}

#[derive(Debug)]
struct Condition {
    ok: bool,
    detail: String,
}

impl Health {
    fn conditions(&self) -> BTreeMap<&'static str, Condition> {
        let stopping = *self.stopping.borrow();
        let age = self.state.since_last_step();
        let running = if stopping { "stopping" } else { "running" };
        let mut conditions = BTreeMap::from([
            ("gateway", Condition { ok: !stopping, detail: running.to_owned() }),
            (
                "steps",
                Condition {
                    ok: age < FRESH,
                    detail: format!(
                        "the newest ended {:.3} s ago, limit {} s",
                        age.as_secs_f64(),
                        FRESH.as_secs()
                    ),
                },
            ),
        ]);
        if self.has_forecaster {
            // Not required: the forecaster reads this node, and would wait for it to be ready.
            let detail = if self.metrics.is_forecast_stream_open() {
                "connected"
            } else {
                "not connected; pacers use their own measurements"
            };
            conditions.insert("forecasts", Condition { ok: true, detail: detail.to_owned() });
        }
        conditions
    }

    fn is_ready(&self) -> bool {
        self.conditions().values().all(|condition| condition.ok)
    }

    /// Whether the gateway is ready, and its conditions as JSON.
    pub(super) fn report(&self) -> (bool, Value) {
        let conditions = self.conditions();
        let is_ready = conditions.values().all(|condition| condition.ok);
        let shown: BTreeMap<_, _> = conditions
            .into_iter()
            .map(|(name, condition)| {
                (name, json!({ "ok": condition.ok, "detail": condition.detail }))
            })
            .collect();
        (is_ready, json!({ "ready": is_ready, "conditions": shown }))
    }

    /// Keeps the gRPC health service up to date until the gateway stops.
    pub(super) async fn report_to(self, reporter: tonic_health::server::HealthReporter) {
        let mut ticks = interval(FRESH / 4);
        let mut stopping = self.stopping.clone();
        // A dropped sender means that the gateway was dropped.
        let mut stop = pin!(stopping.wait_for(|stop| *stop));
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stop => return,
            }
            if self.is_ready() {
                reporter.set_serving::<E2GatewayServer<GatewayService>>().await;
            } else {
                reporter.set_not_serving::<E2GatewayServer<GatewayService>>().await;
            }
        }
    }
}
