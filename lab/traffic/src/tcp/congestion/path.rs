//! Path estimates and window rules that the model-based controllers share.
//!
//! "v1" is draft-cardwell-iccrg-bbr-congestion-control-00, "v3" draft-ietf-ccwg-bbr-02.

use std::collections::VecDeque;

use super::{ConnectionConfig, DeliveryEvent, SenderPhase};

/// Bytes that `rate_bps` delivers in `time_us`.
pub(super) fn bytes_in(rate_bps: u64, time_us: u64) -> u64 {
    u64::try_from(u128::from(rate_bps) * u128::from(time_us) / 8_000_000).unwrap_or(u64::MAX)
}

/// Rate of `bytes` in `time_us`, bit/s.
pub(super) fn rate_bps(bytes: u64, time_us: u64) -> u64 {
    let rate = u128::from(bytes) * 8_000_000 / u128::from(time_us.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// A quantity times a gain.
pub(super) fn scaled(quantity: u64, gain: f64) -> u64 {
    (quantity as f64 * gain) as u64
}

/// Constant sizes of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Payload of a full segment: SMSS.
    pub(super) mss_bytes: u64,
    header_bytes: u64,
    /// InitialCwnd.
    pub(super) initial_window_bytes: u64,
}

impl Sizes {
    pub(super) fn new(connection: &ConnectionConfig) -> Self {
        let mss_bytes = u64::from(connection.mss_bytes);
        Self {
            mss_bytes,
            header_bytes: u64::from(connection.header_bytes),
            initial_window_bytes: mss_bytes * u64::from(connection.initial_window_segments),
        }
    }

    /// The rate with headers for a payload rate. Delivery is measured in payload, pacing in whole
    /// datagrams: pacing at the payload rate would stay below the bottleneck.
    pub(super) fn with_headers(&self, payload_bps: u64) -> u64 {
        let datagram = u128::from(self.mss_bytes + self.header_bytes);
        let rate = u128::from(payload_bps) * datagram / u128::from(self.mss_bytes.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

/// Exact maximum over the last ticks of a virtual clock, such as round trips. Holds at most one
/// sample per tick.
#[derive(Debug, Clone, Default)]
struct WindowedMax {
    /// Ticks ascending, values descending.
    samples: VecDeque<(u64, u64)>,
}

impl WindowedMax {
    /// Adds a value; returns the maximum over the ticks `tick + 1 - window..=tick`.
    fn update(&mut self, tick: u64, value: u64, window: u64) -> u64 {
        while self.samples.front().is_some_and(|&(at, _)| at + window <= tick) {
            self.samples.pop_front();
        }
        while self.samples.back().is_some_and(|&(_, it)| it <= value) {
            self.samples.pop_back();
        }
        if self.samples.back().is_none_or(|&(at, _)| at < tick) {
            self.samples.push_back((tick, value));
        }
        self.samples.front().map_or(0, |&(_, value)| value)
    }
}

/// Maximum delivery rate: v1 §4.1.1.5, v3 §4.5.5.
#[derive(Debug, Clone, Default)]
pub(super) struct MaxBandwidth {
    filter: WindowedMax,
    pub(super) bps: u64,
}

impl MaxBandwidth {
    /// Samples limited by the application count only where they raise the maximum.
    pub(super) fn update(&mut self, event: &DeliveryEvent, tick: u64, window: u64) {
        let Some(sample) = &event.rate else { return };
        let Some(rate_bps) = sample.delivery_rate_bps else { return };
        if rate_bps >= self.bps || !sample.is_app_limited {
            self.bps = self.filter.update(tick, rate_bps, window);
        }
    }
}

/// Packet-timed round trips: v1 §4.1.1.3, v3 §4.5.1.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// The latest acknowledgement started a round.
    pub(super) is_start: bool,
    /// BBR.next_round_delivered: data sent after this much was delivered ends the round.
    pub(super) next_delivered_bytes: u64,
}

impl Rounds {
    pub(super) fn update(&mut self, event: &DeliveryEvent) {
        self.is_start =
            event.rate.is_some_and(|it| it.prior_delivered_bytes >= self.next_delivered_bytes);
        if self.is_start {
            self.next_delivered_bytes = event.total_delivered_bytes;
            self.count += 1;
        }
    }
}

/// Estimate of aggregated acknowledgements, v3 §4.5.9 and Linux 5.1 `bbr_update_ack_aggregation`:
/// data acknowledged at once beyond bandwidth times time.
///
/// Where acknowledgements are aggregated (Wi-Fi, the uplink slots of TDD), twice the BDP at the
/// minimum RTT does not fill the path: the window is exhausted before the next burst of them.
#[derive(Debug, Clone, Default)]
pub(super) struct AckAggregation {
    filter: WindowedMax,
    /// Maximum excess over the rounds of the window.
    pub(super) extra_bytes: u64,
    /// Delivered since the start of the epoch.
    delivered_bytes: u64,
    start_us: u64,
}

impl AckAggregation {
    /// Adds the excess of an acknowledgement over `bw_bps`, at most `cwnd_bytes`, for `window` rounds.
    pub(super) fn update(
        &mut self,
        event: &DeliveryEvent,
        bw_bps: u64,
        cwnd_bytes: u64,
        (round, window): (u64, u64),
    ) {
        let elapsed_us = event.now_us.saturating_sub(self.start_us);
        let mut expected = bytes_in(bw_bps, elapsed_us);
        if self.delivered_bytes <= expected {
            self.start_epoch(event.now_us);
            expected = 0;
        }
        self.delivered_bytes += event.newly_delivered_bytes;
        let extra = self.delivered_bytes.saturating_sub(expected).min(cwnd_bytes);
        self.extra_bytes = self.filter.update(round, extra, window);
    }

    /// Resets the epoch, as Linux does after idle.
    pub(super) fn start_epoch(&mut self, now_us: u64) {
        self.delivered_bytes = 0;
        self.start_us = now_us;
    }

    /// Moves the start of the epoch, as v3 §4.4.1 does after idle.
    pub(super) fn move_start(&mut self, now_us: u64) {
        self.start_us = now_us;
    }
}

/// Pacing rate of BBR in payload: v1 §4.2.1, v3 §4.6.2.
#[derive(Debug, Clone)]
pub(super) struct PacingRate {
    pub(super) bps: u64,
    startup_gain: f64,
    initial_window_bytes: u64,
    has_rtt: bool,
}

impl PacingRate {
    /// Initial window per 1 ms until the first RTT sample.
    pub(super) fn new(sizes: &Sizes, startup_gain: f64) -> Self {
        let initial_window_bytes = sizes.initial_window_bytes;
        let bps = scaled(rate_bps(initial_window_bytes, 1_000), startup_gain);
        Self { bps, startup_gain, initial_window_bytes, has_rtt: false }
    }

    /// The first RTT sample replaces the assumed 1 ms.
    pub(super) fn on_rtt(&mut self, srtt_us: u64) {
        if !self.has_rtt && srtt_us > 0 {
            self.has_rtt = true;
            self.bps = scaled(rate_bps(self.initial_window_bytes, srtt_us), self.startup_gain);
        }
    }

    /// Before the pipe is full the rate only rises.
    pub(super) fn set(&mut self, bps: u64, is_pipe_full: bool) {
        if is_pipe_full || bps > self.bps {
            self.bps = bps;
        }
    }
}

/// Congestion window of BBR and the copy restored after recovery or ProbeRTT: v1 §4.2.3.4 and
/// §4.2.3.6, v3 §4.6.4.4 and §4.6.4.6.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) bytes: u64,
    prior_bytes: u64,
    phase: SenderPhase,
    sizes: Sizes,
}

impl Window {
    pub(super) fn new(sizes: Sizes) -> Self {
        Self { bytes: sizes.initial_window_bytes, prior_bytes: 0, phase: SenderPhase::Open, sizes }
    }

    pub(super) fn save(&mut self, in_probe_rtt: bool) {
        if self.phase.is_loss_recovery() || in_probe_rtt {
            self.prior_bytes = self.prior_bytes.max(self.bytes);
        } else {
            self.prior_bytes = self.bytes;
        }
    }

    pub(super) fn restore(&mut self) {
        self.bytes = self.bytes.max(self.prior_bytes);
    }

    /// Follows the phase of the sender, restoring the window at the end of loss recovery. Returns
    /// whether fast recovery starts.
    pub(super) fn set_phase(&mut self, phase: SenderPhase) -> bool {
        let before = std::mem::replace(&mut self.phase, phase);
        if before.is_loss_recovery() && !phase.is_loss_recovery() {
            self.restore();
        }
        phase == SenderPhase::Recovery && before != SenderPhase::Recovery
    }

    /// The sender retransmits one segment and counts what is still in flight itself.
    pub(super) fn on_retransmission_timeout(&mut self, in_probe_rtt: bool) {
        self.save(in_probe_rtt);
        self.phase = SenderPhase::Loss;
        self.bytes = self.sizes.mss_bytes;
    }

    /// Grows by the delivered data, towards `target` once the pipe is full.
    pub(super) fn grow(&mut self, event: &DeliveryEvent, target: u64, is_pipe_full: bool) {
        let delivered = event.newly_delivered_bytes;
        if is_pipe_full {
            self.bytes = (self.bytes + delivered).min(target);
        } else if self.bytes < target
            || event.total_delivered_bytes < self.sizes.initial_window_bytes
        {
            self.bytes += delivered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_windowed_maximum_agrees_with_a_scan_of_the_window(
            values in prop::collection::vec((0_u64..3, 0_u64..1_000), 1..200),
            window in 1_u64..12,
        ) {
            let (mut filter, mut samples, mut tick) = (WindowedMax::default(), Vec::new(), 0);
            for (step, value) in values {
                tick += step;
                samples.push((tick, value));
                let expected =
                    samples.iter().filter(|(at, _)| at + window > tick).map(|it| it.1).max();
                prop_assert_eq!(Some(filter.update(tick, value, window)), expected);
                prop_assert!(filter.samples.len() as u64 <= window);
            }
        }
    }
}
