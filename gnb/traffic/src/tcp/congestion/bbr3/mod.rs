//! BBR version 3, draft-ietf-ccwg-bbr-02.
//!
//! This file holds the state and the order of the steps; `model` measures bandwidth, round trip and
//! aggregation, `probe_bw` cycles through DOWN, CRUISE, REFILL and UP, `bounds` answers to loss and
//! marks, `control` sets rate and window.
//!
//! The draft has no answer to ECN; the one here is that of BBRv3 in Linux as presented to the IETF
//! (Cardwell et al., IETF 104 and 117): an EWMA of the fraction marked, which scales the lower bound
//! of the volume in flight, and a fraction above one half that counts as too much in flight. Linux
//! restricts it to paths with a round trip below 5 ms, which excludes every radio; here it is used
//! wherever the flow's configuration says so.
//!
//! A host without segmentation offload is assumed, as in [`super::Bbr`].

mod bounds;
mod control;
mod model;
mod probe_bw;

use super::aggregation::AckAggregation;
use super::filter::WindowedMax;
use super::path::{self, Sizes};
use super::{
    AckEvent, CongestionController, CongestionSignal, DeliveryEvent, LossEvent, RestartEvent,
    SenderPhase,
};
use crate::rng::SplitMix64;
use crate::tcp::config::{EcnMode, TcpConfig};
use bounds::Congestion;
use probe_bw::Probe;

/// §4.3.1.1, BBRStartupPacingGain: 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 2.77;
/// §4.3.2, BBRDrainPacingGain. The table of §4.6.1 has 0.5, the text and Linux 0.35.
const DRAIN_PACING_GAIN: f64 = 0.35;
/// §4.6.1, BBRDefaultCwndGain.
const DEFAULT_CWND_GAIN: f64 = 2.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState.
    fn is_probe_bw(self) -> bool {
        matches!(
            self,
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp
        )
    }

    /// BBRIsProbingBW.
    fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// §4.6.1: pacing gain and window gain.
    fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            Self::Drain => (DRAIN_PACING_GAIN, DEFAULT_CWND_GAIN),
            Self::ProbeBwDown => (0.9, DEFAULT_CWND_GAIN),
            Self::ProbeBwCruise | Self::ProbeBwRefill => (1.0, DEFAULT_CWND_GAIN),
            Self::ProbeBwUp => (1.25, 2.25),
            Self::ProbeRtt => (1.0, 0.5),
        }
    }
}

/// BBR with bounds on the volume in flight that loss and marks teach it.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    sizes: Sizes,
    random: SplitMix64,
    answers_marks: bool,
    state: State,

    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,

    max_bw_filter: WindowedMax,
    /// BBR.cycle_count: the clock of the filter.
    cycle_count: u64,
    max_bw_bps: u64,
    /// BBR.bw: `max_bw` within the short-term bound.
    bw_bps: u64,

    min_rtt_us: Option<u64>,
    min_rtt_stamp_us: u64,
    probe_rtt_min_us: Option<u64>,
    probe_rtt_min_stamp_us: u64,
    probe_rtt_expired: bool,
    probe_rtt_done_us: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,

    full_bw_bps: u64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,

    aggregation: AckAggregation,

    congestion: Congestion,
    probe: Probe,

    cwnd_bytes: u64,
    prior_cwnd_bytes: u64,
    phase: SenderPhase,
    /// Payload, bit/s.
    pacing_rate_bps: u64,
    has_seen_rtt: bool,
}

impl Bbr3 {
    /// BBROnInit, §4.2.1.
    pub fn new(config: &TcpConfig, seed: u64) -> Self {
        let sizes = Sizes::new(config);
        // §4.6.2: the round trip is taken for 1 ms until there is a sample.
        let nominal_bps = path::rate_bps(sizes.initial_window_bytes, 1_000);
        Self {
            sizes,
            random: SplitMix64::new(seed),
            answers_marks: config.ecn_mode() != EcnMode::Off,
            state: State::Startup,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            max_bw_filter: WindowedMax::default(),
            cycle_count: 0,
            max_bw_bps: 0,
            bw_bps: 0,
            min_rtt_us: None,
            min_rtt_stamp_us: 0,
            probe_rtt_min_us: None,
            probe_rtt_min_stamp_us: 0,
            probe_rtt_expired: false,
            probe_rtt_done_us: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            full_bw_bps: 0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            aggregation: AckAggregation::default(),
            congestion: Congestion::default(),
            probe: Probe::default(),
            cwnd_bytes: sizes.initial_window_bytes,
            prior_cwnd_bytes: 0,
            phase: SenderPhase::Open,
            pacing_rate_bps: path::scaled(nominal_bps, STARTUP_PACING_GAIN),
            has_seen_rtt: false,
        }
    }

    /// What changes with the sender's phase, §4.6.4.4.
    fn follow_phase(&mut self, event: &DeliveryEvent) {
        let in_recovery = |phase| matches!(phase, SenderPhase::Recovery | SenderPhase::Loss);
        let before = std::mem::replace(&mut self.phase, event.phase);
        if in_recovery(before) && !in_recovery(event.phase) {
            self.restore_cwnd();
        }
    }
}

impl CongestionController for Bbr3 {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    /// BBRUpdateOnACK, §4.2.3.
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        self.follow_phase(event);
        self.update_latest_delivery_signals(event);
        self.update_max_bw(event);
        self.update_congestion_signals(event);
        self.update_ack_aggregation(event);
        self.check_full_bw_reached(event);
        self.check_startup_done(event);
        self.check_drain_done(event);
        self.update_probe_bw_cycle(event);
        self.update_min_rtt(event);
        self.check_probe_rtt(event);
        self.advance_latest_delivery_signals(event);
        self.bound_bw_for_model();
        self.set_pacing_rate(event);
        self.set_cwnd(event);
    }

    /// BBRUpdateOnLoss, §4.2.4.
    fn on_loss(&mut self, event: &LossEvent) {
        self.handle_lost_segment(event);
    }

    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        self.save_cwnd();
    }

    /// §4.6.4.4, BBROnEnterRTO. What is still in flight the sender counts itself; it may send the
    /// one retransmission in any case.
    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.save_cwnd();
        self.phase = SenderPhase::Loss;
        self.cwnd_bytes = self.sizes.mss_bytes;
    }

    /// §4.4.1, BBRHandleRestartFromIdle.
    fn on_restart(&mut self, event: &RestartEvent) {
        if !event.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.move_start(event.now_us);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(event.now_us, 0);
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

    fn answers_marks(&self) -> bool {
        self.answers_marks
    }

    fn restrains_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn state_name(&self) -> &'static str {
        match self.state {
            State::Startup => "STARTUP",
            State::Drain => "DRAIN",
            State::ProbeBwDown => "PROBE_BW_DOWN",
            State::ProbeBwCruise => "PROBE_BW_CRUISE",
            State::ProbeBwRefill => "PROBE_BW_REFILL",
            State::ProbeBwUp => "PROBE_BW_UP",
            State::ProbeRtt => "PROBE_RTT",
        }
    }

    fn clone_box(&self) -> Box<dyn CongestionController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
