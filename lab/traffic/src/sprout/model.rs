//! The distribution of the link's rate: §3.1 and §3.2 of the paper.

use std::sync::LazyLock;

use super::TICK_US;

/// Values of the rate (§3.1: 256).
pub const RATES: usize = 256;
/// The highest, packets/s (§3.1: 1000).
const MAX_RATE: f64 = 1_000.0;
/// Brownian motion, packets/s per √s (§3.1: σ = 200).
const SIGMA: f64 = 200.0;
/// Rate at which outages end, 1/s (§3.1: λ_z = 1).
const OUTAGE_ESCAPE: f64 = 1.0;
const TICK_S: f64 = TICK_US as f64 / 1e6;
/// The Gaussian is cut off here, standard deviations.
const CUT: f64 = 6.0;

/// Value number `index` of the rate, packets per second.
pub fn rate(index: usize) -> f64 {
    MAX_RATE * index as f64 / (RATES - 1) as f64
}

/// Mean number of packets of a tick at value number `index`.
pub(super) fn mean_per_tick(index: usize) -> f64 {
    rate(index) * TICK_S
}

/// How the rate moves within a tick: from value `i` to the values `first..` with these
/// probabilities.
pub(super) struct Step {
    pub(super) first: usize,
    pub(super) probability: Vec<f64>,
}

/// One step per value.
pub(super) static STEPS: LazyLock<Vec<Step>> = LazyLock::new(|| (0..RATES).map(step).collect());

fn step(from: usize) -> Step {
    let deviation = SIGMA * libm::sqrt(TICK_S);
    let width = MAX_RATE / (RATES - 1) as f64;
    let below = |x: f64| 0.5 * libm::erfc(-x / (deviation * std::f64::consts::SQRT_2));
    let reach = (CUT * deviation / width).ceil() as usize;
    let first = from.saturating_sub(reach);
    let last = (from + reach).min(RATES - 1);
    // Mass beyond either end stays on the end: the rate is never negative and never above the cap.
    let mut probability: Vec<f64> = (first..=last)
        .map(|to| {
            let offset = (to as f64 - from as f64) * width;
            let low = if to == 0 { 0.0 } else { below(offset - width / 2.0) };
            let high = if to == RATES - 1 { 1.0 } else { below(offset + width / 2.0) };
            high - low
        })
        .collect();
    let sum: f64 = probability.iter().sum();
    probability.iter_mut().for_each(|p| *p /= sum);
    if from == 0 {
        // An outage is sticky: it ends within the tick with 1 − exp(−λ_z τ).
        let escape = 1.0 - libm::exp(-OUTAGE_ESCAPE * TICK_S);
        probability.iter_mut().for_each(|p| *p *= escape);
        probability[0] += 1.0 - escape;
    }
    Step { first, probability }
}

/// The distribution of the rate.
#[derive(Debug, Clone)]
pub struct Belief {
    probability: Vec<f64>,
}

impl Default for Belief {
    /// Uniform over all rates (§3.2).
    fn default() -> Self {
        Self { probability: vec![1.0 / RATES as f64; RATES] }
    }
}

impl Belief {
    /// Probability of each value of the rate.
    pub fn probability(&self) -> &[f64] {
        &self.probability
    }

    /// Mean rate, packets/s.
    pub fn mean(&self) -> f64 {
        self.probability.iter().enumerate().map(|(index, p)| p * rate(index)).sum()
    }

    /// Advances by a tick.
    pub fn evolve(&mut self) {
        let mut next = vec![0.0; RATES];
        for (p, step) in self.probability.iter().zip(STEPS.iter()) {
            if *p > 0.0 {
                for (to, move_to) in next[step.first..].iter_mut().zip(&step.probability) {
                    *to += p * move_to;
                }
            }
        }
        self.probability = next;
    }

    /// `packets` came within the tick: Bayes with the Poisson likelihood (λτ)ᵏ e^(−λτ); k! is the
    /// same for all rates.
    pub fn observe(&mut self, packets: u32) {
        self.weigh(|mean| {
            let power = if packets > 0 { f64::from(packets) * libm::log(mean) } else { 0.0 };
            power - mean
        });
    }

