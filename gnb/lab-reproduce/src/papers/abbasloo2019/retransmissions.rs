//! §VI-C1: delay with the time of retransmissions (Fig. 9).

use serde_json::json;

use super::super::super::{Curve, Experiment, Figure, Inputs, Metric, ReproduceError};
use super::{ATT, OTHERS_US, cdf, cells, flow, queues, throughput};

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let sender = json!({ "name": "flow", "kind": "tcp", "congestion_control": "c2tcp" });
    let mut all = Vec::new();
    for (queue, aqm) in queues(OTHERS_US) {
        all.extend(cells(queue, &[ATT], inputs, &sender, &aqm)?);
    }
    let quantile = |name, of| Metric::overall_quantile(name, flow(), of);
    Ok(Experiment {
        metrics: vec![
            quantile("p50_overall_delay", 0.5),
            quantile("p95_overall_delay", 0.95),
            quantile("p99_overall_delay", 0.99),
            Metric::retransmitted("retransmitted", flow()),
            throughput(),
        ],
        curves: vec![Curve::overall_cdf("cdf", flow())],
        cells: all,
        figures: vec![
            cdf("cdf", "Delay with the time of retransmissions (Fig. 9, left)"),
            Figure::Bars { metric: "retransmitted", title: "Retransmitted (Fig. 9, right)" },
        ],
        ..Experiment::new(
            "retransmissions",
            "§VI-C1, Fig. 9",
            "C2TCP over AT&T, five queues, D = 20 ms: from the first time a packet is sent to its \
             arrival",
        )
    })
}
