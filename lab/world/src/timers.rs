//! Timers of the world's state machines, earliest deadline first.

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

/// Place of a timer that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// One deadline per timer. At equal deadlines flows precede bearers and a flow's server its UE, so the
/// order does not depend on history.
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    flows: u32,
    /// Binary heap of times and ranks, an entry at most per timer. Moving a deadline later or clearing it,
    /// as TCP does with each acknowledgement, leaves the entry where it is until it is due.
    heap: Vec<(u64, u32)>,
    /// Index of the entry of each timer.
    place: Vec<u32>,
    /// Deadline of each timer; never before its entry.
    deadline_us: Vec<u64>,
}

impl Timers {
    pub(crate) fn new(flows: usize, bearers: usize) -> Self {
        let count = 2 * flows + bearers;
        Self {
            flows: flows as u32,
            heap: Vec::with_capacity(count),
            place: vec![NOWHERE; count],
            deadline_us: vec![NEVER; count],
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
        let rank = self.rank(timer);
        let deadline_us = deadline_us.unwrap_or(NEVER);
        self.deadline_us[rank as usize] = deadline_us;
        let at = self.place[rank as usize] as usize;
        if let Some((entry_us, _)) = self.heap.get_mut(at) {
            if deadline_us < *entry_us {
                *entry_us = deadline_us;
                self.rise(at);
            }
        } else if deadline_us != NEVER {
            self.heap.push((deadline_us, rank));
            self.rise(self.heap.len() - 1);
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
        self.heap.first().map_or(NEVER, |(at_us, _)| *at_us)
    }

    /// Clears and returns the next timer that expired by `now_us`.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<Timer> {
        while let Some(&(at_us, rank)) = self.heap.first() {
            if at_us > now_us {
                return None;
            }
            let deadline_us = self.deadline_us[rank as usize];
            if deadline_us > now_us && deadline_us != NEVER {
                self.heap[0].0 = deadline_us;
                self.sink(0);
                continue;
            }
            self.heap.swap_remove(0);
            self.place[rank as usize] = NOWHERE;
            self.sink(0);
            if deadline_us != NEVER {
                self.deadline_us[rank as usize] = NEVER;
                return Some(self.of_rank(rank));
            }
        }
        None
    }

    /// Moves an entry up to where it belongs.
    fn rise(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves an entry down to where it belongs, if there is one.
    fn sink(&mut self, mut at: usize) {
        let Some(&entry) = self.heap.get(at) else { return };
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < self.heap.len() && self.heap[child + 1] < self.heap[child] {
                child += 1;
            }
            match self.heap.get(child) {
                Some(&lesser) if lesser < entry => self.put(at, lesser),
                _ => break,
            }
            at = child;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: (u64, u32)) {
        self.heap[at] = entry;
        self.place[entry.1 as usize] = at as u32;
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

    #[test]
    fn timers_expire_as_if_all_were_looked_at() {
        let mut random = traffic::Rng::new(3);
        let (mut timers, all) = (Timers::new(6, 4), 16);
        let mut deadlines_us = vec![NEVER; all];
        let mut expired = 0;
        for now_us in 0..20_000 {
            for _ in 0..random.below(4) {
                let rank = random.below(all as u64) as u32;
                let kept = random.below(8) > 0;
                let deadline_us = kept.then(|| now_us + 1 + random.below(60));
                timers.set(timers.of_rank(rank), deadline_us);
                deadlines_us[rank as usize] = deadline_us.unwrap_or(NEVER);
            }
            let mut due = Vec::new();
            while let Some(timer) = timers.pop_due(now_us) {
                due.push(timers.rank(timer));
            }
            due.sort_unstable();
            let of_time = (0..).zip(&deadlines_us).filter(|(_, at_us)| **at_us <= now_us);
            assert_eq!(due, of_time.map(|(rank, _)| rank).collect::<Vec<u32>>());
            due.iter().for_each(|rank| deadlines_us[*rank as usize] = NEVER);
            expired += due.len();
            assert!(timers.next_us() <= deadlines_us.iter().min().copied().unwrap_or(NEVER));
            assert!(timers.heap.len() <= all);
        }
        assert!(expired > 1_000, "{expired}");
    }
}
