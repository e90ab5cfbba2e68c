//! §IV-A: a call when the link's capacity falls to a tenth (Fig. 1).

use serde_json::json;

use super::super::super::{
    Curve, Experiment, Figure, Metric, Observed, ReproduceError, ScenarioBuilder,
};
use super::interactive::call;
use super::{AQM, CHANNEL, FILE, FLOW, INTERACTIVE_US, YAML, flow, queues};

/// The figure's time 0, its step at 10, its end.
const FROM_S: f64 = 110.0;
const STEP_S: u64 = 120;
const END_S: u64 = 150;
const BEFORE_KBPS: u32 = 6000;
const AFTER_KBPS: u32 = 600;

pub(super) fn experiment() -> Result<Experiment, ReproduceError> {
    let mut values_kbps = vec![BEFORE_KBPS; STEP_S as usize];
    values_kbps.push(AFTER_KBPS);
    let channel = json!({
        "rate_series": { "period_ms": 1000, "values_kbps": values_kbps, "at_end": "hold" },
    });
    let base = ScenarioBuilder::from_yaml(FILE, YAML)?
        .set(CHANNEL, channel)?
        .set(FLOW, call())?
        .set("duration_s", END_S)?
        .observed_from_s(FROM_S);
    let mut cells = Vec::new();
    for (queue, aqm) in queues(INTERACTIVE_US) {
        cells.push(base.clone().set(AQM, aqm)?.cell(queue));
    }
    let experiment = Experiment {
        metrics: vec![
            Metric::new("queuing_delay_max", "s", |run| {
                delays_s(run).into_iter().map(|(_, delay_s)| delay_s).reduce(f64::max)
            }),
            Metric::new("p95_after", "s", |run| {
                let after = delays_s(run).into_iter().filter(|(at_s, _)| *at_s >= 10.0);
                let mut delays_s: Vec<f64> = after.map(|(_, delay_s)| delay_s).collect();
                delays_s.sort_by(f64::total_cmp);
                delays_s.get((delays_s.len() * 95).div_ceil(100).saturating_sub(1)).copied()
            }),
            rate("rate_before", 5.0, 10.0),
            rate("rate_after", 30.0, 40.0),
        ],
        curves: vec![
            Curve::new("delay", delays_s),
            Curve::new("rate", |run| {
                flow().of(run).flat_map(|flow| flow.goodput_mbps_over_s.clone()).collect()
            }),
        ],
        cells,
        figures: vec![
            over_time("delay", "Queuing delay (Fig. 1, top)", "s"),
            over_time("rate", "Delivered rate (Fig. 1, bottom)", "Mbit/s"),
        ],
        ..Experiment::new(
            "step",
            "§IV-A, Fig. 1",
            "a video call on a link that falls from 6 to 0.6 Mbit/s at 10 s; the paper's is of Skype, \
             with FIFO \"up to 4 seconds\"",
        )
    };
    Ok(experiment.reports("queuing_delay_max", [("TailDrop", 4.0)]))
}

/// Queuing delay of each packet: when it left, seconds since the window began, and how long it took.
fn delays_s(run: &Observed) -> Vec<(f64, f64)> {
    let seconds = |us: u64| us as f64 / 1e6;
    let flows = flow();
    let all = flows.of(run).flat_map(|flow| flow.left_us.iter().zip(&flow.sojourn_us));
    all.map(|(left_us, sojourn_us)| {
        let at_us = left_us.saturating_sub(run.watch.from_us);
        (seconds(at_us), seconds(u64::from(*sojourn_us)))
    })
    .collect()
}

fn rate(name: &'static str, from_s: f64, to_s: f64) -> Metric {
    Metric::new(name, "Mbit/s", move |run| {
        let flows = flow();
        let series = flows.of(run).next()?.goodput_mbps_over_s.iter();
        let within: Vec<f64> = series
            .filter(|(at_s, _)| (from_s..to_s).contains(at_s))
            .map(|(_, mbps)| *mbps)
            .collect();
        (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
    })
}

fn over_time(curve: &'static str, title: &'static str, y: &'static str) -> Figure {
    Figure::curves(curve, title, "s", y)
}
