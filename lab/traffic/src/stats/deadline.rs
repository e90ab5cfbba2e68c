//! Frames and packets of inelastic flows against their deadlines.

use std::collections::VecDeque;

use serde::Serialize;

use super::DelayRecorder;

/// What became of the units, frames or packets, of a flow that have a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Deadlines {
    /// Time from the server's sending of a unit to its complete arrival at the UE within which it is of
    /// use, µs.
    pub budget_us: u64,
    /// Units sent, except those that may still arrive in time.
    pub due: u64,
    /// Units that arrived within the budget.
    pub in_time: u64,
    /// Units that arrived later.
    pub late: u64,
}

impl Deadlines {
    /// Units that did not arrive.
    pub fn lost(&self) -> u64 {
        self.due.saturating_sub(self.in_time + self.late)
    }
}

/// The units that a sender has sent, and the times of those whose deadline may lie ahead.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    budget_us: u64,
    sent: u64,
    recent_us: VecDeque<u64>,
}

impl Due {
    pub(crate) fn new(budget_us: u64) -> Self {
        Self { budget_us, sent: 0, recent_us: VecDeque::new() }
    }

    /// Counts a unit.
    pub(crate) fn on_sent(&mut self, now_us: u64) {
        self.sent += 1;
        self.recent_us.push_back(now_us);
        while self.recent_us.front().is_some_and(|at_us| at_us + self.budget_us < now_us) {
            self.recent_us.pop_front();
        }
    }

    /// Compares with what arrived by `now_us`: the delays of the units, and one above the highest
    /// number among them. Units are numbered from 0 in the order of sending.
    pub(crate) fn judge(&self, delays: &DelayRecorder, expected: u64, now_us: u64) -> Deadlines {
        let recent = self.recent_us.iter().filter(|at_us| *at_us + self.budget_us > now_us).count();
        let pending = self.sent.saturating_sub(expected).min(recent as u64);
        let in_time = delays.count_within(self.budget_us);
        let late = delays.count() - in_time;
        Deadlines { budget_us: self.budget_us, due: self.sent - pending, in_time, late }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_arrives_is_lost_and_what_may_still_arrive_is_not_judged() {
        let mut due = Due::new(50_000);
        (0..100).for_each(|n| due.on_sent(n * 10_000));
        let mut delays = DelayRecorder::new();
        (0..60).for_each(|n| delays.record(n, if n < 50 { 20_000 } else { 80_000 }));
        // The radio ends after the unit with number 69; ten of them were dropped before.
        let judged = due.judge(&delays, 70, 995_000);
        assert_eq!((judged.in_time, judged.late, judged.due), (50, 10, 95));
        assert_eq!(judged.lost(), 35);
        // All arrived but the newest two, which have time.
        let judged = due.judge(&delays, 98, 995_000);
        assert_eq!((judged.due, judged.lost()), (98, 38));
    }
}
