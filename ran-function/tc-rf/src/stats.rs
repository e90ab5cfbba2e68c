//! Counters per queue.

/// Window over which the mean sojourn is taken, as OAI's RLC does.
const SOJOURN_WINDOW_US: u64 = 100_000;

/// Counters of one queue, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Packets forwarded.
    pub forwarded_packets: u64,
    /// Bytes forwarded.
    pub forwarded_bytes: u64,
    /// Packets dropped by the discipline or a limit.
    pub dropped_packets: u64,
    /// Packets marked by the discipline's control law.
    pub marked_packets: u64,
    /// Packets marked at once for their sojourn: `ce_threshold`, or the step or ramp of L4S.
    pub threshold_marked_packets: u64,
    /// Packets above the policer's rate.
    pub policed_packets: u64,
    /// Sojourn of the packet forwarded last.
    pub last_sojourn_us: u64,
}

/// What every packet that is forwarded changes, beside the rest of its queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forwarded {
    pub(crate) packets: u64,
    last_sojourn_us: u64,
    bytes: u64,
    pub(crate) sojourn: SojournWindow,
}

impl Forwarded {
    #[inline]
    pub(crate) fn count(&mut self, len_bytes: u32, sojourn_us: u64, now_us: u64) {
        self.packets += 1;
        self.bytes += u64::from(len_bytes);
        self.last_sojourn_us = sojourn_us;
        self.sojourn.record(sojourn_us, now_us);
    }
}

/// What happens to few packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signalled {
    pub(crate) dropped_packets: u64,
    pub(crate) marked_packets: u64,
    pub(crate) threshold_marked_packets: u64,
    pub(crate) policed_packets: u64,
}

impl QueueStats {
    pub(crate) fn new(forwarded: &Forwarded, signalled: &Signalled) -> Self {
        Self {
            forwarded_packets: forwarded.packets,
            forwarded_bytes: forwarded.bytes,
            dropped_packets: signalled.dropped_packets,
            marked_packets: signalled.marked_packets,
            threshold_marked_packets: signalled.threshold_marked_packets,
            policed_packets: signalled.policed_packets,
            last_sojourn_us: forwarded.last_sojourn_us,
        }
    }

    /// Packets that met the queue and are not in it: a change of this is traffic.
    pub(crate) fn packets(&self) -> u64 {
        self.forwarded_packets + self.dropped_packets + self.policed_packets
    }
}

/// Mean over the last whole window of 100 ms; 0 when it had no packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SojournWindow {
    /// End of the window that is summed up, a multiple of its length; 0 before the first packet.
    ends_us: u64,
    sum_us: u64,
    last_mean_us: u64,
    packets: u64,
}

impl SojournWindow {
    #[inline]
    fn record(&mut self, sojourn_us: u64, now_us: u64) {
        if now_us >= self.ends_us {
            self.begin(now_us);
        }
        self.sum_us = self.sum_us.wrapping_add(sojourn_us);
        self.packets += 1;
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, now_us: u64) {
        self.last_mean_us = self.mean_us(now_us);
        self.ends_us = (now_us - now_us % SOJOURN_WINDOW_US).saturating_add(SOJOURN_WINDOW_US);
        (self.sum_us, self.packets) = (0, 0);
    }

    pub(crate) fn mean_us(&self, now_us: u64) -> u64 {
        let Some(since_us) = now_us.checked_sub(self.ends_us) else { return self.last_mean_us };
        if since_us >= SOJOURN_WINDOW_US {
            return 0;
        }
        self.sum_us.checked_div(self.packets).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_last_whole_window() {
        let mut window = SojournWindow::default();
        window.record(1_000, 10_000);
        window.record(3_000, 90_000);
        assert_eq!(window.mean_us(99_999), 0, "the window is not over");
        assert_eq!(window.mean_us(100_000), 2_000);
        window.record(9_000, 150_000);
        assert_eq!(window.mean_us(199_999), 2_000);
        assert_eq!(window.mean_us(200_000), 9_000);
        assert_eq!(window.mean_us(300_000), 0, "no packet since");
    }

    #[test]
    fn an_old_window_is_not_reported_as_the_last_one() {
        let mut window = SojournWindow::default();
        window.record(5_000, 10_000);
        assert_eq!(window.mean_us(5_000_000), 0);
        window.record(7_000, 5_000_000);
        assert_eq!(window.mean_us(5_000_000), 0, "and the one before it had none");
    }
}
