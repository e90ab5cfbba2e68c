//! §VI-B: adaptive video over queues (Fig. 6).

use serde_json::json;

use super::super::super::{Experiment, Figure, Inputs, ReproduceError};
use super::{
    LINKS, NAMES, OTHERS_US, P99, app_metric, cell, p99, queues, quotient, throughput, with_link,
};

/// 48 chunks of 4 s, and time for stalls.
const RUN_S: u32 = 240;

const CONTROLLERS: [(&str, &str); 4] =
    [("BB", "bb"), ("FESTIVE", "festive"), ("BOLA", "bola"), ("robustMPC", "robust_mpc")];

const QOE: &str = "qoe_per_chunk";

pub(super) fn experiment(inputs: &Inputs) -> Result<Experiment, ReproduceError> {
    let mut cells = Vec::new();
    let mut comparisons = Vec::new();
    for (name, controller) in CONTROLLERS {
        let flow =
            json!({ "name": "flow", "kind": "video", "video": { "controller": controller } });
        for (queue, aqm) in queues(OTHERS_US) {
            for link in &LINKS {
                cells.push(cell(
                    &format!("{name}, {queue}"),
                    with_link(link, inputs)?,
                    |builder| {
                        builder
                            .set("duration_s", RUN_S)?
                            .set(super::FLOW, flow.clone())?
                            .set(super::AQM, aqm.clone())
                    },
                )?);
            }
        }
        for queue in NAMES {
            comparisons.push(quotient(Some(name), P99, "TailDrop", queue));
            comparisons.push(quotient(Some(name), QOE, queue, "TailDrop"));
        }
    }
    let metrics = vec![
        p99(),
        app_metric(QOE, "QoE", QOE),
        app_metric("bitrate", "kbit/s", "bitrate_mean_kbps"),
        app_metric("stalled", "s", "stalled_s"),
        app_metric("startup", "s", "startup_s"),
        throughput(),
    ];
    let experiment = Experiment {
        repeats: 1,
        metrics,
        cells,
        comparisons,
        figures: vec![
            Figure::groups(
                P99,
                "99th percentile of queuing delay: TailDrop's over the queue's (Fig. 6)",
                "TailDrop over {}",
            )
            .log_y(),
            Figure::groups(QOE, "QoE over TailDrop's (Fig. 6)", "{} over TailDrop"),
            Figure::groups(QOE, "QoE, mean of a chunk and over the links", "{}"),
        ],
        ..Experiment::new(
            "video",
            "§VI-B, Fig. 6",
            "adaptive video over five queues, D = 20 ms, mean over the links. The paper says in \
             words: BoDe has at most half of TailDrop's delay and at least 0.9 of its QoE",
        )
    };
    let bode = |row: &str| CONTROLLERS.map(|(name, _)| format!("{name}, {row}"));
    let (delay, qoe) = (bode("TailDrop over BoDe"), bode("BoDe over TailDrop"));
    Ok(experiment
        .reports(P99, delay.iter().map(|row| (row.as_str(), 2.0)))
        .reports(QOE, qoe.iter().map(|row| (row.as_str(), 0.9))))
}
