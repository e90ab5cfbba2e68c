//! The CU's pipelines as the layer above the RLC of the same gNB, for pulls slot by slot.

use ran::{BearerIndex, BlockRoom, BufferStatus, UpperLayer};

use super::bearer::Bearer;
use super::packet::GnbPacket;

/// The pipelines above the RLCs of a cell.
pub(super) struct Pipelines<'a> {
    pub(super) bearers: &'a mut [Bearer],
    /// Place in `bearers` of each bearer of the cell.
    pub(super) by_place: &'a [u32],
}

impl Pipelines<'_> {
    /// The bearer at a place of the cell, if its CU can be asked: not over F1-U, nor past an AQM
    /// that stands in the RLC.
    fn bearer(&mut self, place: BearerIndex) -> Option<&mut Bearer> {
        let bearer = self.bearers.get_mut(*self.by_place.get(place)? as usize)?;
        (bearer.f1.is_none() && bearer.rlc_queue.is_none()).then_some(bearer)
    }
}

impl UpperLayer<GnbPacket> for Pipelines<'_> {
    fn buffer_status(&mut self, place: BearerIndex, now_us: u64) -> BufferStatus {
        let Some(Bearer { tc, tally, .. }) = self.bearer(place) else {
            return BufferStatus::default();
        };
        let waiting = tc.buffer_status(now_us, tally);
        BufferStatus { bytes: waiting.bytes, packets: waiting.packets }
    }

    fn pull(&mut self, place: BearerIndex, room: &BlockRoom, now_us: u64) -> Option<GnbPacket> {
        let Bearer { tc, tally, measured, .. } = self.bearer(place)?;
        let next_block =
            room.next_block.map(|next| tc_rf::NextBlock { at_us: next.at_us, bytes: next.bytes });
        let room = tc_rf::BlockRoom { bytes: room.bytes, next_block };
        let mut packet = tc.pull(&room, now_us, tally)?;
        measured.take_down(&mut packet);
        measured.received_bytes += u64::from(packet.len_bytes());
        packet.rlc_us = now_us;
        Some(packet)
    }

    fn refused(&mut self, place: BearerIndex, _: GnbPacket) {
        if let Some(bearer) = self.bearer(place) {
            bearer.measured.rlc_dropped_packets += 1;
        }
    }
}
