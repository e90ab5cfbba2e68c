//! Queues of a UE's logical channels, and what a block takes of each (38.321 §5.4.3.1).

use std::collections::VecDeque;

use super::bsr;
use crate::mac::prioritisation::{Bucket, LogicalChannel, whole_packets};
use crate::rlc::BearerIndex;

/// RLC and MAC header of each further segment of a packet.
const SEGMENT_HEADER_BYTES: u32 = 5;

/// Smallest room in which the UE begins a segment.
pub(super) const SMALLEST_SEGMENT_BYTES: u32 = 16;

/// A packet in a queue of the UE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) tag: u64,
    pub(super) len_bytes: u32,
    /// Bytes of transport blocks that it still takes, headers included.
    pub(super) left_bytes: u32,
}

/// A part of a packet in a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) bearer: BearerIndex,
    pub(super) tag: u64,
    /// Length of the packet.
    pub(super) len_bytes: u32,
    pub(super) is_last: bool,
}

/// The queue of a logical channel.
#[derive(Debug, Clone)]
struct Channel {
    bearer: BearerIndex,
    config: LogicalChannel,
    bucket: Bucket,
    queue: VecDeque<Queued>,
    /// Bytes of transport blocks that the queue takes, and of the packets in it.
    demand_bytes: u64,
    queued_bytes: u64,
    /// What it has of the block being built before channels of lower priority.
    first_bytes: u32,
}

/// The logical channels of a UE that have had data, in the order of service.
#[derive(Debug, Clone, Default)]
pub(super) struct Channels {
    all: Vec<Channel>,
}

impl Channels {
    /// Queues a packet of a bearer; `false` if its queue has as many packets or bytes as it may.
    pub(super) fn push(
        &mut self,
        (bearer, config): (BearerIndex, &LogicalChannel),
        packet: Queued,
        (most_packets, most_bytes): (u32, u32),
        now_us: u64,
    ) -> bool {
        let channel = self.channel(bearer, config, now_us);
        let bytes = channel.queued_bytes + u64::from(packet.len_bytes);
        if channel.queue.len() >= most_packets as usize || bytes > u64::from(most_bytes) {
            return false;
        }
        channel.queued_bytes = bytes;
        channel.demand_bytes += u64::from(packet.left_bytes);
        channel.queue.push_back(packet);
        true
    }

    fn channel(
        &mut self,
        bearer: BearerIndex,
        config: &LogicalChannel,
        now_us: u64,
    ) -> &mut Channel {
        let known = self.all.iter().position(|channel| channel.bearer == bearer);
        let at = known.unwrap_or_else(|| {
            let at = self.all.partition_point(|other| other.config.priority <= config.priority);
            self.all.insert(at, Channel::new(bearer, *config, now_us));
            at
        });
        &mut self.all[at]
    }

    /// Bytes that wait, as transport blocks carry them.
    pub(super) fn demand_bytes(&self) -> u64 {
        self.all.iter().map(|channel| channel.demand_bytes).sum()
    }

    /// Bytes that a gNB takes the queues to hold by a report of `groups` logical channel groups: each
    /// bearer is a group of its own as far as there are groups.
    pub(super) fn reported_bytes(&self, groups: u32) -> u64 {
        let by_group = self.all.chunks(self.all.len().div_ceil(groups.max(1) as usize).max(1));
        by_group
            .map(|group| {
                let bytes = group.iter().map(|channel| channel.demand_bytes).sum();
                bsr::reported(bytes, groups > 1)
            })
            .sum()
    }

    /// Fills `room_bytes` of a block that begins at `now_us`.
    pub(super) fn fill(&mut self, room_bytes: u32, now_us: u64, parts: &mut Vec<Part>) {
        let mut left_bytes = room_bytes;
        // Of the channels that are still to be served.
        let mut first_bytes = 0;
        for channel in &mut self.all {
            channel.set_first_bytes(room_bytes - first_bytes, now_us);
            first_bytes += channel.first_bytes;
        }
        for channel in &mut self.all {
            first_bytes -= channel.first_bytes;
            let used_bytes = channel.fill(left_bytes - first_bytes, parts);
            channel.bucket.take(used_bytes.min(channel.first_bytes));
            left_bytes -= used_bytes;
        }
        self.rotate_equals();
    }

    /// Channels of one priority take turns.
    fn rotate_equals(&mut self) {
        for equals in self.all.chunk_by_mut(|a, b| a.config.priority == b.config.priority) {
            equals.rotate_left(1);
        }
    }

    /// Takes the packets of every bearer, of each the oldest first.
    pub(super) fn take(&mut self) -> impl Iterator<Item = (BearerIndex, Queued)> + use<> {
        let all = std::mem::take(&mut self.all).into_iter();
        all.flat_map(|Channel { bearer, queue, .. }| {
            queue.into_iter().map(move |one| (bearer, one))
        })
    }

    /// Bearer and tag of every packet.
    pub(super) fn packets(&self) -> Vec<(BearerIndex, u64)> {
        let of = |channel: &Channel| {
            let bearer = channel.bearer;
            channel.queue.iter().map(move |packet| (bearer, packet.tag)).collect::<Vec<_>>()
        };
        self.all.iter().flat_map(of).collect()
    }
}

