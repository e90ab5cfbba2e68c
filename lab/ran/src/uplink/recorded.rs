//! An uplink of recorded delivery opportunities behind a drop-tail queue, as `mm-link` of Mahimahi
//! (Netravali et al., USENIX ATC 2015).
//!
//! An opportunity carries bytes of whole or partial IP packets, without the headers of PDCP, RLC and MAC:
//! its 1500 bytes are one datagram of the recording's sender. What an opportunity has left when the queue
//! is empty is lost.

use std::collections::VecDeque;

use super::ControlGrant;
use crate::channel::MahimahiTrace;
use crate::error::{ConfigError, ensure};

/// A recorded uplink of one UE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedUplinkConfig {
    /// The opportunities.
    pub trace: MahimahiTrace,
    /// Most packets that wait; further ones are dropped.
    pub limit_packets: u32,
    /// Most bytes that wait; a packet beyond is dropped.
    pub limit_bytes: u32,
}

impl RecordedUplinkConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(self.limit_packets > 0, "uplink.limit_packets", 0, "1 or more")?;
        ensure(self.limit_bytes > 0, "uplink.limit_bytes", 0, "1 or more")
    }
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    leaves_us: u64,
    len_bytes: u32,
}

/// The queue of a UE and the opportunities that it has used.
#[derive(Debug, Clone)]
pub struct RecordedUplink {
    config: RecordedUplinkConfig,
    /// Packets that have not left.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    /// Opportunity of the last byte, counted from the start, and the bytes left there.
    opportunity: u64,
    room_bytes: u32,
    /// Data bytes that control has displaced to a later opportunity.
    displaced_bytes: u32,
}

