//! Pacing rate and window, §4.6.

use super::super::{DeliveryEvent, SenderPhase};
use super::{Bbr3, STARTUP_PACING_GAIN, State, path};

/// §4.6.2, BBRPacingMarginPercent: pace at 1 % below the bandwidth.
const PACING_MARGIN: f64 = 0.01;
/// §4.6.4.3, BBRMinPipeCwnd: segments.
const MIN_PIPE_SEGMENTS: u64 = 4;

impl Bbr3 {
    /// §4.6.2, BBRSetPacingRate; the first RTT takes the place of the millisecond assumed.
    pub(super) fn set_pacing_rate(&mut self, event: &DeliveryEvent) {
        if !self.has_seen_rtt && event.srtt_us > 0 {
            self.has_seen_rtt = true;
            let nominal_bps = path::rate_bps(self.sizes.initial_window_bytes, event.srtt_us);
            self.pacing_rate_bps = path::scaled(nominal_bps, STARTUP_PACING_GAIN);
        }
        self.set_pacing_rate_with_gain(self.state.gains().0);
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate_bps = path::scaled(self.bw_bps, gain * (1.0 - PACING_MARGIN));
        if self.full_bw_reached || rate_bps > self.pacing_rate_bps {
            self.pacing_rate_bps = rate_bps;
        }
    }

    /// §4.6.3.
    fn send_quantum_bytes(&self) -> u64 {
        path::bytes_in(self.pacing_rate_bps, 1_000).min(64 << 10).max(2 * self.sizes.mss_bytes)
    }

    /// BBRBDPMultiple.
    pub(super) fn bdp_bytes(&self, gain: f64) -> u64 {
        match self.min_rtt_us {
            Some(min_rtt_us) => path::scaled(path::bytes_in(self.bw_bps, min_rtt_us), gain),
            None => self.sizes.initial_window_bytes,
        }
    }

    /// The BDP by the long-term bandwidth.
    pub(super) fn max_bdp_bytes(&self) -> u64 {
        match self.min_rtt_us {
            Some(min_rtt_us) => path::bytes_in(self.max_bw_bps, min_rtt_us),
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
        self.bdp_bytes(1.0).min(self.cwnd_bytes)
    }

    /// BBRProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd_bytes(&self) -> u64 {
        self.bdp_bytes(State::ProbeRtt.gains().1).max(self.min_pipe_bytes())
    }

    /// §4.6.4.4, BBRSaveCwnd.
    pub(super) fn save_cwnd(&mut self) {
        let in_recovery = matches!(self.phase, SenderPhase::Recovery | SenderPhase::Loss);
        if in_recovery || self.state == State::ProbeRtt {
            self.prior_cwnd_bytes = self.prior_cwnd_bytes.max(self.cwnd_bytes);
        } else {
            self.prior_cwnd_bytes = self.cwnd_bytes;
        }
    }

    /// BBRRestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd_bytes = self.cwnd_bytes.max(self.prior_cwnd_bytes);
    }

    /// §4.6.4.6, BBRSetCwnd.
    pub(super) fn set_cwnd(&mut self, event: &DeliveryEvent) {
        let max_inflight =
            self.quantized(self.bdp_bytes(self.state.gains().1) + self.aggregation.extra_bytes());
        if self.full_bw_reached {
            self.cwnd_bytes = (self.cwnd_bytes + event.newly_delivered_bytes).min(max_inflight);
        } else if self.cwnd_bytes < max_inflight
            || event.total_delivered_bytes < self.sizes.initial_window_bytes
        {
            self.cwnd_bytes += event.newly_delivered_bytes;
        }
        self.cwnd_bytes = self.cwnd_bytes.max(self.min_pipe_bytes());
        if self.state == State::ProbeRtt {
            self.cwnd_bytes = self.cwnd_bytes.min(self.probe_rtt_cwnd_bytes());
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
        self.cwnd_bytes = self.cwnd_bytes.min(cap);
    }
}
