//! Delay percentiles in little memory: a world may have thousands of bearers.

use hdrhistogram::Histogram;

use super::summary::DelayMs;

/// Three significant digits: a percentile is exact to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of delays. Unlike [`traffic::DelayRecorder`] it keeps no series.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    histogram: Histogram<u32>,
    sum_us: u64,
}

impl Default for Delays {
    #[allow(clippy::expect_used)] // Fails only for more than five digits.
    fn default() -> Self {
        let histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are supported");
        Self { histogram, sum_us: 0 }
    }
}

impl Delays {
    pub(crate) fn record(&mut self, delay_us: u64) {
        self.sum_us += delay_us;
        // A histogram that resizes itself takes any delay that memory can index.
        if self.histogram.record(delay_us).is_err() {
            self.histogram.saturating_record(delay_us);
        }
    }
}

impl From<&Delays> for DelayMs {
    fn from(delays: &Delays) -> Self {
        let histogram = &delays.histogram;
        let count = histogram.len();
        if count == 0 {
            return Self::default();
        }
        let ms = |us: u64| us.min(histogram.max()) as f64 / 1e3;
        Self {
            count,
            mean: delays.sum_us as f64 / count as f64 / 1e3,
            p50: ms(histogram.value_at_quantile(0.50)),
            p95: ms(histogram.value_at_quantile(0.95)),
            p99: ms(histogram.value_at_quantile(0.99)),
            max: ms(histogram.max()),
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
}
