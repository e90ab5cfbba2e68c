//! Coupled DualPI2 (RFC 9332 appendix A): a PI controller over two queues whose base probability p'
//! drops or marks Classic traffic by its square and marks L4S traffic in proportion.
//!
//! The scheduler between the queues is stage 4's: the time-shifted FIFO of appendix A is the
//! service model's conditional priority, weighted round robin its weighted scheduler.
//!
//! Where the RFC leaves a choice:
//! - `RTT_max` is 100 ms, the default of appendix A, from which `alpha` and `beta` follow. The native AQM of L
//!   is a step (§2.4) at what the TC function measures, as for CoDel with L4S: the ramp
//!   of appendix A, 800 to 1200 µs, marks each packet that waits for a slot of TDD. The service model has
//!   no parameters for them.
//! - The base AQM uses the greater of the two queues' delays, as Linux's DualPI2 does, so that L4S
//!   traffic that fills the link alone drives p' as well.
//! - "One packet queued" (`Th_len`) counts the packet being served.
//! - Under overload the L queue keeps one sum for drops and one for marks, so that neither takes
//!   from the other.
//! - Packets a classifier put into the queue for which their ECN field is not meant are treated as
//!   §2.5.1.1 requires. In L, Not-ECT is dropped and ECT(0) marked with the likelihood that is to L's
//!   own as p_C is to p_CL: (p_L / k)². In C, ECT(1) is marked with p_CL.

use crate::{DropReason, Ecn};

const DROP: DropReason = DropReason::Discipline("dual_pi2");

use super::aqm::{StateValue, Verdict};
use super::l4s::{Recur, measured_step_us};
use super::timer::UpdateTimer;

/// `RTT_max` of RFC 9332 appendix A.1, seconds.
pub const RTT_MAX_S: f64 = 0.1;
/// `p_Lmax`: from this coupled probability on, L4S marking is saturated (RFC 9332 §4.2.3).
const P_L_MAX: f64 = 1.0;

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualPi2Params {
    /// `target`.
    pub target_us: u64,
    /// `Tupdate`.
    pub update_us: u64,
    /// `k`, thousandths.
    pub coupling_milli: u32,
}

impl DualPi2Params {
    fn k(&self) -> f64 {
        f64::from(self.coupling_milli) / 1e3
    }

    /// `p_Cmax`: from this Classic probability on, ECN gives no exemption from drops.
    pub(crate) fn p_c_max(&self) -> f64 {
        (1.0 / (self.k() * self.k())).min(1.0)
    }
}

/// Which of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// The L queue, for L4S.
    LowLatency,
    /// The C queue.
    Classic,
}

/// A packet that the scheduler took.
pub(crate) struct Served {
    pub(crate) ecn: Ecn,
    pub(crate) sojourn_us: u64,
    /// Packets still in its queue.
    pub(crate) behind_packets: u32,
    /// The longest recent gap between departures from the bearer.
    pub(crate) service_gap_us: u64,
}

/// State of one pair of queues; names follow RFC 9332 appendix A.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DualPi2 {
    base_probability: f64,
    prevq_us: u64,
    timer: UpdateTimer,
    l_marks: Recur,
    l_drops: Recur,
    l_foreign: Recur,
    c: Recur,
    c_foreign: Recur,
    sojourn_us: [u64; 2],
}

impl DualPi2 {
    /// p', 0 to 1.
    pub fn base_probability(&self) -> f64 {
        self.base_probability
    }

    /// p_C = p'², with which Classic packets are dropped or marked.
    pub fn classic_probability(&self) -> f64 {
        self.base_probability * self.base_probability
    }

    /// p_CL = k p', with which L4S packets are marked at least; above 1 marking is saturated.
    pub fn coupled_probability(&self, params: &DualPi2Params) -> f64 {
        self.base_probability * params.k()
    }

    /// Queue delay that the controller saw last.
    pub fn delay_us(&self) -> u64 {
        self.prevq_us
    }

    /// Sojourn of the last packet that came out of the L queue.
    pub fn l_sojourn_us(&self) -> u64 {
        self.sojourn_us[0]
    }

    /// Sojourn of the last packet that came out of the C queue.
    pub fn c_sojourn_us(&self) -> u64 {
        self.sojourn_us[1]
    }

