//! CoDel for a radio, this project's own: the control law of [`Codel`] (RFC 8289 §5) with the delay and
//! the target of a link whose rate varies.
//!
//! - **Delay**: what is queued over the rate at which the queue drains when the radio is good, or the
//!   sojourn time where that is shorter. In a dip of the radio the sojourn time rises although
//!   nobody sent too much, and a signal would make the sender slow when the radio comes back. The rate
//!   is that of the queue itself, its share of the radio, over [`WINDOW_US`]; of its highest
//!   values the memory fades over [`PEAK_US`].
//! - **Target**: as long as it must be for the radio to stay busy after a signal. That depends on
//!   round trip, congestion control, number of flows and variation of the rate, none of which the TC
//!   function knows; but a bearer that ran empty after a signal shows that the queue was too short
//!   (Stanojević, Kellett and Shorten 2006 size a drop-tail buffer by the utilisation it achieves). The
//!   target is the least one and [`TARGET_PER_IDLE_SHARE_US`] times the share of time, over
//!   [`IDLE_US`], in which the bearer was empty within [`AFTER_SIGNAL_US`] of a signal.
//! - **Few bytes**: a queue of less than [`SPARSE_BYTES`] that stands for less than [`STANDING_US`] is
//!   what an outage of the radio left of a sparse flow. It is not signalled.
//! - **Bound**: senders that do not react to signals are cut. After packets left later than the bound for
//!   as long as it, what is later is dropped from the head, except the last three (abbasloo2019 §V-C),
//!   until one leaves within half of it, or within it when few bytes are left. Of an outage of the radio [`LONGEST_STEP_US`] count.

use e2sm_tc::v1;

use crate::rng::Rng;
use crate::{DropReason, Ecn};

use super::aqm::{Aqm, AqmQueue, Head, Mark, StateValue};
use super::bode::BODE_MIN_PACKETS;
use super::codel::{Codel, CodelParams, MTU_BYTES};

/// Several periods of any TDD pattern, about a round trip.
const WINDOW_US: f64 = 100_000.0;
/// A dip of this length is ridden out. Shorter memories lose goodput where cars and trains drive, longer ones
/// keep longer queues on recorded radios.
const PEAK_US: f64 = 5_000_000.0;
/// About four periods of Cubic at 50 Mbit/s (RFC 9438 §4.2): K is 5 s there after a loss.
const IDLE_US: f64 = 20_000_000.0;
/// 7 ms of target for each thousandth of the time in which the radio had nothing to send.
const TARGET_PER_IDLE_SHARE_US: f64 = 7_000_000.0;
/// The time in which a sender has found the rate again; an idle radio later is not the signal's doing.
const AFTER_SIGNAL_US: u64 = 5_000_000;
/// The initial window of TCP, ten segments (RFC 6928).
const SPARSE_BYTES: u64 = 15_000;
/// A queue that was never empty for as long stands.
const STANDING_US: u64 = 1_000_000;
/// Part of an outage of the radio that counts as time in which the queue was late or stood, and in which CoDel's
/// signals fall due.
const LONGEST_STEP_US: u64 = 100_000;

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveCodelParams {
    /// Least target, interval and marking of CoDel.
    pub codel: CodelParams,
    /// Longest target.
    pub max_target_us: u64,
    /// Longest wait of senders that do not react to signals; `None`: unlimited.
    pub bound_us: Option<u64>,
}

impl AdaptiveCodelParams {
    /// Parameters of the service model.
    pub(super) fn from_model(model: &v1::AdaptiveCodel) -> Self {
        let codel = v1::Codel {
            target_us: model.target_us,
            interval_us: model.interval_us,
            ecn: model.ecn,
            ce_threshold_us: None,
            l4s: false,
        };
        Self {
            codel: CodelParams::from_model(&codel),
            max_target_us: u64::from(model.max_target_us),
            bound_us: model.bound_us.map(u64::from),
        }
    }
}

/// State for one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AdaptiveCodel {
    codel: Codel,
    /// Time of CoDel's control law: an outage of the radio is no time in which the sender did not react, and
    /// the signals that fell due in it are not caught up.
    clock_us: u64,
    drain: Drain,
    idle: Idle,
    /// Time in which each packet that left had others behind it.
    standing_us: u64,
    /// Time in which each packet that left was late.
    late_us: u64,
}

impl AdaptiveCodel {
    /// CoDel's state.
    pub fn codel(&self) -> &Codel {
        &self.codel
    }

