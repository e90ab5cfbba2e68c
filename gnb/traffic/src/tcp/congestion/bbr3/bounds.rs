//! The answer to congestion: bounds on bandwidth and volume, §4.5.10.

use super::super::{DeliveryEvent, LossEvent, RateSample, SenderPhase};
use super::{Bbr3, State};

/// §2.7, BBRLossThresh: the loss rate per round that is too much.
const LOSS_THRESH: f64 = 0.02;
/// §2.7, BBRBeta: a bound is cut by no more than Cubic cuts its window.
pub(super) const BETA: f64 = 0.7;
/// §4.3.1.3, BBRStartupFullLossCnt: discontiguous ranges lost in one round of Startup.
const STARTUP_FULL_LOSS_RANGES: u32 = 6;
/// BBRv3 in Linux, `bbr_ecn_alpha_gain`: 1/16.
const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
/// `bbr_ecn_factor`: the share of alpha by which the volume is cut.
const ECN_FACTOR: f64 = 1.0 / 3.0;
/// `bbr_ecn_thresh`: the fraction marked that is too much.
const ECN_THRESH: f64 = 0.5;
/// `bbr_full_ecn_cnt`: rounds above it that end Startup.
const STARTUP_FULL_ECN_ROUNDS: u32 = 2;

/// Signals of the present round and the bounds they led to. A bound that is `None` is infinite.
#[derive(Debug, Clone)]
pub(super) struct Congestion {
    loss_in_round: bool,
    loss_round_delivered: u64,
    pub(super) loss_round_start: bool,
    bw_latest_bps: u64,
    inflight_latest_bytes: u64,

    pub(super) bw_shortterm_bps: Option<u64>,
    pub(super) inflight_shortterm: Option<u64>,
    pub(super) inflight_longterm: Option<u64>,

    /// Discontiguous ranges marked lost in this round, and where the last of them ends.
    lost_ranges: u32,
    lost_end_seq: u64,
    /// The round that ended last began in fast recovery.
    began_in_recovery: bool,

    ce_in_round: bool,
    ecn_alpha: f64,
    round_ce_bytes: u64,
    round_delivered_bytes: u64,
    startup_ecn_rounds: u32,
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            bw_latest_bps: 0,
            inflight_latest_bytes: 0,
            bw_shortterm_bps: None,
            inflight_shortterm: None,
            inflight_longterm: None,
            lost_ranges: 0,
            lost_end_seq: 0,
            began_in_recovery: false,
            ce_in_round: false,
            // As with DCTCP and Prague: the first mark counts in full.
            ecn_alpha: 1.0,
            round_ce_bytes: 0,
            round_delivered_bytes: 0,
            startup_ecn_rounds: 0,
        }
    }
}

impl Congestion {
    /// The average fraction marked.
    #[cfg(test)]
    pub(super) fn ecn_alpha(&self) -> f64 {
        self.ecn_alpha
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

    /// BBRUpdateCongestionSignals, without BBRUpdateMaxBw, which has gone before.
    pub(super) fn update_congestion_signals(&mut self, event: &DeliveryEvent) {
        if self.answers_marks {
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

    /// The fraction marked, averaged over rounds.
    fn update_ecn_alpha(&mut self, event: &DeliveryEvent) {
        let it = &mut self.congestion;
        it.round_ce_bytes += event.newly_ce_bytes;
        it.round_delivered_bytes += event.newly_delivered_bytes;
        it.ce_in_round |= event.newly_ce_bytes > 0;
        if !self.round_start || it.round_delivered_bytes == 0 {
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
        let (cwnd_bytes, max_bw_bps) = (self.cwnd_bytes, self.max_bw_bps);
        let it = &mut self.congestion;
        if !it.loss_in_round && !it.ce_in_round {
            return;
        }
        // BBRInitLowerBounds.
        let bw_bps = it.bw_shortterm_bps.unwrap_or(max_bw_bps);
        let inflight = it.inflight_shortterm.unwrap_or(cwnd_bytes);
        let mut lower = inflight;
        if it.ce_in_round {
            // Linux, `bbr_ecn_lower_bounds`: marks cut the volume and leave the rate.
            lower = (inflight as f64 * (1.0 - it.ecn_alpha * ECN_FACTOR)) as u64;
        }
        if it.loss_in_round {
            // BBRLossLowerBounds.
            it.bw_shortterm_bps = Some(it.bw_latest_bps.max((bw_bps as f64 * BETA) as u64));
            lower = lower.min(it.inflight_latest_bytes.max((inflight as f64 * BETA) as u64));
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
        let bound_bps = self.congestion.bw_shortterm_bps.unwrap_or(u64::MAX);
        self.bw_bps = self.max_bw_bps.min(bound_bps);
    }

    /// IsInflightTooHigh.
    pub(super) fn is_inflight_too_high(&self, sample: &RateSample) -> bool {
        let too_much_lost =
            sample.lost_bytes as f64 > sample.in_flight_at_send_bytes as f64 * LOSS_THRESH;
        let too_much_marked = self.answers_marks
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
        if !is_app_limited {
            let floor = (self.target_inflight_bytes() as f64 * BETA) as u64;
            self.congestion.inflight_longterm = Some(inflight_bytes.max(floor));
        }
        if self.state == State::ProbeBwUp {
            self.start_probe_bw_down(now_us, total_delivered_bytes);
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
        if event.seq != it.lost_end_seq {
            it.lost_ranges += 1;
        }
        it.lost_end_seq = event.seq + event.len_bytes;

        let in_flight = event.in_flight_at_send_bytes as f64;
        if !self.probe.samples || event.lost_since_send_bytes as f64 <= in_flight * LOSS_THRESH {
            return;
        }
        // BBRInflightLongtermFromLostPacket: where within the segment the threshold was crossed.
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

    /// §4.3.1.3, BBRCheckStartupHighLoss, and its like for marks: too much congestion for Startup
    /// to go on.
    pub(super) fn check_startup_congestion(&mut self, event: &DeliveryEvent) {
        let in_recovery = event.phase == SenderPhase::Recovery;
        if self.state == State::Startup && !self.full_bw_reached {
            let it = &self.congestion;
            let lossy = it.loss_round_start
                && in_recovery
                && it.began_in_recovery
                && it.lost_ranges >= STARTUP_FULL_LOSS_RANGES
                && event.rate.is_some_and(|sample| self.is_inflight_too_high(&sample));
            if lossy || it.startup_ecn_rounds >= STARTUP_FULL_ECN_ROUNDS {
                self.full_bw_reached = true;
                let safe = self.bdp_bytes(1.0).max(self.congestion.inflight_latest_bytes);
                self.congestion.inflight_longterm = Some(safe);
            }
        }
        if self.congestion.loss_round_start {
            self.congestion.lost_ranges = 0;
            self.congestion.began_in_recovery = in_recovery;
        }
    }
}
