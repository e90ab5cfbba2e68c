//! BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! With `bbr_ack_aggregation` its window grows by what is acknowledged at once, as in Linux since 5.1
//! ("tcp_bbr: adapt cwnd based on ack aggregation estimation"); the draft does not have that. Without,
//! the window is two BDPs at the minimum RTT p plus three quanta Q. On a path whose usual unloaded RTT R
//! exceeds 2p (TDD, slots, aggregated acknowledgements), that holds the rate r at r·R = 2·r·p + Q, below
//! the bottleneck's rate.
//!
//! Left out: long-term bandwidth sampling, which is for token-bucket policers and is in Linux but
//! not in the draft. A host without segmentation offload is assumed: the send quantum (§4.2.2)
//! counts in the window as the draft has it, but datagrams leave one by one.

use super::aggregation::AckAggregation;
use super::filter::WindowedMax;
use super::path::{self, Sizes};
use super::{
    AckEvent, CongestionController, CongestionSignal, DeliveryEvent, RestartEvent, SenderPhase,
};
use crate::rng::SplitMix64;
use crate::tcp::config::TcpConfig;

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
/// §4.3.2.2: growth by less than a quarter …
const FULL_BW_GROWTH: f64 = 1.25;
/// … in so many rounds means the pipe is full.
const FULL_BW_ROUNDS: u32 = 3;

/// Linux, `bbr_extra_acked_win_rtts`: two windows of five rounds, of which the larger maximum counts.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Linux, `bbr_extra_acked_max_us`: the excess counts up to what the bandwidth carries in this time.
const EXTRA_ACKED_MAX_US: u64 = 100_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Paces at the bottleneck's bandwidth, with about one BDP in flight.
#[derive(Debug, Clone)]
pub struct Bbr {
    sizes: Sizes,
    random: SplitMix64,
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,

    btl_bw_filter: WindowedMax,
    btl_bw_bps: u64,
    rt_prop_us: Option<u64>,
    rt_prop_stamp_us: u64,
    rt_prop_expired: bool,

    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,

    filled_pipe: bool,
    full_bw_bps: u64,
    full_bw_count: u32,

    cycle_index: usize,
    cycle_stamp_us: u64,

    /// Absent where it is not to count.
    aggregation: Option<AckAggregation>,

    probe_rtt_done_us: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    cwnd_bytes: u64,
    prior_cwnd_bytes: u64,
    packet_conservation: bool,
    phase: SenderPhase,
    /// Payload, bit/s.
    pacing_rate_bps: u64,
    has_seen_rtt: bool,
}

impl Bbr {
    /// BBRInit, §4.3.1.
    pub fn new(config: &TcpConfig, seed: u64) -> Self {
        let sizes = Sizes::new(config);
        // §4.2.1: the round trip is taken for 1 ms until there is a sample.
        let nominal_bps = path::rate_bps(sizes.initial_window_bytes, 1_000);
        Self {
            sizes,
            random: SplitMix64::new(seed),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            btl_bw_filter: WindowedMax::default(),
            btl_bw_bps: 0,
            rt_prop_us: None,
            rt_prop_stamp_us: 0,
            rt_prop_expired: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            filled_pipe: false,
            full_bw_bps: 0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp_us: 0,
            aggregation: config.bbr_ack_aggregation.then(AckAggregation::default),
            probe_rtt_done_us: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            cwnd_bytes: sizes.initial_window_bytes,
            prior_cwnd_bytes: 0,
            packet_conservation: false,
            phase: SenderPhase::Open,
            pacing_rate_bps: path::scaled(nominal_bps, HIGH_GAIN),
            has_seen_rtt: false,
        }
    }

    /// §4.1.1.3.
    fn update_round(&mut self, event: &DeliveryEvent) {
        self.round_start =
            event.rate.is_some_and(|it| it.prior_delivered_bytes >= self.next_round_delivered);
        if self.round_start {
            self.next_round_delivered = event.total_delivered_bytes;
            self.round_count += 1;
            // §4.2.3.4: conservation lasts for the first round of recovery.
            self.packet_conservation = false;
        }
    }

