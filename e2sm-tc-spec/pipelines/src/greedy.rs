//! Greedy flows of a bearer, by what a flow inventory says of each; the others are *sparse*, and it is
//! their delay that users feel (RFC 8290 §4.1).

/// What one flow of a bearer does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLoad {
    /// Rate at which it arrives.
    pub rate_kbps: u64,
    /// Bytes that wait in the pipeline.
    pub backlog_bytes: u64,
}

/// Bounds between sparse and greedy flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreedyFlows {
    /// A flow below this part of its max-min fair share of the bearer is sparse.
    pub fair_share_ratio: f64,
    /// A slower flow is greedy by its backlog only.
    pub min_rate_kbps: u64,
    /// A flow with this much queued is greedy whatever its rate.
    pub min_backlog_bytes: u64,
}

impl Default for GreedyFlows {
    fn default() -> Self {
        Self { fair_share_ratio: 0.5, min_rate_kbps: 1_000, min_backlog_bytes: 30_000 }
    }
}

impl GreedyFlows {
    /// Whether each of the flows of a bearer is greedy.
    ///
    /// A sparse flow arrives at well below its max-min fair share of the bearer: what all flows bring,
    /// less what the smaller ones take, divided among the rest. And a flow that backed off still holds
    /// the queue that it built, so a backlog makes a flow greedy whatever its rate.
    pub fn among(&self, flows: &[FlowLoad]) -> Vec<bool> {
        let mut rates_kbps: Vec<u64> = flows.iter().map(|flow| flow.rate_kbps).collect();
        rates_kbps.sort_unstable();
        let mut rest_kbps = rates_kbps.iter().fold(0_u64, |sum, rate| sum.saturating_add(*rate));
        let mut least_kbps = 0.0;
        for (rate_kbps, rest) in rates_kbps.iter().zip((1..=flows.len()).rev()) {
            least_kbps = self.fair_share_ratio * rest_kbps as f64 / rest as f64;
            if *rate_kbps as f64 >= least_kbps {
                break;
            }
            rest_kbps -= rate_kbps;
        }
        let least_kbps = f64::max(least_kbps, self.min_rate_kbps as f64);
        let is_greedy = |flow: &FlowLoad| {
            flow.rate_kbps as f64 >= least_kbps || flow.backlog_bytes >= self.min_backlog_bytes
        };
        flows.iter().map(is_greedy).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(flows: &[(u64, u64)]) -> Vec<bool> {
        let load = |&(rate_kbps, backlog_bytes)| FlowLoad { rate_kbps, backlog_bytes };
        GreedyFlows::default().among(&flows.iter().map(load).collect::<Vec<_>>())
    }

    #[test]
    fn a_flow_at_half_its_fair_share_is_greedy_and_a_slow_one_is_not() {
        assert_eq!(among(&[]), [false; 0]);
        assert_eq!(among(&[(999, 0)]), [false], "below 1 Mbit/s");
        assert_eq!(among(&[(40_000, 0), (80, 0), (6, 0)]), [true, false, false]);
        assert_eq!(among(&[(20_000, 0), (18_000, 0), (4_000, 0)]), [true, true, false]);
        assert_eq!(among(&[(2_000, 0); 30]), [true; 30], "equal shares");
    }

    #[test]
    fn a_backlog_makes_a_flow_greedy_whatever_its_rate() {
        assert_eq!(among(&[(40_000, 0), (100, 30_000)]), [true, true]);
        assert_eq!(among(&[(40_000, 0), (100, 29_999)]), [true, false]);
    }

    #[test]
    fn rates_beyond_any_sum_are_no_fault() {
        assert_eq!(among(&[(u64::MAX, 0), (u64::MAX, 0)]), [true, true]);
    }
}
