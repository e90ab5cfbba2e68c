//! Token bucket (RFC 2697's committed rate and burst, without colours).

/// Rate and burst of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens per second.
    pub per_s: u32,
    /// Tokens of a full bucket.
    pub burst: u32,
}

/// Tokens that refill with time. Time is monotonic, µs, and the caller's.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    rate: Rate,
    /// Millionths of a token: a rate per second refills as many in 1 µs.
    level: u64,
    at_us: u64,
}

const TOKEN: u64 = 1_000_000;

impl Bucket {
    /// A full bucket.
    pub fn new(rate: Rate, now_us: u64) -> Self {
        Self { rate, level: u64::from(rate.burst) * TOKEN, at_us: now_us }
    }

    /// Takes `tokens`, at most the burst.
    ///
    /// # Errors
    /// Too few are left; the time until there are enough, µs. Nothing is taken.
    pub fn take(&mut self, tokens: u32, now_us: u64) -> Result<(), u64> {
        self.refill(now_us);
        let wanted = u64::from(tokens.min(self.rate.burst)) * TOKEN;
        match self.level.checked_sub(wanted) {
            Some(left) => {
                self.level = left;
                Ok(())
            }
            None => Err((wanted - self.level).div_ceil(u64::from(self.rate.per_s).max(1))),
        }
    }

    /// Takes `tokens`, or all that are left.
    pub fn charge(&mut self, tokens: u32, now_us: u64) {
        self.refill(now_us);
        self.level = self.level.saturating_sub(u64::from(tokens) * TOKEN);
    }

    fn refill(&mut self, now_us: u64) {
        let passed_us = now_us.saturating_sub(self.at_us);
        self.at_us = self.at_us.max(now_us);
        let full = u64::from(self.rate.burst) * TOKEN;
        let gained = passed_us.saturating_mul(u64::from(self.rate.per_s));
        self.level = self.level.saturating_add(gained).min(full);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATE: Rate = Rate { per_s: 100, burst: 200 };

    #[test]
    fn a_burst_passes_then_the_rate_and_a_refusal_says_when_to_come_again() {
        let mut bucket = Bucket::new(RATE, 0);
        for _ in 0..200 {
            assert_eq!(bucket.take(1, 0), Ok(()));
        }
        assert_eq!(bucket.take(1, 0), Err(10_000));
        assert_eq!(bucket.take(1, 9_999), Err(1));
        assert_eq!(bucket.take(1, 10_000), Ok(()));
        assert_eq!(bucket.take(3, 10_000), Err(30_000));
        assert_eq!(bucket.take(3, 40_000), Ok(()));
        // Full again after two seconds and not fuller later.
        let later_us = 3_600_000_000;
        assert_eq!(bucket.take(200, later_us), Ok(()));
        assert_eq!(bucket.take(1, later_us), Err(10_000));
    }

    #[test]
    fn more_than_the_burst_at_once_takes_a_full_bucket() {
        let mut bucket = Bucket::new(RATE, 0);
        assert_eq!(bucket.take(u32::MAX, 0), Ok(()));
        assert_eq!(bucket.take(u32::MAX, 1_999_999), Err(1));
        assert_eq!(bucket.take(u32::MAX, 2_000_000), Ok(()));
    }

    proptest! {
        #[test]
        fn no_window_passes_more_than_burst_and_rate_and_the_promised_time_is_kept(
            per_s in 1_u32..5_000,
            burst in 1_u32..10_000,
            arrivals in proptest::collection::vec((0_u64..50_000, 1_u32..20), 1..300),
        ) {
            let mut bucket = Bucket::new(Rate { per_s, burst }, 0);
            let (mut now_us, mut taken) = (0, Vec::new());
            for (gap_us, tokens) in arrivals {
                now_us += gap_us;
                let tokens = tokens.min(burst);
                match bucket.take(tokens, now_us) {
                    Ok(()) => taken.push((now_us, u64::from(tokens))),
                    Err(wait_us) => {
                        prop_assert!(wait_us > 0);
                        let mut early = bucket;
                        prop_assert!(early.take(tokens, now_us + wait_us - 1).is_err());
                        now_us += wait_us;
                        prop_assert_eq!(bucket.take(tokens, now_us), Ok(()));
                        taken.push((now_us, u64::from(tokens)));
                    }
                }
            }
            for (first, (from_us, _)) in taken.iter().enumerate() {
                let mut sum = 0;
                for (until_us, tokens) in &taken[first..] {
                    sum += tokens;
                    let refilled = (until_us - from_us) * u64::from(per_s);
                    prop_assert!(sum * TOKEN <= u64::from(burst) * TOKEN + refilled);
                }
            }
        }
    }
}
