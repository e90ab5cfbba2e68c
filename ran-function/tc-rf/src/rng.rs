//! Random numbers of the queue disciplines: SplitMix64 (Steele, Lea and Flood 2014), one stream per
//! queue, all from the pipeline's seed.

use crate::hash::mix;

/// One stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rng(u64);

impl Rng {
    /// Stream `stream` of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed) ^ mix(stream.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Uniform in [0, 1), in steps of 2⁻⁵³.
    pub(crate) fn uniform(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_splitmix64() {
        // The published sequence of the state 1234567.
        let mut rng = Rng(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([rng.next_u64(), rng.next_u64()], expected);
    }

    #[test]
    fn is_uniform_and_differs_by_seed_and_stream() {
        let mut rng = Rng::new(1, 1);
        let sum: f64 = (0..10_000).map(|_| rng.uniform()).sum();
        // The mean of n uniforms has a standard deviation of 1/√(12 n): five of them.
        assert!((sum / 10_000.0 - 0.5).abs() < 5.0 / 120_000f64.sqrt());
        let first = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }
}
