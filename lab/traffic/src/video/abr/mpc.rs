//! Robust MPC: Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over
//! HTTP" (SIGCOMM 2015), §4.3 and §5.
//!
//! Before each chunk the controller finds the plan for the next five chunks with the best QoE if the
//! throughput were Ĉ / (1 + e): Ĉ the harmonic mean of the last five chunks, e the largest relative
//! error of that prediction over the last five. It takes the first step of the plan and plans anew
//! at the next chunk. The plan is exact: depth first over all sequences, leaving out those that even
//! with the best quality in all chunks to come could not beat the best plan so far (the paper's
//! FastMPC looks the same answer up in a table).
//!
//! The start-up time is not planned: the first chunk, with no throughput known, is of the lowest
//! rung, as in the paper's implementation in dash.js.

use std::collections::VecDeque;

use super::{Situation, harmonic_mean};
use crate::video::VideoConfig;
use crate::video::qoe::Weights;

/// Chunks planned ahead (§7.1.2: N = 5).
const HORIZON_CHUNKS: usize = 5;
/// Chunks that prediction and error look back on (§7.1.2: 5).
const WINDOW_CHUNKS: usize = 5;

/// Plans ahead with a cautious throughput.
#[derive(Debug, Clone)]
pub struct RobustMpc {
    weights: Weights,
    buffer_max_s: f64,
    predicted_bps: Option<f64>,
    /// Relative errors of the last predictions.
    errors: VecDeque<f64>,
}

/// One search for the best plan.
struct Search<'a> {
    situation: &'a Situation<'a>,
    weights: Weights,
    buffer_max_s: f64,
    throughput_bps: f64,
    horizon: usize,
    best: (f64, usize),
}

impl Search<'_> {
    /// Goes on from `depth` chunks planned, the first on rung `first`, with this QoE so far.
    fn descend(
        &mut self,
        depth: usize,
        first: usize,
        last: Option<usize>,
        buffer_s: f64,
        qoe: f64,
    ) {
        let manifest = self.situation.manifest;
        let rates = manifest.rates_bps();
        if depth == self.horizon {
            if qoe > self.best.0 {
                self.best = (qoe, first);
            }
            return;
        }
        // No chunk to come is worth more than the highest rate without change or stall.
        let most = (self.horizon - depth) as f64 * rates[rates.len() - 1] / 1e6;
        if qoe + most <= self.best.0 {
            return;
        }
        for rung in (0..rates.len()).rev() {
            let bytes = manifest.chunk_bytes(self.situation.chunk + depth, rung).get();
            let fetch_s = f64::from(bytes) * 8.0 / self.throughput_bps;
            let stalled_s = (fetch_s - buffer_s).max(0.0);
            // What does not fit the buffer is not fetched before it does.
            let after_s =
                ((buffer_s - fetch_s).max(0.0) + manifest.chunk_s()).min(self.buffer_max_s);
            let before_bps = last.map(|rung| rates[rung]);
            let gain = self.weights.chunk(rates[rung], before_bps, stalled_s);
            let first = if depth == 0 { rung } else { first };
            self.descend(depth + 1, first, Some(rung), after_s, qoe + gain);
        }
    }
}

