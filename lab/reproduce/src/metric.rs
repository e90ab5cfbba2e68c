//! Metrics and curves of a run.

use std::fmt;
use std::sync::Arc;

use super::{FlowObserved, Observed};

/// Most points of a distribution curve.
const CDF_POINTS: usize = 200;

/// Selection of flows; all by default.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    kind: Option<&'static str>,
    rnti: Option<u16>,
    name: Option<&'static str>,
}

impl Flows {
    /// Flows of a kind, such as `voip`.
    pub fn kind(kind: &'static str) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    /// The flow with a name.
    pub fn name(name: &'static str) -> Self {
        Self { name: Some(name), ..Self::default() }
    }

    /// Restricts the selection to one UE.
    #[must_use]
    pub fn of_ue(mut self, rnti: u16) -> Self {
        self.rnti = Some(rnti);
        self
    }

    fn includes(&self, flow: &FlowObserved) -> bool {
        self.kind.is_none_or(|kind| kind == flow.kind)
            && self.rnti.is_none_or(|rnti| rnti == flow.rnti)
            && self.name.is_none_or(|name| name == flow.name)
    }

    /// The selected flows of a run.
    pub fn of<'a>(&'a self, run: &'a Observed) -> impl Iterator<Item = &'a FlowObserved> {
        run.flows.iter().filter(|flow| self.includes(flow))
    }

    /// Samples of all selected flows, sorted.
    fn sorted(&self, run: &Observed, pick: Pick) -> Vec<u32> {
        let mut all: Vec<u32> = self.of(run).flat_map(|flow| pick(flow).iter().copied()).collect();
        all.sort_unstable();
        all
    }

    fn sorted_rtt_us(&self, run: &Observed) -> Vec<u64> {
        let mut all: Vec<u64> =
            self.of(run).flat_map(|flow| flow.rtt_us.iter().map(|(_, rtt)| *rtt)).collect();
        all.sort_unstable();
        all
    }
}

type Pick = fn(&FlowObserved) -> &[u32];
type Number = Arc<dyn Fn(&Observed) -> Option<f64> + Send + Sync>;
type Points = Arc<dyn Fn(&Observed) -> Vec<(f64, f64)> + Send + Sync>;

const SOJOURN: Pick = |flow| &flow.sojourn_us;
const ONE_WAY: Pick = |flow| &flow.one_way_us;
const OVERALL: Pick = |flow| &flow.overall_us;

/// One number of a run.
#[derive(Clone)]
pub struct Metric {
    /// Its name in rows.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    of: Number,
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metric({} in {})", self.name, self.unit)
    }
}

impl Metric {
    /// A metric by a function that returns `None` if the run has no value.
    pub fn new(
        name: &'static str,
        unit: &'static str,
        of: impl Fn(&Observed) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self { name, unit, of: Arc::new(of) }
    }

    /// Value of a run; never infinite or NaN.
    pub fn of(&self, run: &Observed) -> Option<f64> {
        (self.of)(run).filter(|value| value.is_finite())
    }

    /// Share of packets whose SDAP and RLC sojourn is below `ms`.
    pub fn sojourn_below(name: &'static str, flows: Flows, ms: f64) -> Self {
        Self::new(name, "%", move |run| {
            let all = flows.sorted(run, SOJOURN);
            let below = all.partition_point(|us| f64::from(*us) < ms * 1e3);
            (!all.is_empty()).then(|| below as f64 * 100.0 / all.len() as f64)
        })
    }

