//! Random numbers, identical on every machine: one stream for each use, derived from the seed of the cell.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A stream of pseudo-random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Rng(SplitMix64);

impl Rng {
    /// An independent stream for each (`seed`, `stream`).
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let base = SplitMix64::seed_from_u64(seed).next_u64();
        Self(SplitMix64::seed_from_u64(base ^ stream.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        // 53 bits fill the mantissa of an f64.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..bound`, 0 for a bound of 0 (Lemire's multiplication; the bias is below one in
    /// 2³² for bounds of 32 bits).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `p`.
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let take = |stream| {
            let mut rng = Rng::new(7, stream);
            (0..8).map(|_| rng.0.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
    }

    #[test]
    fn chance_is_true_with_its_probability() {
        let mut rng = Rng::new(1, 1);
        let hits = (0..100_000).filter(|_| rng.chance(0.1)).count();
        assert!((9_500..10_500).contains(&hits), "{hits}");
    }
}