    /// §4.1.1.5.
    fn update_btl_bw(&mut self, event: &DeliveryEvent) {
        let Some(sample) = &event.rate else { return };
        let Some(rate_bps) = sample.delivery_rate_bps else { return };
        if rate_bps >= self.btl_bw_bps || !sample.is_app_limited {
            self.btl_bw_bps =
                self.btl_bw_filter.update(self.round_count, rate_bps, BTL_BW_FILTER_ROUNDS);
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

    /// §4.3.4.3: begins anywhere in the cycle but in the phase that drains.
    fn enter_probe_bw(&mut self, now_us: u64) {
        self.mode = Mode::ProbeBw;
        self.pacing_gain = 1.0;
        self.cwnd_gain = CWND_GAIN;
        self.cycle_index = PACING_GAIN_CYCLE.len() - 1 - self.random.below(7) as usize;
        self.advance_cycle_phase(now_us);
    }

    fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        self.pacing_gain = HIGH_GAIN;
        self.cwnd_gain = HIGH_GAIN;
    }

    /// §4.3.2.2.
    fn check_full_pipe(&mut self, event: &DeliveryEvent) {
        let app_limited = event.rate.is_none_or(|sample| sample.is_app_limited);
        if self.filled_pipe || !self.round_start || app_limited {
            return;
        }
        if self.btl_bw_bps as f64 >= self.full_bw_bps as f64 * FULL_BW_GROWTH {
            self.full_bw_bps = self.btl_bw_bps;
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
            self.save_cwnd();
            self.probe_rtt_done_us = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.handle_probe_rtt(event);
        }
        self.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, event: &DeliveryEvent) {
        match self.probe_rtt_done_us {
            None => {
                if event.in_flight_bytes <= self.min_pipe_bytes() {
                    self.probe_rtt_done_us = Some(event.now_us + PROBE_RTT_DURATION_US);
                    self.probe_rtt_round_done = false;
                    self.next_round_delivered = event.total_delivered_bytes;
                }
            }
            Some(done_us) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && event.now_us > done_us {
                    self.rt_prop_stamp_us = event.now_us;
                    self.restore_cwnd();
                    if self.filled_pipe {
                        self.enter_probe_bw(event.now_us);
                    } else {
                        self.enter_startup();
                    }
                }
            }
        }
    }

