//! The bearers of the world and their pipelines' interface to the MAC of an unsplit gNB.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use ran::{BearerIndex, BlockRoom, BufferStatus, UpperLayer};

use super::bearer::{Bearer, RlcEntry};
use super::build::UePlan;
use super::cells::{Cells, Place};
use super::packet::GnbPacket;
use super::sdap::Reached;

/// Every bearer of the scenario, attached or not.
#[derive(Clone, Debug)]
pub(crate) struct Bearers {
    all: Vec<Bearer>,
    /// Bearers with an AQM in their RLC, by logical channel priority.
    managed: Vec<u32>,
    /// Index of each bearer by its index in the cell, by cell.
    by_place: Vec<Vec<u32>>,
    /// The cell whose MAC pulls.
    serving: usize,
    by_id: HashMap<(u16, u8), u32>,
}

impl Deref for Bearers {
    type Target = [Bearer];

    fn deref(&self) -> &[Bearer] {
        &self.all
    }
}

impl DerefMut for Bearers {
    fn deref_mut(&mut self) -> &mut [Bearer] {
        &mut self.all
    }
}

impl Bearers {
    pub(crate) fn new(all: Vec<Bearer>, ues: &[UePlan], cells: usize) -> Self {
        let by_id = (0..).zip(&all).map(|(index, b)| ((b.rnti, b.drb), index)).collect();
        let configs = ues.iter().flat_map(|ue| &ue.bearers);
        let mut managed: Vec<(u8, u32)> = configs
            .filter(|(index, _)| all[*index as usize].rlc_queue.is_some())
            .map(|(index, config)| (config.channel.priority, *index))
            .collect();
        managed.sort_unstable();
        let managed = managed.into_iter().map(|(_, index)| index).collect();
        Self { all, managed, by_place: vec![Vec::new(); cells], serving: 0, by_id }
    }

    pub(crate) fn find(&self, rnti: u16, drb: u8) -> Option<u32> {
        self.by_id.get(&(rnti, drb)).copied()
    }

    /// The bearer at a place.
    pub(crate) fn at(&self, place: Place) -> Option<u32> {
        let index = self.by_place.get(place.cell)?.get(place.bearer).copied();
        index.filter(|index| *index != u32::MAX)
    }

    /// Stores the index of a bearer in the cell; `None` if the cell refused it.
    pub(crate) fn add_to_cell(&mut self, index: u32, place: Option<Place>) {
        if let Some(Place { cell, bearer }) = place {
            let by_place = &mut self.by_place[cell];
            by_place.resize(by_place.len().max(bearer + 1), u32::MAX);
            by_place[bearer] = index;
        }
        self.all[index as usize].cell = place;
    }

    /// A bearer gets another C-RNTI.
    pub(crate) fn rename(&mut self, index: u32, rnti: u16) {
        let Bearer { rnti: own, drb, .. } = &mut self.all[index as usize];
        self.by_id.remove(&(*own, *drb));
        *own = rnti;
        self.by_id.insert((rnti, *drb), index);
    }

    /// The MAC of a cell is about to pull.
    pub(crate) fn serve(&mut self, cell: usize) {
        self.serving = cell;
    }

    /// Moves packets from AQMs into the RLC, right before scheduling, as far as the coming slot can carry
    /// them; bearers of the highest priority first.
    pub(crate) fn fill_rlc(&mut self, cells: &mut Cells, now_us: u64) {
        for index in &self.managed {
            let bearer = &mut self.all[*index as usize];
            let (Some(Place { cell, bearer: place }), Some(queue)) =
                (bearer.cell, bearer.rlc_queue.as_mut())
            else {
                continue;
            };
            let cell = &mut cells[cell];
            let slot_bytes = cell.coming_slot_bytes(place);
            while cell.room_in_slot_bytes(place, slot_bytes) > 0
                && let Some(packet) = queue.dequeue(now_us)
            {
                let f1 = bearer.f1.as_deref_mut();
                let measured = &mut bearer.measured;
                RlcEntry { cell, place, queue: None, limit: None, f1, measured }
                    .enqueue(packet, None, now_us);
            }
        }
    }

    /// The bearer at an index of the cell if the MAC can pull from its pipeline: without F1-U and without
    /// AQM in the RLC.
    fn pulled(&mut self, place: BearerIndex) -> Option<&mut Bearer> {
        let bearer = self.all.get_mut(*self.by_place[self.serving].get(place)? as usize)?;
        (bearer.f1.is_none() && bearer.rlc_queue.is_none()).then_some(bearer)
    }
}

impl UpperLayer<GnbPacket> for Bearers {
    fn buffer_status(&mut self, place: BearerIndex, now_us: u64) -> BufferStatus {
        let Some(Bearer { tc, tally, .. }) = self.pulled(place) else {
            return BufferStatus::default();
        };
        let waiting = tc.buffer_status(now_us, tally);
        BufferStatus { bytes: waiting.bytes, packets: waiting.packets }
    }

    fn pull(&mut self, place: BearerIndex, room: &BlockRoom, now_us: u64) -> Option<GnbPacket> {
        let Bearer { tc, tally, measured, .. } = self.pulled(place)?;
        let next_block =
            room.next_block.map(|next| tc_rf::NextBlock { at_us: next.at_us, bytes: next.bytes });
        let room = tc_rf::BlockRoom { bytes: room.bytes, next_block };
        let mut packet = tc.pull(&room, now_us, tally)?;
        measured.count_forwarded(&mut packet);
        measured.received_bytes += u64::from(packet.len_bytes());
        packet.sent_bytes = measured.received_bytes;
        measured.flow_counts.forwarded(&packet);
        measured.flows_in_rlc.reached(Reached::from(&packet), true);
        packet.rlc_us = now_us;
        Some(packet)
    }

    fn refused(&mut self, place: BearerIndex, packet: GnbPacket) {
        if let Some(bearer) = self.pulled(place) {
            bearer.measured.rlc_dropped.count(&packet);
            bearer.measured.flows_in_rlc.removed(&packet);
        }
    }
}
