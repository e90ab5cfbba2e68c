//! BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! In the form of Linux it adds aggregated acknowledgements to the window, as Linux does since 5.1
//! ("tcp_bbr: adapt cwnd based on ack aggregation estimation") and the draft does not. Without them the
//! window is two BDPs at the minimum RTT p plus three quanta Q. On a path whose usual unloaded RTT R
//! exceeds 2p (TDD, aggregated acknowledgements) the rate r then settles at r·R = 2·r·p + Q, below the
//! bottleneck's rate.
//!
//! It then also paces at 1 % below the estimated bandwidth, as Linux does since 4.20 ("tcp_bbr: adjust
//! TCP BBR for departure time pacing") and the draft does not. Without the margin a queue once built
//! stands until the phase of gain 0.75 drains it.
//!
//! Not implemented: long-term bandwidth sampling, which Linux has for token-bucket policers and the
//! draft has not. The host has no segmentation offload: the send quantum (§4.2.2) counts in the window
//! as in the draft, but datagrams leave one by one.

use super::path::{self, AckAggregation, MaxBandwidth, PacingRate, Rounds, Sizes, Window};
use super::{
    CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, Form, RestartEvent,
};
use crate::rng::Rng;

/// §4.3.2.1: 2/ln 2, the least gain that doubles the delivery rate each round.
const HIGH_GAIN: f64 = 2.885;
/// §4.2.3.2: twice the BDP in flight covers delayed and stretched acknowledgements.
const CWND_GAIN: f64 = 2.0;
/// §4.3.4.1: the gain cycle.
const PACING_GAIN_CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// §4.1.1.2, BBRBtlBwFilterLen: round trips.
const BTL_BW_FILTER_ROUNDS: u64 = 10;
/// §4.1.2.2, RTpropFilterLen.
const RT_PROP_FILTER_US: u64 = 10_000_000;
/// §4.3.5, ProbeRTTDuration.
const PROBE_RTT_DURATION_US: u64 = 200_000;
/// §4.2.3.3, BBRMinPipeCwnd: segments.
const MIN_PIPE_SEGMENTS: u64 = 4;
/// §4.3.2.2: the pipe is full if the bandwidth grows by less than a quarter …
const FULL_BW_GROWTH: f64 = 1.25;
/// … in this many rounds.
const FULL_BW_ROUNDS: u32 = 3;
/// Linux, `bbr_extra_acked_win_rtts`: the larger maximum of two windows of five rounds.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Linux, `bbr_extra_acked_max_us`: bound of the excess, as a time at the bandwidth.
const EXTRA_ACKED_MAX_US: u64 = 100_000;

/// Linux, `bbr_pacing_margin_percent`.
const PACING_MARGIN: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR v1.
#[derive(Debug, Clone)]
pub struct Bbr {
    sizes: Sizes,
    random: Rng,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,

    btl_bw: MaxBandwidth,
    rt_prop_us: Option<u64>,
    rt_prop_stamp_us: u64,
    rt_prop_expired: bool,
    rounds: Rounds,

    filled_pipe: bool,
    full_bw_bps: u64,
    full_bw_count: u32,

    cycle_index: usize,
    cycle_stamp_us: u64,

    /// `None` in the form of the draft.
    aggregation: Option<AckAggregation>,

    probe_rtt_done_us: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    cwnd: Window,
    packet_conservation: bool,
    pacing: PacingRate,
    /// Share of the bandwidth that a gain of 1 paces at.
    paced_share: f64,
}

impl Bbr {
    /// BBRInit, §4.3.1.
    pub fn new(form: Form, connection: &ConnectionConfig, seed: u64) -> Self {
        let as_in_linux = form == Form::Linux;
        let sizes = Sizes::new(connection);
        Self {
            sizes,
            random: Rng::new(seed),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            btl_bw: MaxBandwidth::default(),
            rt_prop_us: None,
            rt_prop_stamp_us: 0,
            rt_prop_expired: false,
            rounds: Rounds::default(),
            filled_pipe: false,
            full_bw_bps: 0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp_us: 0,
            aggregation: as_in_linux.then(AckAggregation::default),
            probe_rtt_done_us: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cwnd: Window::new(sizes),
            packet_conservation: false,
            pacing: PacingRate::new(&sizes, HIGH_GAIN),
            paced_share: if as_in_linux { 1.0 - PACING_MARGIN } else { 1.0 },
        }
    }

