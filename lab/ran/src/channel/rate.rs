//! A bit rate per period, as measured by a download.

use std::sync::Arc;

use super::series::{AtEnd, check};
use crate::error::{ConfigError, ensure};

/// The highest rate accepted: 100 Gbit/s.
pub const MAX_RATE_KBPS: u32 = 100_000_000;

/// Rates, each for one period, spread evenly over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSeries {
    period_us: u64,
    at_end: AtEnd,
    /// Sum of the rates before each period, and of all at the end.
    sums_kbps: Arc<[u64]>,
}

impl RateSeries {
    /// A series of rates in kbit/s.
    ///
    /// # Errors
    /// [`ConfigError`] for an empty list, a rate above [`MAX_RATE_KBPS`], or a period of 0 or above
    /// a day.
    pub fn new(period_us: u64, rates_kbps: &[u32], at_end: AtEnd) -> Result<Self, ConfigError> {
        check(period_us, rates_kbps.len(), "rate")?;
        ensure(period_us <= 86_400_000_000, "channel.period_us", period_us, "at most a day")?;
        if let Some(at) = rates_kbps.iter().position(|rate| *rate > MAX_RATE_KBPS) {
            let expected = format!("at most {MAX_RATE_KBPS} kbit/s");
            let path = format!("channel.values[{at}]");
            return Err(ConfigError::new(path, rates_kbps[at], expected));
        }
        let sums = rates_kbps.iter().scan(0, |sum, rate| {
            *sum += u64::from(*rate);
            Some(*sum)
        });
        Ok(Self { period_us, at_end, sums_kbps: std::iter::once(0).chain(sums).collect() })
    }

    /// Bytes that can be sent from `since_us` until before `until_us`; fractions of a byte carry
    /// over to the next call.
    pub fn bytes_between(&self, since_us: u64, until_us: u64) -> u32 {
        let bytes = self.bytes_before(until_us).saturating_sub(self.bytes_before(since_us));
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    fn bytes_before(&self, at_us: u64) -> u128 {
        let values = self.sums_kbps.len() - 1;
        let period = at_us / self.period_us;
        let round = period / values as u64;
        let total = u128::from(self.sums_kbps[values]);
        let at = self.at_end.index(at_us, self.period_us, values);
        let rate = u128::from(self.sums_kbps[at + 1] - self.sums_kbps[at]);
        let whole = match self.at_end {
            AtEnd::Loop => total * u128::from(round) + u128::from(self.sums_kbps[at]),
            AtEnd::Hold => {
                let beyond = period - at as u64;
                u128::from(self.sums_kbps[at]) + rate * u128::from(beyond)
            }
        };
        // kbit/s · µs are thousandths of a bit, 8000 to a byte.
        let within_us = u128::from(at_us % self.period_us);
        (whole * u128::from(self.period_us) + rate * within_us) / 8000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_the_rate_without_rounding_loss() {
        let series = RateSeries::new(1_000_000, &[8, 0, 16], AtEnd::Loop).unwrap();
        let second = |n: u64| series.bytes_between(n * 1_000_000, (n + 1) * 1_000_000);
        assert_eq!([0, 1, 2, 3, 4, 5].map(second), [1000, 0, 2000, 1000, 0, 2000]);
        let slots: u32 = (0..12_000).map(|i| series.bytes_between(i * 500, (i + 1) * 500)).sum();
        assert_eq!(slots, 6000);
        assert_eq!(series.bytes_between(700_000, 1_100_000), 300);
    }

    #[test]
    fn the_last_rate_may_hold() {
        let series = RateSeries::new(1_000_000, &[0, 8], AtEnd::Hold).unwrap();
        assert_eq!(series.bytes_between(0, 1_000_000), 0);
        assert_eq!(series.bytes_between(1_000_000, 11_000_000), 10_000);
        assert_eq!(series.bytes_between(5, 3), 0, "time that runs backwards carries nothing");
        let fast = RateSeries::new(1, &[MAX_RATE_KBPS], AtEnd::Hold).unwrap();
        assert_eq!(fast.bytes_between(0, u64::MAX), u32::MAX);
    }

    #[test]
    fn invalid_series_are_refused() {
        for (period_us, rates, expected) in [
            (0, vec![1], "channel.period_us: 0; expected 1 or more"),
            (1, vec![], "channel.values: an empty list; expected at least one rate"),
            (u64::MAX, vec![1], "channel.period_us: 18446744073709551615; expected at most a day"),
            (1, vec![1, u32::MAX], "channel.values[1]: 4294967295; expected at most 100000000"),
        ] {
            let error = RateSeries::new(period_us, &rates, AtEnd::Loop).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