    /// §4.2.1.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate_bps = path::scaled(self.btl_bw_bps, gain);
        if self.filled_pipe || rate_bps > self.pacing_rate_bps {
            self.pacing_rate_bps = rate_bps;
        }
    }

    /// §4.2.1: the first RTT takes the place of the millisecond that was assumed.
    fn init_pacing_rate(&mut self, event: &DeliveryEvent) {
        if !self.has_seen_rtt && event.srtt_us > 0 {
            self.has_seen_rtt = true;
            let nominal_bps = path::rate_bps(self.sizes.initial_window_bytes, event.srtt_us);
            self.pacing_rate_bps = path::scaled(nominal_bps, HIGH_GAIN);
        }
    }

    /// §4.2.2.
    fn send_quantum_bytes(&self) -> u64 {
        match self.pacing_rate_bps {
            ..1_200_000 => self.sizes.mss_bytes,
            1_200_000..24_000_000 => 2 * self.sizes.mss_bytes,
            rate_bps => path::bytes_in(rate_bps, 1_000).min(64 << 10),
        }
    }

    /// §4.2.3.2.
    fn inflight_bytes(&self, gain: f64) -> u64 {
        let Some(rt_prop_us) = self.rt_prop_us else { return self.sizes.initial_window_bytes };
        let bdp = path::bytes_in(self.btl_bw_bps, rt_prop_us);
        path::scaled(bdp, gain) + 3 * self.send_quantum_bytes()
    }

    fn min_pipe_bytes(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.sizes.mss_bytes
    }

    /// §4.2.3.4: the last window known to be good.
    fn save_cwnd(&mut self) {
        let in_recovery = matches!(self.phase, SenderPhase::Recovery | SenderPhase::Loss);
        if in_recovery || self.mode == Mode::ProbeRtt {
            self.prior_cwnd_bytes = self.prior_cwnd_bytes.max(self.cwnd_bytes);
        } else {
            self.prior_cwnd_bytes = self.cwnd_bytes;
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd_bytes = self.cwnd_bytes.max(self.prior_cwnd_bytes);
    }

    /// §4.2.3.4: what changes with the sender's phase.
    fn follow_phase(&mut self, event: &DeliveryEvent) {
        let before = std::mem::replace(&mut self.phase, event.phase);
        let in_recovery = |phase| matches!(phase, SenderPhase::Recovery | SenderPhase::Loss);
        if event.phase == SenderPhase::Recovery && before != SenderPhase::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = event.total_delivered_bytes;
            self.cwnd_bytes =
                event.in_flight_bytes + event.newly_delivered_bytes.max(self.sizes.mss_bytes);
        } else if in_recovery(before) && !in_recovery(event.phase) {
            self.packet_conservation = false;
            self.restore_cwnd();
        }
    }

    /// Linux, `bbr_update_ack_aggregation`.
    fn update_aggregation(&mut self, event: &DeliveryEvent) {
        let rounds = (self.round_count, EXTRA_ACKED_ROUNDS);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.update(event, self.btl_bw_bps, self.cwnd_bytes, rounds);
        }
    }

    /// Linux, `bbr_ack_aggregation_cwnd`.
    fn aggregated_bytes(&self) -> u64 {
        match &self.aggregation {
            Some(aggregation) if self.filled_pipe => {
                aggregation.extra_bytes().min(path::bytes_in(self.btl_bw_bps, EXTRA_ACKED_MAX_US))
            }
            _ => 0,
        }
    }

    /// §4.2.3.6.
    fn set_cwnd(&mut self, event: &DeliveryEvent) {
        let target = self.inflight_bytes(self.cwnd_gain) + self.aggregated_bytes();
        let delivered = event.newly_delivered_bytes;
        // §4.2.3.4.
        if event.newly_lost_bytes > 0 {
            self.cwnd_bytes =
                self.cwnd_bytes.saturating_sub(event.newly_lost_bytes).max(self.sizes.mss_bytes);
        }
        if self.packet_conservation {
            // Without the floor of §4.2.3.3, which does not hold right after losses.
            self.cwnd_bytes = self.cwnd_bytes.max(event.in_flight_bytes + delivered);
        } else {
            if self.filled_pipe {
                self.cwnd_bytes = (self.cwnd_bytes + delivered).min(target);
            } else if self.cwnd_bytes < target
                || event.total_delivered_bytes < self.sizes.initial_window_bytes
            {
                self.cwnd_bytes += delivered;
            }
            self.cwnd_bytes = self.cwnd_bytes.max(self.min_pipe_bytes());
        }
        // §4.2.3.5.
        if self.mode == Mode::ProbeRtt {
            self.cwnd_bytes = self.cwnd_bytes.min(self.min_pipe_bytes());
        }
    }
}

