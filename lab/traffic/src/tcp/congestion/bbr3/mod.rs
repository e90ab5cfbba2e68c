//! BBR version 3, draft-ietf-ccwg-bbr-02, and version 2, of which it is a revision.
//!
//! This file holds the state and the order of the steps; `model` estimates bandwidth, RTT and
//! aggregation, `probe_bw` cycles through DOWN, CRUISE, REFILL and UP, `bounds` handles loss and marks,
//! `control` sets pacing rate and window, `version` has what is different in version 2. Sections are those
//! of version 3.
//!
//! The draft does not define ECN. This follows BBRv3 in Linux as presented to the IETF (Cardwell et
//! al., IETF 104 and 117): an EWMA of the fraction marked scales the lower bound of the data in flight,
//! and a fraction above one half counts as too much in flight. Linux enables it below 5 ms RTT only,
//! which excludes every radio; here the flow's configuration enables it.
//!
//! The host has no segmentation offload, as in [`super::Bbr`].

mod bounds;
mod control;
mod model;
mod probe_bw;
mod version;

use super::path::{self, AckAggregation, MaxBandwidth, PacingRate, Rounds, Sizes, Window};
use super::{
    CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, LossEvent,
    RestartEvent,
};
use crate::rng::Rng;
use bounds::Congestion;
use probe_bw::Probe;
pub use version::BbrVersion;

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
}

/// BBR v3 and v2.
#[derive(Debug, Clone)]
pub struct Bbr3 {
    version: BbrVersion,
    sizes: Sizes,
    random: Rng,
    handles_ecn: bool,
    state: State,

    rounds: Rounds,
    max_bw: MaxBandwidth,
    /// BBR.cycle_count: the clock of the bandwidth filter.
    cycle_count: u64,
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
    cwnd: Window,
    pacing: PacingRate,
}

impl Bbr3 {
    /// BBROnInit, §4.2.1.
    pub fn new(version: BbrVersion, connection: &ConnectionConfig, seed: u64) -> Self {
        let sizes = Sizes::new(connection);
        Self {
            version,
            sizes,
            random: Rng::new(seed),
            handles_ecn: connection.ecn,
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxBandwidth::default(),
            cycle_count: 0,
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
            congestion: Congestion::new(),
            probe: Probe::default(),
            cwnd: Window::new(sizes),
            pacing: PacingRate::new(&sizes, version.gains(State::Startup).pacing),
        }
    }
}

impl CongestionController for Bbr3 {
    /// BBRUpdateOnACK, §4.2.3.
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        // §4.6.4.4.
        self.cwnd.set_phase(event.phase);
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
        self.cwnd.save(self.state == State::ProbeRtt);
    }

    /// §4.6.4.4, BBROnEnterRTO.
    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.cwnd.on_retransmission_timeout(self.state == State::ProbeRtt);
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
        self.cwnd.bytes
    }

    fn pacing_rate_bps(&self) -> Option<u64> {
        Some(self.sizes.with_headers(self.pacing.bps).max(1))
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn handles_ecn(&self) -> bool {
        self.handles_ecn
    }

    fn limits_itself(&self) -> bool {
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
}

#[cfg(test)]
mod tests;
