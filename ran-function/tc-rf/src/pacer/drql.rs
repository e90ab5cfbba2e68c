//! DRQL: a limit on the bytes in the RLC buffer that adapts so that about one MTU is left in it
//! after each TTI (irazabal2021 §V-D, stolidis2024 §II). No pacing: up to the limit, packets go
//! at once.
//!
//! "When the MAC pulls a full RLC buffer, it becomes starved [...] leading to an increase in the
//! RLC buffer's maximum allowed capacity. However, if the MAC layer extracts only a portion [...],
//! leaving some data in the buffer indicates the necessity to reduce the maximum allowed capacity."
//! The step is what is missing to, or left above, one MTU. A buffer that ran empty because there
//! was nothing to send was not full and does not raise the limit; a TTI in which this bearer was
//! not served is no sample of what it could drain.

use super::{Algorithm, ReceivedStatus};

#[derive(Clone, Debug)]
pub(super) struct Drql {
    mtu_bytes: u64,
    limit_bytes: u64,
    /// Bytes in the RLC buffer at the last downlink TTI plus what was handed down since.
    held_bytes: u64,
    /// Whether the limit held a packet back since.
    limited: bool,
}

impl Drql {
    pub(super) fn new(mtu_bytes: u16, received: Option<&ReceivedStatus>) -> Self {
        let mtu_bytes = u64::from(mtu_bytes.max(1));
        Self {
            mtu_bytes,
            limit_bytes: mtu_bytes,
            held_bytes: received.map_or(0, |received| u64::from(received.status.occupancy_bytes)),
            limited: false,
        }
    }
}

impl Algorithm for Drql {
    fn status(&mut self, received: &ReceivedStatus) {
        if !received.status.dl_opportunity {
            return;
        }
        let left_bytes = u64::from(received.status.occupancy_bytes);
        let served = left_bytes < self.held_bytes;
        if left_bytes < self.mtu_bytes && self.limited {
            self.limit_bytes += self.mtu_bytes - left_bytes;
        } else if left_bytes > self.mtu_bytes && served {
            let excess_bytes = left_bytes - self.mtu_bytes;
            self.limit_bytes = self.limit_bytes.saturating_sub(excess_bytes).max(self.mtu_bytes);
        }
        self.held_bytes = left_bytes;
        self.limited = false;
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.held_bytes += len_bytes;
    }

    /// An empty RLC buffer always takes a packet.
    fn may_send(&mut self, len_bytes: u64, _now_us: u64) -> bool {
        let fits = self.held_bytes == 0 || self.held_bytes + len_bytes <= self.limit_bytes;
        self.limited |= !fits;
        fits
    }

    fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    /// An RLC buffer that drains `capacity` bytes per TTI, always a packet waiting above.
    fn run(pacer: &mut Drql, rlc: &mut u64, ttis: u64, capacity: u64) -> (u64, u64) {
        let (mut drained, mut left) = (0, 0);
        for _ in 0..ttis {
            while pacer.may_send(1500, 0) {
                pacer.sent(1500, 0);
                *rlc += 1500;
            }
            let pulled = capacity.min(*rlc);
            *rlc -= pulled;
            drained += pulled;
            left = *rlc;
            pacer.status(&received(0, *rlc as u32));
        }
        (drained, left)
    }

    #[test]
    fn finds_the_limit_that_leaves_about_an_mtu() {
        let mut pacer = Drql::new(1500, None);
        let mut rlc = 0;
        run(&mut pacer, &mut rlc, 20, 6000);
        let (drained, left) = run(&mut pacer, &mut rlc, 1000, 6000);
        assert_eq!(drained, 6_000_000, "the full capacity after convergence");
        assert!(left <= 3000, "{left} bytes left");
    }

    #[test]
    fn follows_the_capacity_down_and_up() {
        let mut pacer = Drql::new(1500, None);
        let mut rlc = 0;
        run(&mut pacer, &mut rlc, 50, 9000);
        let (_, left) = run(&mut pacer, &mut rlc, 100, 1000);
        assert!(left <= 3000, "{left} bytes left at a ninth of the rate");
        run(&mut pacer, &mut rlc, 10, 9000);
        let (drained, _) = run(&mut pacer, &mut rlc, 100, 9000);
        assert!(drained >= 890_000, "{drained} of 900000 bytes");
    }

    #[test]
    fn an_idle_bearer_keeps_its_limit() {
        let mut pacer = Drql::new(1500, None);
        let mut rlc = 0;
        run(&mut pacer, &mut rlc, 50, 6000);
        let limit_bytes = pacer.limit_bytes();
        for _ in 0..100 {
            pacer.status(&received(0, 0));
        }
        assert!(pacer.limit_bytes() <= limit_bytes + 1500);
    }

    #[test]
    fn a_tti_given_to_another_ue_does_not_shrink_the_limit() {
        let mut pacer = Drql::new(1500, None);
        let mut rlc = 0;
        run(&mut pacer, &mut rlc, 50, 6000);
        let limit_bytes = pacer.limit_bytes();
        run(&mut pacer, &mut rlc, 1, 0);
        assert_eq!(pacer.limit_bytes(), limit_bytes);
    }
}
