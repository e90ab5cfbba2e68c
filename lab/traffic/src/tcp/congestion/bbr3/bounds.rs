//! Response to loss and marks: bounds on bandwidth and volume in flight, §4.5.10.

use super::super::{DeliveryEvent, LossEvent, RateSample, SenderPhase};
use super::{Bbr3, BbrVersion, State};

/// §2.7, BBRLossThresh: maximum tolerated loss rate per round.
const LOSS_THRESH: f64 = 0.02;
/// §2.7, BBRBeta: maximum cut of a bound, Cubic's multiplicative decrease.
pub(super) const BETA: f64 = 0.7;
/// BBRv3 in Linux, `bbr_ecn_alpha_gain`: 1/16.
const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
/// `bbr_ecn_factor`: share of alpha by which marks cut the volume.
const ECN_FACTOR: f64 = 1.0 / 3.0;
/// `bbr_ecn_thresh`: maximum tolerated fraction marked.
const ECN_THRESH: f64 = 0.5;
/// `bbr_full_ecn_cnt`: rounds above the threshold that end Startup.
const STARTUP_FULL_ECN_ROUNDS: u32 = 2;

/// Congestion signals of this round and the bounds they set. `None`: unbounded.
#[derive(Debug, Clone, Default)]
pub(super) struct Congestion {
    loss_in_round: bool,
    loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    bw_latest_bps: u64,
    inflight_latest_bytes: u64,

    pub(super) bw_shortterm_bps: Option<u64>,
    /// v2alpha, `bw_hi`: set by marks while probing.
    pub(super) bw_longterm_bps: Option<u64>,
    pub(super) inflight_shortterm: Option<u64>,
    pub(super) inflight_longterm: Option<u64>,

    /// Losses of this round, as [`BbrVersion::startup_full_losses`] counts them.
    losses: u32,
    /// End of the latest segment marked lost.
    lost_end_seq: u64,
    /// The latest complete round began in fast recovery.
    began_in_recovery: bool,

    ce_in_round: bool,
    /// EWMA of the fraction marked.
    pub(super) ecn_alpha: f64,
    round_ce_bytes: u64,
    round_delivered_bytes: u64,
    startup_ecn_rounds: u32,
}

impl Congestion {
    /// The first mark counts in full, as in DCTCP and Prague.
    pub(super) fn new() -> Self {
        Self { ecn_alpha: 1.0, ..Self::default() }
    }

    /// BBRResetCongestionSignals.
    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.ce_in_round = false;
        self.bw_latest_bps = 0;
        self.inflight_latest_bytes = 0;
    }
}

