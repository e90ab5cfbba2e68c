//! Random numbers: one stream per use, derived from the caller's seed.
//!
//! Functions are those of `libm`, not of the platform: a run must give the same bytes everywhere.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// What SplitMix64 adds to its state before it mixes it (Steele, Lea, Flood 2014).
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A time in `0..bound_us` (0 if the bound is 0) that depends on the seed alone.
pub(crate) fn jitter_us(seed: u64, bound_us: u64) -> u64 {
    Rng::new(seed).below(bound_us)
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Rng(SplitMix64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// The stream number `number` of a seed.
    pub fn stream(seed: u64, number: u64) -> Self {
        let mixed = Self::new(number).word();
        Self::new(Self::new((seed ^ mixed).wrapping_sub(INCREMENT)).word())
    }

    /// Uniform in all 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..bound`; 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high word of a 64×64 product maps the draw to the range without the bias of a modulo.
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in the open interval (0, 1), so that its logarithm exists.
    pub fn open01(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Uniform in `[low, high)`.
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.open01()
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.open01()));
        radius * libm::cos(std::f64::consts::TAU * self.open01())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_covers_its_range_and_repeats_with_its_seed() {
        let draws = |seed| {
            let mut stream = Rng::new(seed);
            (0..100).map(|_| stream.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
        assert!((0..7).all(|face| draws(3).contains(&face)));
    }

    #[test]
    fn jitter_stays_below_its_bound_and_depends_on_the_seed() {
        assert_eq!(jitter_us(7, 0), 0);
        let draws: Vec<u64> = (0..1000).map(|seed| jitter_us(seed, 20_000)).collect();
        assert!(draws.iter().all(|&draw| draw < 20_000));
        let mean = draws.iter().sum::<u64>() / 1000;
        assert!((9_000..11_000).contains(&mean), "mean {mean}");
        assert_eq!(jitter_us(42, 20_000), jitter_us(42, 20_000));
        assert_ne!(jitter_us(42, 20_000), jitter_us(43, 20_000));
    }

    #[test]
    fn a_normal_has_its_moments() {
        let mut random = Rng::stream(1, 2);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5 - mean * mean;
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Rng::stream(1, 0).below(1 << 60), Rng::stream(1, 1).below(1 << 60));
    }
}
