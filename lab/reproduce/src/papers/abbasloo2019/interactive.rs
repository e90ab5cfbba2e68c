//! §VI-A: a video call over queues, D = 100 ms (Fig. 4).

use serde_json::{Value, json};

use super::super::super::{Curve, Experiment, Figure, Inputs, Metric, ReproduceError};
use super::{
    INTERACTIVE_US, LINKS, Link, NAMES, P99, THROUGHPUT, TIMES_SQUARE, app_metric, cdf, cells,
    flow, p99, queues, quotient, throughput,
};

/// "The only bottleneck is the network" (§VI-A).
const CAMERA_BPS: u64 = 20_000_000;

pub(super) fn call() -> Value {
    json!({ "name": "flow", "kind": "call", "call": { "max_bps": CAMERA_BPS } })
}

/// The call through each queue, over some links.
fn calls(
    experiment: Experiment,
    links: &[Link],
    inputs: &Inputs,
) -> Result<Experiment, ReproduceError> {
    let mut all = Vec::new();
    for (queue, aqm) in queues(INTERACTIVE_US) {
        all.extend(cells(queue, links, inputs, &call(), &aqm)?);
    }
    Ok(Experiment {
        metrics: vec![
            Metric::sojourn_quantile("p95_queuing_delay", flow(), 0.95),
            p99(),
            throughput(),
            app_metric("p95_frame_delay", "ms", "frame_delay_p95_ms"),
            app_metric("frozen", "s", "frozen_s"),
        ],
        cells: all,
        ..experiment
    })
}

/// Figs. 4a and 4b.
pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let experiment = Experiment::new(
        "interactive",
        "§VI-A, Figs. 4a and 4b",
        "a video call over five queues, D = 100 ms, mean over the links; the paper's are of Skype: \
         its second best queue, CoDel, has more than four times BoDe's delay and about twice its rate",
    );
    let compare = |metric| NAMES.map(|queue| quotient(None, metric, queue, "BoDe"));
    let figure = |metric, title| Figure::groups(metric, title, "{} over BoDe");
    let experiment = Experiment {
        repeats: 3,
        comparisons: [P99, THROUGHPUT].into_iter().flat_map(compare).collect(),
        figures: vec![
            figure(P99, "99th percentile of queuing delay over BoDe's (Fig. 4a)"),
            figure(THROUGHPUT, "Delivery rate over BoDe's (Fig. 4a)"),
        ],
        ..calls(experiment, &LINKS, inputs)?
    };
    Ok(experiment
        .reports(P99, [("CoDel over BoDe", 4.0)])
        .reports(THROUGHPUT, [("CoDel over BoDe", 2.0)]))
}

/// Fig. 4c.
pub(super) fn times_square(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let experiment = Experiment::new(
        "times_square",
        "§VI-A, Fig. 4c",
        "a video call over Times Square, five queues, D = 100 ms; the paper's are of Skype",
    );
    let experiment = Experiment {
        curves: vec![Curve::sojourn_cdf("cdf", flow())],
        figures: vec![
            cdf("cdf", "Queuing delay over Times Square (Fig. 4c)"),
            Figure::bars(P99, "99th percentile of queuing delay"),
        ],
        ..calls(experiment, &[TIMES_SQUARE], inputs)?
    };
    Ok(experiment.reports(P99, [("BoDe", 107.0), ("CoDel", 620.0), ("PIE", 1704.0)]))
}
