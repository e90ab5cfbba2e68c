//! DQL: dynamic queue limits, the algorithm of Linux (`lib/dynamic_queue_limits.c`, T. Herbert 2011),
//! which irazabal2024 §IV-A names as a pacer.
//!
//! It finds the fewest bytes that never let the consumer run dry. The consumer is the MAC; what a
//! TTI pulled is a completion. In Linux's words:
//! - Packets go until the bytes in progress exceed the limit, so the last one may pass over it.
//! - **Starved**: the limit had stopped the producer in the last interval and everything was
//!   completed since. The limit grows by what was queued *and* completed in the interval, plus what
//!   had passed over it.
//! - **Slack**: the consumer was busy throughout. What the limit holds beyond twice what an interval
//!   completes is slack; the least slack of a hold time of one second is taken off.
//!
//! What is on F1-U counts as in progress, as what a network card's driver has queued does.

use super::{Algorithm, ReceivedStatus};

/// Least slack is looked for this long (`slack_hold_time`, HZ in Linux).
const SLACK_HOLD_US: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct Dql {
    min_bytes: u64,
    max_bytes: u64,
    limit_bytes: u64,
    /// Queued and completed since the pacer took over, cumulative.
    queued_bytes: u64,
    completed_bytes: u64,
    /// `completed_bytes` plus the limit, as of the last completion.
    adjusted_limit_bytes: u64,
    /// `queued_bytes` at the last completion.
    previous_queued_bytes: u64,
    /// How far the bytes in progress had been over the limit at the last completion.
    previous_overlimit_bytes: u64,
    last_packet_bytes: u64,
    /// `last_packet_bytes` at the last completion.
    previous_last_packet_bytes: u64,
    slack_since_us: u64,
    lowest_slack_bytes: u64,
}

impl Dql {
    pub(super) fn new(min_bytes: u32, max_bytes: u32, received: Option<&ReceivedStatus>) -> Self {
        let min_bytes = u64::from(min_bytes);
        let held_bytes = received.map_or(0, ReceivedStatus::held_bytes);
        Self {
            min_bytes,
            max_bytes: u64::from(max_bytes),
            limit_bytes: min_bytes,
            queued_bytes: held_bytes,
            completed_bytes: 0,
            adjusted_limit_bytes: min_bytes,
            previous_queued_bytes: held_bytes,
            previous_overlimit_bytes: 0,
            last_packet_bytes: 0,
            previous_last_packet_bytes: 0,
            slack_since_us: received.map_or(0, |received| received.status.at_us),
            lowest_slack_bytes: u64::MAX,
        }
    }

    fn completed(&mut self, count_bytes: u64, now_us: u64) {
        let completed_bytes = self.completed_bytes + count_bytes;
        let mut limit_bytes = self.limit_bytes;
        let mut overlimit_bytes =
            (self.queued_bytes - self.completed_bytes).saturating_sub(limit_bytes);
        let in_progress_bytes = self.queued_bytes - completed_bytes;
        let previous_in_progress_bytes = self.previous_queued_bytes - self.completed_bytes;
        let all_previous_completed = completed_bytes >= self.previous_queued_bytes;

        if (overlimit_bytes > 0 && in_progress_bytes == 0)
            || (self.previous_overlimit_bytes > 0 && all_previous_completed)
        {
            limit_bytes += completed_bytes.saturating_sub(self.previous_queued_bytes)
                + self.previous_overlimit_bytes;
            self.slack_since_us = now_us;
            self.lowest_slack_bytes = u64::MAX;
        } else if in_progress_bytes > 0 && previous_in_progress_bytes > 0 && !all_previous_completed
        {
            let slack_bytes =
                (limit_bytes + self.previous_overlimit_bytes).saturating_sub(2 * count_bytes);
            // The part of the last packet that was within the limit.
            let last_packet_slack_bytes = match self.previous_overlimit_bytes {
                0 => 0,
                over => self.previous_last_packet_bytes.saturating_sub(over),
            };
            self.lowest_slack_bytes =
                self.lowest_slack_bytes.min(slack_bytes.max(last_packet_slack_bytes));
            if now_us.saturating_sub(self.slack_since_us) > SLACK_HOLD_US {
                limit_bytes = limit_bytes.saturating_sub(self.lowest_slack_bytes);
                self.slack_since_us = now_us;
                self.lowest_slack_bytes = u64::MAX;
            }
        }

        limit_bytes = limit_bytes.clamp(self.min_bytes, self.max_bytes);
        if limit_bytes != self.limit_bytes {
            self.limit_bytes = limit_bytes;
            overlimit_bytes = 0;
        }
        self.adjusted_limit_bytes = limit_bytes + completed_bytes;
        self.previous_overlimit_bytes = overlimit_bytes;
        self.previous_last_packet_bytes = self.last_packet_bytes;
        self.completed_bytes = completed_bytes;
        self.previous_queued_bytes = self.queued_bytes;
    }
}

