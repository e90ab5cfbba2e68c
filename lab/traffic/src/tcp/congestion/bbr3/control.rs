//! Pacing rate and window, §4.6.

use super::super::DeliveryEvent;
use super::{Bbr3, State, path};

/// §4.6.2, BBRPacingMarginPercent: pace at 1 % below the bandwidth.
const PACING_MARGIN: f64 = 0.01;
/// §4.6.4.3, BBRMinPipeCwnd: segments.
const MIN_PIPE_SEGMENTS: u64 = 4;

impl Bbr3 {
    /// §4.6.2, BBRSetPacingRate.
    pub(super) fn set_pacing_rate(&mut self, event: &DeliveryEvent) {
        self.pacing.on_rtt(event.srtt_us);
        self.set_pacing_rate_with_gain(self.version.gains(self.state).pacing);
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let bps = path::scaled(self.bw_bps, gain * (1.0 - PACING_MARGIN));
        self.pacing.set(bps, self.full_bw_reached);
    }

    /// §4.6.3.
    pub(super) fn send_quantum_bytes(&self) -> u64 {
        path::bytes_in(self.pacing.bps, 1_000).min(64 << 10).max(2 * self.sizes.mss_bytes)
    }

    /// BBRBDPMultiple.
    pub(super) fn bdp_bytes(&self, gain: f64) -> u64 {
        match self.min_rtt_us {
            Some(min_rtt_us) => path::scaled(path::bytes_in(self.bw_bps, min_rtt_us), gain),
            None => self.sizes.initial_window_bytes,
        }
    }

    /// The BDP at the long-term bandwidth.
    pub(super) fn max_bdp_bytes(&self) -> u64 {
        match self.min_rtt_us {
            Some(min_rtt_us) => path::bytes_in(self.max_bw.bps, min_rtt_us),
            None => self.sizes.initial_window_bytes,
        }
    }

    pub(super) fn min_pipe_bytes(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.sizes.mss_bytes
    }

    /// BBRQuantizationBudget, with the offload budget of §4.5.8.
    pub(super) fn quantized(&self, inflight_bytes: u64) -> u64 {
        let least = (3 * self.send_quantum_bytes()).max(self.min_pipe_bytes());
        let extra = if self.state == State::ProbeBwUp { 2 * self.sizes.mss_bytes } else { 0 };
        inflight_bytes.max(least) + extra
    }

    /// BBRTargetInflight.
    pub(super) fn target_inflight_bytes(&self) -> u64 {
        self.bdp_bytes(1.0).min(self.cwnd.bytes)
    }

    /// BBRProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd_bytes(&self) -> u64 {
        self.bdp_bytes(self.version.gains(State::ProbeRtt).window).max(self.min_pipe_bytes())
    }

    /// §4.6.4.6, BBRSetCwnd.
    pub(super) fn set_cwnd(&mut self, event: &DeliveryEvent) {
        let gain = self.version.gains(self.state).window;
        let max_inflight = self.quantized(self.bdp_bytes(gain) + self.aggregation.extra_bytes);
        self.cwnd.grow(event, max_inflight, self.full_bw_reached);
        self.cwnd.bytes = self.cwnd.bytes.max(self.min_pipe_bytes());
        if self.state == State::ProbeRtt {
            self.cwnd.bytes = self.cwnd.bytes.min(self.probe_rtt_cwnd_bytes());
        }
        self.bound_cwnd_for_model();
    }

    /// §4.6.4.7, BBRBoundCwndForModel.
    fn bound_cwnd_for_model(&mut self) {
        let longterm = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => {
                self.congestion.inflight_longterm
            }
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = longterm
            .unwrap_or(u64::MAX)
            .min(self.congestion.inflight_shortterm.unwrap_or(u64::MAX))
            .max(self.min_pipe_bytes());
        self.cwnd.bytes = self.cwnd.bytes.min(cap);
    }
}
