//! Baseline forecasters without a model: an upper bound and two lower bounds for models.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Forecaster, Horizon, Points, RlcSample, Timing};

/// The newest sample not later than `time_us`, else the first.
fn at(samples: &[RlcSample], time_us: u64) -> Option<&RlcSample> {
    let later = samples.partition_point(|sample| sample.time_us <= time_us);
    samples.get(later.saturating_sub(1))
}

/// Upper bound: returns limit and occupancy of a recorded run with DRQL and without forecasts.
///
/// stolidis2024's models learn from "a monolithic network deployment, ensuring the specified, proper
/// DRQL operation" (§III-B); this is such a model without error. The effect of the forecasts on the
/// run is not included.
#[derive(Clone, Debug)]
pub struct Perfect {
    recorded: Arc<[RlcSample]>,
}

impl Perfect {
    /// Forecasts from the samples of one bearer, in order of time.
    pub fn new(recorded: Arc<[RlcSample]>) -> Self {
        Self { recorded }
    }
}

impl Forecaster for Perfect {
    fn observe(&mut self, _: &RlcSample) {}

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        for time_us in horizon.times_us() {
            let before_us = time_us.saturating_sub(u64::from(horizon.step_us));
            let Some(sample) = at(&self.recorded, time_us) else { return false };
            let Some(before) = at(&self.recorded, before_us) else { return false };
            points.push(sample, sample.drained_bytes.saturating_sub(before.drained_bytes));
        }
        true
    }
}

/// Repeats the last M samples at the RIC as the next M. With stolidis2024's delays each point is
/// 810 ms old when it is used: T_RD + T_m + T_RC and the length of the forecast.
#[derive(Clone, Debug)]
pub struct Late {
    lag_us: u64,
    step_us: u64,
    /// Samples in order of time, pruned to those a forecast may use.
    samples: VecDeque<RlcSample>,
}

impl Late {
    /// Forecasts for a RIC with these delays.
    pub fn new(timing: &Timing) -> Self {
        Self {
            lag_us: timing.latency_us() + timing.length_us(),
            step_us: timing.step_us.into(),
            samples: VecDeque::new(),
        }
    }
}

impl Forecaster for Late {
    fn observe(&mut self, sample: &RlcSample) {
        // The oldest point of an inference that ends now, a step before it, and one sample more.
        let oldest_us = sample.time_us.saturating_sub(self.lag_us + self.step_us);
        while self.samples.get(1).is_some_and(|second| second.time_us <= oldest_us) {
            self.samples.pop_front();
        }
        self.samples.push_back(*sample);
    }

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let samples = &*self.samples.make_contiguous();
        let known_us = samples.first().map(|sample| sample.time_us);
        for time_us in horizon.times_us() {
            let Some(then_us) = time_us.checked_sub(self.lag_us) else { return false };
            let Some(sample) = at(samples, then_us) else { return false };
            if known_us.is_none_or(|first_us| then_us < first_us) {
                return false;
            }
            let Some(before) = at(samples, then_us.saturating_sub(self.step_us)) else {
                return false;
            };
            points.push(sample, sample.drained_bytes.saturating_sub(before.drained_bytes));
        }
        true
    }
}

/// Repeats the newest sample at the RIC, and the drain between the two newest samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Persistence {
    newest: Option<RlcSample>,
    before: Option<RlcSample>,
}

impl Persistence {
    /// Drain of a step of this length at the latest rate.
    fn drain_bytes(&self, step_us: u32) -> u64 {
        let (Some(newest), Some(before)) = (&self.newest, &self.before) else { return 0 };
        let interval_us = newest.time_us.saturating_sub(before.time_us).max(1);
        let drained_bytes = newest.drained_bytes.saturating_sub(before.drained_bytes);
        drained_bytes * u64::from(step_us) / interval_us
    }
}

