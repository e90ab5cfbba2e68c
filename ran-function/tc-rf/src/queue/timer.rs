//! The update timer of PIE and PI2 without a clock of its own.
//!
//! Between two packets nothing that an update reads changes but the time, so the updates that fell
//! due are made up for, each at its time, right before the next packet is looked at: the outcome is
//! that of a timer.

/// Most updates made up for at once. 4096 of the default 15 ms are a minute without a packet, by
/// when the probability has settled; older ones are skipped so that a clock that jumps ahead by
/// years costs no more.
const MAX_UPDATES: u64 = 4096;

/// Timer of the next update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpdateTimer {
    /// 0 before the first packet.
    next_us: u64,
}

impl UpdateTimer {
    /// Whether [`run`](Self::run) would change anything.
    #[inline]
    pub(crate) fn is_due(&self, now_us: u64, period_us: u64) -> bool {
        now_us >= self.next_us || self.next_us > now_us.saturating_add(period_us.max(1))
    }

    /// Calls `update` with the time of each expiry up to `now_us`. The first period begins with
    /// the first call; a clock that went back by more than a period restarts the period.
    #[inline(never)]
    pub(crate) fn run(&mut self, now_us: u64, period_us: u64, mut update: impl FnMut(u64)) {
        if !self.is_due(now_us, period_us) {
            return;
        }
        let period_us = period_us.max(1);
        let latest_us = now_us.saturating_add(period_us);
        if self.next_us == 0 || self.next_us > latest_us {
            self.next_us = latest_us;
            return;
        }
        let due = (now_us - self.next_us) / period_us + 1;
        self.next_us += due.saturating_sub(MAX_UPDATES) * period_us;
        while self.next_us <= now_us {
            update(self.next_us);
            let Some(next_us) = self.next_us.checked_add(period_us) else { break };
            self.next_us = next_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expiries(timer: &mut UpdateTimer, now_us: u64) -> Vec<u64> {
        let mut times = Vec::new();
        timer.run(now_us, 15, |at_us| times.push(at_us));
        times
    }

    #[test]
    fn makes_up_for_each_update_at_its_time() {
        let mut timer = UpdateTimer::default();
        assert!(expiries(&mut timer, 5).is_empty(), "the first period begins");
        assert!(expiries(&mut timer, 19).is_empty());
        assert_eq!(expiries(&mut timer, 20), [20]);
        assert_eq!(expiries(&mut timer, 66), [35, 50, 65]);
    }

    #[test]
    fn a_clock_that_jumps_stops_nothing_and_costs_little() {
        let mut timer = UpdateTimer::default();
        expiries(&mut timer, 1_000_000);
        assert!(expiries(&mut timer, 10).is_empty());
        assert_eq!(expiries(&mut timer, 25), [25], "as if started at 10");
        let times = expiries(&mut timer, 1 << 60);
        assert_eq!(times.len() as u64, MAX_UPDATES);
        assert!((1u64 << 60) - times[times.len() - 1] < 15);
        expiries(&mut timer, u64::MAX);
        expiries(&mut timer, u64::MAX);
    }
}
