//! The over-use detector: draft-ietf-rmcat-gcc-02 §5.4.

/// Initial threshold del_var_th(0), ms (§8).
const INITIAL_THRESHOLD_MS: f64 = 12.5;
/// Range of the threshold, ms (§5.4).
const THRESHOLD_MS: std::ops::RangeInclusive<f64> = 6.0..=600.0;
/// Gains of the threshold for rise and fall, per ms (§8).
const K_UP: f64 = 0.01;
const K_DOWN: f64 = 0.00018;
/// A gradient this far above the threshold does not move it (§5.4), ms.
const SPIKE_MS: f64 = 15.0;
/// Minimum duration of over-use (§8, overuse_time_th), ms.
const OVERUSE_TIME_MS: f64 = 10.0;
/// Gaps longer than this between two groups count as this much time, ms, as in libwebrtc: after a
/// silence the threshold must not jump.
const MAX_TIME_STEP_MS: f64 = 100.0;
/// The gradient is compared as min(groups, 60) · m̂, as libwebrtc does. The draft compares m̂
/// itself, which a queue that grows by less than 6 ms a frame would never exceed.
const MAX_GROUPS: usize = 60;

/// Signal of the detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Usage {
    /// Queues grow.
    Over,
    /// Queues drain.
    Under,
    /// Neither.
    #[default]
    Normal,
}

/// The over-use detector.
#[derive(Debug, Clone)]
pub(super) struct Detector {
    threshold_ms: f64,
    last_us: Option<u64>,
    previous_ms: f64,
    over_for_ms: Option<f64>,
    usage: Usage,
}

impl Default for Detector {
    fn default() -> Self {
        Self {
            threshold_ms: INITIAL_THRESHOLD_MS,
            last_us: None,
            previous_ms: 0.0,
            over_for_ms: None,
            usage: Usage::Normal,
        }
    }
}

impl Detector {
    /// Processes m̂(i) of the `groups`-th group, complete at `arrived_us`.
    pub(super) fn detect(
        &mut self,
        m_hat_ms: f64,
        groups: usize,
        sent_delta_ms: f64,
        arrived_us: u64,
    ) -> Usage {
        let scaled_ms = m_hat_ms * groups.min(MAX_GROUPS) as f64;
        if scaled_ms > self.threshold_ms {
            let before = self.over_for_ms;
            // The first group above counts half of its time, since it is not known when it began.
            let over_for_ms = before.map_or(sent_delta_ms / 2.0, |ms| ms + sent_delta_ms);
            self.over_for_ms = Some(over_for_ms);
            // §5.4: over-use for long enough, and not already on the way down.
            if over_for_ms > OVERUSE_TIME_MS && before.is_some() && m_hat_ms >= self.previous_ms {
                self.over_for_ms = Some(0.0);
                self.usage = Usage::Over;
            }
        } else {
            self.over_for_ms = None;
            self.usage = if scaled_ms < -self.threshold_ms { Usage::Under } else { Usage::Normal };
        }
        self.previous_ms = m_hat_ms;
        self.adapt(scaled_ms, arrived_us);
        self.usage
    }

    /// Latest signal.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// del_var_th(i), so that a competing TCP flow does not starve the call (§5.4).
    fn adapt(&mut self, scaled_ms: f64, arrived_us: u64) {
        let last_us = self.last_us.replace(arrived_us).unwrap_or(arrived_us);
        let distance = scaled_ms.abs() - self.threshold_ms;
        if distance > SPIKE_MS {
            return;
        }
        let k = if distance < 0.0 { K_DOWN } else { K_UP };
        let step_ms = (arrived_us.saturating_sub(last_us) as f64 / 1e3).min(MAX_TIME_STEP_MS);
        self.threshold_ms = (self.threshold_ms + step_ms * k * distance)
            .clamp(*THRESHOLD_MS.start(), *THRESHOLD_MS.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_use_has_to_last_and_ends_with_the_gradient() {
        let mut detector = Detector::default();
        assert_eq!(detector.detect(0.5, 60, 33.0, 0), Usage::Normal, "a first group is no proof");
        assert_eq!(detector.detect(0.6, 60, 33.0, 33_000), Usage::Over);
        assert_eq!(detector.detect(0.0, 60, 33.0, 66_000), Usage::Normal);
        assert_eq!(detector.detect(-0.6, 60, 33.0, 99_000), Usage::Under);
    }

    #[test]
    fn a_gradient_on_its_way_down_is_no_new_over_use() {
        let mut detector = Detector::default();
        detector.detect(0.9, 60, 33.0, 0);
        assert_eq!(detector.detect(0.8, 60, 33.0, 33_000), Usage::Normal);
    }

    #[test]
    fn the_threshold_follows_but_not_a_spike() {
        let mut detector = Detector::default();
        for group in 0..300 {
            detector.detect(0.3, 60, 33.0, group * 33_000);
        }
        // 18 ms are within 15 ms of the threshold: it rises towards them.
        assert!(detector.threshold_ms > 16.0, "{}", detector.threshold_ms);
        let before = detector.threshold_ms;
        detector.detect(10.0, 60, 33.0, 10_000_000);
        assert_eq!(detector.threshold_ms, before);
    }
}
