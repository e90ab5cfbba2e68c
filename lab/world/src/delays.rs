//! Delay percentiles in bounded memory, for worlds of thousands of bearers.

use hdrhistogram::Histogram;

use super::summary::DelayMs;

/// Three significant digits: a percentile is exact to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of delays. Unlike [`traffic::DelayRecorder`] it keeps no series.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    /// Counted separately for speed: most of a thousand bearers have an empty buffer, age 0, each ms.
    zeros: u64,
    sum_us: u64,
    histogram: Histogram<u32>,
}

impl Default for Delays {
    #[allow(clippy::expect_used)] // Fails only for more than five digits.
    fn default() -> Self {
        let histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are supported");
        Self { zeros: 0, sum_us: 0, histogram }
    }
}

impl Delays {
    pub(crate) fn record(&mut self, delay_us: u64) {
        if delay_us == 0 {
            self.zeros += 1;
            return;
        }
        self.sum_us += delay_us;
        // Fails only for delays beyond the memory of the resizing histogram.
        if self.histogram.record(delay_us).is_err() {
            self.histogram.saturating_record(delay_us);
        }
    }

    /// Number of samples and their sum.
    pub(crate) fn count_and_sum_us(&self) -> (u64, u64) {
        (self.count(), self.sum_us)
    }

    fn count(&self) -> u64 {
        self.zeros + self.histogram.len()
    }

    /// Each delay that occurred, to 0.1 %, in µs, with its number of samples, in order of the delay.
    pub(crate) fn steps(&self) -> Vec<(u64, u64)> {
        let zeros = (self.zeros > 0).then_some((0, self.zeros));
        let max_us = self.histogram.max();
        let recorded = self
            .histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to().min(max_us), step.count_since_last_iteration()));
        zeros.into_iter().chain(recorded).collect()
    }

    /// The delay that a fraction of all samples do not exceed.
    fn quantile_us(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.count() as f64).ceil() as u64;
        match rank.saturating_sub(self.zeros) {
            0 => 0,
            above => {
                let within = above as f64 / self.histogram.len() as f64;
                self.histogram.value_at_quantile(within).min(self.histogram.max())
            }
        }
    }
}

impl From<&Delays> for DelayMs {
    fn from(delays: &Delays) -> Self {
        let count = delays.count();
        if count == 0 {
            return Self::default();
        }
        let quantile_ms = |quantile| delays.quantile_us(quantile) as f64 / 1e3;
        Self {
            count,
            mean: delays.sum_us as f64 / count as f64 / 1e3,
            p50: quantile_ms(0.50),
            p95: quantile_ms(0.95),
            p99: quantile_ms(0.99),
            max: delays.histogram.max() as f64 / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_a_thousandth() {
        let mut delays = Delays::default();
        (1..=10_000).for_each(|ms| delays.record(ms * 1_000));
        let summary = DelayMs::from(&delays);
        assert_eq!(summary.count, 10_000);
        assert!((summary.p95 - 9_500.0).abs() < 9.5, "{}", summary.p95);
        assert!((summary.mean - 5_000.5).abs() < 1e-6);
        assert_eq!(DelayMs::from(&Delays::default()), DelayMs::default());
    }

    #[test]
    fn zeros_count_like_any_delay() {
        let mut delays = Delays::default();
        (0..94).for_each(|_| delays.record(0));
        (0..6).for_each(|_| delays.record(3_000));
        let summary = DelayMs::from(&delays);
        assert_eq!((summary.count, summary.p50, summary.mean), (100, 0.0, 0.18));
        assert!((summary.p95 - 3.0).abs() < 0.003, "{}", summary.p95);
        delays.record(0);
        delays.record(0);
        (0..38).for_each(|_| delays.record(0));
        assert_eq!(DelayMs::from(&delays).p95, 0.0);
        let [(0, 134), (above_zero_us, 6)] = delays.steps()[..] else {
            panic!("{:?}", delays.steps());
        };
        assert!((3_000..=3_003).contains(&above_zero_us), "{above_zero_us}");
    }
}
