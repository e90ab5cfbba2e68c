//! Delay variation between groups of packets: draft-ietf-rmcat-gcc-02 §5.2 and §5.3.

/// Packets sent within this time of the first belong to one group (§5.2).
const BURST_TIME_US: u64 = 5_000;
/// State noise variance q, ms² (§8).
const Q: f64 = 1e-3;
/// Initial error covariance e(0) (§8).
const E_0: f64 = 0.1;
/// Filter coefficient χ of the measurement noise (§8: 0.1 to 0.001).
const CHI: f64 = 0.01;
/// Groups over which the highest frame rate is taken (§5.3, K).
const RATE_WINDOW: usize = 30;

/// One group of packets.
#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent_us: u64,
    last_sent_us: u64,
    last_arrived_us: u64,
}

/// The delay variation that a completed group brings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Variation {
    /// Inter-group delay variation d(i), ms.
    pub(super) delta_ms: f64,
    /// Time between the departures of the groups, ms.
    pub(super) sent_delta_ms: f64,
    /// Time at which the group was complete.
    pub(super) arrived_us: u64,
}

/// Gathers packets into groups.
#[derive(Debug, Clone, Default)]
pub(super) struct Grouping {
    current: Option<Group>,
    previous: Option<Group>,
}

impl Grouping {
    /// Processes a packet, in order of sending; returns the variation when a group after the first
    /// is complete.
    pub(super) fn on_packet(&mut self, sent_us: u64, arrived_us: u64) -> Option<Variation> {
        let Some(group) = &mut self.current else {
            self.current = Some(Group {
                first_sent_us: sent_us,
                last_sent_us: sent_us,
                last_arrived_us: arrived_us,
            });
            return None;
        };
        if sent_us < group.first_sent_us {
            // Reordered into an earlier group: ignored.
            return None;
        }
        // §5.2: also packets that arrive within the burst time with less delay than the group so
        // far, since a queue has bunched them.
        let together = arrived_us.saturating_sub(group.last_arrived_us) < BURST_TIME_US
            && arrived_us.saturating_sub(group.last_arrived_us)
                < sent_us.saturating_sub(group.last_sent_us);
        if sent_us - group.first_sent_us <= BURST_TIME_US || together {
            group.last_sent_us = group.last_sent_us.max(sent_us);
            group.last_arrived_us = group.last_arrived_us.max(arrived_us);
            return None;
        }
        let complete = *group;
        *group =
            Group { first_sent_us: sent_us, last_sent_us: sent_us, last_arrived_us: arrived_us };
        let previous = self.previous.replace(complete)?;
        let ms = |from: u64, to: u64| (to as f64 - from as f64) / 1e3;
        let sent_delta_ms = ms(previous.last_sent_us, complete.last_sent_us);
        Some(Variation {
            delta_ms: ms(previous.last_arrived_us, complete.last_arrived_us) - sent_delta_ms,
            sent_delta_ms,
            arrived_us: complete.last_arrived_us,
        })
    }
}

/// Estimates the gradient of the queuing delay from noisy variations (§5.3).
#[derive(Debug, Clone)]
pub(super) struct Kalman {
    m_hat_ms: f64,
    error: f64,
    noise_variance: f64,
    sent_deltas_ms: [f64; RATE_WINDOW],
    groups: usize,
}

impl Default for Kalman {
    fn default() -> Self {
        Self {
            m_hat_ms: 0.0,
            error: E_0,
            noise_variance: 1.0,
            sent_deltas_ms: [f64::INFINITY; RATE_WINDOW],
            groups: 0,
        }
    }
}

impl Kalman {
    /// Processes d(i); returns m̂(i), ms per group.
    pub(super) fn update(&mut self, variation: &Variation) -> f64 {
        self.sent_deltas_ms[self.groups % RATE_WINDOW] = variation.sent_delta_ms.max(1.0);
        self.groups += 1;
        // §5.3: z(i) = d(i) − m̂(i−1); outliers count as three standard deviations.
        let z = variation.delta_ms - self.m_hat_ms;
        let limit = 3.0 * libm::sqrt(self.noise_variance);
        let z_limited = z.clamp(-limit, limit);
        // α = (1 − χ)^(30 / (1000 f_max)), with f_max groups per ms.
        let shortest_ms = self.sent_deltas_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = libm::pow(1.0 - CHI, 30.0 * shortest_ms / 1000.0);
        self.noise_variance =
            (alpha * self.noise_variance + (1.0 - alpha) * z_limited * z_limited).max(1.0);
        let gain = (self.error + Q) / (self.noise_variance + self.error + Q);
        self.m_hat_ms += z_limited * gain;
        self.error = (1.0 - gain) * (self.error + Q);
        self.m_hat_ms
    }

    /// Groups seen.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_groups_and_an_idle_path_has_no_variation() {
        let mut grouping = Grouping::default();
        let mut variations = Vec::new();
        for frame in 0..10_u64 {
            for packet in 0..3_u64 {
                let sent_us = frame * 33_000 + packet * 400;
                variations.extend(grouping.on_packet(sent_us, sent_us + 20_000));
            }
        }
        assert_eq!(variations.len(), 8, "the last group is open, the first has none before it");
        assert!(variations.iter().all(|v| v.delta_ms == 0.0 && v.sent_delta_ms == 33.0));
    }

    #[test]
    fn a_growing_queue_is_a_positive_gradient_and_a_draining_one_negative() {
        let gradient = |delta_ms: f64| {
            let mut kalman = Kalman::default();
            let mut m_hat = 0.0;
            for group in 0..200_u64 {
                m_hat = kalman.update(&Variation {
                    delta_ms,
                    sent_delta_ms: 33.0,
                    arrived_us: group * 33_000,
                });
            }
            m_hat
        };
        assert!((gradient(2.0) - 2.0).abs() < 0.3, "{}", gradient(2.0));
        assert!((gradient(-2.0) + 2.0).abs() < 0.3);
        assert_eq!(gradient(0.0), 0.0);
    }
}
