//! How long packets of a bearer wait for the radio although nothing is in front of them: for a slot
//! with downlink, for a grant beside other UEs, for the packet before them on a slow radio. And for how
//! long the radio waited for packets of the bearer.

/// A gap counts for this long, twice at most: some periods of any TDD pattern, and the interval over
/// which CoDel takes a minimum (RFC 8289 §4.3).
const WINDOW_US: u64 = 100_000;
/// No TDD pattern is longer: two of at most 10 ms each (38.331, tdd-UL-DL-ConfigurationCommon). A
/// longer gap is an outage, which says nothing about the next packets.
const LONGEST_US: u64 = 20_000;
/// A pause of more than usual round trips is the application's, or a lost timer's.
const LONGEST_IDLE_US: u64 = 200_000;

/// The longest recent gap between departures from a bearer whose queues were not empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServiceGaps {
    /// Time since which packets wait and none has left.
    waiting_since_us: u64,
    window_ends_us: u64,
    longest_us: u64,
    /// Longest gap of the window before.
    former_us: u64,
    idle_us: u64,
}

impl ServiceGaps {
    /// A packet arrived at empty queues. The last packet left up to a gap before the radio could have
    /// taken another: half of it on average.
    pub(super) fn began(&mut self, now_us: u64) {
        let empty_us = now_us.saturating_sub(self.waiting_since_us);
        if empty_us <= LONGEST_IDLE_US {
            self.idle_us += empty_us.saturating_sub(self.longest_us() / 2);
        }
        self.waiting_since_us = now_us;
    }

    /// All time for which the queues were empty between packets of senders that were sending.
    #[inline]
    pub(super) fn idle_us(&self) -> u64 {
        self.idle_us
    }

    /// A packet leaves.
    #[inline]
    pub(super) fn departed(&mut self, now_us: u64) {
        if now_us > self.waiting_since_us.wrapping_add(self.longest_us)
            || now_us >= self.window_ends_us
        {
            self.note(now_us);
        }
        self.waiting_since_us = now_us;
    }

    /// The same for a gap that may be the longest, or in another window.
    #[cold]
    #[inline(never)]
    fn note(&mut self, now_us: u64) {
        let gap_us = now_us.saturating_sub(self.waiting_since_us);
        if now_us >= self.window_ends_us {
            self.begin_window(now_us);
        }
        self.longest_us = self.longest_us.max(gap_us.min(LONGEST_US));
    }

    fn begin_window(&mut self, now_us: u64) {
        let consecutive = now_us < self.window_ends_us.saturating_add(WINDOW_US);
        self.former_us = if consecutive { self.longest_us } else { 0 };
        self.longest_us = 0;
        self.window_ends_us = now_us.saturating_add(WINDOW_US);
    }

    /// The longest gap.
    #[inline]
    pub(super) fn longest_us(&self) -> u64 {
        self.longest_us.max(self.former_us)
    }
}
