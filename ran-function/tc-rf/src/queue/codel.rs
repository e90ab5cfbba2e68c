//! CoDel (RFC 8289) with ECN (RFC 8289 §3, RFC 8290 §5.1.3 and §4.2).
//!
//! The pseudocode of RFC 8289 §5 line by line. Where it leaves a choice:
//! - `control_law` takes the exact square root in `f64` (IEEE 754 defines its every bit) and
//!   rounds to the nearest µs.
//! - A packet that CoDel would drop and whose sender understands ECN is marked and forwarded; the
//!   marking counts as the drop would have, and the next one is scheduled from `drop_next` on.
//! - A packet that is CE already carries the signal: it counts as marked and is left as it is.
//! - A packet marked by CoDel is not marked again for `ce_threshold`.
//! - "No more than one MTU queued" is of the queue (RFC 8289 §5), also where a bearer has a queue per flow.
//!   Linux tests all queues together, which drops a flow's only packet (figures in `docs/queues.md`).

use e2sm_tc::v1;

use crate::rng::Rng;
use crate::{DropReason, Ecn};

use super::aqm::{Aqm, AqmQueue, Head as Oldest, Mark, StateValue};
use super::l4s::measured_step_us;

/// CoDel's control law, here and in COBALT.
pub(super) const DROP: DropReason = DropReason::Discipline("codel");

/// The MTU of a bearer: CoDel does not drop when no more than this is left (RFC 8289 §4.1).
pub const MTU_BYTES: u32 = 1500;

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParams {
    /// Acceptable standing sojourn time (`TARGET`).
    pub target_us: u64,
    /// Sliding window (`INTERVAL`).
    pub interval_us: u64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark ECN-capable packets whose sojourn is above this, independent of CoDel. Without it `l4s`
    /// marks above 2 ms and the longest recent gap between departures from the bearer.
    pub ce_threshold_us: Option<u64>,
    /// ECT(1) and CE packets belong to L4S (RFC 9331 §5.1): they are marked by that step
    /// alone and CoDel neither drops them nor learns from them; other packets are then not marked
    /// by `ce_threshold_us`.
    pub l4s: bool,
    /// `maxpacket` of RFC 8289 §5: no drop when the queue holds no more than this.
    pub mtu_bytes: u64,
}

impl CodelParams {
    /// Parameters of a service-model CoDel on a bearer.
    pub fn from_model(model: &v1::Codel) -> Self {
        Self {
            target_us: u64::from(model.target_us),
            interval_us: u64::from(model.interval_us),
            ecn: model.ecn,
            ce_threshold_us: model.ce_threshold_us.map(u64::from),
            l4s: model.l4s,
            mtu_bytes: u64::from(MTU_BYTES),
        }
    }

    /// Whether packets are marked by their sojourn alone.
    #[inline]
    pub(super) fn has_step(&self) -> bool {
        self.ce_threshold_us.is_some() | self.l4s
    }

    /// Sojourn above which packets are marked.
    fn step_us(&self, queue: &impl AqmQueue) -> Option<u64> {
        let measured_us = || measured_step_us(queue.service_gap_us());
        self.ce_threshold_us.or_else(|| self.l4s.then(measured_us))
    }

    pub(super) fn is_l4s(&self, ecn: Ecn) -> bool {
        self.l4s && matches!(ecn, Ecn::Ect1 | Ecn::Ce)
    }
}

/// State of CoDel for one queue; names follow RFC 8289 §5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codel {
    /// Time at which the sojourn will have been above target for an interval; 0 while it is not
    /// above.
    first_above_time_us: u64,
    drop_next_us: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Codel {
    /// Whether it is in the dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }

    /// Drops since the dropping state was entered.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Time at which the next drop is due while in the dropping state.
    pub fn drop_next_us(&self) -> u64 {
        self.drop_next_us
    }

    /// The first drop, and how fast the next ones follow.
    fn enter_dropping<Q: AqmQueue>(
        &mut self,
        params: &CodelParams,
        now_us: u64,
        queue: &mut Q,
        mut item: Q::Item,
    ) -> Option<Q::Item> {
        let result = if mark_instead(params, &mut item, queue) {
            Some(item)
        } else {
            queue.drop(item, DROP);
            match self.dodequeue(params, now_us, queue) {
                Head::Empty => None,
                Head::L4s(next) => Some(step_mark(params, next, queue)),
                Head::BelowTarget(next) | Head::OkToDrop(next) => {
                    Some(classic_threshold(params, next, queue))
                }
            }
        };
        self.dropping = true;
        // "If min went above TARGET close to when it last went below, assume that the drop rate
        // that controlled the queue on the last cycle is a good starting point to control it now."
        let delta = self.count.saturating_sub(self.lastcount);
        let recently =
            now_us.saturating_sub(self.drop_next_us) < params.interval_us.saturating_mul(16);
        self.count = if delta > 1 && recently { delta } else { 1 };
        self.drop_next_us = control_law(now_us, params.interval_us, self.count);
        self.lastcount = self.count;
        result
    }

    /// `dodequeue` of RFC 8289 §5.
    fn dodequeue<Q: AqmQueue>(
        &mut self,
        params: &CodelParams,
        now_us: u64,
        queue: &mut Q,
    ) -> Head<Q::Item> {
        let Some(item) = queue.pop() else {
            self.first_above_time_us = 0;
            return Head::Empty;
        };
        if params.is_l4s(queue.ecn(&item)) {
            return Head::L4s(item);
        }
        if self.ok_to_drop(params, queue.sojourn_us(&item), queue.bytes(), now_us) {
            Head::OkToDrop(item)
        } else {
            Head::BelowTarget(item)
        }
    }

    /// `ok_to_drop` of `dodequeue` for a packet that leaves `behind_bytes` in the queue. If it is true,
    /// nothing has changed.
    #[inline]
    fn ok_to_drop(
        &mut self,
        params: &CodelParams,
        sojourn_us: u64,
        behind_bytes: u64,
        now_us: u64,
    ) -> bool {
        if sojourn_us < params.target_us || behind_bytes <= params.mtu_bytes {
            // "went below - stay below for at least INTERVAL"
            self.first_above_time_us = 0;
        } else if self.first_above_time_us == 0 {
            // "just went above from below"
            self.first_above_time_us = now_us.saturating_add(params.interval_us);
        } else if now_us >= self.first_above_time_us {
            return true;
        }
        false
    }
}

