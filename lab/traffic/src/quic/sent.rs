//! The packets that a QUIC sender sent, and which of them are lost: RFC 9002 §6.1 and appendix A.

use std::collections::VecDeque;

use super::stream::Chunk;
use crate::tcp::ranges::RangeSet;
use crate::tcp::rate::Transmission;
use crate::tcp::scoreboard::Snapshot;

/// RFC 9002 §6.1.1, kPacketThreshold.
const PACKET_THRESHOLD: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PacketState {
    InFlight,
    Acked,
    /// Kept for a while, to recognise a late acknowledgement.
    Lost,
}

/// A packet that was sent and is not forgotten. All packets here elicit an acknowledgement and count in
/// flight.
#[derive(Debug, Clone)]
pub(super) struct SentPacket {
    pub(super) number: u64,
    /// UDP payloads sent before it: orders transmissions as sequence numbers do for TCP.
    pub(super) position: u64,
    /// UDP payload.
    pub(super) bytes: u32,
    pub(super) sent_us: u64,
    /// Its bytes of the stream.
    pub(super) chunk: Option<Chunk>,
    /// It was sent ECN-capable.
    pub(super) is_ect: bool,
    pub(super) has_ack_frequency: bool,
    pub(super) has_data_blocked: bool,
    pub(super) snapshot: Snapshot,
    state: PacketState,
}

impl SentPacket {
    pub(super) fn new(number: u64, position: u64, bytes: u32, sent_us: u64) -> Self {
        Self {
            number,
            position,
            bytes,
            sent_us,
            chunk: None,
            is_ect: false,
            has_ack_frequency: false,
            has_data_blocked: false,
            snapshot: Snapshot::default(),
            state: PacketState::InFlight,
        }
    }
}

impl Transmission for SentPacket {
    fn len_bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn end(&self) -> u64 {
        self.position + u64::from(self.bytes)
    }

    fn sent_us(&self) -> u64 {
        self.sent_us
    }

    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// What a detection found.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Packets newly lost, by number.
    pub(super) packets: Vec<SentPacket>,
    /// Time at which the next packet becomes late.
    pub(super) next_us: Option<u64>,
}

/// Packets by number.
#[derive(Debug, Clone, Default)]
pub(super) struct SentPackets {
    packets: VecDeque<SentPacket>,
    /// Number of the first.
    first: u64,
    acked: RangeSet,
    largest_acked: Option<u64>,
    in_flight_bytes: u64,
    in_flight_packets: u64,
}

impl SentPackets {
    pub(super) fn push(&mut self, packet: SentPacket) {
        self.in_flight_bytes += u64::from(packet.bytes);
        self.in_flight_packets += 1;
        self.packets.push_back(packet);
    }

    /// UDP payloads in flight.
    pub(super) fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// A packet is in flight.
    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight_packets > 0
    }

    pub(super) fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// Processes the range `[start, end)` of an ACK frame. Calls `acked` with each packet newly
    /// acknowledged and whether it had been declared lost.
    pub(super) fn on_acked(
        &mut self,
        (start, end): (u64, u64),
        mut acked: impl FnMut(&SentPacket, bool),
    ) {
        let end = end.min(self.first + self.packets.len() as u64);
        let start = start.max(self.first);
        if start >= end {
            return;
        }
        self.largest_acked = self.largest_acked.max(Some(end - 1));
        let Self { packets, first, acked: known, in_flight_bytes, in_flight_packets, .. } = self;
        known.insert(start, end, |from, to| {
            let range = (from - *first) as usize..(to - *first) as usize;
            for packet in packets.range_mut(range) {
                let was_lost = packet.state == PacketState::Lost;
                if !was_lost {
                    *in_flight_bytes -= u64::from(packet.bytes);
                    *in_flight_packets -= 1;
                }
                packet.state = PacketState::Acked;
                acked(packet, was_lost);
            }
        });
    }

    /// RFC 9002 §6.1 and A.10, DetectAndRemoveLostPackets: packets below the largest acknowledged that are
    /// three packets below it, or were sent `loss_delay_us` before now.
    pub(super) fn detect_losses(&mut self, now_us: u64, loss_delay_us: u64) -> Losses {
        let mut losses = Losses::default();
        let Some(largest) = self.largest_acked else { return losses };
        let below = (largest.saturating_sub(self.first) as usize).min(self.packets.len());
        for packet in self.packets.range_mut(..below) {
            if packet.state != PacketState::InFlight {
                continue;
            }
            let due_us = packet.sent_us + loss_delay_us;
            if due_us <= now_us || largest >= packet.number + PACKET_THRESHOLD {
                packet.state = PacketState::Lost;
                self.in_flight_bytes -= u64::from(packet.bytes);
                self.in_flight_packets -= 1;
                losses.packets.push(packet.clone());
            } else {
                losses.next_us =
                    Some(losses.next_us.map_or(due_us, |at_us: u64| at_us.min(due_us)));
            }
        }
        losses
    }

    /// Forgets acknowledged packets, and lost ones sent before `before_us`, from the front.
    pub(super) fn forget(&mut self, before_us: u64) {
        while let Some(packet) = self.packets.front() {
            let is_done = match packet.state {
                PacketState::InFlight => false,
                PacketState::Acked => true,
                PacketState::Lost => packet.sent_us < before_us,
            };
            if !is_done {
                break;
            }
            self.packets.pop_front();
            self.first += 1;
        }
        self.acked.remove_below(self.first);
    }

    /// The bytes of the stream in the earliest packet in flight that are `wanted`.
    pub(super) fn earliest_chunk(&self, wanted: impl Fn(&Chunk) -> bool) -> Option<Chunk> {
        let in_flight = self.packets.iter().filter(|packet| packet.state == PacketState::InFlight);
        in_flight.filter_map(|packet| packet.chunk).find(|chunk| wanted(chunk))
    }
}

