//! One direction of F1-U: delay, jitter and loss.

use crate::error::{ConfigError, ensure};
use crate::rng::Rng;

/// Delay, jitter and loss of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct F1Config {
    /// Minimum delay.
    pub delay_us: u32,
    /// Maximum additional delay, uniformly distributed.
    pub jitter_us: u32,
    /// Probability that a frame is lost.
    pub loss: f64,
    /// Whether frames keep their order, as in one queue; otherwise jitter reorders them.
    pub keep_order: bool,
}

impl Default for F1Config {
    /// Co-located CU and DU.
    fn default() -> Self {
        Self { delay_us: 0, jitter_us: 0, loss: 0.0, keep_order: true }
    }
}

impl F1Config {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        // With a loss of 1 no queue above ever drains.
        ensure((0.0..1.0).contains(&self.loss), "f1.loss", self.loss, "0 to below 1")
    }
}

/// State of one direction.
#[derive(Debug, Clone)]
pub struct F1Path {
    config: F1Config,
    last_us: u64,
    lost_frames: u64,
    rng: Rng,
}

impl F1Path {
    /// An empty link; directions of one `seed` differ by `stream`.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn new(config: F1Config, seed: u64, stream: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let rng = Rng::new(seed, stream);
        Ok(Self { config, last_us: 0, lost_frames: 0, rng })
    }

    /// Arrival time of a frame sent at `now_us`, or `None` if it is lost. Frames that arrive at the
    /// same time keep their order. `now_us` must not decrease between calls.
    pub fn transit(&mut self, now_us: u64) -> Option<u64> {
        let F1Config { delay_us, jitter_us, loss, keep_order } = self.config;
        // Without loss or jitter nothing is drawn.
        if loss > 0.0 && self.rng.chance(loss) {
            self.lost_frames += 1;
            return None;
        }
        let later_us = if jitter_us > 0 { self.rng.below(u64::from(jitter_us) + 1) } else { 0 };
        let at_us = now_us.saturating_add(u64::from(delay_us)).saturating_add(later_us);
        if !keep_order {
            return Some(at_us);
        }
        self.last_us = self.last_us.max(at_us);
        Some(self.last_us)
    }

    /// Frames lost so far.
    pub fn lost_frames(&self) -> u64 {
        self.lost_frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(config: F1Config) -> F1Path {
        F1Path::new(config, 7, 1).unwrap()
    }

    #[test]
    fn without_jitter_and_loss_it_is_a_delay() {
        let mut path = path(F1Config { delay_us: 10_000, ..F1Config::default() });
        assert_eq!(
            [0, 5, 5, 900].map(|now_us| path.transit(now_us)),
            [Some(10_000), Some(10_005), Some(10_005), Some(10_900)]
        );
    }

    #[test]
    fn jitter_spreads_frames_and_reorders_them_only_if_allowed() {
        for keep_order in [true, false] {
            let config = F1Config { delay_us: 1_000, jitter_us: 500, keep_order, loss: 0.0 };
            let mut path = path(config);
            let arrivals: Vec<u64> =
                (0..10_000).map(|i| path.transit(i * 10).unwrap() - i * 10).collect();
            let (least, most) = (arrivals.iter().min().unwrap(), arrivals.iter().max().unwrap());
            assert!(*least >= 1_000 && *most == 1_500, "{least} to {most}");
            let at: Vec<u64> = (0..).zip(&arrivals).map(|(i, late)| i * 10 + late).collect();
            assert_eq!(at.is_sorted(), keep_order);
            assert_eq!(*least == 1_000, !keep_order);
        }
    }

    #[test]
    fn loss_has_its_probability_is_counted_and_depends_on_the_seed() {
        let config = F1Config { loss: 0.1, ..F1Config::default() };
        let run = |stream| {
            let mut path = F1Path::new(config, 7, stream).unwrap();
            let out: Vec<_> = (0..20_000).map(|now_us| path.transit(now_us)).collect();
            assert_eq!(out.iter().filter(|at| at.is_none()).count() as u64, path.lost_frames());
            out
        };
        let lost = run(1).iter().filter(|at| at.is_none()).count();
        assert!((1_850..2_150).contains(&lost), "{lost}");
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn an_invalid_loss_is_refused() {
        for loss in [-0.1, 1.0, f64::NAN] {
            let config = F1Config { loss, ..F1Config::default() };
            let error = F1Path::new(config, 1, 1).unwrap_err().to_string();
            assert!(error.starts_with("f1.loss: ") && error.ends_with("0 to below 1"), "{error}");
        }
    }
}