impl CongestionController for Bbr {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    /// BBRUpdateOnACK, §3.5.2.
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        self.update_round(event);
        self.update_btl_bw(event);
        self.update_aggregation(event);
        self.follow_phase(event);
        self.check_cycle_phase(event);
        self.check_full_pipe(event);
        self.check_drain(event);
        self.update_rt_prop(event);
        self.check_probe_rtt(event);
        self.init_pacing_rate(event);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(event);
    }

    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        self.save_cwnd();
    }

    /// §4.2.3.4.
    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.save_cwnd();
        self.phase = SenderPhase::Loss;
        self.packet_conservation = false;
        self.cwnd_bytes = self.sizes.mss_bytes;
    }

    /// §4.3.4.4: paces at the bottleneck's bandwidth and does not take the pause for a chance to
    /// measure.
    fn on_restart(&mut self, event: &RestartEvent) {
        if event.is_app_limited {
            self.idle_restart = true;
            if let Some(aggregation) = &mut self.aggregation {
                aggregation.begin_epoch(event.now_us);
            }
            if self.mode == Mode::ProbeBw {
                self.set_pacing_rate(1.0);
            }
        }
    }

    fn window_bytes(&self) -> u64 {
        self.cwnd_bytes
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        None
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        Some(self.sizes.on_the_wire(self.pacing_rate_bps).max(1))
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn restrains_itself(&self) -> bool {
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

    fn clone_box(&self) -> Box<dyn CongestionController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::RateSample;
    use super::*;

    const MSS: u64 = 1448;
    const RTT_US: u64 = 40_000;

    fn bbr() -> Bbr {
        Bbr::new(&TcpConfig::default(), 7)
    }

    /// One acknowledgement a round of a path with this rate.
    fn round(bbr: &mut Bbr, number: u64, rate_bps: u64, in_flight_bytes: u64) {
        bbr.on_delivery(&DeliveryEvent {
            now_us: number * RTT_US,
            newly_delivered_bytes: 20 * MSS,
            newly_lost_bytes: 0,
            newly_ce_bytes: 0,
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
                lost_bytes: 0,
                ce_bytes: 0,
                is_app_limited: false,
            }),
            is_window_limited: true,
            phase: SenderPhase::Open,
            una: 0,
            next: 0,
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
        // BDP: 21 Mbit/s × 40 ms = 105 kB; 3 quanta of two segments beside it.
        round(&mut bbr, 6, 21_000_000, 113_700);
        assert_eq!(bbr.state_name(), "DRAIN");
        round(&mut bbr, 7, 21_000_000, 113_600);
        assert_eq!(bbr.state_name(), "PROBE_BW");
    }

    #[test]
    fn the_gain_cycle_never_begins_with_the_drain() {
        for seed in 0..50 {
            let mut bbr = Bbr::new(&TcpConfig::default(), seed);
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
        assert_eq!(bbr.btl_bw_bps, 50_000_000);
        round(&mut bbr, 10, 10_000_000, 1 << 20);
        assert_eq!(bbr.btl_bw_bps, 10_000_000);
    }

    /// §4.2.3.4 and §4.2.3.6: four segments are the least window, but not while what leaves is what was
    /// delivered.
    #[test]
    fn the_first_round_of_a_recovery_sends_what_is_delivered_and_no_more() {
        let mut bbr = bbr();
        (0..4).for_each(|number| round(&mut bbr, number, 1_000_000, 8 * MSS));
        let event = DeliveryEvent {
            now_us: 5 * RTT_US,
            newly_delivered_bytes: MSS,
            newly_lost_bytes: 2 * MSS,
            newly_ce_bytes: 0,
            total_delivered_bytes: 80 * MSS,
            prior_in_flight_bytes: 4 * MSS,
            in_flight_bytes: MSS,
            rtt_us: None,
            srtt_us: RTT_US,
            rate: None,
            is_window_limited: true,
            phase: SenderPhase::Recovery,
            una: 0,
            next: 0,
        };
        bbr.on_congestion_event(event.now_us, CongestionSignal::Loss);
        bbr.on_delivery(&event);
        assert_eq!(bbr.window_bytes(), 2 * MSS, "what is in flight and what was delivered");
        bbr.on_delivery(&DeliveryEvent { newly_lost_bytes: 0, phase: SenderPhase::Open, ..event });
        assert!(bbr.window_bytes() >= MIN_PIPE_SEGMENTS * MSS);
    }

    #[test]
    fn the_initial_rate_follows_the_first_round_trip() {
        let mut bbr = bbr();
        let before = bbr.pacing_rate_bps;
        round(&mut bbr, 0, 1, 10 * MSS);
        // 10 segments in 40 ms, times 2.885; before, in 1 ms.
        assert!(before.abs_diff(40 * bbr.pacing_rate_bps) < 1_000);
    }
}
