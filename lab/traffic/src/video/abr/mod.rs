//! Controllers of the bit rate: pure decisions from the state of the player.

mod bba0;
mod bola;
mod festive;
mod mpc;

pub use bba0::Bba0;
pub use bola::Bola;
pub use festive::Festive;
pub use mpc::RobustMpc;

use super::manifest::Manifest;
use super::{AbrAlgorithm, VideoConfig};
use crate::rng::Rng;

/// Input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The video.
    pub manifest: &'a Manifest,
    /// The chunk to fetch.
    pub chunk: usize,
    /// Playing time in the buffer.
    pub buffer_s: f64,
    /// Throughput of the chunks fetched so far, bit/s, latest last; at most the last 20.
    pub throughput_bps: &'a [f64],
    /// Rung of the chunk before.
    pub last_rung: Option<usize>,
}

/// A controller.
#[derive(Debug, Clone)]
pub enum Controller {
    /// BBA-0.
    Bba0(Bba0),
    /// FESTIVE.
    Festive(Box<Festive>),
    /// BOLA-BASIC.
    Bola(Bola),
    /// Robust MPC.
    RobustMpc(Box<RobustMpc>),
}

impl Controller {
    pub(crate) fn new(config: &VideoConfig, random: Rng) -> Self {
        match config.controller {
            AbrAlgorithm::Bb => Self::Bba0(Bba0::new(config)),
            AbrAlgorithm::Festive => Self::Festive(Box::new(Festive::new(random))),
            AbrAlgorithm::Bola => Self::Bola(Bola::new(config)),
            AbrAlgorithm::RobustMpc => Self::RobustMpc(Box::new(RobustMpc::new(config))),
        }
    }

    /// Time to wait before the chunk is requested, seconds.
    pub fn wait_s(&mut self, situation: &Situation<'_>) -> f64 {
        match self {
            Self::Festive(festive) => festive.wait_s(situation),
            Self::Bola(bola) => bola.wait_s(situation),
            Self::Bba0(_) | Self::RobustMpc(_) => 0.0,
        }
    }

    /// The rung of the chunk.
    pub fn choose(&mut self, situation: &Situation<'_>) -> usize {
        match self {
            Self::Bba0(bba0) => bba0.choose(situation),
            Self::Festive(festive) => festive.choose(situation),
            Self::Bola(bola) => bola.choose(situation),
            Self::RobustMpc(mpc) => mpc.choose(situation),
        }
    }
}

/// Harmonic mean of the last `n` values, or of as many as there are: robust against a single burst,
/// which Jiang et al. 2012 §4.3 chose it for. `None` without a positive value.
pub(crate) fn harmonic_mean(values: &[f64], n: usize) -> Option<f64> {
    let recent = values.iter().rev().take(n).filter(|value| **value > 0.0);
    let (count, sum) =
        recent.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + 1.0 / value));
    (count > 0.0).then(|| count / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmonic_mean_of_the_last_ones() {
        assert_eq!(harmonic_mean(&[100.0, 2.0, 6.0], 2), Some(3.0));
        assert_eq!(harmonic_mean(&[5.0], 20), Some(5.0));
        assert_eq!(harmonic_mean(&[], 5), None);
    }
}

#[cfg(test)]
mod tests_support {
    use super::*;

    /// Asks about the first chunk of a video without variation.
    pub(super) fn situation<T>(
        config: &VideoConfig,
        buffer_s: f64,
        last_rung: Option<usize>,
        throughput_bps: &[f64],
        ask: impl FnOnce(&Situation<'_>) -> T,
    ) -> T {
        let config = VideoConfig { size_variation: 0.0, ..config.clone() };
        let manifest = Manifest::new(&config, Rng::new(1));
        ask(&Situation { manifest: &manifest, chunk: 0, buffer_s, throughput_bps, last_rung })
    }
}
