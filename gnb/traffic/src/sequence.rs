//! Loss, duplicates and reordering of numbered datagrams, as RTP receivers count them.

/// How far back a late datagram is still told from a duplicate.
const WINDOW: u64 = 128;

/// Counts what arrived of a numbered stream (RFC 3550 §6.4.1 and Appendix A.3 for the loss).
#[derive(Debug, Clone, Default)]
pub(crate) struct SequenceTracker {
    /// One above the highest number seen.
    expected: u64,
    /// Bit `i` set: number `expected - 1 - i` arrived.
    seen: u128,
    received: u64,
    duplicates: u64,
    reordered: u64,
}

impl SequenceTracker {
    /// Notes an arrival; `false` for a duplicate.
    ///
    /// A datagram later than 128 numbers counts as new: it cannot be told from a duplicate any
    /// more, and the links modelled here delay but do not duplicate.
    pub(crate) fn on_arrival(&mut self, seq: u64) -> bool {
        if seq >= self.expected {
            let shift = seq - self.expected + 1;
            self.seen = if shift < WINDOW { self.seen << shift } else { 0 } | 1;
            self.expected = seq + 1;
        } else {
            let age = self.expected - 1 - seq;
            if age < WINDOW {
                if self.seen & (1 << age) != 0 {
                    self.duplicates += 1;
                    return false;
                }
                self.seen |= 1 << age;
            }
            self.reordered += 1;
        }
        self.received += 1;
        true
    }

    /// Distinct datagrams that arrived.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Numbers below the highest seen that never arrived.
    pub(crate) fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }

    /// Arrivals behind a higher number.
    pub(crate) fn reordered(&self) -> u64 {
        self.reordered
    }

    /// Arrivals of a number that was there already.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_loss_reordering_and_duplicates_apart() {
        let mut tracker = SequenceTracker::default();
        for seq in [0, 1, 4, 3, 3, 6] {
            tracker.on_arrival(seq);
        }
        assert_eq!(tracker.received(), 5);
        assert_eq!(tracker.lost(), 2, "2 and 5");
        assert_eq!(tracker.reordered(), 1, "3 after 4");
        assert_eq!(tracker.duplicates(), 1, "3 again");
    }

    #[test]
    fn a_gap_wider_than_the_window_is_all_loss() {
        let mut tracker = SequenceTracker::default();
        tracker.on_arrival(0);
        tracker.on_arrival(100_000);
        assert_eq!(tracker.lost(), 99_999);
        assert!(tracker.on_arrival(99_999));
        assert!(!tracker.on_arrival(99_999));
    }
}