impl Bbr3 {
    /// BBRUpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery_signals(&mut self, event: &DeliveryEvent) {
        let it = &mut self.congestion;
        it.loss_round_start = false;
        let Some(sample) = &event.rate else { return };
        it.bw_latest_bps = it.bw_latest_bps.max(sample.delivery_rate_bps.unwrap_or(0));
        it.inflight_latest_bytes = it.inflight_latest_bytes.max(sample.delivered_bytes);
        if sample.prior_delivered_bytes >= it.loss_round_delivered {
            it.loss_round_delivered = event.total_delivered_bytes;
            it.loss_round_start = true;
        }
    }

    /// BBRAdvanceLatestDeliverySignals.
    pub(super) fn advance_latest_delivery_signals(&mut self, event: &DeliveryEvent) {
        if let (true, Some(sample)) = (self.congestion.loss_round_start, &event.rate) {
            self.congestion.bw_latest_bps = sample.delivery_rate_bps.unwrap_or(0);
            self.congestion.inflight_latest_bytes = sample.delivered_bytes;
        }
    }

    /// BBRUpdateCongestionSignals, after BBRUpdateMaxBw.
    pub(super) fn update_congestion_signals(&mut self, event: &DeliveryEvent) {
        if self.handles_ecn {
            self.update_ecn_alpha(event);
        }
        if !self.congestion.loss_round_start {
            return;
        }
        if !self.state.is_probing() {
            self.adapt_lower_bounds();
        }
        self.congestion.loss_in_round = false;
        self.congestion.ce_in_round = false;
    }

    /// Averages the fraction marked over rounds.
    fn update_ecn_alpha(&mut self, event: &DeliveryEvent) {
        let it = &mut self.congestion;
        it.round_ce_bytes += event.newly_ce_bytes;
        it.round_delivered_bytes += event.newly_delivered_bytes;
        it.ce_in_round |= event.newly_ce_bytes > 0;
        if !self.rounds.is_start || it.round_delivered_bytes == 0 {
            return;
        }
        let fraction = (it.round_ce_bytes as f64 / it.round_delivered_bytes as f64).min(1.0);
        it.ecn_alpha += ECN_ALPHA_GAIN * (fraction - it.ecn_alpha);
        it.startup_ecn_rounds = if fraction >= ECN_THRESH { it.startup_ecn_rounds + 1 } else { 0 };
        it.round_ce_bytes = 0;
        it.round_delivered_bytes = 0;
    }

    /// BBRAdaptLowerBoundsFromCongestion.
    fn adapt_lower_bounds(&mut self) {
        let (cwnd_bytes, max_bw_bps) = (self.cwnd.bytes, self.max_bw.bps);
        let it = &mut self.congestion;
        if !it.loss_in_round && !it.ce_in_round {
            return;
        }
        // BBRInitLowerBounds.
        let bw_bps = it.bw_shortterm_bps.unwrap_or(max_bw_bps);
        let inflight = it.inflight_shortterm.unwrap_or(cwnd_bytes);
        let (mut lower, mut ecn_bps) = (inflight, u64::MAX);
        if it.ce_in_round {
            // Linux, `bbr_ecn_lower_bounds`: marks cut the volume, in version 3 not the rate.
            let kept = 1.0 - it.ecn_alpha * ECN_FACTOR;
            lower = (inflight as f64 * kept) as u64;
            if self.version == BbrVersion::Two {
                // v2alpha, `bbr_ecn_bw_lo`.
                ecn_bps = (bw_bps as f64 * kept) as u64;
            }
        }
        if it.loss_in_round {
            // BBRLossLowerBounds.
            it.bw_shortterm_bps = Some(it.bw_latest_bps.max((bw_bps as f64 * BETA) as u64));
            lower = lower.min(it.inflight_latest_bytes.max((inflight as f64 * BETA) as u64));
        }
        if ecn_bps < it.bw_shortterm_bps.unwrap_or(u64::MAX) {
            it.bw_shortterm_bps = Some(ecn_bps);
        }
        it.inflight_shortterm = Some(lower);
    }

    /// BBRResetLowerBounds.
    pub(super) fn reset_lower_bounds(&mut self) {
        self.congestion.bw_shortterm_bps = None;
        self.congestion.inflight_shortterm = None;
    }

    /// BBRBoundBWForModel.
    pub(super) fn bound_bw_for_model(&mut self) {
        let it = &self.congestion;
        let bounds = [it.bw_shortterm_bps, it.bw_longterm_bps];
        self.bw_bps = bounds.into_iter().flatten().fold(self.max_bw.bps, u64::min);
    }

    /// IsInflightTooHigh.
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        let too_much_lost =
            sample.lost_bytes as f64 > sample.in_flight_at_send_bytes as f64 * LOSS_THRESH;
        let too_much_marked = self.handles_ecn
            && sample.delivered_bytes > 0
            && sample.ce_bytes as f64 > sample.delivered_bytes as f64 * ECN_THRESH;
        too_much_lost || too_much_marked
    }

    /// BBRHandleInflightTooHigh.
    pub(super) fn handle_inflight_too_high(
        &mut self,
        inflight_bytes: u64,
        is_app_limited: bool,
        now_us: u64,
        total_delivered_bytes: u64,
    ) {
        self.probe.samples = false;
        self.probe.previous_too_high = true;
        if !is_app_limited {
            self.cut_upper_bandwidth();
            let floor = (self.target_inflight_bytes() as f64 * BETA) as u64;
            self.congestion.inflight_longterm = Some(inflight_bytes.max(floor));
        }
        if self.state == State::ProbeBwUp {
            self.start_probe_bw_down(now_us, total_delivered_bytes);
        }
    }

    /// v2alpha, `bbr2_handle_inflight_too_high_via_ecn`, with `bbr_ecn_bw_hi`.
    fn cut_upper_bandwidth(&mut self) {
        if self.version == BbrVersion::Two && self.handles_ecn && !self.probe.is_ok {
            let it = &mut self.congestion;
            let bps = it.bw_longterm_bps.unwrap_or(self.max_bw.bps) as f64;
            it.bw_longterm_bps = Some((bps * (1.0 - it.ecn_alpha * ECN_FACTOR)) as u64);
        }
    }

    /// A higher bandwidth proved safe.
    pub(super) fn raise_upper_bandwidth(&mut self, sample: &RateSample) {
        if let (Some(bound), Some(bps)) =
            (&mut self.congestion.bw_longterm_bps, sample.delivery_rate_bps)
        {
            *bound = (*bound).max(bps);
        }
    }

    /// BBRHandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, event: &LossEvent) {
        let it = &mut self.congestion;
        // BBRNoteLoss.
        if !it.loss_in_round {
            it.loss_round_delivered = event.total_delivered_bytes;
        }
        it.loss_in_round = true;
        if self.version == BbrVersion::Three && event.seq != it.lost_end_seq {
            it.losses += 1;
        }
        it.lost_end_seq = event.seq + event.len_bytes;

        let in_flight = event.in_flight_at_send_bytes as f64;
        if !self.probe.samples || event.lost_since_send_bytes as f64 <= in_flight * LOSS_THRESH {
            return;
        }
        // BBRInflightLongtermFromLostPacket: the byte of the segment that crossed the threshold.
        let len = event.len_bytes as f64;
        let inflight_prev = (in_flight - len).max(0.0);
        let lost_prev = event.lost_since_send_bytes as f64 - len;
        let lost_prefix = (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH);
        let inflight = (inflight_prev + lost_prefix).max(0.0) as u64;
        self.handle_inflight_too_high(
            inflight,
            event.is_app_limited,
            event.now_us,
            event.total_delivered_bytes,
        );
    }

    /// §4.3.1.3, BBRCheckStartupHighLoss, and the same for marks: congestion ends Startup.
    pub(super) fn check_startup_congestion(&mut self, event: &DeliveryEvent) {
        let in_recovery = event.phase == SenderPhase::Recovery;
        if self.state == State::Startup && !self.full_bw_reached {
            let is_v2 = self.version == BbrVersion::Two;
            if is_v2 && event.newly_lost_bytes > 0 {
                self.congestion.losses += 1;
            }
            let it = &self.congestion;
            let lossy = it.loss_round_start
                && in_recovery
                && (is_v2 || it.began_in_recovery)
                && it.losses >= self.version.startup_full_losses()
                && event.rate.is_some_and(|sample| self.is_inflight_too_high(&sample));
            if lossy || it.startup_ecn_rounds >= STARTUP_FULL_ECN_ROUNDS {
                self.full_bw_reached = true;
                let latest = if is_v2 { 0 } else { self.congestion.inflight_latest_bytes };
                let safe = self.bdp_bytes(1.0).max(latest);
                self.congestion.inflight_longterm = Some(safe);
            }
        }
        if self.congestion.loss_round_start {
            self.congestion.losses = 0;
            self.congestion.began_in_recovery = in_recovery;
        }
    }
}
