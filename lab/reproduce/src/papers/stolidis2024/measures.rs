//! Measures of a run.

use super::super::super::{FlowObserved, Observed};

/// Throughput of all bulk flows over time, one point per second.
pub(super) fn by_second(run: &Observed) -> Vec<(f64, f64)> {
    let mut seconds: Vec<(f64, u32)> = Vec::new();
    for (index, flow) in bulk_of(run).enumerate() {
        for (at_s, mbps) in &flow.goodput_mbps_over_s {
            let second = at_s.max(0.0) as usize;
            if second >= seconds.len() {
                seconds.resize(second + 1, (0.0, 0));
            }
            seconds[second].0 += mbps;
            if index == 0 {
                seconds[second].1 += 1;
            }
        }
    }
    let mean = |(second, (sum, bins)): (usize, &(f64, u32))| {
        (second as f64 + 0.5, sum / f64::from((*bins).max(1)))
    };
    seconds.iter().enumerate().map(mean).collect()
}

fn bulk_of(run: &Observed) -> impl Iterator<Item = &FlowObserved> {
    run.flows.iter().filter(|flow| flow.kind != "ping")
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Round trips of the pings: seconds since the window began, ms.
pub(super) fn rtts(run: &Observed) -> Vec<(f64, f64)> {
    let of_flows = run.flows.iter().filter(|flow| flow.kind == "ping");
    let mut all: Vec<(f64, f64)> = of_flows
        .flat_map(|flow| &flow.rtt_us)
        .map(|(at_us, rtt_us)| {
            let ended_us = at_us.saturating_sub(run.watch.from_us);
            (ended_us as f64 / 1e6, *rtt_us as f64 / 1e3)
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// Least squares line: slope and R²; `None` for fewer than three points or no spread.
pub(super) fn linear_fit(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < 3 {
        return None;
    }
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    (xx > 0.0 && yy > 0.0).then(|| (xy / xx, xy * xy / (xx * yy)))
}
