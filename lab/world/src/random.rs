//! SplitMix64 (Steele, Lea and Flood 2014), for jitter and seeds.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..bound`, 0 for a bound of 0 or 1 (Lemire's multiplication; the bias is below
    /// one in 2³² for the bounds used here).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        if bound <= 1 {
            return 0;
        }
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_the_published_sequence() {
        let mut random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, published);
    }

    #[test]
    fn numbers_are_below_the_bound_and_reach_both_ends() {
        let mut random = SplitMix64::new(1);
        let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|_| random.below(10)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        assert_eq!(random.below(1), 0);
    }
}
