//! Stochastic hash of the 5-tuple (McKenney 1990, RFC 8290 §4.1.1).

use super::Target;
use crate::hash::mix;

/// Hash classifier.
#[derive(Clone, Debug)]
pub(crate) struct StochasticHash {
    target: Target,
    perturbation: u64,
}

impl StochasticHash {
    /// Without a perturbation the flow hash alone, whose key comes from the seed, decides.
    pub(crate) fn new(target: Target, perturbation: Option<u32>) -> Self {
        let perturbation = perturbation.map_or(0, |p| mix(u64::from(p) + 1));
        Self { target, perturbation }
    }

    pub(crate) fn classify(&self, flow_hash: u64) -> u32 {
        // Flows whose 64-bit hashes differ collide under one perturbation and part under another.
        self.target.pick(mix(flow_hash ^ self.perturbation))
    }
}
