//! The quality of experience of Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video
//! Streaming over HTTP" (SIGCOMM 2015), equation 5, which abbasloo2019 §VI-B uses:
//!
//! Σ q(Rₖ) − λ Σ |q(Rₖ₊₁) − q(Rₖ)| − μ · stalled − μₛ · start-up
//!
//! with q the bit rate in Mbit/s, λ = 1 and μ = 4.3, the highest rate of the ladder
//! (abbasloo2019, footnote 7). Like the player of Pensieve, which abbasloo2019 ran, the time until
//! the first picture counts as stalled time (μₛ = μ).

use super::VideoConfig;

/// What one chunk and the time around it are worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// λ, per Mbit/s of change.
    pub switch: f64,
    /// μ, per second.
    pub rebuffer: f64,
    /// μₛ, per second.
    pub startup: f64,
}

impl Weights {
    pub(crate) fn new(config: &VideoConfig) -> Self {
        Self {
            switch: config.switch_penalty,
            rebuffer: config.rebuffer_penalty,
            startup: config.startup_penalty,
        }
    }

    /// Quality of a chunk less the cost of the change from the one before and of `stalled_s`.
    pub fn chunk(&self, rate_bps: f64, before_bps: Option<f64>, stalled_s: f64) -> f64 {
        let change = before_bps.map_or(0.0, |before| (rate_bps - before).abs());
        (rate_bps - self.switch * change) / 1e6 - self.rebuffer * stalled_s
    }
}

/// The sums behind the QoE of a session.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    chunks: u64,
    rate_sum_bps: f64,
    change_sum_bps: f64,
    switches: u64,
    last_bps: Option<f64>,
}

impl Tally {
    /// Counts a chunk.
    pub fn add(&mut self, rate_bps: f64) {
        self.chunks += 1;
        self.rate_sum_bps += rate_bps;
        if let Some(last) = self.last_bps.replace(rate_bps) {
            self.change_sum_bps += (rate_bps - last).abs();
            self.switches += u64::from(rate_bps != last);
        }
    }

    /// Chunks counted.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Changes of the rate.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Mean rate of the chunks, bit/s; not a number without one.
    pub fn mean_bps(&self) -> f64 {
        self.rate_sum_bps / self.chunks as f64
    }

    /// The QoE with these times stalled and until the first picture.
    pub fn qoe(&self, weights: &Weights, stalled_s: f64, startup_s: f64) -> f64 {
        (self.rate_sum_bps - weights.switch * self.change_sum_bps) / 1e6
            - weights.rebuffer * stalled_s
            - weights.startup * startup_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_session() {
        let weights = Weights::new(&VideoConfig::default());
        let mut tally = Tally::default();
        for rate in [0.3e6, 1.2e6, 1.2e6, 0.75e6] {
            tally.add(rate);
        }
        // 3.45 of quality, 0.9 + 0.45 of change, 2 s stalled, 0.5 s of start-up.
        let qoe = tally.qoe(&weights, 2.0, 0.5);
        assert!((qoe - (3.45 - 1.35 - 8.6 - 2.15)).abs() < 1e-9, "{qoe}");
        assert_eq!((tally.chunks(), tally.switches()), (4, 2));
        let by_chunk = weights.chunk(0.3e6, None, 0.0)
            + weights.chunk(1.2e6, Some(0.3e6), 2.0)
            + weights.chunk(1.2e6, Some(1.2e6), 0.0)
            + weights.chunk(0.75e6, Some(1.2e6), 0.0);
        assert!((by_chunk - tally.qoe(&weights, 2.0, 0.0)).abs() < 1e-9);
    }
}
