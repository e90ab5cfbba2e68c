//! Dropped packets, as a whole and of each connection.

use std::collections::BTreeMap;

use super::packet::GnbPacket;

/// Packets dropped in one place of a bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Packets by connection; a bearer has few that lose any.
    of_connection: BTreeMap<u32, u64>,
}

impl Drops {
    /// Counts a packet.
    pub(crate) fn count(&mut self, packet: &GnbPacket) {
        self.count_of(packet.inner.flow, packet.len_bytes());
    }

    /// Counts a packet of a connection.
    pub(crate) fn count_of(&mut self, connection: u32, len_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(len_bytes);
        *self.of_connection.entry(connection).or_default() += 1;
    }

    /// Connections and their packets.
    pub(crate) fn by_connection(&self) -> impl Iterator<Item = (u32, u64)> {
        self.of_connection.iter().map(|(connection, packets)| (*connection, *packets))
    }
}
