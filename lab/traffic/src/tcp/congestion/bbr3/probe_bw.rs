//! The cycle of ProbeBW, §4.3.3.

use super::super::DeliveryEvent;
use super::{Bbr3, BbrVersion, State, path};

/// §2.7, BBRHeadroom: share of the volume left to other flows.
const HEADROOM: f64 = 0.15;
/// §4.3.3.5: minimum time between two probes, for coexistence with Reno and Cubic …
const PROBE_WAIT_US: u64 = 2_000_000;
/// … and its random extension.
const PROBE_WAIT_JITTER_US: u64 = 1_000_000;
/// v2alpha, `bbr_bw_probe_pif_gain`: BDPs in flight that end UP.
const V2_UP_INFLIGHT_GAIN: f64 = 1.25;
/// §4.3.3.5.3: maximum round trips between two probes.
const RENO_ROUNDS: u64 = 63;

/// BBR.ack_phase: the part of the cycle in which the acknowledged data was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the bandwidth probing.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    pub(super) ack_phase: AckPhase,
    /// BBR.bw_probe_samples: losses and marks may be of data sent while probing.
    pub(super) samples: bool,
    pub(super) rounds_since: u64,
    wait_us: u64,
    cycle_stamp_us: u64,
    up_stamp_us: u64,
    up_rounds: u32,
    up_acked_bytes: u64,
    /// BBR.probe_up_cnt: bytes acknowledged per byte of growth; `None`: no growth.
    up_count: Option<u64>,
    /// v2alpha, `prev_probe_too_high`: the previous probe met too much loss or too many marks.
    pub(super) previous_too_high: bool,
    /// v2alpha, `stopped_risky_probe`: this probe ended at the bound that the previous one had set.
    stopped_at_bound: bool,
    /// v2alpha, `got_ok_bw_probe_sample`: a sample of this probe was within loss and marks.
    pub(super) is_ok: bool,
}

impl Bbr3 {
    pub(super) fn start_probe_bw_down(&mut self, now_us: u64, total_delivered_bytes: u64) {
        self.congestion.reset_signals();
        self.probe.up_count = None;
        // BBRPickProbeWait.
        self.probe.rounds_since = self.random.below(2);
        self.probe.wait_us = PROBE_WAIT_US + self.random.below(PROBE_WAIT_JITTER_US);
        self.probe.cycle_stamp_us = now_us;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.start_round(total_delivered_bytes);
        self.state = State::ProbeBwDown;
    }

    fn start_probe_bw_refill(&mut self, total_delivered_bytes: u64) {
        self.reset_lower_bounds();
        self.probe.up_rounds = 0;
        self.probe.up_acked_bytes = 0;
        self.probe.stopped_at_bound = false;
        self.probe.is_ok = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.start_round(total_delivered_bytes);
        self.state = State::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self, event: &DeliveryEvent) {
        self.probe.samples = true;
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.start_round(event.total_delivered_bytes);
        self.probe.up_stamp_us = event.now_us;
        self.reset_full_bw();
        self.full_bw_bps = event.rate.and_then(|it| it.delivery_rate_bps).unwrap_or(0);
        self.state = State::ProbeBwUp;
        self.raise_slope();
    }