    /// The target in force.
    pub fn target_us(&self, params: &AdaptiveCodelParams) -> u64 {
        let longer_us = self.idle.share() * TARGET_PER_IDLE_SHARE_US;
        params.codel.target_us.saturating_add(longer_us as i64 as u64).min(params.max_target_us)
    }

    /// Bytes per second at which the queue drained when the radio was good.
    pub fn peak_bytes_per_s(&self) -> f64 {
        self.drain.peak_bytes * 1e6 / WINDOW_US
    }

    /// CoDel's parameters at this time.
    fn codel_params(&self, params: &AdaptiveCodelParams) -> CodelParams {
        let stands = self.standing_us >= STANDING_US;
        let mtu_bytes = if stands { u64::from(MTU_BYTES) } else { SPARSE_BYTES };
        CodelParams { target_us: self.target_us(params), mtu_bytes, ..params.codel }
    }

    /// Time since the last packet left, as far as it counts.
    fn step_us(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.drain.left_us).min(LONGEST_STEP_US)
    }

    /// Time for which packets have been late when this one leaves.
    fn late_after(
        &self,
        params: &AdaptiveCodelParams,
        sojourn_us: u64,
        behind_bytes: u64,
        step_us: u64,
    ) -> u64 {
        let Some(bound_us) = params.bound_us else { return self.late_us };
        let again_us = if behind_bytes < SPARSE_BYTES { bound_us } else { bound_us / 2 };
        if sojourn_us > bound_us {
            self.late_us.saturating_add(step_us)
        } else if sojourn_us <= again_us {
            0
        } else {
            self.late_us
        }
    }

    /// A packet leaves.
    fn left(&mut self, head: &Head, step_us: u64, now_us: u64) {
        let busy_us = self.drain.left(head.len_bytes, head.sojourn_us, now_us);
        self.idle.elapsed(busy_us, head.idle_us, now_us);
        if head.behind_packets == 0 {
            (self.standing_us, self.late_us) = (0, 0);
        } else {
            self.standing_us = self.standing_us.saturating_add(step_us);
        }
    }
}

/// Whether the bound drops a packet with this sojourn.
fn cuts(bound_us: u64, late_us: u64, sojourn_us: u64, behind_packets: u32) -> bool {
    late_us >= bound_us && sojourn_us > bound_us && behind_packets >= BODE_MIN_PACKETS
}

/// The sojourn time, or what is behind the packet over the rate of a good radio, where that is shorter.
fn delay_us(sojourn_us: u64, behind_bytes: u64, peak_bytes: f64) -> u64 {
    let drained_us = real(behind_bytes) * WINDOW_US / peak_bytes.max(1.0);
    sojourn_us.min(drained_us as i64 as u64)
}

impl Aqm for AdaptiveCodel {
    type Params = AdaptiveCodelParams;
    const ADMITS: bool = true;

    fn new(_: Rng) -> Self {
        Self::default()
    }

    fn found_empty(&mut self, params: &AdaptiveCodelParams, _: u64) {
        self.codel.found_empty(&params.codel, self.clock_us);
        (self.standing_us, self.late_us) = (0, 0);
    }

    #[inline(never)]
    fn passes(&mut self, params: &AdaptiveCodelParams, head: &Head, now_us: u64) -> bool {
        let step_us = self.step_us(now_us);
        let late_us = self.late_after(params, head.sojourn_us, head.behind_bytes, step_us);
        let is_cut = params
            .bound_us
            .is_some_and(|bound_us| cuts(bound_us, late_us, head.sojourn_us, head.behind_packets));
        let delay_us = delay_us(head.sojourn_us, head.behind_bytes, self.drain.peak_bytes);
        let clock_us = self.clock_us.saturating_add(step_us);
        let codel = self.codel_params(params);
        let judged = Head { sojourn_us: delay_us, ..*head };
        if is_cut || !self.codel.passes(&codel, &judged, clock_us) {
            return false;
        }
        (self.clock_us, self.late_us) = (clock_us, late_us);
        self.left(head, step_us, now_us);
        true
    }

    fn dequeue<Q: AqmQueue>(
        &mut self,
        params: &AdaptiveCodelParams,
        now_us: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        let step_us = self.step_us(now_us);
        self.clock_us = self.clock_us.saturating_add(step_us);
        let codel = self.codel_params(params);
        let mut judged = Judged { queue, peak_bytes: self.drain.peak_bytes, signalled: false };
        let mut item = self.codel.dequeue(&codel, self.clock_us, &mut judged)?;
        if judged.signalled {
            self.idle.signal_us = Some(now_us);
        }
        let queue = judged.queue;
        self.late_us = self.late_after(params, queue.sojourn_us(&item), queue.bytes(), step_us);
        while params.bound_us.is_some_and(|bound_us| {
            cuts(bound_us, self.late_us, queue.sojourn_us(&item), queue.packets())
        }) {
            queue.drop(item, DropReason::Discipline("bound"));
            item = queue.pop()?;
        }
        let head = Head {
            len_bytes: queue.len_bytes(&item),
            sojourn_us: queue.sojourn_us(&item),
            behind_packets: queue.packets(),
            behind_bytes: queue.bytes(),
            idle_us: queue.idle_us(),
        };
        self.left(&head, step_us, now_us);
        Some(item)
    }

