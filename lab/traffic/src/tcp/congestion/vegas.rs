//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet"
//! (IEEE JSAC 13, 1995).
//!
//! Implements the window rules, §3.2 and §3.3. RACK replaces the fine-grained retransmission timers of
//! §3.1, which served hosts with 500 ms ticks. A loss halves the window, as in Linux.

use super::reno::Reno;
use super::{
    AckEvent, CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, Form,
    RestartEvent,
};

/// §3.2: the window grows with less than this queued, segments.
const ALPHA_SEGMENTS: f64 = 2.0;
/// §3.2: the window shrinks with more than this queued.
const BETA_SEGMENTS: f64 = 4.0;
/// §3.3: slow start ends with more than this queued.
const GAMMA_SEGMENTS: f64 = 1.0;
/// Least samples of a round that the window is adjusted by, as in Linux: with fewer, which one
/// delayed acknowledgement may dominate, the window follows Reno.
const MIN_SAMPLES: u32 = 3;

/// Holds a few segments of its own in the queue.
#[derive(Debug, Clone)]
pub struct Vegas {
    reno: Reno,
    base_rtt_us: Option<u64>,
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    round_min_rtt_us: Option<u64>,
    samples: u32,
    /// Slow start grows every other round and compares in between (§3.3).
    grows_this_round: bool,
    /// The previous round had fewer than [`MIN_SAMPLES`].
    follows_reno: bool,
}

impl Vegas {
    /// The state in slow start with the initial window. Vegas ends slow start itself, without
    /// HyStart.
    pub fn new(connection: &ConnectionConfig) -> Self {
        Self {
            reno: Reno::new(Form::Linux, connection),
            base_rtt_us: None,
            round_end: 0,
            round_min_rtt_us: None,
            samples: 0,
            grows_this_round: true,
            follows_reno: false,
        }
    }

    /// Adjusts the window at the end of a round with minimum RTT `rtt_us`.
    fn adjust(&mut self, rtt_us: u64, base_us: u64) {
        let mss_bytes = self.reno.mss_bytes();
        let window = self.reno.window_bytes() as f64 / mss_bytes as f64;
        // §3.2: Diff = (Expected − Actual) · BaseRTT, the queued part of the window in segments.
        let diff = window * (1.0 - base_us as f64 / rtt_us as f64);
        if self.reno.is_in_slow_start() {
            if diff > GAMMA_SEGMENTS {
                // The BDP, and one segment to sustain the ACK clock.
                let target = (window - diff) as u64 + 1;
                self.reno.reduce_to(target.min(window as u64) * mss_bytes);
            }
            self.grows_this_round = !self.grows_this_round;
        } else if diff > BETA_SEGMENTS {
            // Lowers ssthresh too, else the connection would count as in slow start.
            self.reno.reduce_to(self.reno.window_bytes().saturating_sub(mss_bytes));
        } else if diff < ALPHA_SEGMENTS {
            self.reno.set_window(self.reno.window_bytes() + mss_bytes);
        }
    }
}

impl CongestionController for Vegas {
    fn on_ack(&mut self, ack: &AckEvent) {
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.follows_reno = self.samples < MIN_SAMPLES;
            if let (false, Some(rtt_us), Some(base_us)) =
                (self.follows_reno, self.round_min_rtt_us, self.base_rtt_us)
            {
                self.adjust(rtt_us, base_us);
            }
            self.round_min_rtt_us = None;
            self.samples = 0;
        }
        if self.follows_reno || (self.reno.is_in_slow_start() && self.grows_this_round) {
            self.reno.on_ack(ack);
        }
    }

    fn on_delivery(&mut self, event: &DeliveryEvent) {
        let Some(rtt_us) = event.rtt_us.map(|it| it.max(1)) else { return };
        let least = |it: Option<u64>| Some(it.map_or(rtt_us, |it| it.min(rtt_us)));
        self.base_rtt_us = least(self.base_rtt_us);
        self.round_min_rtt_us = least(self.round_min_rtt_us);
        self.samples += 1;
    }

    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal) {
        self.reno.on_congestion_event(now_us, signal);
    }

    fn on_retransmission_timeout(&mut self, now_us: u64) {
        self.reno.on_retransmission_timeout(now_us);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.reno.on_restart(event);
    }

    fn limit_window(&mut self, bytes: u64) {
        self.reno.limit_window(bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.reno.window_bytes()
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.reno.ssthresh_bytes()
    }
}
