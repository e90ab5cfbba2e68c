//! Random numbers of the queue disciplines: one stream per queue, all from the pipeline's seed.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

use crate::hash::mix;

/// One stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rng(SplitMix64);

impl Rng {
    /// Stream `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let state = mix(seed) ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15));
        Self(SplitMix64::seed_from_u64(state))
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        (self.0.next_u64() >> 32) as u32
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub(crate) fn uniform(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * SCALE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_uniform_and_differs_by_seed_and_stream() {
        let mut rng = Rng::new(1, 1);
        let sum: f64 = (0..10_000).map(|_| rng.uniform()).sum();
        // The mean of n uniforms has a standard deviation of 1/√(12 n): five of them.
        assert!((sum / 10_000.0 - 0.5).abs() < 5.0 / 120_000f64.sqrt());
        let first = |seed, stream| Rng::new(seed, stream).next_u32();
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }
}
