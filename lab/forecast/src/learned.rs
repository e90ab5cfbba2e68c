//! The cumulated drain as rlc-forecaster learns it at a bearer, without its model.

use e2sm_tc::v1::{CumulatedDrain, cumulated_drain};
use rlc_native::{Cumulated, Drained, Index, LengthError};

use super::{Forecaster, Horizon, Points, RlcSample};

/// Quantiles of the drain summed from a sample on, learned from the samples of the bearer alone
/// ([`Cumulated`], with the levels of `rlc_model.cumulated`).
///
/// Occupancy and drain of its points are those of persistence: a feed has an occupancy, and only the
/// sums count.
#[derive(Clone, Debug)]
pub struct LearnedDrain {
    sums: Cumulated,
    points_us: Vec<u32>,
    sample_us: u64,
    newest: Option<RlcSample>,
}

/// Levels of `rlc_model.cumulated.LEVELS`.
const LEVELS: [f32; 8] = [0.1, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];

impl LearnedDrain {
    /// Forecasts at `points_us` after a sample, from one sample each `sample_us`.
    ///
    /// # Errors
    /// [`LengthError`] if there are more levels than it takes.
    pub fn new(points_us: Vec<u32>, sample_us: u32) -> Result<Self, LengthError> {
        let period_us = sample_us.max(1);
        let ahead = points_us.iter().map(|us| i64::from(us / period_us)).collect();
        let mut sums = Cumulated::new(LEVELS.to_vec(), ahead)?;
        sums.grow(1);
        Ok(Self { sums, points_us, sample_us: period_us.into(), newest: None })
    }

    /// The sums from the newest sample on; `None` before the second.
    fn cumulated(&self) -> Option<CumulatedDrain> {
        let values = self.sums.forecasts(Index::From(0), 1).ok()?;
        cumulated_drain(&self.points_us, &LEVELS, &values)
    }
}

impl Forecaster for LearnedDrain {
    fn observe(&mut self, sample: &RlcSample) {
        let before = self.newest.replace(*sample);
        let tick = i64::try_from(sample.time_us / self.sample_us).unwrap_or(i64::MAX);
        let drain = before.map_or(f32::NAN, |before| {
            let periods = (sample.time_us - before.time_us) as f32 / self.sample_us as f32;
            (sample.drained_bytes - before.drained_bytes) as f32 / periods.max(1.0)
        });
        let newest = Drained { drain: &[drain], occupancy: &[sample.occupancy_bytes as f32] };
        // One slot and one row, which are there.
        let _ = self.sums.add(Index::From(0), tick, &newest);
    }

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let Some(newest) = self.newest else { return false };
        (0..horizon.points).for_each(|_| points.push(&newest, 0));
        points.cumulated_drain = self.cumulated();
        points.cumulated_drain.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drained_until_now_is_what_will_drain() {
        let mut learned = LearnedDrain::new(vec![1_000, 20_000], 1_000).unwrap();
        let horizon = Horizon { origin_us: 0, first_us: 1_000, step_us: 1_000, points: 1 };
        let mut points = Points::default();
        assert!(!learned.forecast(&horizon, &mut points), "before the first sample");
        for ms in 0..5_000 {
            let drained_bytes = 700 * ms;
            let sample = RlcSample {
                time_us: 1_000 * ms,
                occupancy_bytes: 9,
                drained_bytes,
                ..RlcSample::default()
            };
            learned.observe(&sample);
        }
        points.clear();
        assert!(learned.forecast(&horizon, &mut points));
        let sums = points.cumulated_drain.unwrap();
        assert_eq!(sums.levels_milli, [100, 500, 700, 800, 900, 950, 980, 990]);
        let near = |bytes: &u32, expected: u32| bytes.abs_diff(expected) <= 1;
        assert!(sums.bytes[..8].iter().all(|bytes| near(bytes, 700)), "{sums:?}");
        assert!(sums.bytes[8..].iter().all(|bytes| near(bytes, 14_000)), "{sums:?}");
    }
}
