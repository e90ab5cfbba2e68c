//! §VI-C: senders over queues (Figs. 7 and 8), and delay with retransmissions (Fig. 9).

use serde_json::{Value, json};

use super::super::super::{Curve, Experiment, Figure, Inputs, Metric, ReproduceError};
use super::{
    ATT, LINKS, NAMES, OTHERS_US, P99, THROUGHPUT, cdf, cells, flow, p99, power, queues, quotient,
    throughput,
};

/// The paper's senders.
fn senders() -> [(&'static str, Value); 6] {
    let tcp = |name: &str| json!({ "name": "flow", "kind": "tcp", "congestion_control": name });
    let udp = |kind: &str| json!({ "name": "flow", "kind": kind });
    [
        ("BBR", tcp("bbr")),
        ("C2TCP", tcp("c2tcp")),
        ("Cubic", tcp("cubic")),
        ("Sprout", udp("sprout")),
        ("Vivace", udp("vivace")),
        ("Westwood", tcp("westwood")),
    ]
}

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let mut all = Vec::new();
    let mut comparisons = Vec::new();
    for (sender, flow) in senders() {
        for (queue, aqm) in queues(OTHERS_US) {
            all.extend(cells(&format!("{sender}, {queue}"), &LINKS, inputs, &flow, &aqm)?);
        }
        let mut compare = |metric, of: &str, over: &str| {
            comparisons.push(quotient(Some(sender), metric, of, over));
        };
        for queue in NAMES {
            compare(P99, "TailDrop", queue);
            compare(THROUGHPUT, queue, "TailDrop");
            compare("power", queue, "TailDrop");
        }
        for queue in ["CoDel", "PIE"] {
            compare(P99, queue, "BoDe");
            compare("power", "BoDe", queue);
        }
    }
    let experiment = Experiment {
        repeats: 1,
        metrics: vec![p99(), throughput(), power()],
        cells: all,
        comparisons,
        figures: vec![
            Figure::groups(
                P99,
                "99th percentile of queuing delay: TailDrop's over the queue's (Fig. 7, left)",
                "TailDrop over {}",
            )
            .log_y(),
            Figure::groups(
                THROUGHPUT,
                "Delivery rate over TailDrop's (Fig. 7, right)",
                "{} over TailDrop",
            ),
            Figure::groups("power", "Power over TailDrop's (Fig. 8)", "{} over TailDrop").log_y(),
            Figure::groups(P99, "99th percentile of queuing delay, mean over the links", "{}")
                .log_y(),
        ],
        ..Experiment::new(
            "senders",
            "§VI-C, Figs. 7 and 8",
            "senders over five queues, D = 20 ms, mean over the links. The paper says in words: \
             BoDe keeps 60 to 97 % of TailDrop's throughput and has at least twice the power of any \
             other queue; CoDel and PIE have 2 to 20 times its delay, under BBR and Sprout roughly \
             that of TailDrop",
        )
    };
    // "Roughly similar to TailDrop"; "about 20× lower … under PCC-Vivace".
    Ok(experiment.reports(
        P99,
        [
            ("BBR, TailDrop over CoDel", 1.0),
            ("BBR, TailDrop over PIE", 1.0),
            ("Sprout, TailDrop over CoDel", 1.0),
            ("Sprout, TailDrop over PIE", 1.0),
            ("Vivace, CoDel over BoDe", 20.0),
            ("Vivace, PIE over BoDe", 20.0),
        ],
    ))
}

/// §VI-C1, Fig. 9.
pub(super) fn retransmissions(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
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
            Figure::bars("retransmitted", "Retransmitted (Fig. 9, right)"),
        ],
        ..Experiment::new(
            "retransmissions",
            "§VI-C1, Fig. 9",
            "C2TCP over AT&T, five queues, D = 20 ms: from the first time a packet is sent to its \
             arrival",
        )
    })
}
