//! Drain of the RLC buffer over radio frames: a rate in wall-clock time, uplink slots and
//! milliseconds without opportunity included.

/// Gains of mean and mean deviation over frames, and how many deviations count: as for what TTIs
/// pull ([`super::burst`]).
const MEAN_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;
const DEVIATIONS: f64 = 4.0;

/// A radio frame.
pub(super) const FRAME_US: u64 = 10_000;

#[derive(Clone, Debug)]
pub(super) struct FrameRate {
    /// Rate of the last frame, bytes per µs.
    rate: f64,
    /// Moving average over frames; absent before the first is over.
    mean: Option<f64>,
    /// Mean deviation of frames from the mean, bytes per µs.
    deviation: f64,
    start_us: u64,
    drained_bytes: u64,
}

impl FrameRate {
    pub(super) fn new(now_us: u64) -> Self {
        Self { rate: 0.0, mean: None, deviation: 0.0, start_us: now_us, drained_bytes: 0 }
    }

    pub(super) fn drained(&mut self, bytes: u64, now_us: u64) {
        self.drained_bytes = self.drained_bytes.saturating_add(bytes);
        let elapsed_us = now_us.saturating_sub(self.start_us);
        // A clock that went back starts a frame.
        if elapsed_us >= FRAME_US || now_us < self.start_us {
            self.rate = self.drained_bytes as f64 / elapsed_us.max(FRAME_US) as f64;
            let mean = self.mean.get_or_insert(self.rate);
            self.deviation += DEVIATION_GAIN * ((self.rate - *mean).abs() - self.deviation);
            *mean += MEAN_GAIN * (self.rate - *mean);
            self.start_us = now_us;
            self.drained_bytes = 0;
        }
    }

    /// Rate of the last frame, bytes per µs; 0 before the first is over.
    pub(super) fn bytes_per_us(&self) -> f64 {
        self.rate
    }

    /// What a frame may well carry, mean + 4 deviations, bytes per µs; 0 before the first is over.
    pub(super) fn high_bytes_per_us(&self) -> f64 {
        self.mean.map_or(0.0, |mean| mean + DEVIATIONS * self.deviation)
    }

    /// The same as bytes of a frame; absent before the first is over.
    pub(super) fn high_frame_bytes(&self) -> Option<f64> {
        self.mean?;
        Some(self.high_bytes_per_us() * FRAME_US as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_whole_frame() {
        let mut rate = FrameRate::new(0);
        (1..=9).for_each(|ms| rate.drained(1_000, ms * 1_000));
        assert_eq!(rate.bytes_per_us(), 0.0);
        rate.drained(1_000, 10_000);
        assert_eq!(rate.bytes_per_us(), 1.0);
        rate.drained(5_000, 15_000);
        assert_eq!(rate.bytes_per_us(), 1.0, "the second frame is not over");
        rate.drained(0, 30_000);
        assert_eq!(rate.bytes_per_us(), 0.25, "it came late: 5000 B in 20 ms");
        // Mean: 1 − 1/8 · 0.75; deviation: 1/4 · 0.75.
        assert_eq!(rate.high_bytes_per_us(), 1.0 - 0.75 / 8.0 + 4.0 * 0.75 / 4.0);
    }

    #[test]
    fn a_clock_that_jumps_starts_a_frame() {
        let mut rate = FrameRate::new(1_000_000);
        rate.drained(u64::MAX, 0);
        assert!(rate.bytes_per_us().is_finite());
        rate.drained(10_000, 10_000);
        assert_eq!(rate.bytes_per_us(), 1.0);
    }
}
