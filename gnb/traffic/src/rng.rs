//! The only randomness of this crate: start jitter, drawn once per flow from the caller's seed.

/// SplitMix64 (Steele, Lea, Flood 2014): one well-mixed word per seed, the same on every machine.
fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A time in `0..bound_us` (0 if the bound is 0) that depends on the seed alone.
pub(crate) fn jitter_us(seed: u64, bound_us: u64) -> u64 {
    // The high word of a 64×64 product maps the draw to the range without the bias of a modulo.
    ((u128::from(splitmix64(seed)) * u128::from(bound_us)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
