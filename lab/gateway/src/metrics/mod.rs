//! Prometheus metrics: counters of the gateway itself, and the world's state read at scrape time.

mod collector;
mod core_wait;
mod detail;
mod format;
mod process;
mod worst;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use lab_world::ControlReply;
use serving::metrics::ServingMetrics;

use core_wait::{CoreWait, CoreWaitCollector};
pub use detail::MetricsDetail;
pub(super) use format::{Format, prometheus_text};
use worst::WorstBearers;

use super::{command::Scrape, forecasts::ForecastOutcome, outbox::OutboxCounters};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RanFunctionLabels {
    ran_function_oid: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SubscriptionLabels {
    code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControlLabels {
    outcome: &'static str,
    cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ForecastLabels {
    result: &'static str,
}

/// Metrics of the gateway; clones share their counters.
#[derive(Clone, Debug)]
pub(super) struct GatewayMetrics {
    sent: Family<RanFunctionLabels, Counter>,
    dropped: Family<RanFunctionLabels, Counter>,
    coalesced: Family<RanFunctionLabels, Counter>,
    subscriptions: Family<SubscriptionLabels, Counter>,
    controls: Family<ControlLabels, Counter>,
    lateness: Histogram,
    busy: Counter<f64, std::sync::atomic::AtomicU64>,
    skipped: Counter<f64, std::sync::atomic::AtomicU64>,
    forecasts: Family<ForecastLabels, Counter>,
    /// Absent without a forecaster: a stream that nobody asked for is not down.
    forecast_stream: Arc<OnceLock<Gauge>>,
    serving: ServingMetrics,
}

impl Default for GatewayMetrics {
    fn default() -> Self {
        Self {
            sent: Family::default(),
            dropped: Family::default(),
            coalesced: Family::default(),
            subscriptions: Family::default(),
            controls: Family::default(),
            lateness: Histogram::new([100e-6, 1e-3, 10e-3, 100e-3, 1.0]),
            busy: Counter::default(),
            skipped: Counter::default(),
            forecasts: Family::default(),
            forecast_stream: Arc::default(),
            serving: ServingMetrics::default(),
        }
    }
}

impl GatewayMetrics {
    /// Counters of one RAN function's indications.
    pub(super) fn indications(&self, ran_function_oid: &str) -> OutboxCounters {
        let labels = RanFunctionLabels { ran_function_oid: ran_function_oid.to_owned() };
        OutboxCounters {
            sent: self.sent.get_or_create_owned(&labels),
            dropped: self.dropped.get_or_create_owned(&labels),
            coalesced: self.coalesced.get_or_create_owned(&labels),
        }
    }

    /// A `Subscribe` call was answered with this gRPC code.
    pub(super) fn subscription(&self, code: tonic::Code) {
        self.subscriptions.get_or_create(&SubscriptionLabels { code: code_name(code) }).inc();
    }

    /// A `Control` call was answered by the RAN function.
    pub(super) fn control_answered(&self, reply: &ControlReply) {
        let outcome = if reply.acknowledged { "acknowledged" } else { "failed" };
        self.controls
            .get_or_create(&ControlLabels { outcome, cause: reply.cause.unwrap_or_default() })
            .inc();
    }

    /// A `Control` call ended with a gRPC error.
    pub(super) fn control_error(&self, code: tonic::Code) {
        self.controls.get_or_create(&ControlLabels { outcome: code_name(code), cause: "" }).inc();
    }

    /// Delay from the planned to the actual start of a step.
    pub(super) fn lateness(&self, late: Duration) {
        self.lateness.observe(late.as_secs_f64());
    }

    /// Duration of a step.
    pub(super) fn stepped(&self, took: Duration) {
        self.busy.inc_by(took.as_secs_f64());
    }

    /// Time skipped after a stall.
    pub(super) fn skipped(&self, lag: Duration) {
        self.skipped.inc_by(lag.as_secs_f64());
    }

    /// Counts forecasts of the forecast stream.
    pub(super) fn forecasts(&self, outcome: ForecastOutcome, count: u64) {
        if count > 0 {
            self.forecasts.get_or_create(&ForecastLabels { result: outcome.name() }).inc_by(count);
        }
    }

    /// Whether forecasts arrive by the forecast stream.
    pub(super) fn forecast_stream(&self, open: bool) {
        self.forecast_stream.get_or_init(Gauge::default).set(i64::from(open));
    }

    /// Whether forecasts arrive by the forecast stream.
    pub(super) fn is_forecast_stream_open(&self) -> bool {
        self.forecast_stream.get().is_some_and(|open| open.get() > 0)
    }

    /// Metrics of the listeners.
    pub(super) fn serving(&self) -> &ServingMetrics {
        &self.serving
    }

    /// Adds the gateway's metrics to a registry.
    fn register(&self, registry: &mut Registry, subscribers: usize) {
        let streams = Gauge::<i64>::default();
        streams.set(i64::try_from(subscribers).unwrap_or(i64::MAX));
        registry.register("gateway_indication_streams", "Indication streams open now", streams);
        registry.register(
            "gateway_indications",
            "Indications handed to streams",
            self.sent.clone(),
        );
        registry.register(
            "gateway_indications_dropped",
            "Indications dropped because a reader was slow",
            self.dropped.clone(),
        );
        registry.register(
            "gateway_indications_coalesced",
            "Indications replaced by newer ones because a reader of the newest was late",
            self.coalesced.clone(),
        );
        registry.register(
            "gateway_subscriptions",
            "Subscribe calls by gRPC code of their admission",
            self.subscriptions.clone(),
        );
        registry.register(
            "gateway_controls",
            "Control calls by outcome (acknowledged, failed or a gRPC code) and cause of failure",
            self.controls.clone(),
        );
        registry.register(
            "gateway_step_lateness_seconds",
            "How long after its planned time a step of the node began",
            self.lateness.clone(),
        );
        registry.register(
            "gateway_step_busy_seconds",
            "Time spent stepping the node; its rate is the load of one core",
            self.busy.clone(),
        );
        registry.register(
            "gateway_skipped_seconds",
            "Time the node gave up after falling behind",
            self.skipped.clone(),
        );
        registry.register(
            "cu_forecasts",
            "Forecasts of bearers that came by the forecast stream, by what became of them",
            self.forecasts.clone(),
        );
        if let Some(open) = self.forecast_stream.get() {
            registry.register(
                "cu_forecast_stream_open",
                "Whether forecasts come by the forecast stream; 1 from its first on until it ends",
                open.clone(),
            );
        }
        self.serving.register(registry);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    program: &'static str,
    version: &'static str,
}

/// Text of the metrics of gateway, process and node.
#[derive(Debug)]
pub(super) struct Exposition {
    metrics: GatewayMetrics,
    build: BuildLabels,
    has_distributions: bool,
    has_flows: bool,
    /// Bearers with series of their own.
    top: usize,
    worst: Mutex<WorstBearers>,
    core_wait: Arc<Mutex<CoreWait>>,
}

impl Exposition {
    pub(super) fn new(
        metrics: GatewayMetrics,
        program: &'static str,
        detail: &[MetricsDetail],
        top: u16,
    ) -> Self {
        Self {
            metrics,
            build: BuildLabels { program, version: env!("CARGO_PKG_VERSION") },
            has_distributions: detail.contains(&MetricsDetail::Distributions),
            has_flows: detail.contains(&MetricsDetail::Flows),
            top: usize::from(top),
            worst: Mutex::default(),
            core_wait: Arc::default(),
        }
    }

    /// The text of one scrape, in the OpenMetrics format.
    pub(super) fn text(&self, scrape: Scrape) -> Result<String, fmt::Error> {
        let worst = self.worst.lock().select(scrape.now_us, &scrape.bearer_delays, self.top);
        let mut registry = Registry::default();
        registry.register_collector(Box::new(process::ProcessCollector));
        let sojourn = registry.sub_registry_with_prefix("sojourn");
        let build = Family::<BuildLabels, Gauge>::default();
        build.get_or_create(&self.build).set(1);
        sojourn.register("build_info", "Program and version", build);
        sojourn.register_collector(Box::new(CoreWaitCollector { wait: self.core_wait.clone() }));
        self.metrics.register(sojourn, scrape.subscribers);
        sojourn.register_collector(Box::new(collector::WorldCollector {
            has_distributions: self.has_distributions,
            has_flows: self.has_flows,
            worst,
            scrape,
        }));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

/// Label value of a gRPC code, in the spelling of the gRPC specification.
fn code_name(code: tonic::Code) -> &'static str {
    match code {
        tonic::Code::Ok => "ok",
        tonic::Code::Cancelled => "cancelled",
        tonic::Code::InvalidArgument => "invalid_argument",
        tonic::Code::DeadlineExceeded => "deadline_exceeded",
        tonic::Code::NotFound => "not_found",
        tonic::Code::PermissionDenied => "permission_denied",
        tonic::Code::ResourceExhausted => "resource_exhausted",
        tonic::Code::Unauthenticated => "unauthenticated",
        tonic::Code::Unavailable => "unavailable",
        _ => "internal",
    }
}

#[cfg(test)]
mod tests;