impl Forecaster for Persistence {
    fn observe(&mut self, sample: &RlcSample) {
        self.before = self.newest.replace(*sample);
    }

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let Some(newest) = &self.newest else { return false };
        let drain_bytes = self.drain_bytes(horizon.step_us);
        (0..horizon.points).for_each(|_| points.push(newest, drain_bytes));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64) -> RlcSample {
        let bytes = ms as u32;
        RlcSample {
            time_us: ms * 1_000,
            occupancy_bytes: bytes,
            limit_bytes: bytes * 2,
            drained_bytes: ms * ms,
            ..RlcSample::default()
        }
    }

    fn occupancy(
        forecaster: &mut impl Forecaster,
        origin: u64,
        first: u64,
        points: u32,
    ) -> Option<Vec<u32>> {
        let horizon =
            Horizon { origin_us: origin * 1_000, first_us: first * 1_000, step_us: 1_000, points };
        let mut out = Points::default();
        let known = forecaster.forecast(&horizon, &mut out);
        if known {
            let doubled: Vec<u32> = out.occupancy_bytes.iter().map(|bytes| bytes * 2).collect();
            assert_eq!(doubled, out.limit_bytes);
            assert_eq!(out.drain_bytes.len(), out.limit_bytes.len());
        }
        known.then_some(out.occupancy_bytes)
    }

    #[test]
    fn perfect_returns_the_recorded_run() {
        let mut perfect = Perfect::new((0..100).map(sample).collect());
        assert_eq!(occupancy(&mut perfect, 0, 50, 3), Some(vec![50, 51, 52]));
        assert_eq!(occupancy(&mut perfect, 0, 98, 4), Some(vec![98, 99, 99, 99]), "past its end");
        assert_eq!(occupancy(&mut Perfect::new([].into()), 0, 0, 1), None);
    }

    #[test]
    fn late_repeats_the_last_samples_it_had() {
        // 10 ms up, 40 ms of inference, 40 points: 90 ms old when used.
        let timing = Timing { inference_us: 40_000, points: 40, ..Timing::stolidis2024(10_000) };
        let mut late = Late::new(&timing);
        (0..40).for_each(|ms| late.observe(&sample(ms)));
        assert_eq!(occupancy(&mut late, 39, 89, 40), None, "one sample short");
        (40..200).for_each(|ms| late.observe(&sample(ms)));
        let known = occupancy(&mut late, 199, 249, 40).unwrap();
        assert_eq!((known[0], known[39], known.len()), (159, 198, 40));
        assert!(late.samples.len() <= 93, "{} samples kept", late.samples.len());
    }

    #[test]
    fn persistence_repeats_the_newest_sample() {
        let mut persistence = Persistence::default();
        assert_eq!(occupancy(&mut persistence, 0, 0, 3), None);
        persistence.observe(&sample(7));
        persistence.observe(&sample(8));
        assert_eq!(occupancy(&mut persistence, 8, 18, 3), Some(vec![8, 8, 8]));
    }

    /// The drained bytes of these samples are the square of the time in ms.
    #[test]
    fn the_drain_of_a_point_is_that_of_the_step_before_it() {
        let horizon = |first_ms: u64, step_us| Horizon {
            origin_us: 0,
            first_us: first_ms * 1_000,
            step_us,
            points: 2,
        };
        let mut out = Points::default();
        let mut perfect = Perfect::new((0..100).map(sample).collect());
        assert!(perfect.forecast(&horizon(50, 1_000), &mut out));
        assert_eq!(out.drain_bytes, [99, 101]);
        out.clear();
        let mut persistence = Persistence::default();
        [sample(9), sample(10)].iter().for_each(|sample| persistence.observe(sample));
        assert!(persistence.forecast(&horizon(50, 2_000), &mut out));
        assert_eq!(out.drain_bytes, [38, 38], "19 a ms");
        out.clear();
        let timing = Timing { inference_us: 0, points: 2, ..Timing::stolidis2024(0) };
        let mut late = Late::new(&timing);
        (0..10).for_each(|ms| late.observe(&sample(ms)));
        assert!(late.forecast(&horizon(10, 1_000), &mut out));
        assert_eq!(out.drain_bytes, [15, 17], "of 8 and 9 ms");
    }
}