    /// The state under the names of RFC 9332 appendix A.
    pub(crate) fn report(&self, params: &DualPi2Params) -> Vec<(&'static str, StateValue)> {
        vec![
            ("p", self.base_probability().into()),
            ("p_c", self.classic_probability().into()),
            ("p_cl", self.coupled_probability(params).into()),
            ("qdelay_us", self.delay_us().into()),
            ("l_sojourn_us", self.l_sojourn_us().into()),
            ("c_sojourn_us", self.c_sojourn_us().into()),
        ]
    }

    /// Whether [`advance`](Self::advance) would change anything.
    #[inline]
    pub(crate) fn is_due(&self, params: &DualPi2Params, now_us: u64) -> bool {
        self.timer.is_due(now_us, params.update_us)
    }

    /// Updates that fell due; `heads_us` gives the arrival of the oldest packets of L and C.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        params: &DualPi2Params,
        heads_us: impl Fn() -> [Option<u64>; 2],
        now_us: u64,
    ) {
        if !self.is_due(params, now_us) {
            return;
        }
        let mut timer = self.timer;
        timer.run(now_us, params.update_us, |at_us| {
            let ages_us = heads_us().map(|head| head.map_or(0, |us| at_us.saturating_sub(us)));
            self.update(params, ages_us[0].max(ages_us[1]));
        });
        self.timer = timer;
    }

    /// `dualpi2_update` of appendix A.
    fn update(&mut self, params: &DualPi2Params, curq_us: u64) {
        let tupdate_s = seconds(params.update_us);
        let alpha_hz = 0.1 * tupdate_s / (RTT_MAX_S * RTT_MAX_S);
        let beta_hz = 0.3 / RTT_MAX_S;
        let curq_s = seconds(curq_us);
        let step = alpha_hz * (curq_s - seconds(params.target_us))
            + beta_hz * (curq_s - seconds(self.prevq_us));
        // "Clamping p' within the range [0,1]".
        self.base_probability = (self.base_probability + step).clamp(0.0, 1.0);
        self.prevq_us = curq_us;
    }

    /// `dualpi2_dequeue` of appendix A for a packet the scheduler took.
    #[inline(always)]
    pub(crate) fn served(
        &mut self,
        params: &DualPi2Params,
        member: Member,
        packet: &Served,
    ) -> Verdict {
        let l4s = matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce);
        match member {
            Member::LowLatency => {
                self.sojourn_us[0] = packet.sojourn_us;
                self.low_latency(params, l4s, packet)
            }
            Member::Classic => {
                self.sojourn_us[1] = packet.sojourn_us;
                self.classic(params, l4s, packet.ecn)
            }
        }
    }

    #[inline(always)]
    fn low_latency(&mut self, params: &DualPi2Params, l4s: bool, packet: &Served) -> Verdict {
        let ecn = packet.ecn;
        let (p_c, p_cl) = (self.classic_probability(), self.coupled_probability(params));
        if p_cl >= P_L_MAX {
            // "Overload saturation": "revert to Classic drop".
            if self.l_drops.next(p_c) {
                return Verdict::Drop(DROP);
            }
            return mark_if(ecn != Ecn::NotEct && self.l_marks.next(p_cl));
        }
        // "Suppress marking 1 pkt queue".
        let above = packet.sojourn_us > measured_step_us(packet.service_gap_us);
        let p_l = if above && packet.behind_packets > 0 { 1.0 } else { p_cl };
        if l4s {
            return mark_if(self.l_marks.next(p_l));
        }
        let p_classic = p_l / params.k();
        match (self.l_foreign.next(p_classic * p_classic), ecn) {
            (false, _) => Verdict::Pass,
            (true, Ecn::NotEct) => Verdict::Drop(DROP),
            (true, _) => Verdict::Mark,
        }
    }

    #[inline(always)]
    fn classic(&mut self, params: &DualPi2Params, l4s: bool, ecn: Ecn) -> Verdict {
        let p_c = self.classic_probability();
        // "Overload disables ECN".
        let overload = p_c >= params.p_c_max();
        if l4s && !overload {
            return mark_if(self.c_foreign.next(self.coupled_probability(params)));
        }
        if !self.c.next(p_c) {
            Verdict::Pass
        } else if ecn == Ecn::NotEct || overload {
            Verdict::Drop(DROP)
        } else {
            Verdict::Mark
        }
    }
}

fn mark_if(signal: bool) -> Verdict {
    if signal { Verdict::Mark } else { Verdict::Pass }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