impl Channel {
    fn new(bearer: BearerIndex, config: LogicalChannel, now_us: u64) -> Self {
        let mut bucket = Bucket::default();
        // It starts empty, now.
        bucket.first_bytes(&LogicalChannel::STRICT, now_us);
        Self {
            bearer,
            config,
            bucket,
            queue: VecDeque::new(),
            demand_bytes: 0,
            queued_bytes: 0,
            first_bytes: 0,
        }
    }

    /// Sets what it has of a block with `left_bytes` before channels of lower priority.
    fn set_first_bytes(&mut self, left_bytes: u32, now_us: u64) {
        if !self.config.has_rate() {
            return;
        }
        let first_bytes = self.bucket.first_bytes(&self.config, now_us);
        let packets = self.queue.iter().map(|packet| packet.left_bytes);
        self.first_bytes = whole_packets(first_bytes, packets).min(u64::from(left_bytes)) as u32;
    }

    /// Puts as much as fits `room_bytes` into a block; returns the bytes.
    fn fill(&mut self, room_bytes: u32, parts: &mut Vec<Part>) -> u32 {
        let bearer = self.bearer;
        let mut left_bytes = room_bytes;
        while let Some(packet) = self.queue.front_mut() {
            if packet.left_bytes > left_bytes {
                if left_bytes < SMALLEST_SEGMENT_BYTES {
                    break;
                }
                packet.left_bytes = packet.left_bytes - left_bytes + SEGMENT_HEADER_BYTES;
                self.demand_bytes += u64::from(SEGMENT_HEADER_BYTES);
                self.demand_bytes -= u64::from(left_bytes);
                let Queued { tag, len_bytes, .. } = *packet;
                parts.push(Part { bearer, tag, len_bytes, is_last: false });
                return room_bytes;
            }
            let Queued { tag, len_bytes, left_bytes: packet_bytes } = *packet;
            left_bytes -= packet_bytes;
            self.queue.pop_front();
            self.demand_bytes -= u64::from(packet_bytes);
            self.queued_bytes -= u64::from(len_bytes);
            parts.push(Part { bearer, tag, len_bytes, is_last: true });
        }
        room_bytes - left_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIMITS: (u32, u32) = (u32::MAX, u32::MAX);

    fn channel(priority: u8, kbytes_per_s: u32) -> LogicalChannel {
        let rate_kbytes_per_s = kbytes_per_s;
        LogicalChannel { priority, rate_kbytes_per_s, ..LogicalChannel::default() }
    }

    /// Queues `packets` packets of 1000 bytes with the bearer's number as tag.
    fn push(channels: &mut Channels, bearer: usize, config: &LogicalChannel, packets: u32) {
        for _ in 0..packets {
            let packet = Queued { tag: bearer as u64, len_bytes: 990, left_bytes: 1000 };
            assert!(channels.push((bearer, config), packet, NO_LIMITS, 0));
        }
    }

    /// Tags of the packets that end in a block.
    fn block(channels: &mut Channels, room_bytes: u32, now_us: u64) -> Vec<u64> {
        let mut parts = Vec::new();
        channels.fill(room_bytes, now_us, &mut parts);
        parts.iter().filter(|part| part.is_last).map(|part| part.tag).collect()
    }

    #[test]
    fn a_later_packet_of_higher_priority_goes_first() {
        let mut channels = Channels::default();
        push(&mut channels, 1, &channel(9, 0), 5);
        assert_eq!(block(&mut channels, 2500, 0), [1, 1]);
        push(&mut channels, 2, &channel(2, 0), 1);
        assert_eq!(block(&mut channels, 2000, 0), [2, 1]);
        assert_eq!(channels.demand_bytes(), 6000 - 2500 - 2000 + 5 + 5);
    }

    #[test]
    fn equals_take_turns() {
        let mut channels = Channels::default();
        push(&mut channels, 1, &channel(9, 0), 3);
        push(&mut channels, 2, &channel(9, 0), 3);
        let blocks: Vec<u64> = (0..6).flat_map(|_| block(&mut channels, 1000, 0)).collect();
        assert_eq!(blocks, [1, 2, 1, 2, 1, 2]);
    }

    /// A channel of low priority has its rate beside one that would take everything.
    #[test]
    fn a_prioritised_rate_is_served_before_the_rest_of_higher_priorities() {
        let mut channels = Channels::default();
        push(&mut channels, 1, &channel(2, 0), 2000);
        push(&mut channels, 2, &channel(9, 100), 2000);
        let mut low = 0;
        for ms in 1..=1000 {
            let sent = block(&mut channels, 1000, 1000 * ms);
            low += sent.iter().filter(|tag| **tag == 2).count();
        }
        assert!((98..=102).contains(&low), "{low} packets of 1000 bytes in 1 s at 100 kByte/s");
    }

    #[test]
    fn each_bearer_reports_its_own_size() {
        let mut channels = Channels::default();
        push(&mut channels, 1, &channel(9, 0), 1);
        assert_eq!(channels.reported_bytes(1), 1038, "the short table");
        push(&mut channels, 2, &channel(9, 0), 2);
        assert_eq!(channels.reported_bytes(2), 1051 + 2098, "the long table");
    }
}
