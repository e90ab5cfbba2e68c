//! Not in the paper: the template `low_latency` with BoDe in its queues.

use e2sm_tc::v1::QueueDiscipline;
use serde_json::json;
use tc_rf::templates::LowLatency;

use super::super::super::{Experiment, Figure, Inputs, ReproduceError};
use super::{
    FLOW, LINKS, OTHERS_US, P99, THROUGHPUT, cell, cells, p99, power, queues, quotient, throughput,
    with_link,
};

/// Path of the pipeline in the scenario.
const PIPELINE: &str = "ues[0].drbs[0].pipeline";

/// Bounds on bulk, ms: the paper's, and longer ones.
const BOUNDS_MS: [u32; 4] = [20, 30, 40, 60];

const SENDERS: [(&str, &str); 4] =
    [("BBR", "bbr"), ("C2TCP", "c2tcp"), ("Cubic", "cubic"), ("Westwood", "westwood")];

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let mut all = Vec::new();
    let mut comparisons = Vec::new();
    for (sender, congestion_control) in SENDERS {
        let flow =
            json!({ "name": "flow", "kind": "tcp", "congestion_control": congestion_control });
        for (queue, aqm) in queues(OTHERS_US) {
            if ["CoDel", "BoDe"].contains(&queue) {
                all.extend(cells(&format!("{sender}, {queue}"), &LINKS, inputs, &flow, &aqm)?);
            }
        }
        for bound_ms in BOUNDS_MS {
            let bode =
                QueueDiscipline::Bode { bound_us: bound_ms * 1_000, spare_bytes: Some(15_000) };
            let mut pipeline = LowLatency::default().pipeline();
            if let Some(classic) = pipeline.queues.first_mut() {
                classic.discipline = bode;
            }
            let scheme = format!("{sender}, LowLatency {bound_ms} ms");
            for link in &LINKS {
                all.push(cell(&scheme, with_link(link, inputs)?, |builder| {
                    builder.set(FLOW, flow.clone())?.set_as(PIPELINE, &pipeline)
                })?);
            }
            let own = format!("LowLatency {bound_ms} ms");
            comparisons.push(quotient(Some(sender), P99, &own, "BoDe"));
            comparisons.push(quotient(Some(sender), THROUGHPUT, &own, "CoDel"));
        }
    }
    Ok(Experiment {
        repeats: 1,
        metrics: vec![p99(), throughput(), power()],
        cells: all,
        comparisons,
        figures: vec![
            Figure::groups(P99, "99th percentile of queuing delay, mean over the links", "{}"),
            Figure::groups(THROUGHPUT, "Throughput, mean over the links", "{}"),
        ],
        ..Experiment::new(
            "own",
            "not of the paper",
            "the template `low_latency` with BoDe in its queues beside CoDel and BoDe, D = 20 ms, mean over \
             the links",
        )
    })
}
