//! §VII-C: three classes in strict priority, the upper two bounded (Fig. 11).

use serde_json::{Value, json};

use super::super::super::{Curve, Experiment, Flows, Inputs, Metric, ReproduceError};
use super::{T_MOBILE, cdf, cell, with_link};

/// Bounds of the two upper classes.
const BOUNDS_US: [u32; 2] = [50_000, 100_000];
/// Rate × bound of a class: 2 Mbit/s × 50 ms and 4 Mbit/s × 100 ms.
const THRESHOLDS_BYTES: [u32; 2] = [12_500, 50_000];

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let bearer = |class: u8, limit_bytes: u32, aqm: Value| {
        json!({
            "id": class, "priority": class,
            "rlc": { "mode": "um", "limit_bytes": limit_bytes, "aqm": aqm },
        })
    };
    let rest = bearer(3, 1_500_000, Value::Null);
    let fifo = |class: usize| bearer(class as u8 + 1, THRESHOLDS_BYTES[class], Value::Null);
    let bode = |class: usize| {
        let aqm = json!({ "bode": { "bound_us": BOUNDS_US[class] } });
        bearer(class as u8 + 1, 1_500_000, aqm)
    };
    let schemes = [
        ("DiffServ+FIFO", json!([fifo(0), fifo(1), rest])),
        ("DiffServ+BoDe", json!([bode(0), bode(1), rest])),
    ];
    let flows = json!([
        { "name": "class 1", "kind": "udp_cbr", "rate_kbps": 2000, "drb": 1 },
        { "name": "class 2", "kind": "udp_cbr", "rate_kbps": 4000, "drb": 2 },
        { "name": "class 3", "kind": "tcp", "drb": 3 },
    ]);
    let mut cells = Vec::new();
    for (scheme, drbs) in schemes {
        cells.push(cell(scheme, with_link(&T_MOBILE, inputs)?, |builder| {
            builder.set("flows", flows.clone())?.set("ues[0].drbs", drbs)
        })?);
    }
    let (first, second, third) =
        (Flows::name("class 1"), Flows::name("class 2"), Flows::name("class 3"));
    let experiment = Experiment {
        metrics: vec![
            Metric::sojourn_quantile("class_1_p95_delay", first.clone(), 0.95),
            Metric::sojourn_quantile("class_2_p95_delay", second.clone(), 0.95),
            Metric::sojourn_below("class_1_within_bound", first.clone(), 50.0),
            Metric::sojourn_below("class_2_within_bound", second.clone(), 100.0),
            Metric::goodput("class_1_rate", first.clone()),
            Metric::goodput("class_2_rate", second.clone()),
            Metric::goodput("class_3_rate", third),
        ],
        curves: vec![Curve::sojourn_cdf("class_1", first), Curve::sojourn_cdf("class_2", second)],
        cells,
        figures: vec![
            cdf("class_1", "Queuing delay of class 1, bound 50 ms (Fig. 11)"),
            cdf("class_2", "Queuing delay of class 2, bound 100 ms (Fig. 11)"),
        ],
        ..Experiment::new(
            "diffserv",
            "§VII-C, Fig. 11",
            "three classes on T-Mobile driving; the paper's values are the bounds that it says hold",
        )
    };
    Ok(experiment
        .reports("class_1_p95_delay", [("DiffServ+BoDe", 50.0)])
        .reports("class_2_p95_delay", [("DiffServ+BoDe", 100.0)]))
}
