//! The deadlines of all state machines of the world, earliest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NEVER: u64 = u64::MAX;

/// One deadline per timer number. Ties go to the lower number, so the order never depends on
/// history.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// The deadline each timer has.
    deadline_us: Vec<u64>,
    /// The earliest entry of each timer in the heap. A deadline that moves later, as TCP's does
    /// with each acknowledgement, leaves its entry where it is until that comes up.
    queued_us: Vec<u64>,
}

impl Timers {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(2 * count),
            deadline_us: vec![NEVER; count],
            queued_us: vec![NEVER; count],
        }
    }

    /// Sets or clears the deadline of a timer.
    pub(crate) fn set(&mut self, timer: u32, deadline_us: Option<u64>) {
        let index = timer as usize;
        let deadline_us = deadline_us.unwrap_or(NEVER);
        self.deadline_us[index] = deadline_us;
        if deadline_us < self.queued_us[index] {
            self.queued_us[index] = deadline_us;
            self.heap.push(Reverse((deadline_us, timer)));
        }
    }

    /// Brings the deadline of a timer forward; one that is earlier stays.
    pub(crate) fn advance(&mut self, timer: u32, deadline_us: u64) {
        if deadline_us < self.deadline_us[timer as usize] {
            self.set(timer, Some(deadline_us));
        }
    }

    /// A time no later than the earliest deadline; `u64::MAX` when there is none.
    pub(crate) fn next_us(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((at_us, _))| *at_us)
    }

    /// The next timer whose deadline has come by `now_us`; it is cleared.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<u32> {
        while let Some(&Reverse((at_us, timer))) = self.heap.peek() {
            if at_us > now_us {
                return None;
            }
            self.heap.pop();
            let index = timer as usize;
            if self.queued_us[index] != at_us {
                continue;
            }
            self.queued_us[index] = NEVER;
            let deadline_us = self.deadline_us[index];
            if deadline_us <= now_us {
                self.deadline_us[index] = NEVER;
                return Some(timer);
            }
            self.set(timer, (deadline_us != NEVER).then_some(deadline_us));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_in_order_of_time_then_number() {
        let mut timers = Timers::new(3);
        timers.set(2, Some(10));
        timers.set(0, Some(20));
        timers.set(1, Some(10));
        assert_eq!(timers.next_us(), 10);
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(10), Some(1));
        assert_eq!(timers.pop_due(10), Some(2));
        assert_eq!(timers.pop_due(10), None);
        assert_eq!(timers.pop_due(20), Some(0));
        assert_eq!(timers.next_us(), u64::MAX);
    }

    #[test]
    fn a_deadline_moved_later_or_cleared_does_not_fire_early() {
        let mut timers = Timers::new(2);
        timers.set(0, Some(10));
        timers.set(0, Some(30));
        timers.set(1, Some(10));
        timers.set(1, None);
        assert_eq!(timers.pop_due(29), None);
        assert_eq!(timers.pop_due(30), Some(0));
        assert_eq!(timers.pop_due(1_000), None);
    }

    #[test]
    fn a_deadline_moved_earlier_fires_once() {
        let mut timers = Timers::new(1);
        timers.set(0, Some(30));
        timers.set(0, Some(10));
        assert_eq!(timers.pop_due(10), Some(0));
        timers.set(0, Some(40));
        assert_eq!(timers.pop_due(30), None);
        assert_eq!(timers.pop_due(40), Some(0));
        assert_eq!(timers.pop_due(50), None);
    }
}
