//! FESTIVE: Jiang, Sekar and Zhang, "Improving Fairness, Efficiency, and Stability in HTTP-Based
//! Adaptive Video Streaming" (CoNEXT 2012; IEEE/ACM ToN 22(1), 2014).
//!
//! - Throughput: harmonic mean of the last 20 chunks (§4.3).
//! - Reference rate: one rung down at once when the present rate exceeds 0.85 of that; one rung up
//!   when the next would not, after k chunks on rung k (§4.2).
//! - Delayed update: of present and reference rate the one with the lower score of stability plus 12
//!   times efficiency (§4.4). Stability is 2ⁿ, n the switches among the last five chunks and the
//!   switch at hand, as the player of abbasloo2019 (Mao et al. 2017) counts them.
//! - Random scheduling: the next request is put off until the buffer has fallen to a size drawn
//!   uniformly from target ± one chunk (§4.1); the target is 30 s, or half of a smaller buffer.

use std::collections::VecDeque;

use super::{Situation, harmonic_mean};
use crate::rng::Rng;

/// Chunks the throughput is estimated from.
const WINDOW_CHUNKS: usize = 20;
/// Share of the throughput that is used (p).
const DROP_THRESHOLD: f64 = 0.85;
/// Weight of efficiency against stability (α).
const ALPHA: f64 = 12.0;
/// Chunks among which switches are counted.
const HISTORY_CHUNKS: usize = 5;
/// Buffer that scheduling aims at.
const TARGET_BUFFER_S: f64 = 30.0;

/// Rate-based, gradual, and random in time.
#[derive(Debug, Clone)]
pub struct Festive {
    random: Rng,
    /// Rungs of the last chunks, latest last.
    history: VecDeque<usize>,
    /// Chunks in a row on the present rung.
    on_rung: usize,
}

impl Festive {
    pub(crate) fn new(random: Rng) -> Self {
        Self { random, history: VecDeque::new(), on_rung: 0 }
    }

    /// Until the buffer has fallen to the size drawn.
    pub fn wait_s(&mut self, situation: &Situation<'_>) -> f64 {
        let chunk_s = situation.manifest.chunk_s();
        let drawn_s = self.random.uniform(TARGET_BUFFER_S - chunk_s, TARGET_BUFFER_S + chunk_s);
        (situation.buffer_s - drawn_s).max(0.0)
    }

    /// The rung of the next chunk.
    pub fn choose(&mut self, situation: &Situation<'_>) -> usize {
        let rung =
            match (situation.last_rung, harmonic_mean(situation.throughput_bps, WINDOW_CHUNKS)) {
                (Some(present), Some(throughput)) => {
                    self.update(situation.manifest.rates_bps(), present, throughput)
                }
                _ => 0,
            };
        self.on_rung = if self.history.back() == Some(&rung) { self.on_rung + 1 } else { 1 };
        self.history.push_back(rung);
        if self.history.len() > HISTORY_CHUNKS {
            self.history.pop_front();
        }
        rung
    }

    fn update(&self, rates: &[f64], present: usize, throughput: f64) -> usize {
        let usable = DROP_THRESHOLD * throughput;
        let reference = if rates[present] > usable {
            present.saturating_sub(1)
        } else if rates.get(present + 1).is_some_and(|rate| *rate <= usable)
            // Rungs count from 1 in the paper.
            && self.on_rung > present
        {
            present + 1
        } else {
            present
        };
        if reference == present {
            return present;
        }
        let changes = self.history.iter().zip(self.history.iter().skip(1));
        let n = changes.filter(|(a, b)| a != b).count() as i32;
        let efficiency = |rung: usize| (rates[rung] / usable.min(rates[reference]) - 1.0).abs();
        let score = |rung: usize, n: i32| libm::exp2(f64::from(n)) + ALPHA * efficiency(rung);
        if score(reference, n + 1) < score(present, n) { reference } else { present }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::situation;
    use super::*;
    use crate::video::VideoConfig;

    /// Rungs chosen at a throughput that does not change.
    fn rungs(throughput_bps: f64, chunks: usize) -> Vec<usize> {
        let config = VideoConfig::default();
        let mut festive = Festive::new(Rng::new(1));
        let mut last = None;
        let mut known = Vec::new();
        let mut rungs = Vec::new();
        for _ in 0..chunks {
            let rung = situation(&config, 20.0, last, &known, |it| festive.choose(it));
            known.push(throughput_bps);
            last = Some(rung);
            rungs.push(rung);
        }
        rungs
    }

    #[test]
    fn climbs_one_rung_at_a_time_and_stays_k_chunks_on_rung_k() {
        let rungs = rungs(10e6, 40);
        assert!(rungs.windows(2).all(|pair| pair[1] <= pair[0] + 1));
        for rung in 0..5 {
            let stay = rungs.iter().filter(|it| **it == rung).count();
            assert!(stay > rung, "{stay} chunks on rung {rung}: {rungs:?}");
        }
        assert_eq!(rungs[39], 5);
    }

    #[test]
    fn stops_below_its_share_of_the_throughput() {
        // 0.85 · 2 Mbit/s = 1.7 Mbit/s: 1200 kbit/s is the highest below.
        assert_eq!(rungs(2e6, 40)[39], 2);
    }

    #[test]
    fn recent_switches_delay_the_next_one() {
        let rates = [1e6, 1.2e6];
        let calm = Festive { random: Rng::new(0), history: [0; 5].into(), on_rung: 9 };
        let restless = Festive { history: [0, 1, 0, 1, 0].into(), ..calm.clone() };
        // Efficiency gains 12 · (1 − 1 / 1.2) = 2.0; a switch costs 1 after none and 16 after four.
        assert_eq!(calm.update(&rates, 0, 10e6), 1);
        assert_eq!(restless.update(&rates, 0, 10e6), 0);
    }

    #[test]
    fn requests_are_put_off_to_a_random_buffer() {
        let config = VideoConfig::default();
        let mut festive = Festive::new(Rng::new(1));
        let waits: Vec<f64> = (0..500)
            .map(|_| situation(&config, 40.0, Some(0), &[], |it| festive.wait_s(it)))
            .collect();
        assert!(waits.iter().all(|wait| (6.0..=14.0).contains(wait)));
        let mean = waits.iter().sum::<f64>() / 500.0;
        assert!((mean - 10.0).abs() < 0.4, "{mean}");
        assert_eq!(situation(&config, 20.0, Some(0), &[], |it| festive.wait_s(it)), 0.0);
    }
}
