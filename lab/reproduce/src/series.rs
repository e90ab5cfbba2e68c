//! The vocabulary of curves: distributions and series of a run.

use serde::Deserialize;
use serde_json::Value;

use super::flows::{Delay, Flows, Unit};
use super::observe::Observed;

/// Most points of a distribution.
const CDF_POINTS: usize = 200;

/// A curve of a run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Series {
    /// Distribution of a delay: ms, share of packets.
    Cdf {
        /// Delay of a packet.
        delay: Delay,
        /// Flows.
        #[serde(default)]
        flows: Flows,
    },
    /// Delay of each packet: seconds since the start of the window, delay.
    Delays {
        /// Delay of a packet.
        delay: Delay,
        /// Flows.
        #[serde(default)]
        flows: Flows,
        /// Unit.
        #[serde(default)]
        unit: Unit,
    },
    /// Goodput of the flows together: seconds since the start of the window, Mbit/s.
    Goodput(Flows),
    /// The same as a mean per second.
    GoodputBySecond(Flows),
    /// Mean RLC occupancy of all bearers by 100 ms: seconds since the start of the window, bytes.
    Occupancy,
}

impl Series {
    /// Whether it reads the RLC occupancy over time.
    pub(super) fn reads_occupancy(&self) -> bool {
        matches!(self, Self::Occupancy)
    }

    /// The flows that it selects and no scenario has.
    pub(super) fn flows_fault(&self, scenarios: &[&Value]) -> Option<String> {
        match self {
            Self::Cdf { flows, .. }
            | Self::Delays { flows, .. }
            | Self::Goodput(flows)
            | Self::GoodputBySecond(flows) => flows.fault(scenarios),
            Self::Occupancy => None,
        }
    }

    /// The points of a run, none of them infinite or NaN.
    pub fn of(&self, run: &Observed) -> Vec<(f64, f64)> {
        let points = match self {
            Self::Cdf { delay, flows } => {
                let all = flows.sorted_us(run, *delay, 0.0);
                cdf(all.len(), |at| all[at] as f64 / 1e3)
            }
            Self::Delays { delay, flows, unit } => flows.over_time(run, *delay, *unit),
            Self::Goodput(flows) => flows.goodput_mbps_over_s(run),
            Self::GoodputBySecond(flows) => flows.goodput_mbps_by_second(run),
            Self::Occupancy => run.occupancy.clone(),
        };
        points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect()
    }
}

fn cdf(n: usize, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let points = n.min(CDF_POINTS);
    (1..=points)
        .map(|point| {
            let rank = (point * n).div_ceil(points);
            (value(rank - 1), rank as f64 / n as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_at_one_and_has_bounded_length() {
        for n in [1, 2, 199, 200, 201, 30_000] {
            let points = cdf(n, |at| at as f64);
            assert!(points.len() <= CDF_POINTS);
            assert_eq!(points.last(), Some(&((n - 1) as f64, 1.0)), "{n}");
            assert!(points.windows(2).all(|pair| pair[0] < pair[1]), "{n}");
        }
        assert!(cdf(0, |_| 0.0).is_empty());
    }
}