    /// Mean SDAP and RLC sojourn.
    pub fn sojourn_mean(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "ms", move |run| mean_ms(&flows.sorted(run, SOJOURN)))
    }

    /// A quantile of the SDAP and RLC sojourn.
    pub fn sojourn_quantile(name: &'static str, flows: Flows, quantile: f64) -> Self {
        Self::new(name, "ms", move |run| {
            quantile_of(&flows.sorted(run, SOJOURN), quantile).map(|us| f64::from(us) / 1e3)
        })
    }

    /// Mean time in the RLC.
    pub fn rlc_sojourn_mean(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "ms", move |run| {
            let in_rlc = |flow: &FlowObserved| -> Vec<u32> {
                let both = flow.sojourn_us.iter().zip(&flow.sdap_us);
                both.map(|(whole_us, before_us)| whole_us.saturating_sub(*before_us)).collect()
            };
            mean_ms(&flows.of(run).flat_map(in_rlc).collect::<Vec<_>>())
        })
    }

    /// Mean delay from server to UE.
    pub fn one_way_mean(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "ms", move |run| mean_ms(&flows.sorted(run, ONE_WAY)))
    }

    /// A quantile of the delay from the first transmission of a packet to its arrival at the UE.
    pub fn overall_quantile(name: &'static str, flows: Flows, quantile: f64) -> Self {
        Self::new(name, "ms", move |run| {
            quantile_of(&flows.sorted(run, OVERALL), quantile).map(|us| f64::from(us) / 1e3)
        })
    }

    /// Share of retransmissions in the packets of TCP senders since the start of the run.
    pub fn retransmitted(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "%", move |run| {
            let sum = |pick: fn(&FlowObserved) -> u64| flows.of(run).map(pick).sum::<u64>();
            let (again, all) =
                (sum(|flow| flow.retransmitted_packets), sum(|flow| flow.sent_packets));
            (all > 0).then(|| again as f64 * 100.0 / all as f64)
        })
    }

    /// Mean round trip.
    pub fn rtt_mean(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "ms", move |run| {
            let all = flows.sorted_rtt_us(run);
            let sum: u64 = all.iter().sum();
            (!all.is_empty()).then(|| sum as f64 / all.len() as f64 / 1e3)
        })
    }

    /// A quantile of the round trips.
    pub fn rtt_quantile(name: &'static str, flows: Flows, quantile: f64) -> Self {
        Self::new(name, "ms", move |run| {
            quantile_of(&flows.sorted_rtt_us(run), quantile).map(|us| us as f64 / 1e3)
        })
    }

    /// Sum of the goodputs.
    pub fn goodput(name: &'static str, flows: Flows) -> Self {
        Self::new(name, "Mbit/s", move |run| {
            let mut flows = flows.of(run).peekable();
            flows.peek()?;
            Some(flows.map(|flow| flow.goodput_bps).sum::<f64>() / 1e6)
        })
    }

    /// Share of the cell's resource blocks used.
    pub fn used_rb(name: &'static str) -> Self {
        Self::new(name, "%", |run| {
            (run.available_prb > 0).then(|| run.used_prb as f64 * 100.0 / run.available_prb as f64)
        })
    }
}

/// A curve of a run.
#[derive(Clone)]
pub struct Curve {
    /// Its name.
    pub name: &'static str,
    of: Points,
}

impl fmt::Debug for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Curve({})", self.name)
    }
}

impl Curve {
    /// A curve by a function.
    pub fn new(
        name: &'static str,
        of: impl Fn(&Observed) -> Vec<(f64, f64)> + Send + Sync + 'static,
    ) -> Self {
        Self { name, of: Arc::new(of) }
    }

    /// The points of a run.
    pub fn of(&self, run: &Observed) -> Vec<(f64, f64)> {
        let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        (self.of)(run).into_iter().filter(finite).collect()
    }

    /// Distribution of the SDAP and RLC sojourn: ms, share.
    pub fn sojourn_cdf(name: &'static str, flows: Flows) -> Self {
        Self::new(name, move |run| {
            let all = flows.sorted(run, SOJOURN);
            cdf(all.len(), |at| f64::from(all[at]) / 1e3)
        })
    }

    /// Distribution of the delay from the first transmission of a packet to its arrival: ms, share.
    pub fn overall_cdf(name: &'static str, flows: Flows) -> Self {
        Self::new(name, move |run| {
            let all = flows.sorted(run, OVERALL);
            cdf(all.len(), |at| f64::from(all[at]) / 1e3)
        })
    }

    /// Distribution of the round trips: ms, share.
    pub fn rtt_cdf(name: &'static str, flows: Flows) -> Self {
        Self::new(name, move |run| {
            let all = flows.sorted_rtt_us(run);
            cdf(all.len(), |at| all[at] as f64 / 1e3)
        })
    }

    /// RLC occupancy over time: s, bytes. The cell must record it.
    pub fn occupancy(name: &'static str) -> Self {
        Self::new(name, |run| run.occupancy.clone())
    }
}

fn mean_ms(us: &[u32]) -> Option<f64> {
    let sum: u64 = us.iter().map(|us| u64::from(*us)).sum();
    (!us.is_empty()).then(|| sum as f64 / us.len() as f64 / 1e3)
}

/// Nearest-rank quantile.
fn quantile_of<T: Copy>(sorted: &[T], quantile: f64) -> Option<T> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
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
    fn quantiles_are_nearest_ranks() {
        let sorted: Vec<u32> = (1..=100).collect();
        assert_eq!(quantile_of(&sorted, 0.95), Some(95));
        assert_eq!(quantile_of(&sorted, 0.0), Some(1));
        assert_eq!(quantile_of(&sorted, 1.0), Some(100));
        assert_eq!(quantile_of::<u32>(&[], 0.5), None);
    }

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
