//! COBALT: CoDel and BLUE side by side, the AQM of CAKE (Høiland-Jørgensen et al. 2018 §III).
//!
//! The paper leaves the algorithm to its implementation; this has the behaviour of Linux's
//! `sch_cake`, reimplemented:
//! - CoDel has one mechanism for the first drop and for those that follow. `count` is not reset
//!   when the delay falls below target: it counts down at the pace at which it counted up.
//! - BLUE raises a drop probability when the queue overflows and lowers it when the queue is found
//!   empty, each at most once per target time. It never marks, as it is for senders that do not
//!   respond.
//! - The last packet of a queue is never dropped.
//!
//! Of the service model's parameters, `ce_threshold` and `l4s` hold as for CoDel; packets of L4S are
//! subject to BLUE as all others, the only limit on senders that do not respond. CAKE's
//! bounds by the transmission time of a packet need a configured rate, which a bearer has not.

use crate::rng::Rng;
use crate::{DropReason, Ecn};

use super::aqm::{Aqm, AqmQueue, Head, Mark, StateValue};
use super::codel::{CodelParams, DROP, classic_threshold, control_law, step_mark};

/// BLUE's random drop.
const BLUE: DropReason = DropReason::Discipline("blue");

/// Step up of BLUE's probability, of 2³²: 1/256.
const BLUE_INCREMENT: u32 = 1 << 24;
/// Step down: 1/4096.
const BLUE_DECREMENT: u32 = 1 << 20;

/// State of COBALT for one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cobalt {
    count: u32,
    dropping: bool,
    drop_next_us: u64,
    /// Probability of a drop by BLUE, in parts of 2³².
    p_drop: u32,
    /// Time at which BLUE's probability changed last.
    blue_timer_us: Option<u64>,
    rng: Rng,
}

impl Cobalt {
    /// Whether CoDel is in the dropping state.
    pub fn dropping(&self) -> bool {
        self.dropping
    }

    /// CoDel's signalling frequency: that of the interval times its square root.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Time at which CoDel's next signal is due.
    pub fn drop_next_us(&self) -> u64 {
        self.drop_next_us
    }

    /// BLUE's drop probability, 0 to 1.
    pub fn p_blue(&self) -> f64 {
        f64::from(self.p_drop) / 4_294_967_296.0
    }

    /// CoDel's half: whether this packet carries a signal, and whether the time of the next one had
    /// passed. As in `sch_cake` the second is judged before a dropping state begins, so that a queue
    /// that was silent for longer than an interval and comes back late is signalled soon.
    fn signal(&mut self, params: &CodelParams, sojourn_us: u64, now_us: u64) -> (bool, bool) {
        let due = self.is_due(now_us);
        let late = now_us > self.drop_next_us;
        if sojourn_us > params.target_us {
            if !self.dropping {
                self.drop_next_us = control_law(now_us, params.interval_us, self.count);
            }
            self.dropping = true;
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if !due {
            return (false, late);
        }
        if self.dropping {
            self.count = self.count.saturating_add(1);
            self.drop_next_us = control_law(self.drop_next_us, params.interval_us, self.count);
        } else {
            // Below target: the frequency falls at the pace at which it rose.
            while self.is_due(now_us) {
                self.count -= 1;
                self.drop_next_us = control_law(self.drop_next_us, params.interval_us, self.count);
            }
        }
        (self.dropping, now_us > self.drop_next_us)
    }

    fn is_due(&self, now_us: u64) -> bool {
        self.count > 0 && now_us >= self.drop_next_us
    }

    /// `drop_next` also records the last activity, so that overdue signals expire.
    fn record_activity(&mut self, params: &CodelParams, late: bool, dropped: bool, now_us: u64) {
        if self.count == 0 {
            self.drop_next_us = now_us.saturating_add(params.interval_us);
        } else if late && !dropped {
            self.drop_next_us = now_us;
        }
    }

    fn blue_drops(&mut self) -> bool {
        self.p_drop > 0 && self.rng.next_u32() < self.p_drop
    }

    /// Whether BLUE's probability may change: at most once per target time; a clock that went back
    /// does not lock it.
    fn blue_may_change(&self, params: &CodelParams, now_us: u64) -> bool {
        self.blue_timer_us.is_none_or(|last_us| now_us.abs_diff(last_us) > params.target_us)
    }
}

impl Aqm for Cobalt {
    type Params = CodelParams;
    const ADMITS: bool = true;

    fn new(rng: Rng) -> Self {
        let drop_next_us = 0;
        Self { count: 0, dropping: false, drop_next_us, p_drop: 0, blue_timer_us: None, rng }
    }

    /// BLUE's probability rises.
    fn overflowed(&mut self, params: &CodelParams, now_us: u64) {
        if self.blue_may_change(params, now_us) {
            self.p_drop = self.p_drop.saturating_add(BLUE_INCREMENT);
            self.blue_timer_us = Some(now_us);
        }
        self.dropping = true;
        self.drop_next_us = now_us;
        self.count = self.count.max(1);
    }

    /// BLUE's probability falls.
    fn found_empty(&mut self, params: &CodelParams, now_us: u64) {
        if self.p_drop > 0 && self.blue_may_change(params, now_us) {
            self.p_drop = self.p_drop.saturating_sub(BLUE_DECREMENT);
            self.blue_timer_us = Some(now_us);
        }
        self.dropping = false;
        if self.is_due(now_us) {
            self.count -= 1;
            self.drop_next_us = control_law(self.drop_next_us, params.interval_us, self.count);
        }
    }

    /// A packet within the target, while neither CoDel nor BLUE has anything to take back.
    #[inline(never)]
    fn passes(&mut self, params: &CodelParams, head: &Head, now_us: u64) -> bool {
        let passes = !params.has_step()
            && self.p_drop == 0
            && head.sojourn_us <= params.target_us
            && !self.is_due(now_us);
        if passes {
            self.dropping = false;
            self.record_activity(params, false, false, now_us);
        }
        passes
    }

    fn dequeue<Q: AqmQueue>(
        &mut self,
        params: &CodelParams,
        now_us: u64,
        queue: &mut Q,
    ) -> Option<Q::Item> {
        loop {
            let Some(mut item) = queue.pop() else {
                self.found_empty(params, now_us);
                return None;
            };
            let is_last = queue.bytes() == 0;
            let ecn = queue.ecn(&item);
            if params.is_l4s(ecn) {
                if self.blue_drops() && !is_last {
                    queue.drop(item, BLUE);
                    continue;
                }
                return Some(step_mark(params, item, queue));
            }
            let markable = params.ecn && ecn != Ecn::NotEct;
            let (signal, late) = self.signal(params, queue.sojourn_us(&item), now_us);
            let blue = self.blue_drops();
            let drop = blue || (signal && !markable);
            self.record_activity(params, late, drop, now_us);
            if drop && !is_last {
                queue.drop(item, if blue { BLUE } else { DROP });
                continue;
            }
            if signal && markable {
                queue.mark(&mut item, Mark::ControlLaw);
                return Some(item);
            }
            return Some(classic_threshold(params, item, queue));
        }
    }

    fn report(&self, _: &CodelParams) -> Vec<(&'static str, StateValue)> {
        vec![
            ("p_blue", self.p_blue().into()),
            ("dropping", self.dropping.into()),
            ("count", self.count.into()),
            ("drop_next_us", self.drop_next_us.into()),
        ]
    }
}
