//! The model of the path: rounds, bandwidth, RTT, aggregation, full pipe.

use super::super::DeliveryEvent;
use super::probe_bw::AckPhase;
use super::{Bbr3, BbrVersion, State};

/// §2.12, MaxBwFilterLen: ProbeBW cycles.
const MAX_BW_FILTER_CYCLES: u64 = 2;
/// §4.5.7.2, MinRTTFilterLen.
const MIN_RTT_FILTER_US: u64 = 10_000_000;
/// §4.3.4.1, ProbeRTTInterval.
const PROBE_RTT_INTERVAL_US: u64 = 5_000_000;
/// §4.3.4.1, ProbeRTTDuration.
const PROBE_RTT_DURATION_US: u64 = 200_000;
/// §4.5.9, BBRExtraAckedFilterLen: round trips.
const EXTRA_ACKED_FILTER_ROUNDS: u64 = 10;
/// §4.3.1.2: the pipe is full if the bandwidth grows by less than a quarter …
const FULL_BW_GROWTH: f64 = 1.25;
/// … in this many rounds.
const FULL_BW_ROUNDS: u32 = 3;

impl Bbr3 {
    /// §4.5.1, BBRStartRound.
    pub(super) fn start_round(&mut self, total_delivered_bytes: u64) {
        self.rounds.next_delivered_bytes = total_delivered_bytes;
    }

    /// §4.5.1, BBRUpdateRound, and §4.5.5, BBRUpdateMaxBw.
    pub(super) fn update_max_bw(&mut self, event: &DeliveryEvent) {
        self.rounds.update(event);
        self.probe.rounds_since += u64::from(self.rounds.is_start);
        self.max_bw.update(event, self.cycle_count, MAX_BW_FILTER_CYCLES);
    }

    /// §4.3.1.2, BBRResetFullBW.
    pub(super) fn reset_full_bw(&mut self) {
        self.full_bw_bps = 0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// §4.3.1.2, BBRCheckFullBWReached.
    pub(super) fn check_full_bw_reached(&mut self, event: &DeliveryEvent) {
        let Some(sample) = &event.rate else { return };
        if self.full_bw_now || !self.rounds.is_start || sample.is_app_limited {
            return;
        }
        let rate_bps = match self.version {
            BbrVersion::Two => self.max_bw.bps,
            BbrVersion::Three => sample.delivery_rate_bps.unwrap_or(0),
        };
        if rate_bps as f64 >= self.full_bw_bps as f64 * FULL_BW_GROWTH {
            self.reset_full_bw();
            self.full_bw_bps = rate_bps;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// §4.3.1.1, BBRCheckStartupDone.
    pub(super) fn check_startup_done(&mut self, event: &DeliveryEvent) {
        self.check_startup_congestion(event);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
        }
    }

    /// §4.3.2, BBRCheckDrainDone.
    pub(super) fn check_drain_done(&mut self, event: &DeliveryEvent) {
        if self.state == State::Drain
            && event.in_flight_bytes <= self.quantized(self.bdp_bytes(1.0))
        {
            self.start_probe_bw_down(event.now_us, event.total_delivered_bytes);
        }
    }

    /// §4.5.9, BBRUpdateACKAggregation.
    pub(super) fn update_ack_aggregation(&mut self, event: &DeliveryEvent) {
        let window = if self.full_bw_reached { EXTRA_ACKED_FILTER_ROUNDS } else { 1 };
        let rounds = (self.rounds.count, window);
        self.aggregation.update(event, self.bw_bps, self.cwnd.bytes, rounds);
    }

    /// §4.3.4.4, BBRUpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, event: &DeliveryEvent) {
        self.probe_rtt_expired = event.now_us > self.probe_rtt_min_stamp_us + PROBE_RTT_INTERVAL_US;
        if let Some(rtt_us) = event.rtt_us
            && (self.probe_rtt_expired || self.probe_rtt_min_us.is_none_or(|it| rtt_us < it))
        {
            self.probe_rtt_min_us = Some(rtt_us.max(1));
            self.probe_rtt_min_stamp_us = event.now_us;
        }
        let Some(probe_rtt_min_us) = self.probe_rtt_min_us else { return };
        let expired = event.now_us > self.min_rtt_stamp_us + MIN_RTT_FILTER_US;
        if expired || self.min_rtt_us.is_none_or(|it| probe_rtt_min_us < it) {
            self.min_rtt_us = Some(probe_rtt_min_us);
            self.min_rtt_stamp_us = self.probe_rtt_min_stamp_us;
        }
    }

    /// §4.3.4.4, BBRCheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, event: &DeliveryEvent) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.cwnd.save(false);
            self.state = State::ProbeRtt;
            self.probe_rtt_done_us = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.start_round(event.total_delivered_bytes);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(event);
        }
        if event.newly_delivered_bytes > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, event: &DeliveryEvent) {
        if self.probe_rtt_done_us.is_none() {
            if event.in_flight_bytes <= self.probe_rtt_cwnd_bytes() {
                self.probe_rtt_done_us = Some(event.now_us + PROBE_RTT_DURATION_US);
                self.probe_rtt_round_done = false;
                self.start_round(event.total_delivered_bytes);
            }
            return;
        }
        self.probe_rtt_round_done |= self.rounds.is_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(event.now_us, event.total_delivered_bytes);
        }
    }

    /// §4.3.4.4, BBRCheckProbeRTTDone, and §4.3.4.5, BBRExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, now_us: u64, total_delivered_bytes: u64) {
        if self.probe_rtt_done_us.is_none_or(|done_us| now_us <= done_us) {
            return;
        }
        self.probe_rtt_min_stamp_us = now_us;
        self.cwnd.restore();
        self.reset_lower_bounds();
        if self.full_bw_reached {
            self.start_probe_bw_down(
                now_us,
                total_delivered_bytes.max(self.rounds.next_delivered_bytes),
            );
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }
}