/// RFC 9002 §7.6.1: the longest time between two packets of `lost`, which were sent after `since_us` and
/// between which none was acknowledged: packet numbers that follow each other.
pub(super) fn longest_run_us(lost: &[SentPacket], since_us: u64) -> u64 {
    let (mut longest_us, mut start) = (0, None::<(u64, u64)>);
    for packet in lost.iter().filter(|packet| packet.sent_us > since_us) {
        let (first_us, next) = start
            .filter(|&(_, next)| packet.number == next)
            .map_or((packet.sent_us, packet.number + 1), |(first_us, next)| (first_us, next + 1));
        start = Some((first_us, next));
        longest_us = longest_us.max(packet.sent_us - first_us);
    }
    longest_us
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS_DELAY_US: u64 = 45_000;

    /// Packets sent a millisecond apart.
    fn sent(count: u64) -> SentPackets {
        let mut packets = SentPackets::default();
        for number in 0..count {
            packets.push(SentPacket::new(number, number * 1_200, 1_200, number * 1_000));
        }
        packets
    }

    fn numbers(losses: &Losses) -> Vec<u64> {
        losses.packets.iter().map(|packet| packet.number).collect()
    }

    #[test]
    fn a_packet_is_lost_when_the_third_after_it_is_acknowledged() {
        let mut packets = sent(10);
        packets.on_acked((2, 3), |_, _| {});
        let losses = packets.detect_losses(20_000, LOSS_DELAY_US);
        assert_eq!((numbers(&losses), losses.next_us), (vec![], Some(45_000)));
        packets.on_acked((3, 5), |_, _| {});
        assert_eq!(numbers(&packets.detect_losses(20_000, LOSS_DELAY_US)), [0, 1]);
        assert_eq!(packets.in_flight_bytes(), 5 * 1_200);
    }

    #[test]
    fn a_packet_is_lost_when_it_is_late_and_a_later_one_is_acknowledged() {
        let mut packets = sent(3);
        assert_eq!(packets.detect_losses(1_000_000, LOSS_DELAY_US).next_us, None);
        packets.on_acked((1, 2), |_, _| {});
        assert!(packets.detect_losses(44_999, LOSS_DELAY_US).packets.is_empty());
        let losses = packets.detect_losses(45_000, LOSS_DELAY_US);
        assert_eq!((numbers(&losses), losses.next_us), (vec![0], None));
        assert!(packets.is_in_flight(), "nothing after the second is acknowledged");
    }

    #[test]
    fn a_late_acknowledgement_of_a_lost_packet_is_recognised_until_it_is_forgotten() {
        let mut packets = sent(10);
        packets.on_acked((5, 10), |_, _| {});
        packets.detect_losses(9_000, LOSS_DELAY_US);
        let mut late = Vec::new();
        packets.on_acked((0, 10), |packet, was_lost| late.push((packet.number, was_lost)));
        assert_eq!(late, [(0, true), (1, true), (2, true), (3, true), (4, true)]);
        let mut again = sent(10);
        again.on_acked((5, 10), |_, _| {});
        again.detect_losses(9_000, LOSS_DELAY_US);
        again.forget(3_000);
        let mut late = Vec::new();
        again.on_acked((0, 10), |packet, _| late.push(packet.number));
        assert_eq!(late, [3, 4]);
        assert_eq!(again.in_flight_bytes(), 0);
    }

    #[test]
    fn a_run_of_losses_ends_where_a_packet_arrived() {
        let lost = |numbers: &[u64]| -> Vec<SentPacket> {
            numbers.iter().map(|&it| SentPacket::new(it, 0, 1_200, it * 1_000)).collect()
        };
        assert_eq!(longest_run_us(&lost(&[1, 2, 3, 5, 6, 7, 8]), 0), 3_000);
        assert_eq!(longest_run_us(&lost(&[1, 2, 3, 5, 6, 7, 8]), 6_000), 1_000);
        assert_eq!(longest_run_us(&[], 0), 0);
    }
}
