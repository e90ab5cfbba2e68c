//! Delay samples: a histogram for percentiles over everything, and a series for plots and for
//! percentiles over a phase.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Three significant digits: a percentile is exact to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;
/// Samples kept as a series before every second one is dropped.
const SERIES_LIMIT: usize = 1 << 15;

/// Percentiles of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DelaySummary {
    /// Number of samples.
    pub count: u64,
    /// Smallest, µs.
    pub min_us: u64,
    /// Mean, µs.
    pub mean_us: f64,
    /// Median, µs.
    pub p50_us: u64,
    /// 95th percentile, µs.
    pub p95_us: u64,
    /// 99th percentile, µs.
    pub p99_us: u64,
    /// Largest, µs.
    pub max_us: u64,
}

/// Records delays with the time they were measured.
///
/// Memory is bounded: the histogram grows with the logarithm of the largest delay, the series is
/// thinned to every 2ᵏ-th sample so that it never holds more than 32 768.
#[derive(Debug, Clone)]
pub struct DelayRecorder {
    histogram: Histogram<u32>,
    series: Vec<(u64, u64)>,
    stride: u64,
    sum_us: u128,
    min_us: u64,
    max_us: u64,
}

impl Default for DelayRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl DelayRecorder {
    /// Empty.
    #[allow(clippy::expect_used)] // Fails only for more than five digits.
    pub fn new() -> Self {
        Self {
            histogram: Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are supported"),
            series: Vec::new(),
            stride: 1,
            sum_us: 0,
            min_us: u64::MAX,
            max_us: 0,
        }
    }

    /// Records a delay measured at `now_us`.
    pub fn record(&mut self, now_us: u64, delay_us: u64) {
        if self.histogram.len().is_multiple_of(self.stride) {
            if self.series.len() == SERIES_LIMIT {
                let mut index = 0;
                self.series.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            self.series.push((now_us, delay_us));
        }
        self.sum_us += u128::from(delay_us);
        self.min_us = self.min_us.min(delay_us);
        self.max_us = self.max_us.max(delay_us);
        if self.histogram.record(delay_us).is_err() {
            // The largest values of a u64 do not fit a bucket; they count as the largest that does.
            self.histogram.saturating_record(delay_us);
        }
    }

    /// Samples recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The delay that a fraction `quantile` (0..=1) of all samples do not exceed, to 0.1 %.
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile).min(self.max_us)
    }

    /// Samples that do not exceed a delay; those within 0.1 % of it may be on either side.
    pub fn count_within(&self, limit_us: u64) -> u64 {
        self.histogram.count_between(0, limit_us)
    }

    /// Each delay that occurred, to 0.1 %, with the number of samples that do not exceed it.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut below = 0;
        self.histogram.iter_recorded().map(move |step| {
            below += step.count_since_last_iteration();
            (step.value_iterated_to().min(self.max_us), below)
        })
    }

    /// Percentiles over everything.
    pub fn summary(&self) -> DelaySummary {
        let count = self.count();
        if count == 0 {
            return DelaySummary::default();
        }
        DelaySummary {
            count,
            min_us: self.min_us,
            mean_us: self.sum_us as f64 / count as f64,
            p50_us: self.quantile_us(0.50),
            p95_us: self.quantile_us(0.95),
            p99_us: self.quantile_us(0.99),
            max_us: self.max_us,
        }
    }

    /// `(measured at, delay)` in µs, in the order measured; every sample up to 32 768 of them,
    /// every 2ᵏ-th beyond.
    pub fn samples(&self) -> &[(u64, u64)] {
        &self.series
    }

    /// Percentiles over the samples measured in `[from_us, to_us)`, by nearest rank over
    /// [`DelayRecorder::samples`].
    pub fn summary_between(&self, from_us: u64, to_us: u64) -> DelaySummary {
        let start = self.series.partition_point(|&(at_us, _)| at_us < from_us);
        let end = self.series.partition_point(|&(at_us, _)| at_us < to_us);
        let mut delays: Vec<u64> = self
            .series
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .map(|&(_, delay)| delay)
            .collect();
        delays.sort_unstable();
        let (Some(&min_us), Some(&max_us)) = (delays.first(), delays.last()) else {
            return DelaySummary::default();
        };
        let rank = |percent: usize| delays[(delays.len() * percent).div_ceil(100).max(1) - 1];
        DelaySummary {
            count: delays.len() as u64,
            min_us,
            mean_us: delays.iter().map(|&delay| u128::from(delay)).sum::<u128>() as f64
                / delays.len() as f64,
            p50_us: rank(50),
            p95_us: rank(95),
            p99_us: rank(99),
            max_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_to_a_thousandth() {
        let mut recorder = DelayRecorder::new();
        for i in 1..=100_000_u64 {
            recorder.record(i, i * 10);
        }
        let summary = recorder.summary();
        for (value, exact) in
            [(summary.p50_us, 500_000), (summary.p95_us, 950_000), (summary.p99_us, 990_000)]
        {
            assert!(value.abs_diff(exact) <= exact / 1000, "{value} vs {exact}");
        }
        assert_eq!(summary.count, 100_000);
        assert!((summary.mean_us - 500_005.0).abs() < 1e-6);
    }

    #[test]
    fn the_series_stays_bounded_and_spans_the_whole_run() {
        let mut recorder = DelayRecorder::new();
        for i in 0..1_000_000_u64 {
            recorder.record(i, 7);
        }
        let samples = recorder.samples();
        assert!(samples.len() <= SERIES_LIMIT && samples.len() > SERIES_LIMIT / 4);
        assert_eq!(samples[0].0, 0);
        assert!(samples[samples.len() - 1].0 > 999_000);
        let spacing = samples[1].0;
        assert!(samples.windows(2).all(|pair| pair[1].0 - pair[0].0 == spacing));
    }

    #[test]
    fn a_phase_has_percentiles_of_its_own() {
        let mut recorder = DelayRecorder::new();
        for i in 0..100_u64 {
            recorder.record(i * 1_000, if i < 50 { 400_000 + i } else { 20_000 + i });
        }
        let before = recorder.summary_between(0, 50_000);
        let after = recorder.summary_between(50_000, 100_000);
        assert_eq!((before.count, before.p95_us), (50, 400_047));
        assert_eq!((after.count, after.max_us), (50, 20_099));
        assert_eq!(recorder.summary_between(1_000_000, 2_000_000), DelaySummary::default());
        assert_eq!(recorder.summary_between(9, 3), DelaySummary::default());
    }
}
