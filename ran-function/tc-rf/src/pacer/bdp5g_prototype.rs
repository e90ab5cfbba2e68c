//! 5G-BDP as published in the prototype of irazabal2024, including its arithmetic errors:
//! - an SDAP scheduler that runs every 200 µs and forwards only then;
//! - the RLC occupancy polled each millisecond, uplink slots of TDD or not;
//! - the weights of the last four samples sum to 1.117, a bias of 11.7 %;
//! - no more than 40 000 B per update: 320 Mbit/s at most.
//!
//! Its asserts on control and overflow are not reproduced. `bdp5g.rs`
//! is the form to use.

use super::bdp_rate::{BdpRate, UPDATE_US};
use super::{Algorithm, ReceivedStatus};

/// Period of the prototype's egress.
const EGRESS_US: u64 = 200;

#[derive(Clone, Debug)]
pub(super) struct Bdp5gPrototype {
    rate: BdpRate,
    /// Last run of the scheduler.
    scheduled_us: Option<u64>,
}

impl Bdp5gPrototype {
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        Self { rate: BdpRate::biased(received), scheduled_us: None }
    }

    /// Whether the scheduler runs now: once per period, for the duration of one pass.
    fn is_scheduled(&mut self, now_us: u64) -> bool {
        let before = self.scheduled_us.replace(now_us);
        let scheduled =
            before.is_none_or(|at_us| at_us == now_us || at_us / EGRESS_US != now_us / EGRESS_US);
        if !scheduled {
            self.scheduled_us = before;
        }
        scheduled
    }
}

impl Algorithm for Bdp5gPrototype {
    fn status(&mut self, received: &ReceivedStatus) {
        let at_us = received.status.at_us;
        let elapsed_us = at_us.saturating_sub(self.rate.updated_us);
        if elapsed_us >= UPDATE_US || at_us < self.rate.updated_us {
            let occupancy_bytes = u64::from(received.status.occupancy_bytes);
            self.rate.update(occupancy_bytes, elapsed_us.max(UPDATE_US), at_us);
        }
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.rate.sent(len_bytes);
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        self.is_scheduled(now_us) && self.rate.fits(len_bytes, now_us, 0.0)
    }

    fn grows_until_us(&self) -> u64 {
        self.rate.updated_us.saturating_add(UPDATE_US)
    }

    fn limit_bytes(&self) -> u64 {
        self.rate.budget_bytes(UPDATE_US) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{received, received_tti};
    use super::*;

    fn fill(pacer: &mut Bdp5gPrototype, now_us: u64) -> u64 {
        let mut bytes = 0;
        while pacer.may_send(1500, now_us) {
            pacer.sent(1500, now_us);
            bytes += 1500;
        }
        bytes
    }

    #[test]
    fn the_estimate_is_too_high_by_the_sum_of_the_weights() {
        let mut pacer = Bdp5gPrototype::new(None);
        for ms in 1..=4 {
            pacer.sent(20_000, 0);
            pacer.status(&received(ms * 1000, 0));
        }
        assert!((pacer.rate.bandwidth() - 20.0 * 1.117).abs() < 1e-9);
        // 1.5 × 1000 µs × 22.34 B/µs + 2800 B.
        assert_eq!(pacer.limit_bytes(), 36_310);
    }

    #[test]
    fn it_hands_down_once_each_200_us() {
        let mut pacer = Bdp5gPrototype::new(None);
        pacer.status(&received(1_000, 0));
        // A millisecond of nothing: 0.417 · 40 = 16.68 B/µs; the floor of 15 000 B counts. A tenth
        // packet still finds 13 500 + 500 B.
        assert_eq!(fill(&mut pacer, 1_000), 15_000);
        assert_eq!(fill(&mut pacer, 1_199), 0, "a packet that came meanwhile waits");
        assert_eq!(fill(&mut pacer, 1_800), 7_500, "1.5 × 800 × 16.68 + 2800 = 22 816 B by now");
    }

    #[test]
    fn more_than_the_cap_never_goes_in_one_update() {
        let mut pacer = Bdp5gPrototype::new(None);
        for ms in 1..=4 {
            pacer.sent(100_000, 0);
            pacer.status(&received(ms * 1000, 0));
        }
        let all: u64 = (0..5).map(|period| fill(&mut pacer, 4_000 + 200 * period)).sum();
        assert_eq!(all, 39_000, "40 000 B in whole packets");
    }

    #[test]
    fn uplink_slots_count_as_time_without_drain() {
        let mut pacer = Bdp5gPrototype::new(None);
        pacer.sent(10_000, 0);
        for slot in 1..=4 {
            let mut uplink = received_tti(slot * 500, 10_000, 500);
            uplink.status.dl_opportunity = false;
            pacer.status(&uplink);
        }
        let weighted = 40.0 * (0.09 + 0.027);
        assert!((pacer.rate.bandwidth() - weighted).abs() < 1e-9, "two samples of nothing");
    }
}