    /// §4.3.4.3.
    fn check_cycle_phase(&mut self, event: &DeliveryEvent) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed_us = event.now_us.saturating_sub(self.cycle_stamp_us);
        let full_length = elapsed_us > self.rt_prop_us.unwrap_or(0);
        let prior_in_flight = event.prior_in_flight_bytes;
        let next = if self.pacing_gain > 1.0 {
            full_length
                && (event.newly_lost_bytes > 0
                    || prior_in_flight >= self.inflight_bytes(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            full_length || prior_in_flight <= self.inflight_bytes(1.0)
        } else {
            full_length
        };
        if next {
            self.advance_cycle_phase(event.now_us);
        }
    }

    fn advance_cycle_phase(&mut self, now_us: u64) {
        self.cycle_stamp_us = now_us;
        self.cycle_index = (self.cycle_index + 1) % PACING_GAIN_CYCLE.len();
        self.pacing_gain = PACING_GAIN_CYCLE[self.cycle_index];
    }

    /// §4.3.4.3: starts in any phase of the cycle but the draining one.
    fn enter_probe_bw(&mut self, now_us: u64) {
        self.mode = Mode::ProbeBw;
        self.pacing_gain = 1.0;
        self.cwnd_gain = CWND_GAIN;
        self.cycle_index = PACING_GAIN_CYCLE.len() - 1 - self.random.below(7) as usize;
        self.advance_cycle_phase(now_us);
    }

    /// §4.3.2.2.
    fn check_full_pipe(&mut self, event: &DeliveryEvent) {
        let app_limited = event.rate.is_none_or(|sample| sample.is_app_limited);
        if self.filled_pipe || !self.rounds.is_start || app_limited {
            return;
        }
        if self.btl_bw.bps as f64 >= self.full_bw_bps as f64 * FULL_BW_GROWTH {
            self.full_bw_bps = self.btl_bw.bps;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    /// §4.3.3.
    fn check_drain(&mut self, event: &DeliveryEvent) {
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.cwnd_gain = HIGH_GAIN;
        }
        if self.mode == Mode::Drain && event.in_flight_bytes <= self.inflight_bytes(1.0) {
            self.enter_probe_bw(event.now_us);
        }
    }

    /// §4.1.2.3.
    fn update_rt_prop(&mut self, event: &DeliveryEvent) {
        self.rt_prop_expired = event.now_us > self.rt_prop_stamp_us + RT_PROP_FILTER_US;
        let Some(rtt_us) = event.rtt_us else { return };
        if self.rt_prop_expired || self.rt_prop_us.is_none_or(|it| rtt_us <= it) {
            self.rt_prop_us = Some(rtt_us.max(1));
            self.rt_prop_stamp_us = event.now_us;
        }
    }

    /// §4.3.5.
    fn check_probe_rtt(&mut self, event: &DeliveryEvent) {
        if self.mode != Mode::ProbeRtt && self.rt_prop_expired && !self.idle_restart {
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.cwnd.save(true);
            self.probe_rtt_done_us = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.handle_probe_rtt(event);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, event: &DeliveryEvent) {
        let Some(done_us) = self.probe_rtt_done_us else {
            if event.in_flight_bytes <= self.min_pipe_bytes() {
                self.probe_rtt_done_us = Some(event.now_us + PROBE_RTT_DURATION_US);
                self.probe_rtt_round_done = false;
                self.rounds.next_delivered_bytes = event.total_delivered_bytes;
            }
            return;
        };
        self.probe_rtt_round_done |= self.rounds.is_start;
        if self.probe_rtt_round_done && event.now_us > done_us {
            self.rt_prop_stamp_us = event.now_us;
            self.cwnd.restore();
            if self.filled_pipe {
                self.enter_probe_bw(event.now_us);
            } else {
                self.mode = Mode::Startup;
                self.pacing_gain = HIGH_GAIN;
                self.cwnd_gain = HIGH_GAIN;
            }
        }
    }

    /// §4.2.1.
    fn set_pacing_rate(&mut self, gain: f64) {
        let bps = path::scaled(self.btl_bw.bps, gain * self.paced_share);
        self.pacing.set(bps, self.filled_pipe);
    }

    /// §4.2.2.
    fn send_quantum_bytes(&self) -> u64 {
        match self.pacing.bps {
            ..1_200_000 => self.sizes.mss_bytes,
            1_200_000..24_000_000 => 2 * self.sizes.mss_bytes,
            rate_bps => path::bytes_in(rate_bps, 1_000).min(64 << 10),
        }
    }

    /// §4.2.3.2.
    fn inflight_bytes(&self, gain: f64) -> u64 {
        let Some(rt_prop_us) = self.rt_prop_us else { return self.sizes.initial_window_bytes };
        let bdp = path::bytes_in(self.btl_bw.bps, rt_prop_us);
        path::scaled(bdp, gain) + 3 * self.send_quantum_bytes()
    }

    fn min_pipe_bytes(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.sizes.mss_bytes
    }

    /// §4.2.3.4.
    fn update_phase(&mut self, event: &DeliveryEvent) {
        if self.cwnd.set_phase(event.phase) {
            self.packet_conservation = true;
            self.rounds.next_delivered_bytes = event.total_delivered_bytes;
            self.cwnd.bytes =
                event.in_flight_bytes + event.newly_delivered_bytes.max(self.sizes.mss_bytes);
        } else if !event.phase.is_loss_recovery() {
            self.packet_conservation = false;
        }
    }

    /// Linux, `bbr_update_ack_aggregation`.
    fn update_aggregation(&mut self, event: &DeliveryEvent) {
        let rounds = (self.rounds.count, EXTRA_ACKED_ROUNDS);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.update(event, self.btl_bw.bps, self.cwnd.bytes, rounds);
        }
    }

    /// Linux, `bbr_ack_aggregation_cwnd`.
    fn aggregated_bytes(&self) -> u64 {
        match &self.aggregation {
            Some(aggregation) if self.filled_pipe => {
                aggregation.extra_bytes.min(path::bytes_in(self.btl_bw.bps, EXTRA_ACKED_MAX_US))
            }
            _ => 0,
        }
    }

    /// §4.2.3.6.
    fn set_cwnd(&mut self, event: &DeliveryEvent) {
        let target = self.inflight_bytes(self.cwnd_gain) + self.aggregated_bytes();
        let min_pipe = self.min_pipe_bytes();
        // §4.2.3.4.
        if event.newly_lost_bytes > 0 {
            self.cwnd.bytes =
                self.cwnd.bytes.saturating_sub(event.newly_lost_bytes).max(self.sizes.mss_bytes);
        }
        if self.packet_conservation {
            // The minimum of §4.2.3.3 does not apply right after losses.
            let conserved = event.in_flight_bytes + event.newly_delivered_bytes;
            self.cwnd.bytes = self.cwnd.bytes.max(conserved);
        } else {
            self.cwnd.grow(event, target, self.filled_pipe);
            self.cwnd.bytes = self.cwnd.bytes.max(min_pipe);
        }
        // §4.2.3.5.
        if self.mode == Mode::ProbeRtt {
            self.cwnd.bytes = self.cwnd.bytes.min(min_pipe);
        }
    }
}

impl CongestionController for Bbr {
    /// BBRUpdateOnACK, §3.5.2.
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        self.rounds.update(event);
        // §4.2.3.4: conservation lasts for the first round of recovery.
        self.packet_conservation &= !self.rounds.is_start;
        self.btl_bw.update(event, self.rounds.count, BTL_BW_FILTER_ROUNDS);
        self.update_aggregation(event);
        self.update_phase(event);
        self.check_cycle_phase(event);
        self.check_full_pipe(event);
        self.check_drain(event);
        self.update_rt_prop(event);
        self.check_probe_rtt(event);
        self.pacing.on_rtt(event.srtt_us);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(event);
    }

    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        self.cwnd.save(self.mode == Mode::ProbeRtt);
    }

