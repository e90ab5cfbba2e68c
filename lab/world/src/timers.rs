//! Timers of the world's state machines, earliest deadline first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NEVER: u64 = u64::MAX;

/// A state machine with a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// The server side of a flow.
    Server(u32),
    /// The UE side of a flow.
    Ue(u32),
    /// The SDAP scheduler of a bearer.
    Bearer(u32),
}

/// One deadline per timer. At equal deadlines flows precede bearers and a flow's server its UE, so the
/// order does not depend on history.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    flows: u32,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Deadline of each timer.
    deadline_us: Vec<u64>,
    /// Earliest entry of each timer in the heap. Moving a deadline later, as TCP does with each
    /// acknowledgement, leaves the entry in the heap until it is due.
    queued_us: Vec<u64>,
}

impl Timers {
    pub(crate) fn new(flows: usize, bearers: usize) -> Self {
        let count = 2 * flows + bearers;
        Self {
            flows: flows as u32,
            heap: BinaryHeap::with_capacity(2 * count),
            deadline_us: vec![NEVER; count],
            queued_us: vec![NEVER; count],
        }
    }

    /// Order among timers of equal deadlines.
    fn rank(&self, timer: Timer) -> u32 {
        match timer {
            Timer::Server(flow) => 2 * flow,
            Timer::Ue(flow) => 2 * flow + 1,
            Timer::Bearer(bearer) => 2 * self.flows + bearer,
        }
    }

    fn of_rank(&self, rank: u32) -> Timer {
        match rank.checked_sub(2 * self.flows) {
            Some(bearer) => Timer::Bearer(bearer),
            None if rank.is_multiple_of(2) => Timer::Server(rank / 2),
            None => Timer::Ue(rank / 2),
        }
    }

    /// Sets or clears the deadline of a timer.
    pub(crate) fn set(&mut self, timer: Timer, deadline_us: Option<u64>) {
        self.set_rank(self.rank(timer), deadline_us);
    }

    fn set_rank(&mut self, rank: u32, deadline_us: Option<u64>) {
        let index = rank as usize;
        let deadline_us = deadline_us.unwrap_or(NEVER);
        self.deadline_us[index] = deadline_us;
        if deadline_us < self.queued_us[index] {
            self.queued_us[index] = deadline_us;
            self.heap.push(Reverse((deadline_us, rank)));
        }
    }

    /// Moves the deadline of a timer forward; an earlier deadline stays.
    pub(crate) fn advance(&mut self, timer: Timer, deadline_us: u64) {
        if deadline_us < self.deadline_us[self.rank(timer) as usize] {
            self.set(timer, Some(deadline_us));
        }
    }

    /// A lower bound of the earliest deadline; `u64::MAX` if there is none.
    pub(crate) fn next_us(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((at_us, _))| *at_us)
    }

    /// Clears and returns the next timer that expired by `now_us`.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<Timer> {
        while let Some(&Reverse((at_us, rank))) = self.heap.peek() {
            if at_us > now_us {
                return None;
            }
            self.heap.pop();
            let index = rank as usize;
            if self.queued_us[index] != at_us {
                continue;
            }
            self.queued_us[index] = NEVER;
            let deadline_us = self.deadline_us[index];
            if deadline_us <= now_us {
                self.deadline_us[index] = NEVER;
                return Some(self.of_rank(rank));
            }
            self.set_rank(rank, (deadline_us != NEVER).then_some(deadline_us));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::Timer::{Bearer, Server, Ue};

    #[test]
    fn timers_expire_in_order_of_time_then_flows_before_bearers() {
        let mut timers = Timers::new(2, 1);
        timers.set(Bearer(0), Some(10));
        timers.set(Server(0), Some(20));
        timers.set(Ue(1), Some(10));
        timers.set(Server(1), Some(10));
        assert_eq!(timers.next_us(), 10);
        assert_eq!(timers.pop_due(9), None);
        for due in [Server(1), Ue(1), Bearer(0)] {
            assert_eq!(timers.pop_due(10), Some(due));
        }
        assert_eq!(timers.pop_due(10), None);
        assert_eq!(timers.pop_due(20), Some(Server(0)));
        assert_eq!(timers.next_us(), u64::MAX);
    }

    #[test]
    fn a_deadline_moved_later_or_cleared_does_not_expire_early() {
        let mut timers = Timers::new(1, 0);
        timers.set(Server(0), Some(10));
        timers.set(Server(0), Some(30));
        timers.set(Ue(0), Some(10));
        timers.set(Ue(0), None);
        assert_eq!(timers.pop_due(29), None);
        assert_eq!(timers.pop_due(30), Some(Server(0)));
        assert_eq!(timers.pop_due(1_000), None);
    }

    #[test]
    fn a_deadline_moved_earlier_expires_once() {
        let mut timers = Timers::new(0, 1);
        timers.set(Bearer(0), Some(30));
        timers.set(Bearer(0), Some(10));
        assert_eq!(timers.pop_due(10), Some(Bearer(0)));
        timers.set(Bearer(0), Some(40));
        assert_eq!(timers.pop_due(30), None);
        assert_eq!(timers.pop_due(40), Some(Bearer(0)));
        assert_eq!(timers.pop_due(50), None);
    }
}
