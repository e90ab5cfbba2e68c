//! The vocabulary of measures: what a metric or a curve takes of a run.

use serde::Deserialize;
use serde_json::Value;

use super::flows::{Delay, Flows, Unit, flow_fault};
use super::observe::Observed;

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// Share of packets with a delay below a bound, %.
    Below {
        /// Delay of a packet.
        delay: Delay,
        /// Flows.
        #[serde(default)]
        flows: Flows,
        /// Bound.
        ms: f64,
    },
    /// Mean delay, ms.
    Mean {
        /// Delay of a packet.
        delay: Delay,
        /// Flows.
        #[serde(default)]
        flows: Flows,
        /// Start of the part of the window that counts, seconds since its start.
        from_s: Option<f64>,
    },
    /// Nearest-rank quantile of a delay; 1 is the longest.
    Quantile {
        /// Delay of a packet.
        delay: Delay,
        /// Flows.
        #[serde(default)]
        flows: Flows,
        /// Level, 0 to 1.
        level: f64,
        /// Start of the part of the window that counts, seconds since its start.
        #[serde(default)]
        from_s: f64,
        /// Unit.
        #[serde(default)]
        unit: Unit,
    },
    /// Sum of the goodputs, Mbit/s; over a part of the window the mean of its bins.
    Goodput {
        /// Flows.
        #[serde(default)]
        flows: Flows,
        /// Start and end of the part that counts, seconds since the start of the window.
        within_s: Option<[f64; 2]>,
    },
    /// Median of the seconds' goodputs, Mbit/s.
    GoodputMedian(Flows),
    /// Goodput if all resource blocks were used, at the same bits per block, Mbit/s.
    GoodputOfAllRb(Flows),
    /// Goodput over the 99th percentile of the sojourn, Mbit/s per s (abbasloo2019 §VI).
    Power(Flows),
    /// Share of retransmissions in the packets of TCP senders since the start of the run, %.
    Retransmitted(Flows),
    /// Share of packets of this kind of flow that were not received since the start of the run, %.
    Lost {
        /// Kind of the flows.
        kind: String,
    },
    /// Share of the cell's resource blocks used, %.
    UsedRb,
    /// Figure reported by the application of a flow, over the whole run.
    App {
        /// Name of the flow.
        flow: String,
        /// Name of the figure.
        figure: String,
        /// Its unit.
        unit: String,
    },
    /// Greatest RLC occupancy over means of 100 ms, MB.
    RlcPeak {
        /// Start of the part of the window that counts, seconds since its start.
        from_s: f64,
    },
    /// Share of packets that the RLC of the first bearer dropped since the start of the run, %.
    RlcDropped,
    /// Mean time from an SDU's arrival in the RLC buffer of the first bearer to its removal, ms
    /// (kumar2018 §III).
    SduDelay,
    /// Mean SDUs removed at a time from the RLC buffer of the first bearer.
    BlockSdus,
    /// Mean time between such removals, ms.
    BlockGap,
    /// Slope of the round trips over time, ms/s.
    RttGrowth(Flows),
    /// R² of the line through the round trips over time.
    RttLinearity(Flows),
    /// Share of forecasts that are the model's, %; the rest is its fallback's, persistence.
    ByModel,
}

impl Measure {
    /// Its unit in rows.
    pub fn unit(&self) -> &str {
        match self {
            Self::Below { .. }
            | Self::Retransmitted(_)
            | Self::Lost { .. }
            | Self::UsedRb
            | Self::RlcDropped
            | Self::ByModel => "%",
            Self::Mean { .. }
            | Self::Quantile { unit: Unit::Ms, .. }
            | Self::SduDelay
            | Self::BlockGap => "ms",
            Self::Quantile { unit: Unit::S, .. } => "s",
            Self::Goodput { .. } | Self::GoodputMedian(_) | Self::GoodputOfAllRb(_) => "Mbit/s",
            Self::Power(_) => "Mbit/s per s",
            Self::App { unit, .. } => unit,
            Self::RlcPeak { .. } => "MB",
            Self::BlockSdus => "SDUs",
            Self::RttGrowth(_) => "ms/s",
            Self::RttLinearity(_) => "R²",
        }
    }