    fn report(&self, params: &AdaptiveCodelParams) -> Vec<(&'static str, StateValue)> {
        let mut state = self.codel.report(&params.codel);
        state.push(("target_us", self.target_us(params).into()));
        state.push(("peak_bytes_per_s", self.peak_bytes_per_s().into()));
        state
    }
}

/// The rate at which the queue drains while it is not empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Drain {
    /// When the last packet left.
    left_us: u64,
    /// What left within [`WINDOW_US`], with exponential weights.
    window_bytes: f64,
    /// Its highest value, fading.
    peak_bytes: f64,
}

impl Drain {
    /// A packet left; returns the time since the one before in which the queue was not empty.
    fn left(&mut self, len_bytes: u32, sojourn_us: u64, now_us: u64) -> f64 {
        let busy_us = real(now_us.saturating_sub(self.left_us).min(sojourn_us));
        self.left_us = now_us;
        self.window_bytes = faded(self.window_bytes, busy_us, WINDOW_US) + f64::from(len_bytes);
        self.peak_bytes = faded(self.peak_bytes, busy_us, PEAK_US).max(self.window_bytes);
        busy_us
    }
}

/// The time in which the bearer was empty because of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Idle {
    signal_us: Option<u64>,
    /// What the bearer's counter was when a packet left last.
    seen_us: u64,
    /// That time within the last [`IDLE_US`], with exponential weights.
    recent_us: f64,
}

impl Idle {
    /// A packet left after `busy_us` in which the queue was not empty.
    fn elapsed(&mut self, busy_us: f64, bearer_idle_us: u64, now_us: u64) {
        let idle_us = real(bearer_idle_us.saturating_sub(self.seen_us));
        self.seen_us = bearer_idle_us;
        self.recent_us = faded(self.recent_us, busy_us, IDLE_US);
        let after = |at_us: u64| now_us.saturating_sub(at_us) < AFTER_SIGNAL_US;
        if self.signal_us.is_some_and(after) {
            self.recent_us = (self.recent_us + idle_us).min(IDLE_US);
        }
    }

    /// Share of the time.
    fn share(&self) -> f64 {
        self.recent_us / IDLE_US
    }
}

/// A time or size below 2⁶³, which the CPU converts in one instruction.
fn real(value: u64) -> f64 {
    value as i64 as f64
}

/// What is left of a value with a time constant; the exponential function to first order, as packets
/// leave much more often.
fn faded(value: f64, elapsed_us: f64, constant_us: f64) -> f64 {
    value * (1.0 - elapsed_us / constant_us).max(0.0)
}

/// The queue as CoDel sees it.
struct Judged<'a, Q> {
    queue: &'a mut Q,
    peak_bytes: f64,
    signalled: bool,
}

impl<Q: AqmQueue> AqmQueue for Judged<'_, Q> {
    type Item = Q::Item;

    #[inline]
    fn pop(&mut self) -> Option<Q::Item> {
        self.queue.pop()
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.queue.packets()
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    #[inline]
    fn sojourn_us(&self, item: &Q::Item) -> u64 {
        delay_us(self.queue.sojourn_us(item), self.queue.bytes(), self.peak_bytes)
    }

    #[inline]
    fn len_bytes(&self, item: &Q::Item) -> u32 {
        self.queue.len_bytes(item)
    }

    #[inline]
    fn service_gap_us(&self) -> u64 {
        self.queue.service_gap_us()
    }

    #[inline]
    fn idle_us(&self) -> u64 {
        self.queue.idle_us()
    }

    #[inline]
    fn ecn(&self, item: &Q::Item) -> Ecn {
        self.queue.ecn(item)
    }

    #[inline]
    fn mark(&mut self, item: &mut Q::Item, mark: Mark) {
        self.signalled = true;
        self.queue.mark(item, mark);
    }

    #[inline]
    fn drop(&mut self, item: Q::Item, reason: DropReason) {
        self.signalled = true;
        self.queue.drop(item, reason);
    }
}
