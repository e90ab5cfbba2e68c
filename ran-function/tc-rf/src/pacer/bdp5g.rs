//! 5G-BDP ([24] of irazabal2021, described there in §IV-A) with the constants of the prototype of
//! irazabal2024.
//!
//! It hands down what the RLC buffer drains in the time since the last update, counting what is
//! left in the buffer, with head room. Five differences from the prototype, which is
//! `bdp5g_prototype.rs`:
//! - Its weights of the last four samples sum to 1.117, which makes every estimate 11.7 % too
//!   high. Here the sum is divided by that.
//! - Its millisecond is a millisecond of downlink: uplink slots of TDD do not count.
//! - It expects a uniform bandwidth (irazabal2021 §IV-A) and has a floor and a cap per
//!   millisecond instead of what a TTI can pull. Where a TTI pulls more than rate, floor and cap
//!   give, the buffer ran empty with packets waiting above. Here what one TTI has lately been able
//!   to pull ([`Burst`]) may always stand in the buffer.
//! - Its floor is 15 kB, which a slow bearer takes hundreds of ms to drain. Here the floor is at most what
//!   radio frames have lately been able to drain, mean + 4 deviations.
//! - It assumes a monolithic gNB. With a separate CU, what is on F1-U counts as not yet drained, and
//!   what radio frames have lately been able to drain in the round trip over F1-U, mean + 4 deviations,
//!   may be on F1-U and in the buffer as well.

use super::bdp_rate::{BdpRate, UPDATE_US};
use super::burst::Burst;
use super::frame_rate::FrameRate;
use super::{Algorithm, ReceivedStatus};

#[derive(Clone, Debug)]
pub(super) struct Bdp5g {
    rate: BdpRate,
    /// Downlink time since the last update.
    downlink_us: u64,
    burst: Burst,
    /// Bytes in the RLC buffer or on F1-U at the last TTI plus what was handed down since.
    held_bytes: u64,
    /// Whether a packet was held back since.
    limited: bool,
    /// CU to DU and back.
    round_trip_us: u64,
    /// Drain in wall-clock time.
    drain: FrameRate,
}

impl Bdp5g {
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        Self {
            rate: BdpRate::unbiased(received),
            downlink_us: 0,
            burst: Burst::default(),
            held_bytes: received.map_or(0, ReceivedStatus::held_bytes),
            limited: false,
            round_trip_us: received.map_or(0, ReceivedStatus::round_trip_us),
            drain: FrameRate::new(received.map_or(0, |received| received.at_us)),
        }
    }

    /// What may drain within the round trip over F1-U.
    fn on_the_way_bytes(&self) -> f64 {
        self.drain.high_bytes_per_us() * self.round_trip_us as f64
    }
}

impl Algorithm for Bdp5g {
    fn status(&mut self, received: &ReceivedStatus) {
        let status = &received.status;
        let held_bytes = received.held_bytes();
        let drained_bytes = self.held_bytes.saturating_sub(held_bytes);
        self.round_trip_us = received.round_trip_us();
        self.drain.drained(drained_bytes, received.at_us);
        if let Some(frame_bytes) = self.drain.high_frame_bytes() {
            self.rate.limit_floor(frame_bytes);
        }
        self.held_bytes = held_bytes;
        if !status.dl_opportunity {
            return;
        }
        self.burst.tti(drained_bytes, status, self.limited);
        self.limited = false;
        self.downlink_us += u64::from(status.tti_us.max(1));
        if self.downlink_us >= UPDATE_US {
            self.rate.update(held_bytes, self.downlink_us, received.at_us);
            self.downlink_us = 0;
        }
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.rate.sent(len_bytes);
        self.held_bytes += len_bytes;
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        let on_the_way_bytes = self.on_the_way_bytes();
        let may = (self.held_bytes as f64) < self.burst.bytes() as f64 + on_the_way_bytes
            || self.rate.fits(len_bytes, now_us, on_the_way_bytes);
        self.limited |= !may;
        may
    }

    fn grows_until_us(&self) -> u64 {
        self.rate.updated_us.saturating_add(UPDATE_US)
    }

