//! When the SDAP scheduler looks at its queues, where it is a thread that sleeps in between.

use super::random::SplitMix64;

/// A sleeping thread of Linux is woken up to this much late (default timer slack, prctl(2)).
const TIMER_SLACK_US: u64 = 50;

/// Instants of a thread that sleeps `period_us`, and each time a little longer, so that they run
/// through all phases of a slot.
#[derive(Clone, Debug)]
pub(crate) struct SdapClock {
    period_us: u64,
    next_us: u64,
    random: SplitMix64,
}

impl SdapClock {
    pub(crate) fn new(period_us: u32, mut random: SplitMix64) -> Self {
        let period_us = u64::from(period_us);
        Self { period_us, next_us: random.below(period_us), random }
    }

    /// The first instant after `now_us`, which never goes back. Without a period, that is now.
    pub(crate) fn next_us(&mut self, now_us: u64) -> u64 {
        if self.period_us == 0 {
            return now_us;
        }
        while self.next_us <= now_us {
            self.next_us += self.period_us + self.random.below(TIMER_SLACK_US + 1);
        }
        self.next_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_at_least_its_period_and_drifts() {
        let mut clock = SdapClock::new(200, SplitMix64::new(7));
        let mut now_us = 0;
        let mut phases = std::collections::BTreeSet::new();
        for _ in 0..10_000 {
            let next_us = clock.next_us(now_us);
            assert_eq!(clock.next_us(next_us - 1), next_us, "asked again before it comes");
            if now_us > 0 {
                assert!((200..=250).contains(&(next_us - now_us)));
            }
            now_us = next_us;
            phases.insert(now_us % 1000 / 100);
        }
        assert_eq!(phases.len(), 10);
    }
}