impl Aqm for Codel {
    type Params = CodelParams;
    const ADMITS: bool = true;

    fn new(_: Rng) -> Self {
        Self::default()
    }

    /// `dodequeue` on an empty queue.
    fn found_empty(&mut self, _: &CodelParams, _: u64) {
        self.first_above_time_us = 0;
        self.dropping = false;
    }

    #[inline]
    fn passes(&mut self, params: &CodelParams, head: &Oldest, now_us: u64) -> bool {
        let passes = !params.has_step()
            && !self.ok_to_drop(params, head.sojourn_us, head.behind_bytes, now_us);
        if passes {
            // "sojourn time below TARGET - leave drop state"
            self.dropping = false;
        }
        passes
    }

    /// `deque` of RFC 8289 §5.
    fn dequeue<Q: AqmQueue>(
        &mut self,
        params: &CodelParams,
        now_us: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        let mut item = match self.dodequeue(params, now_us, queue) {
            Head::Empty => {
                self.dropping = false;
                return None;
            }
            Head::L4s(item) => return Some(step_mark(params, item, queue)),
            Head::BelowTarget(item) => {
                // "sojourn time below TARGET - leave drop state"
                self.dropping = false;
                return Some(classic_threshold(params, item, queue));
            }
            Head::OkToDrop(item) => item,
        };

        if !self.dropping {
            return self.enter_dropping(params, now_us, queue, item);
        }
        // "A large backlog might result in drop rates so high that the next drop should happen
        // now, hence the 'while' loop."
        while now_us >= self.drop_next_us {
            self.count = self.count.saturating_add(1);
            if mark_instead(params, &mut item, queue) {
                self.drop_next_us = control_law(self.drop_next_us, params.interval_us, self.count);
                return Some(item);
            }
            queue.drop(item, DROP);
            match self.dodequeue(params, now_us, queue) {
                Head::Empty => {
                    self.dropping = false;
                    return None;
                }
                Head::BelowTarget(next) => {
                    self.dropping = false;
                    return Some(classic_threshold(params, next, queue));
                }
                Head::L4s(next) => {
                    self.drop_next_us =
                        control_law(self.drop_next_us, params.interval_us, self.count);
                    return Some(step_mark(params, next, queue));
                }
                Head::OkToDrop(next) => {
                    self.drop_next_us =
                        control_law(self.drop_next_us, params.interval_us, self.count);
                    item = next;
                }
            }
        }
        Some(classic_threshold(params, item, queue))
    }

    fn report(&self, _: &CodelParams) -> Vec<(&'static str, StateValue)> {
        vec![
            ("dropping", self.dropping.into()),
            ("count", self.count.into()),
            ("drop_next_us", self.drop_next_us.into()),
        ]
    }
}

fn mark_instead<Q: AqmQueue>(params: &CodelParams, item: &mut Q::Item, queue: &mut Q) -> bool {
    let mark = params.ecn && queue.ecn(item) != Ecn::NotEct;
    if mark {
        queue.mark(item, Mark::ControlLaw);
    }
    mark
}

/// Marks by `ce_threshold` unless L4S has it for itself.
pub(super) fn classic_threshold<Q: AqmQueue>(
    params: &CodelParams,
    item: Q::Item,
    queue: &mut Q,
) -> Q::Item {
    if params.l4s { item } else { step_mark(params, item, queue) }
}

/// The step of `ce_threshold` (RFC 8290 §4.2).
pub(super) fn step_mark<Q: AqmQueue>(
    params: &CodelParams,
    mut item: Q::Item,
    queue: &mut Q,
) -> Q::Item {
    let above = params.step_us(queue).is_some_and(|step_us| queue.sojourn_us(&item) > step_us);
    if above && queue.ecn(&item) != Ecn::NotEct {
        queue.mark(&mut item, Mark::Threshold);
    }
    item
}

/// What `dodequeue` found at the head.
enum Head<T> {
    Empty,
    /// Exempt from CoDel.
    L4s(T),
    /// `ok_to_drop` is false.
    BelowTarget(T),
    /// `ok_to_drop` is true.
    OkToDrop(T),
}

/// "t + INTERVAL / sqrt(count)".
pub(crate) fn control_law(t_us: u64, interval_us: u64, count: u32) -> u64 {
    let step = interval_us as f64 / f64::from(count.max(1)).sqrt();
    t_us.saturating_add(step.round() as u64)
}
