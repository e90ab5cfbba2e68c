//! A device that loses, duplicates, corrupts, reorders and delays packets.
//!
//! Decisions depend on the seed and on the number of the packet alone, outages on its time: the same
//! packets in the same order meet the same faults.

mod held;
mod spec;

pub(crate) use spec::FaultSpec;

use bytes::BytesMut;
use traffic::Rng;

use super::counts::FaultCounts;
use super::packet_in_flight::{DropCause, PacketInFlight};
use super::stackable::Device;
use held::Held;
use spec::Burst;

/// Bytes that are held; further packets are dropped and counted.
const MAX_HELD_BYTES: usize = 64 << 20;

/// Random streams, one for each decision, so that one fault does not move the others.
#[derive(Clone, Copy, Debug)]
enum Stream {
    Loss,
    BurstState,
    BurstLoss,
    Duplicate,
    Corrupt,
    Bit,
    Reorder,
}

const STREAMS: u64 = 7;

/// Faults on a capture point.
#[derive(Debug)]
pub(crate) struct FaultInjector {
    spec: FaultSpec,
    streams: [Rng; STREAMS as usize],
    /// The bad state of the Gilbert–Elliott model.
    is_bad: bool,
    held: Held,
    counts: FaultCounts,
}

impl FaultInjector {
    /// Injector `number` of a run with this seed.
    pub(crate) fn new(spec: FaultSpec, seed: u64, number: u64) -> Self {
        let stream = |index: usize| Rng::stream(seed, number * STREAMS + index as u64);
        Self {
            spec,
            streams: std::array::from_fn(stream),
            is_bad: false,
            held: Held::default(),
            counts: FaultCounts::default(),
        }
    }

    /// Draws whether something of this probability happens.
    fn draws(&mut self, stream: Stream, probability: f64) -> bool {
        // Drawn for every packet, so that packet number n meets the same draw in every run.
        self.streams[stream as usize].open01() < probability
    }

    fn loses(&mut self, now_ns: u64) -> Option<DropCause> {
        let in_burst = self.spec.burst.is_some_and(|burst| self.loses_in_burst(burst));
        let by_itself = self.draws(Stream::Loss, self.spec.loss);
        if self.spec.outage.is_some_and(|outage| outage.covers(now_ns)) {
            Some(DropCause::Outage)
        } else if in_burst {
            Some(DropCause::BurstLoss)
        } else {
            by_itself.then_some(DropCause::Loss)
        }
    }

    fn loses_in_burst(&mut self, burst: Burst) -> bool {
        let changes = if self.is_bad { burst.end } else { burst.start };
        self.is_bad ^= self.draws(Stream::BurstState, changes);
        let is_hit = self.draws(Stream::BurstLoss, burst.loss);
        self.is_bad && is_hit
    }

    /// Changes one bit of the payload; a packet without payload stays as it is.
    fn corrupt(&mut self, packet: &mut PacketInFlight) {
        let payload_bits = u64::from(packet.datagram.payload_bytes) * 8;
        let bit = self.streams[Stream::Bit as usize].below(payload_bits) as usize;
        if payload_bits == 0 {
            return;
        }
        let mut bytes = BytesMut::from(&packet.datagram.bytes[..]);
        let first = bytes.len() - packet.datagram.payload_bytes as usize;
        bytes[first + bit / 8] ^= 0x80 >> (bit % 8);
        packet.datagram.bytes = bytes.freeze();
        packet.marks.is_corrupted = true;
        self.counts.corrupted_packets += 1;
    }

    /// Hands a packet on at once or after `wait_ns`.
    fn forward(
        &mut self,
        mut packet: PacketInFlight,
        wait_ns: u64,
        next: &mut dyn FnMut(PacketInFlight),
    ) {
        if wait_ns == 0 {
            next(packet);
        } else if self.held.bytes() + packet.bytes().len() > MAX_HELD_BYTES {
            self.counts.count_drop(DropCause::Overflow);
            packet.dropped = Some(DropCause::Overflow);
            next(packet);
        } else {
            self.held.push(packet.at_ns.saturating_add(wait_ns), packet);
        }
    }
}

impl Device for FaultInjector {
    fn push(&mut self, mut packet: PacketInFlight, next: &mut dyn FnMut(PacketInFlight)) {
        if packet.dropped.is_some() {
            next(packet);
            return;
        }
        let lost = self.loses(packet.at_ns);
        let is_corrupted = self.draws(Stream::Corrupt, self.spec.corrupt);
        let is_twice = self.draws(Stream::Duplicate, self.spec.duplicate);
        let is_reordered = self.draws(Stream::Reorder, self.spec.reorder);
        if let Some(cause) = lost {
            self.counts.count_drop(cause);
            packet.dropped = Some(cause);
            next(packet);
            return;
        }
        if is_corrupted {
            self.corrupt(&mut packet);
        }
        let mut wait_ns = self.spec.delay_ns;
        if is_reordered {
            wait_ns += self.spec.reorder_ns;
            packet.marks.is_reordered = true;
            self.counts.reordered_packets += 1;
        }
        if self.spec.delay_ns > 0 {
            packet.marks.is_delayed = true;
            self.counts.delayed_packets += 1;
        }
        let copy = is_twice.then(|| packet.clone());
        self.forward(packet, wait_ns, next);
        if let Some(mut copy) = copy {
            copy.marks.is_duplicate = true;
            self.counts.duplicated_packets += 1;
            self.forward(copy, wait_ns, next);
        }
    }

    fn poll(&mut self, now_ns: u64, next: &mut dyn FnMut(PacketInFlight)) {
        while let Some(packet) = self.held.pop_due(now_ns) {
            next(packet);
        }
    }

    fn next_ns(&self) -> Option<u64> {
        self.held.next_ns()
    }

    fn faults(&self) -> FaultCounts {
        FaultCounts { held_packets: self.held.packets(), ..self.counts }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// The injector of an option.
    #[allow(clippy::unwrap_used, reason = "of tests")]
    pub(crate) fn injector(spec: &str, seed: u64, number: u64) -> FaultInjector {
        FaultInjector::new(spec.parse().unwrap(), seed, number)
    }
}

#[cfg(test)]
mod tests;
