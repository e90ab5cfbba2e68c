//! Loss of numbered datagrams, as RTP receivers count it.

/// Distance to the highest number seen within which duplicates are detected.
const WINDOW: u64 = 128;

/// Counts the arrivals of a numbered stream (RFC 3550 §6.4.1 and Appendix A.3).
#[derive(Debug, Clone, Default)]
pub(crate) struct SequenceTracker {
    /// One above the highest number seen.
    expected: u64,
    /// Bit `i` set: number `expected - 1 - i` arrived.
    seen: u128,
    received: u64,
}

impl SequenceTracker {
    /// Counts an arrival; `false` for a duplicate.
    ///
    /// A datagram more than 128 numbers behind counts as new: the links modelled here delay but do
    /// not duplicate.
    pub(crate) fn on_arrival(&mut self, seq: u64) -> bool {
        if seq >= self.expected {
            let shift = seq - self.expected + 1;
            self.seen = if shift < WINDOW { self.seen << shift } else { 0 } | 1;
            self.expected = seq + 1;
        } else {
            let age = self.expected - 1 - seq;
            if age < WINDOW {
                if self.seen & (1 << age) != 0 {
                    return false;
                }
                self.seen |= 1 << age;
            }
        }
        self.received += 1;
        true
    }

    /// One above the highest number seen.
    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    /// Numbers below the highest seen that never arrived.
    pub(crate) fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reordered_datagrams_are_not_lost_and_duplicates_are_counted_once() {
        let mut tracker = SequenceTracker::default();
        let is_new = [0, 1, 4, 3, 3, 6].map(|seq| tracker.on_arrival(seq));
        assert_eq!(is_new, [true, true, true, true, false, true]);
        assert_eq!(tracker.lost(), 2, "2 and 5");
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