impl Algorithm for Dql {
    fn status(&mut self, received: &ReceivedStatus) {
        let in_progress_bytes = self.queued_bytes - self.completed_bytes;
        let held_bytes = received.held_bytes();
        if held_bytes > in_progress_bytes {
            // More came back (retransmissions, headers) than went: still to be completed.
            self.queued_bytes += held_bytes - in_progress_bytes;
        } else if held_bytes < in_progress_bytes {
            self.completed(in_progress_bytes - held_bytes, received.status.at_us);
        }
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.queued_bytes += len_bytes;
        self.last_packet_bytes = len_bytes;
    }

    fn may_send(&mut self, _len_bytes: u64, _now_us: u64) -> bool {
        self.adjusted_limit_bytes >= self.queued_bytes
    }

    fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    /// Sends packets of 1500 bytes until the limit stops them.
    fn fill(pacer: &mut Dql) -> u64 {
        let mut bytes = 0;
        while pacer.may_send(1500, 0) {
            pacer.sent(1500, 0);
            bytes += 1500;
        }
        bytes
    }

    #[test]
    fn the_limit_grows_while_the_mac_starves() {
        // Worked by hand from the algorithm: the MAC pulls everything each TTI, always more waits.
        let mut pacer = Dql::new(0, 1 << 20, None);
        assert_eq!(fill(&mut pacer), 1500, "a limit of 0 lets one packet pass over it");
        // Over the limit by 1500 and nothing in progress: + 1500 queued and completed.
        pacer.status(&received(1_000, 0));
        assert_eq!(pacer.limit_bytes, 1_500);
        assert_eq!(fill(&mut pacer), 3_000);
        // 3000 queued and completed in the interval.
        pacer.status(&received(2_000, 0));
        assert_eq!(pacer.limit_bytes, 4_500);
        assert_eq!(fill(&mut pacer), 6_000);
        pacer.status(&received(3_000, 0));
        assert_eq!(pacer.limit_bytes, 10_500);
    }

    #[test]
    fn the_least_slack_of_a_second_is_taken_off() {
        let mut pacer = Dql::new(0, 1 << 20, None);
        pacer.limit_bytes = 30_000;
        pacer.adjusted_limit_bytes = 30_000;
        let mut held = 0;
        for ms in 1..=1_000 {
            held += fill(&mut pacer);
            held -= 5_000;
            pacer.status(&received(ms * 1_000, held as u32));
        }
        assert_eq!(pacer.limit_bytes, 30_000, "nothing before the hold time is over");
        held += fill(&mut pacer);
        pacer.status(&received(1_001_000, (held - 5_000) as u32));
        // What passes over the limit is 1500, 1000 and 500 in turn. Slack is limit + over-limit −
        // 2 · 5000, at least 20 500.
        assert_eq!(pacer.limit_bytes, 9_500);
    }

    #[test]
    fn it_stays_between_its_bounds() {
        let mut pacer = Dql::new(3_000, 9_000, None);
        assert_eq!(fill(&mut pacer), 4_500);
        for ms in 1..100 {
            pacer.status(&received(ms * 1_000, 0));
            fill(&mut pacer);
        }
        assert_eq!(pacer.limit_bytes, 9_000);
        for ms in 100..5_000 {
            let held = pacer.queued_bytes - pacer.completed_bytes;
            pacer.status(&received(ms * 1_000, (held - 100) as u32));
            fill(&mut pacer);
        }
        assert_eq!(pacer.limit_bytes, 3_000);
    }

    #[test]
    fn a_buffer_that_grows_by_itself_is_no_completion() {
        let mut pacer = Dql::new(3_000, 9_000, Some(&received(0, 2_000)));
        pacer.status(&received(1_000, 50_000));
        assert_eq!(pacer.completed_bytes, 0);
        assert!(!pacer.may_send(1, 1_000));
        pacer.status(&received(2_000, 0));
        assert!(pacer.may_send(1, 2_000));
    }
}