    /// §4.2.3.4.
    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.cwnd.on_retransmission_timeout(self.mode == Mode::ProbeRtt);
        self.packet_conservation = false;
    }

    /// §4.3.4.4: resumes at the bottleneck's bandwidth; an idle period does not replace ProbeRTT.
    fn on_restart(&mut self, event: &RestartEvent) {
        if event.is_app_limited {
            self.idle_restart = true;
            if let Some(aggregation) = &mut self.aggregation {
                aggregation.start_epoch(event.now_us);
            }
            if self.mode == Mode::ProbeBw {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn window_bytes(&self) -> u64 {
        self.cwnd.bytes
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        Some(self.sizes.with_headers(self.pacing.bps).max(1))
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn state_name(&self) -> &'static str {
        match self.mode {
            Mode::Startup => "STARTUP",
            Mode::Drain => "DRAIN",
            Mode::ProbeBw => "PROBE_BW",
            Mode::ProbeRtt => "PROBE_RTT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RateSample, SenderPhase};
    use super::*;

    const MSS: u64 = 1448;
    const RTT_US: u64 = 40_000;

    fn bbr() -> Bbr {
        Bbr::new(Form::Rfc, &ConnectionConfig::default(), 7)
    }

    /// Round `number` as one acknowledgement.
    fn round(bbr: &mut Bbr, number: u64, rate_bps: u64, in_flight_bytes: u64) {
        bbr.on_delivery(&DeliveryEvent {
            now_us: number * RTT_US,
            newly_delivered_bytes: 20 * MSS,
            total_delivered_bytes: (number + 1) * 20 * MSS,
            prior_in_flight_bytes: in_flight_bytes,
            in_flight_bytes,
            rtt_us: Some(RTT_US),
            srtt_us: RTT_US,
            rate: Some(RateSample {
                delivery_rate_bps: Some(rate_bps),
                delivered_bytes: 20 * MSS,
                prior_delivered_bytes: number * 20 * MSS,
                in_flight_at_send_bytes: in_flight_bytes,
                ..RateSample::default()
            }),
            is_window_limited: true,
            ..DeliveryEvent::default()
        });
    }

    #[test]
    fn a_plateau_of_three_rounds_ends_startup() {
        let mut bbr = bbr();
        for (number, rate_bps) in [5, 10, 20, 21, 21].into_iter().enumerate() {
            round(&mut bbr, number as u64, rate_bps * 1_000_000, 1 << 20);
            assert_eq!(bbr.state_name(), "STARTUP", "round {number}");
        }
        round(&mut bbr, 5, 21_000_000, 1 << 20);
        assert_eq!(bbr.state_name(), "DRAIN");
        // BDP: 21 Mbit/s × 40 ms = 105 kB, plus 3 quanta of two segments.
        round(&mut bbr, 6, 21_000_000, 113_700);
        assert_eq!(bbr.state_name(), "DRAIN");
        round(&mut bbr, 7, 21_000_000, 113_600);
        assert_eq!(bbr.state_name(), "PROBE_BW");
    }

    #[test]
    fn the_gain_cycle_never_starts_with_the_draining_phase() {
        for seed in 0..50 {
            let mut bbr = Bbr::new(Form::Rfc, &ConnectionConfig::default(), seed);
            bbr.enter_probe_bw(0);
            assert_ne!(bbr.cycle_index, 1, "seed {seed}");
        }
    }

    #[test]
    fn the_bandwidth_filter_forgets_after_ten_rounds() {
        let mut bbr = bbr();
        round(&mut bbr, 0, 50_000_000, 1 << 20);
        for number in 1..10 {
            round(&mut bbr, number, 10_000_000, 1 << 20);
        }
        assert_eq!(bbr.btl_bw.bps, 50_000_000);
        round(&mut bbr, 10, 10_000_000, 1 << 20);
        assert_eq!(bbr.btl_bw.bps, 10_000_000);
    }

    /// §4.2.3.4 and §4.2.3.6: the minimum window of four segments does not apply under packet
    /// conservation.
    #[test]
    fn the_first_round_of_recovery_conserves_packets() {
        let mut bbr = bbr();
        (0..4).for_each(|number| round(&mut bbr, number, 1_000_000, 8 * MSS));
        let event = DeliveryEvent {
            now_us: 5 * RTT_US,
            newly_delivered_bytes: MSS,
            newly_lost_bytes: 2 * MSS,
            total_delivered_bytes: 80 * MSS,
            prior_in_flight_bytes: 4 * MSS,
            in_flight_bytes: MSS,
            srtt_us: RTT_US,
            is_window_limited: true,
            phase: SenderPhase::Recovery,
            ..DeliveryEvent::default()
        };
        bbr.on_congestion_event(event.now_us, CongestionSignal::Loss);
        bbr.on_delivery(&event);
        assert_eq!(bbr.window_bytes(), 2 * MSS, "in flight and delivered");
        bbr.on_delivery(&DeliveryEvent { newly_lost_bytes: 0, phase: SenderPhase::Open, ..event });
        assert!(bbr.window_bytes() >= MIN_PIPE_SEGMENTS * MSS);
    }

    #[test]
    fn the_initial_rate_follows_the_first_round_trip() {
        let mut bbr = bbr();
        let before = bbr.pacing.bps;
        round(&mut bbr, 0, 1, 10 * MSS);
        // 10 segments in 40 ms, times 2.885; before, in 1 ms.
        assert!(before.abs_diff(40 * bbr.pacing.bps) < 1_000);
    }
}