impl RobustMpc {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self {
            weights: Weights::new(config),
            buffer_max_s: config.buffer_max_us as f64 / 1e6,
            predicted_bps: None,
            errors: VecDeque::new(),
        }
    }

    /// The cautious throughput, bit/s.
    fn lower_bound_bps(&mut self, throughput_bps: &[f64]) -> Option<f64> {
        if let (Some(predicted), Some(actual)) = (self.predicted_bps, throughput_bps.last()) {
            self.errors.push_back((predicted - actual).abs() / actual.max(1.0));
            if self.errors.len() > WINDOW_CHUNKS {
                self.errors.pop_front();
            }
        }
        self.predicted_bps = harmonic_mean(throughput_bps, WINDOW_CHUNKS);
        let worst = self.errors.iter().copied().fold(0.0, f64::max);
        self.predicted_bps.map(|predicted| predicted / (1.0 + worst))
    }

    /// The first rung of the best plan; of equal plans the one with the higher first rung.
    pub fn choose(&mut self, situation: &Situation<'_>) -> usize {
        let Some(throughput_bps) = self.lower_bound_bps(situation.throughput_bps) else { return 0 };
        let left = situation.manifest.chunks().saturating_sub(situation.chunk);
        let mut search = Search {
            situation,
            weights: self.weights,
            buffer_max_s: self.buffer_max_s,
            throughput_bps,
            horizon: HORIZON_CHUNKS.min(left),
            best: (f64::NEG_INFINITY, 0),
        };
        search.descend(0, 0, situation.last_rung, situation.buffer_s, 0.0);
        search.best.1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests_support::situation;
    use super::*;

    /// The QoE of the best of all plans that start on `first`, by trying every one.
    fn brute_force(it: &Situation<'_>, config: &VideoConfig, bps: f64, first: usize) -> f64 {
        let rates = it.manifest.rates_bps();
        let weights = Weights::new(config);
        let plans = rates.len().pow(HORIZON_CHUNKS as u32);
        let mut best = f64::NEG_INFINITY;
        for mut plan in 0..plans {
            let (mut buffer_s, mut last, mut qoe) = (it.buffer_s, it.last_rung, 0.0);
            if plan % rates.len() != first {
                continue;
            }
            for step in 0..HORIZON_CHUNKS {
                let rung = plan % rates.len();
                plan /= rates.len();
                let bits = f64::from(it.manifest.chunk_bytes(it.chunk + step, rung).get()) * 8.0;
                let stalled_s = (bits / bps - buffer_s).max(0.0);
                buffer_s = ((buffer_s - bits / bps).max(0.0) + it.manifest.chunk_s())
                    .min(config.buffer_max_us as f64 / 1e6);
                qoe += rates[rung] / 1e6
                    - last.map_or(0.0, |l: usize| (rates[rung] - rates[l]).abs() / 1e6)
                    - weights.rebuffer * stalled_s;
                last = Some(rung);
            }
            best = best.max(qoe);
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_plan_is_the_best_of_all(
            buffer_s in 0.0_f64..60.0,
            mbps in 0.2_f64..8.0,
            last in prop::option::of(0_usize..6),
        ) {
            let config = VideoConfig::default();
            let rates = config.ladder_kbps.len();
            let (chosen, values) = situation(&config, buffer_s, last, &[mbps * 1e6], |it| {
                let chosen = RobustMpc::new(&config).choose(it);
                let value = |first| brute_force(it, &config, mbps * 1e6, first);
                (chosen, (0..rates).map(value).collect::<Vec<f64>>())
            });
            let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(values[chosen] >= best - 1e-9, "{chosen} of {values:?}");
        }
    }

    #[test]
    fn nothing_known_is_the_lowest_and_plenty_the_highest() {
        let config = VideoConfig::default();
        let choose = |buffer_s, last, known: &[f64]| {
            situation(&config, buffer_s, last, known, |it| RobustMpc::new(&config).choose(it))
        };
        assert_eq!(choose(0.0, None, &[]), 0);
        assert_eq!(choose(30.0, Some(5), &[50e6; 5]), 5);
        assert_eq!(choose(0.0, Some(0), &[0.1e6]), 0);
    }

    #[test]
    fn a_wrong_prediction_makes_the_next_ones_cautious() {
        let mut mpc = RobustMpc::new(&VideoConfig::default());
        assert_eq!(mpc.lower_bound_bps(&[4e6]), Some(4e6));
        // 4 Mbit/s were predicted and 2 came: an error of 100 %. Harmonic mean 8/3.
        let bound = mpc.lower_bound_bps(&[4e6, 2e6]).unwrap();
        assert!((bound - 8e6 / 3.0 / 2.0).abs() < 1e-6, "{bound}");
        for _ in 0..5 {
            mpc.lower_bound_bps(&[2e6; 5]);
        }
        let bound = mpc.lower_bound_bps(&[2e6; 5]).unwrap();
        assert!((bound - 2e6).abs() < 1e-3, "forgotten after five chunks: {bound}");
    }
}