    /// `packets` arrived within the tick and no more were sent: a lower bound of what the link could
    /// carry.
    pub fn observe_at_least(&mut self, packets: u32) {
        self.weigh(|mean| {
            if packets == 0 {
                return 0.0;
            }
            let k = f64::from(packets);
            let first = k * libm::log(mean) - mean - libm::lgamma(k + 1.0);
            // Σ over j ≥ k of the probabilities, relative to the first.
            let (mut term, mut sum, mut j) = (1.0, 1.0, k);
            while term > 1e-12 * sum || j < mean {
                j += 1.0;
                term *= mean / j;
                sum += term;
            }
            first + libm::log(sum)
        });
    }

    /// Multiplies by a likelihood, given as its logarithm for a mean number of packets per tick.
    fn weigh(&mut self, log_likelihood: impl Fn(f64) -> f64) {
        let logs: Vec<f64> = (0..RATES).map(|index| log_likelihood(mean_per_tick(index))).collect();
        // The largest is taken out, so that even a tick that no rate explains leaves a distribution.
        let largest = |probability: &[f64]| {
            let believed = probability.iter().zip(&logs).filter(|(p, _)| **p > 0.0);
            believed.map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut most = largest(&self.probability);
        if most == f64::NEG_INFINITY {
            // An arrival during a certain outage: the distribution starts again as uniform.
            *self = Self::default();
            most = largest(&self.probability);
        }
        for (p, log) in self.probability.iter_mut().zip(&logs) {
            *p *= libm::exp(log - most);
        }
        let sum: f64 = self.probability.iter().sum();
        self.probability.iter_mut().for_each(|p| *p /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_distributions_with_the_spread_of_the_paper() {
        for step in STEPS.iter() {
            assert!((step.probability.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let middle = &STEPS[128];
        let spread: f64 = middle
            .probability
            .iter()
            .enumerate()
            .map(|(to, p)| {
                p * (rate(middle.first + to) - rate(128)) * (rate(middle.first + to) - rate(128))
            })
            .sum();
        // σ² τ = 800, and the variance of rounding to a value, width² / 12.
        assert!((spread - 801.3).abs() < 0.5, "{spread}");
        // An outage lasts a second in the mean.
        assert!(STEPS[0].probability[0] > 0.98);
    }

    #[test]
    fn observations_find_the_rate() {
        let mut belief = Belief::default();
        for _ in 0..100 {
            belief.evolve();
            belief.observe(8);
        }
        assert!((belief.mean() - 400.0).abs() < 30.0, "{}", belief.mean());
        for _ in 0..25 {
            belief.evolve();
            belief.observe(0);
        }
        assert!(belief.mean() < 20.0, "half a second of silence is an outage: {}", belief.mean());
    }

    #[test]
    fn a_lower_bound_rules_out_only_what_is_below() {
        let mut belief = Belief::default();
        belief.observe_at_least(0);
        assert_eq!(belief.probability(), Belief::default().probability());
        belief.observe_at_least(3);
        assert_eq!(belief.probability()[0], 0.0);
        // P(N ≥ 3) at a mean of 20 is 1, at a mean of 20 / 255 nearly (20 / 255)³ / 6.
        let ratio = belief.probability()[1] / belief.probability()[RATES - 1];
        let mean = 20.0_f64 / 255.0;
        let law = 1.0 - libm::exp(-mean) * (1.0 + mean + mean * mean / 2.0);
        assert!((ratio / law - 1.0).abs() < 1e-6, "{ratio} {law}");
    }

    #[test]
    fn what_cannot_be_does_not_break_the_belief() {
        let mut belief = Belief { probability: vec![0.0; RATES] };
        belief.probability[0] = 1.0;
        belief.observe(30);
        assert!((belief.probability.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        belief.observe(1_000_000);
        belief.observe_at_least(1_000_000);
        assert!(belief.probability.iter().all(|p| p.is_finite()));
    }
}