    /// The flows whose round trips it is of, if any.
    #[cfg(test)]
    pub(super) fn round_trip_of(&self) -> Option<&Flows> {
        match self {
            Self::Below { delay: Delay::Rtt, flows, .. }
            | Self::Mean { delay: Delay::Rtt, flows, .. }
            | Self::Quantile { delay: Delay::Rtt, flows, .. }
            | Self::RttGrowth(flows)
            | Self::RttLinearity(flows) => Some(flows),
            _ => None,
        }
    }

    /// Whether it reads the RLC occupancy over time.
    pub(super) fn reads_occupancy(&self) -> bool {
        matches!(self, Self::RlcPeak { .. })
    }

    /// What is wrong with its parameters.
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Self::Goodput { within_s: Some([from_s, to_s]), .. }
                if !(0.0 <= *from_s && from_s < to_s) =>
            {
                Some(format!("within_s: [{from_s}, {to_s}]; expected a start before the end"))
            }
            Self::Mean { from_s: Some(from_s), .. }
            | Self::Quantile { from_s, .. }
            | Self::RlcPeak { from_s }
                if !from_s.is_finite() || *from_s < 0.0 =>
            {
                Some(format!("from_s: {from_s}; expected 0 or more"))
            }
            Self::Quantile { level, .. } if !(0.0..=1.0).contains(level) => {
                Some(format!("level: {level}; expected 0 to 1"))
            }
            _ => None,
        }
    }

    /// The flows that it selects and no scenario has.
    pub(super) fn flows_fault(&self, scenarios: &[&Value]) -> Option<String> {
        match self {
            Self::Below { flows, .. }
            | Self::Mean { flows, .. }
            | Self::Quantile { flows, .. }
            | Self::Goodput { flows, .. }
            | Self::GoodputMedian(flows)
            | Self::GoodputOfAllRb(flows)
            | Self::Power(flows)
            | Self::Retransmitted(flows)
            | Self::RttGrowth(flows)
            | Self::RttLinearity(flows) => flows.fault(scenarios),
            Self::Lost { kind } => flow_fault(scenarios, "kind", kind),
            Self::App { flow, .. } => flow_fault(scenarios, "name", flow),
            Self::UsedRb
            | Self::RlcPeak { .. }
            | Self::RlcDropped
            | Self::SduDelay
            | Self::BlockSdus
            | Self::BlockGap
            | Self::ByModel => None,
        }
    }

    /// Value of a run; `None` if it has none, never infinite or NaN.
    pub fn of(&self, run: &Observed) -> Option<f64> {
        self.value(run).filter(|value| value.is_finite())
    }

    fn value(&self, run: &Observed) -> Option<f64> {
        match self {
            Self::Below { delay, flows, ms } => {
                let all = flows.sorted_us(run, *delay, 0.0);
                percent(all.partition_point(|us| (*us as f64) < ms * 1e3) as u64, all.len() as u64)
            }
            Self::Mean { delay, flows, from_s } => {
                let all = flows.delays_us(run, *delay, from_s.unwrap_or(0.0));
                let us = all.iter().map(|(_, us)| *us);
                // Rows keep their last digits: over a part of the window milliseconds are summed.
                let mean_ms = match from_s {
                    None => us.sum::<u64>() as f64 / all.len() as f64 / 1e3,
                    Some(_) => us.map(|us| us as f64 / 1e3).sum::<f64>() / all.len() as f64,
                };
                (!all.is_empty()).then_some(mean_ms)
            }
            Self::Quantile { delay, flows, level, from_s, unit } => {
                let all = flows.sorted_us(run, *delay, *from_s);
                nearest_rank(&all, *level).map(|us| unit.of_us(us))
            }
            Self::Goodput { flows, within_s: None } => goodput_mbps(run, flows),
            Self::Goodput { flows, within_s: Some([from_s, to_s]) } => {
                let bins = flows.goodput_mbps_over_s(run);
                let within = bins.iter().filter(|(at_s, _)| (*from_s..*to_s).contains(at_s));
                let within: Vec<f64> = within.map(|(_, mbps)| *mbps).collect();
                (!within.is_empty()).then(|| within.iter().sum::<f64>() / within.len() as f64)
            }
            Self::GoodputMedian(flows) => {
                let seconds = flows.goodput_mbps_by_second(run);
                let mut mbps: Vec<f64> = seconds.into_iter().map(|(_, mbps)| mbps).collect();
                mbps.sort_by(f64::total_cmp);
                mbps.get(mbps.len() / 2).copied()
            }
            Self::GoodputOfAllRb(flows) => {
                let mbps = goodput_mbps(run, flows)?;
                (run.used_prb > 0).then(|| mbps * run.available_prb as f64 / run.used_prb as f64)
            }
            Self::Power(flows) => {
                let all = flows.sorted_us(run, Delay::Sojourn, 0.0);
                let p99_ms = nearest_rank(&all, 0.99).filter(|us| *us > 0)? as f64 / 1e3;
                Some(goodput_mbps(run, flows)? / (p99_ms / 1e3))
            }
            Self::Retransmitted(flows) => percent(
                flows.of(run).map(|flow| flow.retransmitted_packets).sum(),
                flows.of(run).map(|flow| flow.sent_packets).sum(),
            ),
            Self::Lost { kind } => {
                let flows = || run.summary.flows.iter().filter(|flow| flow.kind == *kind);
                let sent: u64 = flows().map(|flow| flow.sent_packets).sum();
                let back: u64 = flows().map(|flow| flow.received_packets).sum();
                percent(sent.saturating_sub(back), sent)
            }
            Self::UsedRb => percent(run.used_prb, run.available_prb),
            Self::App { flow, figure, .. } => {
                run.summary.flows.iter().find(|found| found.name == *flow)?.app.get(figure)
            }
            Self::RlcPeak { from_s } => {
                let after = run.occupancy.iter().filter(|(at_s, _)| at_s >= from_s);
                after.map(|(_, bytes)| bytes / 1e6).reduce(f64::max)
            }
            Self::RlcDropped => {
                let bearer = run.summary.bearers.first()?;
                let dropped = bearer.rlc_dropped_packets;
                percent(dropped, dropped + bearer.drained_packets)
            }
            Self::SduDelay => {
                let first = run.removals.first()?;
                (first.sdus > 0).then(|| first.delay_us as f64 / first.sdus as f64 / 1e3)
            }
            Self::BlockSdus => {
                let first = run.removals.first()?;
                (first.blocks > 0).then(|| first.sdus as f64 / first.blocks as f64)
            }
            Self::BlockGap => {
                let blocks = run.removals.first()?.blocks;
                let window_ms = (run.watch.to_us - run.watch.from_us) as f64 / 1e3;
                (blocks > 0).then(|| window_ms / blocks as f64)
            }
            Self::RttGrowth(flows) => Some(linear_fit(&rtts_over_time(run, flows))?.0),
            Self::RttLinearity(flows) => Some(linear_fit(&rtts_over_time(run, flows))?.1),
            Self::ByModel => {
                let counts = run.forecasts?;
                percent(counts.by_model, counts.forecasts)
            }
        }
    }
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

fn goodput_mbps(run: &Observed, flows: &Flows) -> Option<f64> {
    let mut flows = flows.of(run).peekable();
    flows.peek()?;
    Some(flows.map(|flow| flow.goodput_bps).sum::<f64>() / 1e6)
}

fn nearest_rank(sorted: &[u64], level: f64) -> Option<u64> {
    let rank = (level * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

fn rtts_over_time(run: &Observed, flows: &Flows) -> Vec<(f64, f64)> {
    flows.over_time(run, Delay::Rtt, Unit::Ms)
}

/// Least squares line: slope and R²; `None` for fewer than three points or no spread.
fn linear_fit(points: &[(f64, f64)]) -> Option<(f64, f64)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!(nearest_rank(&sorted, 0.95), Some(95));
        assert_eq!(nearest_rank(&sorted, 0.0), Some(1));
        assert_eq!(nearest_rank(&sorted, 1.0), Some(100));
        assert_eq!(nearest_rank(&[], 0.5), None);
    }
}
