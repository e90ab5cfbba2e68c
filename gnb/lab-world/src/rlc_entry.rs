//! Where packets enter the RLC of a bearer.

use ran::{BearerIndex, Cell};

use super::bearer::Measured;
use super::drql_limit::DrqlLimit;
use super::f1::F1Bearer;
use super::packet::GnbPacket;
use super::rlc_queue::RlcQueue;

/// Entry to the RLC of a bearer.
pub(crate) struct RlcEntry<'a> {
    pub(crate) cell: &'a mut Cell<GnbPacket>,
    pub(crate) place: BearerIndex,
    /// What replaces the RLC's FIFO.
    pub(crate) queue: Option<&'a mut RlcQueue>,
    /// DRQL's limit where the DU keeps it.
    pub(crate) limit: Option<&'a mut DrqlLimit>,
    pub(crate) f1: Option<&'a mut F1Bearer>,
    pub(crate) measured: &'a mut Measured,
}

impl RlcEntry<'_> {
    /// Takes a packet, with its COUNT if F1-U gave it one.
    pub(crate) fn put(&mut self, mut packet: GnbPacket, count: Option<u64>, now_us: u64) {
        packet.rlc_us = now_us;
        let len_bytes = u64::from(packet.len_bytes());
        if self.limit.as_mut().is_some_and(|limit| !limit.takes(len_bytes)) {
            self.measured.rlc_dropped_packets += 1;
            return;
        }
        match &mut self.queue {
            Some(queue) => queue.enqueue(packet, now_us),
            None => self.enqueue(packet, count, now_us),
        }
    }

    /// Puts a packet in the RLC itself. A packet out of an AQM gets its COUNT here: what was lost or
    /// dropped before leaves no hole.
    pub(crate) fn enqueue(&mut self, packet: GnbPacket, count: Option<u64>, now_us: u64) {
        let number = packet.f1_number;
        let count = count.or_else(|| self.cell.next_count(self.place)).unwrap_or(0);
        match (self.cell.enqueue_numbered(self.place, count, packet, now_us), &mut self.f1) {
            (Ok(()), Some(f1)) => f1.taken(number, count),
            (Ok(()), None) => {}
            (Err(_), _) => self.measured.rlc_dropped_packets += 1,
        }
    }
}