    fn limit_bytes(&self) -> u64 {
        (self.rate.budget_bytes(UPDATE_US) as u64).max(self.burst.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{received, received_tti};
    use super::*;

    #[test]
    fn a_steady_drain_is_estimated_without_bias() {
        let mut pacer = Bdp5g::new(None);
        for ms in 1..=4 {
            pacer.sent(20_000, 0);
            pacer.status(&received(ms * 1000, 0));
        }
        assert!((pacer.rate.bandwidth() - 20.0).abs() < 1e-9);
        assert_eq!(pacer.limit_bytes(), 32_800, "1.5 × 1000 µs × 20 B/µs + 2800 B");
    }

    #[test]
    fn half_millisecond_slots_make_one_update_per_millisecond() {
        let mut pacer = Bdp5g::new(None);
        pacer.sent(3_000, 0);
        pacer.status(&received_tti(500, 1_500, 500));
        assert_eq!(pacer.rate.updated_us, 0);
        pacer.status(&received_tti(1_000, 0, 500));
        assert_eq!(pacer.rate.updated_us, 1_000);
        let weighted = (0.7 * 3.0 + 40.0 * (0.3 + 0.09 + 0.027)) / 1.117;
        assert!((pacer.rate.bandwidth() - weighted).abs() < 1e-9);
    }

    /// What goes down at once to an RLC that drained `bytes` in each ms of the last half second.
    fn filled(bytes: u64) -> u64 {
        let mut pacer = Bdp5g::new(None);
        for ms in 1..=500 {
            pacer.sent(bytes, ms * 1_000);
            pacer.status(&received(ms * 1_000, 0));
        }
        let mut held = 0;
        while pacer.may_send(1_500, 500_900) {
            pacer.sent(1_500, 500_900);
            held += 1_500;
        }
        held
    }

    #[test]
    fn a_slow_bearer_keeps_two_packets_and_a_faster_one_the_floor() {
        // 0.5, 4 and 16 Mbit/s.
        assert_eq!([63, 500, 2_000].map(filled), [3_000, 6_000, 15_000]);
    }

    #[test]
    fn a_bloated_rlc_buffer_receives_no_packet() {
        let mut pacer = Bdp5g::new(Some(&received(0, 1_500_000)));
        assert!(!pacer.may_send(40, 1_000));
    }

    #[test]
    fn a_radio_that_bursts_finds_in_the_buffer_what_it_can_pull() {
        // 30 kB in each tenth TTI. The rate allows no more than 40 kB in one update.
        let mut pacer = Bdp5g::new(None);
        let (mut rlc, mut pulled) = (0u64, 0);
        for ms in 1..=1_000 {
            while pacer.may_send(1_500, ms * 1000) {
                pacer.sent(1_500, ms * 1000);
                rlc += 1_500;
            }
            if ms % 10 == 0 {
                pulled += rlc.min(30_000);
                rlc = rlc.saturating_sub(30_000);
                let mut received = received(ms * 1000, rlc as u32);
                received.status.capacity_bytes_per_tti = 30_000;
                pacer.status(&received);
            }
            assert!(rlc <= 50_000, "{rlc} B held at {ms} ms");
        }
        assert!(pulled >= 99 * 30_000, "{pulled} of 3000000 B");
    }

    #[test]
    fn a_fast_radio_is_not_held_to_the_cap() {
        // 125 kB each ms, 1 Gbit/s.
        let mut pacer = Bdp5g::new(None);
        let (mut rlc, mut pulled) = (0u64, 0);
        for ms in 1..=200 {
            while pacer.may_send(1_500, ms * 1000) {
                pacer.sent(1_500, ms * 1000);
                rlc += 1_500;
            }
            pulled += rlc.min(125_000);
            rlc = rlc.saturating_sub(125_000);
            let mut received = received(ms * 1000, rlc as u32);
            received.status.capacity_bytes_per_tti = 125_000;
            pacer.status(&received);
        }
        assert!(pulled >= 195 * 125_000, "{pulled} of 25000000 B");
    }
}