    /// BBRUpdateProbeBWCyclePhase.
    pub(super) fn update_probe_bw_cycle(&mut self, event: &DeliveryEvent) {
        if !self.full_bw_reached {
            return;
        }
        self.adapt_upper_bounds(event);
        if self.is_probe_to_be_repeated() {
            self.start_probe_bw_refill(event.total_delivered_bytes);
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                if self.is_time_to_probe(event.now_us) {
                    self.start_probe_bw_refill(event.total_delivered_bytes);
                } else if self.is_time_to_cruise(event) {
                    self.state = State::ProbeBwCruise;
                }
            }
            State::ProbeBwCruise => {
                if self.is_time_to_probe(event.now_us) {
                    self.start_probe_bw_refill(event.total_delivered_bytes);
                }
            }
            State::ProbeBwRefill => {
                if self.rounds.is_start {
                    self.start_probe_bw_up(event);
                }
            }
            State::ProbeBwUp => {
                let is_done = match self.version {
                    BbrVersion::Two => self.has_v2_probed_enough(event),
                    BbrVersion::Three => self.is_time_to_go_down(event),
                };
                if is_done {
                    self.start_probe_bw_down(event.now_us, event.total_delivered_bytes);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// BBRIsTimeToProbeBW.
    fn is_time_to_probe(&self, now_us: u64) -> bool {
        // BBRIsRenoCoexistenceProbeTime: one round per segment of Reno's window.
        let reno_rounds = self.target_inflight_bytes() / self.sizes.mss_bytes.max(1);
        now_us > self.probe.cycle_stamp_us + self.probe.wait_us
            || self.probe.rounds_since >= reno_rounds.min(RENO_ROUNDS)
    }

    /// BBRIsTimeToCruise.
    fn is_time_to_cruise(&self, event: &DeliveryEvent) -> bool {
        self.inflight_with_headroom().is_none_or(|limit| event.in_flight_bytes <= limit)
            && event.in_flight_bytes <= self.quantized(self.max_bdp_bytes())
    }

    /// v2alpha, `bbr2_update_cycle_phase`: the probe reached the bound at which the previous one met too
    /// much loss, or after a minimum RTT 1.25 BDPs are in flight.
    fn has_v2_probed_enough(&mut self, event: &DeliveryEvent) -> bool {
        let in_flight = event.prior_in_flight_bytes + self.send_quantum_bytes();
        let at_bound = self.probe.previous_too_high
            && self.congestion.inflight_longterm.is_some_and(|limit| in_flight >= limit);
        let lasts_us = event.now_us.saturating_sub(self.probe.up_stamp_us);
        let queued = self.quantized(path::scaled(self.max_bdp_bytes(), V2_UP_INFLIGHT_GAIN));
        let is_queuing = lasts_us > self.min_rtt_us.unwrap_or(0) && in_flight >= queued;
        self.probe.stopped_at_bound |= at_bound;
        if at_bound || is_queuing {
            self.probe.previous_too_high = false;
        }
        at_bound || is_queuing
    }

    /// v2alpha, `bbr2_adapt_upper_bounds`: a probe that ended at the previous bound without loss is
    /// repeated as soon as its last samples are in.
    fn is_probe_to_be_repeated(&mut self) -> bool {
        let samples_are_in = self.state.is_probe_bw()
            && self.rounds.is_start
            && self.probe.ack_phase == AckPhase::Init;
        samples_are_in
            && std::mem::take(&mut self.probe.stopped_at_bound)
            && !self.probe.previous_too_high
    }

    /// BBRIsTimeToGoDown.
    fn is_time_to_go_down(&mut self, event: &DeliveryEvent) -> bool {
        let at_the_limit =
            self.congestion.inflight_longterm.is_some_and(|it| self.cwnd.bytes >= it);
        if event.is_window_limited && at_the_limit {
            // The bound on the volume limits the bandwidth, so the samples do not show a full pipe.
            self.reset_full_bw();
            self.full_bw_bps = event.rate.and_then(|it| it.delivery_rate_bps).unwrap_or(0);
            return false;
        }
        self.full_bw_now
    }

    /// BBRInflightWithHeadroom; `None`: no limit.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        self.congestion.inflight_longterm.map(|limit| {
            let headroom = ((limit as f64 * HEADROOM) as u64).max(self.sizes.mss_bytes);
            limit.saturating_sub(headroom).max(self.min_pipe_bytes())
        })
    }

    /// BBRRaiseInflightLongtermSlope: the growth of each round doubles.
    fn raise_slope(&mut self) {
        let growth = self.sizes.mss_bytes << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_count = Some((self.cwnd.bytes / growth.max(1)).max(1));
    }

    /// BBRProbeInflightLongtermUpward.
    fn probe_upward(&mut self, event: &DeliveryEvent) {
        let Some(limit) = self.congestion.inflight_longterm else { return };
        if !event.is_window_limited || self.cwnd.bytes < limit {
            return;
        }
        if let Some(count) = self.probe.up_count {
            self.probe.up_acked_bytes += event.newly_delivered_bytes;
            let growth = self.probe.up_acked_bytes / count;
            self.probe.up_acked_bytes -= growth * count;
            self.congestion.inflight_longterm = Some(limit.saturating_add(growth));
        }
        if self.rounds.is_start {
            self.raise_slope();
        }
    }

    /// BBRAdaptUpperBounds.
    fn adapt_upper_bounds(&mut self, event: &DeliveryEvent) {
        if self.rounds.is_start {
            match self.probe.ack_phase {
                AckPhase::ProbeStarting => self.probe.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.probe.samples = false;
                    // The draft never leaves this phase, so the filter would advance per round, not
                    // per cycle. Linux leaves it without advancing after app-limited samples, as after
                    // each PROBE_RTT: if queueing makes cycles longer than the PROBE_RTT interval, an
                    // obsolete bandwidth would never expire. Hence: wait for the first sample that is
                    // not app-limited.
                    if self.state.is_probe_bw() && event.rate.is_some_and(|it| !it.is_app_limited) {
                        self.probe.ack_phase = AckPhase::Init;
                        // §4.5.6, BBRAdvanceMaxBwFilter.
                        self.cycle_count += 1;
                    }
                }
                AckPhase::Init | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
            }
        }
        let Some(sample) = &event.rate else { return };
        if self.is_inflight_too_high(sample) {
            if self.probe.samples {
                self.handle_inflight_too_high(
                    sample.in_flight_at_send_bytes,
                    sample.is_app_limited,
                    event.now_us,
                    event.total_delivered_bytes,
                );
            }
            return;
        }
        self.probe.is_ok |= self.probe.samples;
        self.raise_upper_bandwidth(sample);
        if let Some(limit) = self.congestion.inflight_longterm {
            self.congestion.inflight_longterm = Some(limit.max(sample.in_flight_at_send_bytes));
            if self.state == State::ProbeBwUp {
                self.probe_upward(event);
            }
        }
    }
}
