//! Metrics over part of a run, in seconds since it began.

use super::super::super::{Curve, FlowObserved, Flows, Metric, Observed};

fn named<'a>(
    run: &'a Observed,
    names: &'static [&'static str],
) -> impl Iterator<Item = &'a FlowObserved> {
    run.flows.iter().filter(|flow| names.contains(&flow.name.as_str()))
}

/// Mbit/s over time of some flows together.
fn together(run: &Observed, names: &'static [&'static str]) -> Vec<(f64, f64)> {
    let mut sum: Vec<(f64, f64)> = Vec::new();
    for flow in named(run, names) {
        for (bin, (at_s, mbps)) in flow.goodput_mbps_over_s.iter().enumerate() {
            match sum.get_mut(bin) {
                Some((_, sum)) => *sum += mbps,
                None => sum.push((*at_s, *mbps)),
            }
        }
    }
    sum
}

/// Payload of some flows together, from one time to another.
pub(super) fn goodput_mean(
    name: &'static str,
    names: &'static [&'static str],
    from_s: f64,
    to_s: f64,
) -> Metric {
    Metric::new(name, "Mbit/s", move |run| {
        let within = |(at_s, _): &&(f64, f64)| (from_s..to_s).contains(at_s);
        let bins = together(run, names);
        let n = bins.iter().filter(within).count();
        let sum: f64 = bins.iter().filter(within).map(|(_, mbps)| mbps).sum();
        (n > 0).then(|| sum / n as f64)
    })
}

/// Payload of some flows together over time.
pub(super) fn goodput_series(name: &'static str, names: &'static [&'static str]) -> Curve {
    Curve::new(name, move |run| together(run, names))
}

fn since(run: &Observed, from_s: f64) -> u64 {
    run.watch.from_us + (from_s * 1e6) as u64
}

fn rtts_ms(run: &Observed, flows: &Flows, from_s: f64) -> Vec<f64> {
    let from_us = since(run, from_s);
    let samples = flows.of(run).flat_map(|flow| &flow.rtt_us);
    samples.filter(|(at_us, _)| *at_us >= from_us).map(|(_, rtt)| *rtt as f64 / 1e3).collect()
}

/// Longest round trip.
pub(super) fn rtt_max(name: &'static str, flows: Flows, from_s: f64) -> Metric {
    Metric::new(name, "ms", move |run| rtts_ms(run, &flows, from_s).into_iter().reduce(f64::max))
}

/// Mean round trip.
pub(super) fn rtt_mean(name: &'static str, flows: Flows, from_s: f64) -> Metric {
    Metric::new(name, "ms", move |run| {
        let all = rtts_ms(run, &flows, from_s);
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    })
}

/// Maximum RLC occupancy over means of 100 ms. The cell must record the occupancy.
pub(super) fn rlc_peak(name: &'static str, from_s: f64) -> Metric {
    Metric::new(name, "MB", move |run| {
        let after = run.occupancy.iter().filter(|(at_s, _)| *at_s >= from_s);
        after.map(|(_, bytes)| bytes / 1e6).reduce(f64::max)
    })
}

/// Longest sojourn of a packet in the RLC.
pub(super) fn rlc_sojourn_max(name: &'static str, from_s: f64) -> Metric {
    Metric::new(name, "ms", move |run| {
        let from_us = since(run, from_s);
        let packets = run.flows.iter().flat_map(|flow| {
            let above = flow.sojourn_us.iter().zip(&flow.sdap_us);
            above.zip(&flow.left_us).filter(move |(_, left_us)| **left_us >= from_us)
        });
        packets.map(|((all, sdap), _)| f64::from(all.saturating_sub(*sdap)) / 1e3).reduce(f64::max)
    })
}
