//! UPF–SDAP pacer (USP, [24] of irazabal2021), as far as the papers at hand describe it: it follows
//! the principle "keep the pipe just full, but not fuller" (irazabal2021 §III-A.2) and "mandates
//! communication between the SDAP and RLC layers and the UPF [...]. UPF communicates with the SDAP
//! layer, and in turn, the SDAP layer communicates with the RLC layer" (stolidis2024 §II).
//!
//! What that leaves open, decided here:
//! - The queues above the pacer model the UPF's; between them and SDAP there is no delay that
//!   would have to be filled.
//! - The RLC reports its drain. Packets leave at that rate, evenly in time, not in a block
//!   after each TTI. It is measured over 10 ms (a radio frame), uplink slots of TDD included.
//! - "Just full" is what one TTI has lately been able to pull ([`Burst`]). What is missing to that in
//!   the RLC buffer is added to the rate, what is too much is taken off, so that it is made up in a
//!   radio frame. A buffer that ran empty while packets waited is filled to that mark at once.
//! - What is on F1-U counts as in the buffer, whose mark is then higher by what drains in the round
//!   trip. The difference is made up in two more round trips, the age of the drain.
//! - Time in which nothing was sent earns no more than one TTI's worth.

use super::burst::Burst;
use super::frame_rate::{FRAME_US, FrameRate};
use super::{Algorithm, ReceivedStatus};

#[derive(Clone, Debug)]
pub(super) struct UpfSdap {
    burst: Burst,
    rate: FrameRate,
    /// Bytes in the RLC buffer or on F1-U at the last status plus what was handed down since.
    held_bytes: u64,
    tti_us: u64,
    /// CU to DU and back.
    round_trip_us: u64,
    /// What may go now, bytes; below zero after a packet larger than what there was.
    tokens: f64,
    earned_us: u64,
    /// Whether a packet was held back since the last TTI.
    limited: bool,
    /// Whether the last TTI emptied the buffer while packets waited.
    starved: bool,
}

impl UpfSdap {
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        let at_us = received.map_or(0, |received| received.at_us);
        Self {
            burst: Burst::default(),
            rate: FrameRate::new(at_us),
            held_bytes: received.map_or(0, ReceivedStatus::held_bytes),
            tti_us: received.map_or(1_000, ReceivedStatus::tti_us),
            round_trip_us: received.map_or(0, ReceivedStatus::round_trip_us),
            tokens: 0.0,
            earned_us: at_us,
            limited: false,
            starved: false,
        }
    }

    /// What shall be in the RLC buffer and on F1-U.
    fn mark_bytes(&self) -> f64 {
        self.burst.bytes() as f64 + self.rate.bytes_per_us() * self.round_trip_us as f64
    }

    fn earn(&mut self, now_us: u64) {
        let elapsed_us = now_us.saturating_sub(self.earned_us).min(self.tti_us) as f64;
        self.earned_us = now_us;
        let missing = self.mark_bytes() - self.held_bytes as f64;
        let horizon_us = FRAME_US + 2 * self.round_trip_us;
        let pace = (self.rate.bytes_per_us() + missing / horizon_us as f64).max(0.0);
        let most = pace * self.tti_us as f64;
        self.tokens = (self.tokens + pace * elapsed_us).min(most);
    }
}

impl Algorithm for UpfSdap {
    fn status(&mut self, received: &ReceivedStatus) {
        let held_bytes = received.held_bytes();
        let drained_bytes = self.held_bytes.saturating_sub(held_bytes);
        self.tti_us = received.tti_us();
        self.round_trip_us = received.round_trip_us();
        self.earn(received.at_us);
        self.rate.drained(drained_bytes, received.at_us);
        if received.status.dl_opportunity {
            self.burst.tti(drained_bytes, &received.status, self.limited);
            self.starved = received.status.occupancy_bytes == 0 && self.limited;
            self.limited = false;
        }
        self.held_bytes = held_bytes;
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.held_bytes += len_bytes;
        self.tokens -= len_bytes as f64;
    }

    fn may_send(&mut self, _len_bytes: u64, now_us: u64) -> bool {
        self.earn(now_us);
        let refills = self.starved && (self.held_bytes as f64) < self.mark_bytes().max(1.0);
        let may = refills || self.tokens > 0.0;
        // What filled an empty buffer was not paced.
        if refills {
            self.tokens = self.tokens.max(0.0);
        }
        self.limited |= !may;
        may
    }

    fn grows_until_us(&self) -> u64 {
        self.earned_us.saturating_add(FRAME_US)
    }

    fn limit_bytes(&self) -> u64 {
        self.burst.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    #[test]
    fn packets_leave_at_the_rate_at_which_the_rlc_drains() {
        // 2 B/µs in TTIs of 1 ms; what leaves in the second second is spread over each ms.
        let mut pacer = UpfSdap::new(Some(&received(0, 0)));
        let (mut rlc, mut pulled) = (0u64, 0);
        let mut by_quarter = [0u64; 4];
        for us in (0..2_000_000u64).step_by(50) {
            if us % 1_000 == 0 {
                let drained = rlc.min(2_000);
                rlc -= drained;
                pulled += if us > 1_000_000 { drained } else { 0 };
                pacer.status(&received(us, rlc as u32));
            }
            while pacer.may_send(100, us) {
                pacer.sent(100, us);
                rlc += 100;
                if us > 1_000_000 {
                    by_quarter[(us % 1_000 / 250) as usize] += 100;
                }
            }
            assert!(rlc <= 8_000, "{rlc} B at {us} µs");
        }
        assert!(pulled >= 1_960_000, "{pulled} of 2000000 B");
        let all: u64 = by_quarter.iter().sum();
        for bytes in by_quarter {
            assert!((all / 6..=all / 3).contains(&bytes), "by quarter of a TTI: {by_quarter:?}");
        }
    }

    #[test]
    fn an_empty_buffer_is_filled_at_once() {
        let mut pacer = UpfSdap::new(Some(&received(0, 0)));
        assert!(!pacer.may_send(1_500, 10), "no estimate and no tokens");
        pacer.status(&received(1_000, 0));
        assert!(pacer.may_send(1_500, 1_000), "the TTI found it empty");
        pacer.sent(1_500, 1_000);
        assert!(!pacer.may_send(1_500, 1_000));
        pacer.status(&received(2_000, 0));
        // The TTI pulled 1500 and could have pulled more: twice as much, plus nothing else.
        let mut sent = 0;
        while pacer.may_send(1_500, 2_000) {
            pacer.sent(1_500, 2_000);
            sent += 1_500;
        }
        assert_eq!(sent, 3_000);
    }

    #[test]
    fn idle_time_earns_one_tti() {
        let mut pacer = UpfSdap::new(Some(&received(0, 0)));
        pacer.rate.drained(100_000, 10_000);
        pacer.earn(60_000_000);
        assert!((pacer.tokens - 10_000.0).abs() < 1e-6, "10 B/µs in a TTI of 1 ms");
        pacer.earn(0);
        assert!((pacer.tokens - 10_000.0).abs() < 1e-6, "a clock that goes back earns no tokens");
    }
}
