//! The delay-based rate: draft-ietf-rmcat-gcc-02 §5.5.

use super::detector::Usage;

/// Decrease factor β (§8).
const BETA: f64 = 0.85;
/// Increase per second while the capacity is unknown (§5.5).
const ETA_PER_S: f64 = 1.08;
/// Maximum ratio of the rate to R̂ (§5.5).
const MAX_OVER_INCOMING: f64 = 1.5;
/// Smoothing of the mean of R̂ at decreases (§5.5: 0.95).
const CAPACITY_SMOOTHING: f64 = 0.95;
/// Packets of a frame carry at most this (§5.5), bits.
const PACKET_BITS: f64 = 1_200.0 * 8.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// Estimated capacity: mean and variance of R̂ at over-use (§5.5).
#[derive(Debug, Clone, Copy)]
struct Capacity {
    mean_bps: f64,
    variance: f64,
}

/// Additive increase near the capacity, multiplicative increase away from it, multiplicative
/// decrease on over-use.
#[derive(Debug, Clone)]
pub(super) struct DelayRate {
    rate_bps: f64,
    frames_per_s: f64,
    state: State,
    capacity: Option<Capacity>,
    last_us: Option<u64>,
}

impl DelayRate {
    pub(super) fn new(start_bps: f64, frames_per_s: f64) -> Self {
        Self {
            rate_bps: start_bps,
            frames_per_s,
            state: State::Increase,
            capacity: None,
            last_us: None,
        }
    }

    /// A_hat, bit/s.
    pub(super) fn bps(&self) -> f64 {
        self.rate_bps
    }

    /// Clamps the rate to the range of the encoder, so that it stays near the rate sent.
    pub(super) fn limit(&mut self, range_bps: (f64, f64)) {
        self.rate_bps = self.rate_bps.clamp(range_bps.0, range_bps.1);
    }

    /// Processes a signal of the detector, with the rate `incoming_bps` that arrives (R̂), if known.
    pub(super) fn update(
        &mut self,
        usage: Usage,
        incoming_bps: Option<f64>,
        rtt_ms: f64,
        now_us: u64,
    ) {
        // The table of §5.5.
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Normal, State::Hold) => State::Increase,
            (Usage::Normal, State::Decrease) => State::Hold,
            (Usage::Normal, State::Increase) => State::Increase,
            (Usage::Under, _) => State::Hold,
        };
        let since_ms = self.last_us.map_or(0.0, |at_us| now_us.saturating_sub(at_us) as f64 / 1e3);
        self.last_us = Some(now_us);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(incoming_bps, rtt_ms, since_ms),
            State::Decrease => self.decrease(incoming_bps),
        }
    }

    fn increase(&mut self, incoming_bps: Option<f64>, rtt_ms: f64, since_ms: f64) {
        if let (Some(capacity), Some(incoming)) = (self.capacity, incoming_bps)
            && incoming > capacity.mean_bps + 3.0 * libm::sqrt(capacity.variance)
        {
            // The capacity has grown: the estimate is obsolete.
            self.capacity = None;
        }
        let increased = if self.capacity.is_some() {
            // α = 0.5 · min(Δt / response time, 1) packets of the expected size.
            let alpha = 0.5 * (since_ms / (100.0 + rtt_ms)).min(1.0);
            let frame_bits = self.rate_bps / self.frames_per_s;
            let packets = (frame_bits / PACKET_BITS).ceil().max(1.0);
            self.rate_bps + (alpha * frame_bits / packets).max(1_000.0 * (since_ms / 1e3).min(1.0))
        } else {
            self.rate_bps * libm::pow(ETA_PER_S, (since_ms / 1e3).min(1.0))
        };
        // §5.5: no further above what arrives, which an encoder below its rate holds down; a rate
        // that is there already is not taken back.
        let bound = incoming_bps.map_or(f64::INFINITY, |incoming| MAX_OVER_INCOMING * incoming);
        self.rate_bps = increased.min(bound.max(self.rate_bps));
    }

    fn decrease(&mut self, incoming_bps: Option<f64>) {
        let incoming = incoming_bps.unwrap_or(self.rate_bps);
        self.rate_bps = (BETA * incoming).min(self.rate_bps);
        let deviation = self.capacity.map_or(0.0, |it| incoming - it.mean_bps);
        self.capacity = Some(match self.capacity {
            Some(it) if deviation.abs() <= 3.0 * libm::sqrt(it.variance) => Capacity {
                mean_bps: it.mean_bps + (1.0 - CAPACITY_SMOOTHING) * deviation,
                variance: CAPACITY_SMOOTHING * it.variance
                    + (1.0 - CAPACITY_SMOOTHING) * deviation * deviation,
            },
            // First estimate, or the link has changed: the initial deviation is a tenth.
            _ => Capacity { mean_bps: incoming, variance: (0.1 * incoming) * (0.1 * incoming) },
        });
        self.state = State::Hold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_by_eight_percent_a_second_until_the_path_is_over_used() {
        let mut rate = DelayRate::new(1e6, 30.0);
        for step in 0..=10 {
            rate.update(Usage::Normal, Some(2e6), 50.0, step * 100_000);
        }
        assert!((rate.bps() / 1.08e6 - 1.0).abs() < 1e-9, "{}", rate.bps());
        rate.update(Usage::Over, Some(1e6), 50.0, 1_100_000);
        assert!((rate.bps() - 0.85e6).abs() < 1e-6);
    }

    #[test]
    fn near_the_known_capacity_it_adds_half_a_packet_per_response_time() {
        let mut rate = DelayRate::new(1e6, 30.0);
        rate.update(Usage::Over, Some(1e6), 50.0, 0);
        rate.update(Usage::Normal, Some(0.9e6), 50.0, 150_000);
        // 850 kbit/s at 30 frames/s are 28 333 bit in 3 packets.
        let added = 0.5 * (850_000.0_f64 / 30.0) / 3.0;
        assert!((rate.bps() - 850_000.0 - added).abs() < 1e-6, "{}", rate.bps());
    }

    #[test]
    fn draining_queues_are_left_to_drain() {
        let mut rate = DelayRate::new(1e6, 30.0);
        rate.update(Usage::Under, Some(1e6), 50.0, 0);
        rate.update(Usage::Under, Some(1e6), 50.0, 1_000_000);
        assert_eq!(rate.bps(), 1e6);
    }

    #[test]
    fn does_not_run_away_from_what_arrives() {
        let mut rate = DelayRate::new(1e6, 30.0);
        for step in 0..600 {
            rate.update(Usage::Normal, Some(0.8e6), 50.0, step * 100_000);
        }
        assert!((rate.bps() - 1.2e6).abs() < 1.0, "{}", rate.bps());
    }
}