impl RecordedUplink {
    /// An empty queue.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn new(config: RecordedUplinkConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            room_bytes: config.trace.opportunity_bytes(),
            config,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            opportunity: 0,
            displaced_bytes: 0,
        })
    }

    /// Sends a packet at `now_us`; returns when its last byte leaves, `None` if the queue is full.
    /// `now_us` must not decrease between calls.
    pub fn send(&mut self, len_bytes: u32, now_us: u64) -> Option<u64> {
        self.drop_departed(now_us);
        let bytes = self.waiting_bytes + u64::from(len_bytes);
        if self.waiting.len() >= self.config.limit_packets as usize
            || bytes > u64::from(self.config.limit_bytes)
        {
            return None;
        }
        if self.config.trace.time_us(self.opportunity) < now_us {
            self.open(self.config.trace.first_from(now_us).max(self.opportunity + 1));
        }
        let mut left_bytes = len_bytes;
        while left_bytes > self.room_bytes {
            left_bytes -= self.room_bytes;
            self.open(self.opportunity + 1);
        }
        self.room_bytes -= left_bytes;
        let leaves_us = self.config.trace.time_us(self.opportunity);
        self.waiting.push_back(Waiting { leaves_us, len_bytes });
        self.waiting_bytes = bytes;
        Some(leaves_us)
    }

    /// The next opportunity, since control precedes data (38.321 §5.4.3.1.3).
    pub fn grant_control(&self, now_us: u64) -> ControlGrant {
        let at_us = self.config.trace.time_us(self.config.trace.first_from(now_us));
        let most_bytes = self.config.trace.opportunity_bytes();
        ControlGrant { start_us: at_us, arrives_us: at_us, most_bytes }
    }

    /// Control takes `bytes` from data. Room is taken at the end of the queue, which has the same effect
    /// once the last byte has left.
    pub fn displace_data(&mut self, bytes: u32) {
        self.displaced_bytes = self.displaced_bytes.saturating_add(bytes);
        self.pay_displaced();
    }

    fn pay_displaced(&mut self) {
        // A byte stays, so that a queue with endless control still moves.
        let paid = self.displaced_bytes.min(self.room_bytes.saturating_sub(1));
        self.room_bytes -= paid;
        self.displaced_bytes -= paid;
    }

    /// Data goes on with this opportunity.
    fn open(&mut self, opportunity: u64) {
        self.opportunity = opportunity;
        self.room_bytes = self.config.trace.opportunity_bytes();
        self.pay_displaced();
    }

    fn drop_departed(&mut self, now_us: u64) {
        while self.waiting.front().is_some_and(|packet| packet.leaves_us <= now_us) {
            let departed = self.waiting.pop_front().map_or(0, |packet| packet.len_bytes);
            self.waiting_bytes -= u64::from(departed);
        }
        if self.waiting.is_empty() {
            // What control displaced has left too.
            self.displaced_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uplink(trace: &str, limit_packets: u32, limit_bytes: u32) -> RecordedUplink {
        let trace = MahimahiTrace::parse(trace).unwrap();
        RecordedUplink::new(RecordedUplinkConfig { trace, limit_packets, limit_bytes }).unwrap()
    }

    #[test]
    fn a_packet_leaves_at_the_opportunity_of_its_last_byte() {
        let mut uplink = uplink("2\n2\n5\n10\n", 100, 1_000_000);
        assert_eq!(uplink.send(1500, 100), Some(2_000));
        assert_eq!(uplink.send(700, 200), Some(2_000));
        assert_eq!(uplink.send(700, 300), Some(2_000), "the rest of the second opportunity");
        assert_eq!(uplink.send(1500, 400), Some(5_000), "its first 100 bytes at 2 ms");
        assert_eq!(uplink.send(100, 500), Some(5_000));
        assert_eq!(uplink.send(1501, 600), Some(12_000), "into the next round of the file");
    }

    #[test]
    fn opportunities_that_pass_with_an_empty_queue_are_lost() {
        let mut uplink = uplink("1\n2\n3\n4\n", 100, 1_000_000);
        assert_eq!(uplink.send(100, 0), Some(1_000));
        assert_eq!(uplink.send(1500, 2_500), Some(3_000));
        assert_eq!(uplink.send(1500, 3_000), Some(4_000), "that of 3 ms is full");
        assert_eq!(uplink.send(100, 10_000), Some(10_000), "an opportunity now");
    }

    /// 12 Mbit/s, one opportunity a millisecond.
    #[test]
    fn a_full_queue_drops_by_packets_and_by_bytes() {
        let mut by_packets = uplink("1\n2\n", 3, u32::MAX);
        let sent: Vec<bool> = (0..5).map(|_| by_packets.send(1500, 0).is_some()).collect();
        assert_eq!(sent, [true, true, true, false, false]);
        assert!(by_packets.send(1500, 1_000).is_some(), "one has left");
        let mut by_bytes = uplink("1\n2\n", u32::MAX, 3_000);
        let sent: Vec<bool> = (0..4).map(|_| by_bytes.send(1000, 0).is_some()).collect();
        assert_eq!(sent, [true, true, true, false]);
    }

    #[test]
    fn the_rate_is_that_of_the_trace() {
        let mut uplink = uplink("1\n1\n7\n10\n", u32::MAX, u32::MAX);
        let last_us = (0..4_000).filter_map(|_| uplink.send(1500, 0)).last().unwrap();
        assert_eq!(last_us, 10_000_000, "four opportunities in 10 ms");
    }

    #[test]
    fn control_takes_the_next_opportunity_and_data_waits_as_long() {
        let mut uplink = uplink("1\n2\n3\n4\n", 100, 1_000_000);
        assert_eq!(uplink.send(1500, 0), Some(1_000));
        let grant = uplink.grant_control(100);
        assert_eq!((grant.start_us, grant.most_bytes), (1_000, 1500));
        uplink.displace_data(500);
        assert_eq!(uplink.send(1500, 200), Some(3_000), "1000 bytes at 2 ms, 500 at 3 ms");
    }

    #[test]
    fn a_queue_without_room_is_refused() {
        let trace = MahimahiTrace::parse("1\n").unwrap();
        let config = RecordedUplinkConfig { trace, limit_packets: 0, limit_bytes: 1 };
        let error = RecordedUplink::new(config.clone()).unwrap_err().to_string();
        assert_eq!(error, "uplink.limit_packets: 0; expected 1 or more");
        let config = RecordedUplinkConfig { limit_packets: 1, limit_bytes: 0, ..config };
        let error = RecordedUplink::new(config).unwrap_err().to_string();
        assert_eq!(error, "uplink.limit_bytes: 0; expected 1 or more");
    }
}
