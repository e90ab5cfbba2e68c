//! Drain of the RLC buffer over radio frames: what the MAC pulled, and what it could have pulled besides.
//!
//! The MAC cannot pull what is not there. A pacer that plans by what was pulled alone sends less after
//! each TTI that found the buffer empty, which empties it again: the estimate spirals down to a share of
//! the radio (Cooper, Homem-de-Mello and Kleywegt, "Models of the Spiral-Down Effect in Revenue
//! Management", Operations Research 54(5), 2006, where sales stand for demand). So the rest of each TTI
//! that emptied the buffer while packets were held back is counted as lost.

use super::ReceivedStatus;

/// Length of a radio frame (38.211 §4.3.1).
pub(super) const FRAME_US: u64 = 10_000;
/// Gains of mean and mean deviation, as for the [`Burst`](super::burst::Burst).
const MEAN_GAIN: f64 = 1.0 / 8.0;
const DEVIATION_GAIN: f64 = 1.0 / 4.0;
/// A packet.
const MTU_BYTES: u64 = 1_500;

/// What was drained and what was lost, bytes per µs.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    pub(super) mean: f64,
    /// Mean deviation from it.
    pub(super) deviation: f64,
    /// Mean of what the radio could have carried besides.
    pub(super) lost: f64,
    has_sample: bool,
    /// Bytes in the buffer at the last status.
    occupancy_bytes: u64,
    /// Handed down, less what is in flight: received, cumulative.
    sent_bytes: u64,
    received_bytes: u64,
    frame_start_us: u64,
    frame_bytes: u64,
    frame_lost_bytes: u64,
}

impl Drain {
    /// The drain from the last status on, if there is one.
    pub(super) fn new(received: Option<&ReceivedStatus>) -> Self {
        Self {
            mean: 0.0,
            deviation: 0.0,
            lost: 0.0,
            has_sample: false,
            occupancy_bytes: received
                .map_or(0, |received| u64::from(received.status.occupancy_bytes)),
            // What is on F1-U was sent before; counted as sent, it is received in time.
            sent_bytes: received.map_or(0, |received| received.in_flight.bytes),
            received_bytes: 0,
            frame_start_us: received.map_or(0, |received| received.status.at_us),
            frame_bytes: 0,
            frame_lost_bytes: 0,
        }
    }

    pub(super) fn sent(&mut self, len_bytes: u64) {
        self.sent_bytes += len_bytes;
    }

    /// Returns what the buffer held before the TTI of the status; `limited` says whether packets that
    /// would have reached it by then were held back.
    pub(super) fn status(&mut self, received: &ReceivedStatus, limited: bool) -> u64 {
        let status = &received.status;
        let received_bytes = self.sent_bytes.saturating_sub(received.in_flight.bytes);
        let held_bytes = self.occupancy_bytes + received_bytes.saturating_sub(self.received_bytes);
        self.received_bytes = received_bytes;
        self.occupancy_bytes = u64::from(status.occupancy_bytes);
        self.frame_bytes += held_bytes.saturating_sub(self.occupancy_bytes);
        if limited && status.dl_opportunity && status.occupancy_bytes == 0 {
            self.frame_lost_bytes += self.lost_bytes(held_bytes, received);
        }
        let elapsed_us = status.at_us.saturating_sub(self.frame_start_us);
        if elapsed_us >= FRAME_US || status.at_us < self.frame_start_us {
            let length_us = elapsed_us.max(FRAME_US) as f64;
            let sample = self.frame_bytes as f64 / length_us;
            if !self.has_sample {
                self.mean = sample;
                self.has_sample = true;
            }
            self.deviation += DEVIATION_GAIN * ((sample - self.mean).abs() - self.deviation);
            self.mean += MEAN_GAIN * (sample - self.mean);
            self.lost += MEAN_GAIN * (self.frame_lost_bytes as f64 / length_us - self.lost);
            self.frame_start_us = status.at_us;
            self.frame_bytes = 0;
            self.frame_lost_bytes = 0;
        }
        held_bytes
    }

    /// What a TTI could have carried beyond the bytes that emptied the buffer. The DU reports the
    /// capacity of the carrier, of which other UEs take a share: no more than what it carried, or than
    /// the mean, and at least a packet.
    fn lost_bytes(&self, held_bytes: u64, received: &ReceivedStatus) -> u64 {
        let mean_bytes = (self.mean * received.tti_us() as f64) as u64;
        let most_bytes = held_bytes.max(mean_bytes).max(MTU_BYTES);
        let capacity_bytes = u64::from(received.status.capacity_bytes_per_tti);
        capacity_bytes.saturating_sub(held_bytes).min(most_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    /// The drain after a second of TTIs that pull the `sent` bytes of each ms and leave `left`
    /// once; bytes per µs.
    fn after(sent: u64, left: u32, capacity: u32, limited: bool) -> (f64, f64) {
        let mut drain = Drain::new(None);
        for ms in 1..=1_000 {
            drain.sent(sent);
            let mut received = received(ms * 1_000, left);
            received.status.capacity_bytes_per_tti = capacity;
            drain.status(&received, limited);
        }
        (drain.mean, drain.lost)
    }

    fn is_near(of: (f64, f64), mean: f64, lost: f64) -> bool {
        (of.0 - mean).abs() < 0.01 && (of.1 - lost).abs() < 0.01
    }

    #[test]
    fn what_a_held_back_packet_could_have_used_is_lost() {
        let of = after(2_000, 0, 3_000, true);
        assert!(is_near(of, 2.0, 1.0), "{of:?}");
    }

    #[test]
    fn nothing_is_lost_where_nothing_waits_or_something_is_left() {
        let idle = after(2_000, 0, 3_000, false);
        assert!(is_near(idle, 2.0, 0.0), "{idle:?}");
        let left = after(2_000, 500, 3_000, true);
        assert!(is_near(left, 2.0, 0.0), "{left:?}");
        let unknown = after(2_000, 0, 0, true);
        assert!(is_near(unknown, 2.0, 0.0), "the DU does not tell its capacity: {unknown:?}");
    }

    #[test]
    fn of_a_carrier_shared_with_others_no_more_is_lost_than_was_carried() {
        let of = after(2_000, 0, 60_000, true);
        assert!(is_near(of, 2.0, 2.0), "{of:?}");
        let little = after(100, 0, 60_000, true);
        assert!(is_near(little, 0.1, 1.5), "a packet: {little:?}");
    }
}
