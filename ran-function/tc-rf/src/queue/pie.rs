//! PIE (RFC 8033), the pseudocode of its appendices A (basic) and B (with options) line by line.
//!
//! Where the RFC leaves a choice:
//! - The delay is measured by time stamps (§4.3, second technique), not by the departure rate of
//!   §5.2: it is that of the last packet that left, and 0 once the queue is empty.
//! - Of the optional elements: ECN with `mark_ecnth` (§5.1), derandomization (§5.4) and the cap on
//!   the step of the probability (§5.5) are there; PIE is always active (§5.3 is for links that
//!   know their buffer). The probability is not scaled by packet size.
//! - Above 250 ms the probability also grows by 2 % an update, as in Linux (`sch_pie`): the RFC's steps, scaled
//!   down at low probabilities, take seconds to reach what many flows need.
//! - A mark counts as the drop would have and resets `accu_prob_` as well.

use crate::rng::Rng;
use crate::{DropReason, Ecn};

use super::aqm::{Aqm, Arrival, Head, StateValue, Verdict};
use super::codel::MTU_BYTES;
use super::timer::UpdateTimer;

/// `MAX_BURST` (RFC 8033 §4.4): 150 ms.
pub const MAX_BURST_US: u64 = 150_000;
/// ECN-capable packets are marked below this probability and dropped from it on (RFC 8033 §5.1).
pub const MARK_ECNTH: f64 = 0.1;
/// The queue holds at least two packets before any is dropped (RFC 8033 §4.1).
const MIN_BYTES: u64 = 2 * MTU_BYTES as u64;
/// Bounds of the accumulated probability (RFC 8033 §5.4).
const ACCU_LOW: f64 = 0.85;
const ACCU_HIGH: f64 = 8.5;
/// Auto-tuning (RFC 8033 §4.2): below the probability, the divisor of the step.
const AUTO_TUNE: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// Decay of the probability per update without congestion (RFC 8033 §4.2).
const DECAY: f64 = 0.98;
/// Largest step from [`MARK_ECNTH`] on (RFC 8033 §5.5).
const MAX_STEP: f64 = 0.02;
/// A delay above which each update adds [`HIGH_DELAY_STEP`].
const HIGH_DELAY_US: u64 = 250_000;
const HIGH_DELAY_STEP: f64 = 0.02;

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieParams {
    /// `QDELAY_REF`.
    pub target_us: u64,
    /// `T_UPDATE`.
    pub update_us: u64,
    /// `alpha`, thousandths of 1/s.
    pub alpha_milli: u32,
    /// `beta`, thousandths of 1/s.
    pub beta_milli: u32,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// State of PIE for one queue; names follow RFC 8033 appendix B.
#[derive(Clone, Debug, PartialEq)]
pub struct Pie {
    drop_prob: f64,
    current_qdelay_us: u64,
    qdelay_old_us: u64,
    burst_allowance_us: u64,
    accu_prob: f64,
    timer: UpdateTimer,
    rng: Rng,
}

impl Pie {
    /// Drop probability, 0 to 1.
    pub fn drop_prob(&self) -> f64 {
        self.drop_prob
    }

    /// Current delay estimate.
    pub fn qdelay_us(&self) -> u64 {
        self.current_qdelay_us
    }

    /// Delay at the last update.
    pub fn qdelay_old_us(&self) -> u64 {
        self.qdelay_old_us
    }

    /// What is left of the burst that passes unharmed.
    pub fn burst_allowance_us(&self) -> u64 {
        self.burst_allowance_us
    }

    /// Probability accumulated since the last drop (RFC 8033 §5.4).
    pub fn accu_prob(&self) -> f64 {
        self.accu_prob
    }

    /// `drop_early` of appendix A: whether the arriving packet is signalled.
    fn drop_early(&mut self, params: &PieParams, backlog_bytes: u64) -> bool {
        // "Safeguard PIE to be work conserving".
        let calm = self.qdelay_old_us < params.target_us / 2 && self.drop_prob < 0.2;
        if calm || backlog_bytes <= MIN_BYTES {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < ACCU_LOW {
            return false;
        }
        self.accu_prob >= ACCU_HIGH || self.rng.uniform() < self.drop_prob
    }

    /// `calculate_drop_prob` of appendix A.
    fn calculate_drop_prob(&mut self, params: &PieParams) {
        let qdelay_s = seconds(self.current_qdelay_us);
        let alpha_hz = f64::from(params.alpha_milli) / 1e3;
        let beta_hz = f64::from(params.beta_milli) / 1e3;
        let mut p = alpha_hz * (qdelay_s - seconds(params.target_us))
            + beta_hz * (qdelay_s - seconds(self.qdelay_old_us));
        if let Some((_, divisor)) = AUTO_TUNE.iter().find(|(below, _)| self.drop_prob < *below) {
            p /= divisor;
        }
        if self.drop_prob >= MARK_ECNTH && p > MAX_STEP {
            p = MAX_STEP;
        }
        if self.current_qdelay_us > HIGH_DELAY_US {
            p += HIGH_DELAY_STEP;
        }
        self.drop_prob += p;
        if self.current_qdelay_us == 0 && self.qdelay_old_us == 0 {
            self.drop_prob *= DECAY;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old_us = self.current_qdelay_us;
        self.burst_allowance_us = self.burst_allowance_us.saturating_sub(params.update_us);
    }
}

impl Aqm for Pie {
    type Params = PieParams;

    fn new(rng: Rng) -> Self {
        Self {
            drop_prob: 0.0,
            current_qdelay_us: 0,
            qdelay_old_us: 0,
            burst_allowance_us: MAX_BURST_US,
            accu_prob: 0.0,
            timer: UpdateTimer::default(),
            rng,
        }
    }

    #[inline]
    fn advance(&mut self, params: &PieParams, now_us: u64) {
        if !self.timer.is_due(now_us, params.update_us) {
            return;
        }
        let mut timer = self.timer;
        timer.run(now_us, params.update_us, |_| self.calculate_drop_prob(params));
        self.timer = timer;
    }

    /// `enque` of appendix A for a packet the limits let in.
    #[inline]
    fn arrives(
        &mut self,
        params: &PieParams,
        arrival: impl FnOnce() -> Arrival,
        now_us: u64,
    ) -> Verdict {
        let arrival = arrival();
        self.advance(params, now_us);
        let half_target_us = params.target_us / 2;
        if self.drop_prob == 0.0
            && self.current_qdelay_us < half_target_us
            && self.qdelay_old_us < half_target_us
        {
            self.burst_allowance_us = MAX_BURST_US;
        }
        if self.burst_allowance_us > 0 || !self.drop_early(params, arrival.backlog_bytes) {
            return Verdict::Pass;
        }
        self.accu_prob = 0.0;
        if params.ecn && arrival.ecn != Ecn::NotEct && self.drop_prob < MARK_ECNTH {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Discipline("pie"))
        }
    }

    /// A packet was dropped already, so the next random drop is as far as after one.
    fn overflowed(&mut self, params: &PieParams, now_us: u64) {
        self.advance(params, now_us);
        self.accu_prob = 0.0;
    }

    /// `deque` of appendix A: the sojourn of the packet that left is the delay.
    #[inline(never)]
    fn passes(&mut self, params: &PieParams, head: &Head, now_us: u64) -> bool {
        self.advance(params, now_us);
        self.current_qdelay_us = if head.behind_packets == 0 { 0 } else { head.sojourn_us };
        true
    }

    fn report(&self, _: &PieParams) -> Vec<(&'static str, StateValue)> {
        vec![
            ("drop_prob", self.drop_prob.into()),
            ("qdelay_us", self.current_qdelay_us.into()),
            ("qdelay_old_us", self.qdelay_old_us.into()),
            ("burst_allowance_us", self.burst_allowance_us.into()),
            ("accu_prob", self.accu_prob.into()),
        ]
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
