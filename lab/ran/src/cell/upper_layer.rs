//! The layer above the RLC in a monolithic gNB, which supplies SDUs while the MAC builds blocks.
//!
//! The MAC queries the data volume of an RLC entity before it schedules a slot (38.322 §5.5) and
//! requests PDUs when it builds a transport block. Both calls are passed on to the queues above: their
//! SDUs count as demand, and the RLC receives only what the block has room for. While the transmitting
//! window of an AM entity is stalled (§5.2.3.1.1) its blocks carry no new SDU, so none is taken and none
//! counts.

use super::bearer::Bearer;
use super::link::Slot;
use super::ue::Ue;
use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;
use crate::numerology::SlotKind;
use crate::pdcp;
use crate::phy::Radio;
use crate::rlc::RlcMode;
use crate::rlc::um::pdu::mac_subheader_bytes;
use crate::rlc::{am, um};

/// Smallest transport block that carries data: three bytes of MAC subheader, four of RLC header, one
/// of data.
pub(super) const SMALLEST_BLOCK_BYTES: u64 = 8;

/// Slots searched for the next downlink: the longest TDD pattern, 10 ms in slots of 62.5 µs.
const LOOK_AHEAD_SLOTS: u64 = 160;

/// SDUs that wait above a bearer's RLC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// Their bytes.
    pub bytes: u64,
    /// Their number.
    pub packets: u32,
}

/// Room for a bearer in the transport block being built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRoom {
    /// Longest SDU that fits whole.
    pub bytes: u32,
    /// The next block, with the same share of the PRBs at the current MCS; `None` on a trace.
    pub next_block: Option<NextBlock>,
}

/// The block in the next slot with downlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextBlock {
    /// Time at which the slot begins.
    pub at_us: u64,
    /// Longest SDU that fits whole.
    pub bytes: u32,
}

/// The queues above the RLC.
pub trait UpperLayer<P> {
    /// SDUs that can be pulled now, queried before each slot with downlink; empty for a bearer whose
    /// SDUs are all in the RLC.
    fn buffer_status(&mut self, bearer: BearerIndex, now_us: u64) -> BufferStatus;

    /// The next SDU for the block being built.
    fn pull(&mut self, bearer: BearerIndex, room: &BlockRoom, now_us: u64) -> Option<P>;

    /// Returns an SDU for which the RLC has no room.
    fn refused(&mut self, bearer: BearerIndex, sdu: P);
}

/// No queues above the RLC.
impl<P> UpperLayer<P> for () {
    fn buffer_status(&mut self, _: BearerIndex, _: u64) -> BufferStatus {
        BufferStatus::default()
    }

    fn pull(&mut self, _: BearerIndex, _: &BlockRoom, _: u64) -> Option<P> {
        None
    }

    fn refused(&mut self, _: BearerIndex, _: P) {}
}

/// Source and sink of a slot's SDUs.
pub(super) struct SlotIo<'a, P> {
    pub(super) upper: &'a mut dyn UpperLayer<P>,
    /// SDUs delivered to UEs.
    pub(super) out: &'a mut Vec<Delivery<P>>,
}

impl<P: Sdu> Bearer<P> {
    /// RLC header of an SDU sent whole.
    pub(super) fn rlc_header_bytes(&self) -> u32 {
        match self.config.mode {
            RlcMode::Um(um) => um::pdu::header_bytes(um.sn_length, true, true),
            RlcMode::Am(am) => am::pdu::header_bytes(am.sn_length, true),
        }
    }

    /// PDCP, RLC and MAC headers of an SDU sent whole.
    fn whole_header_bytes(&self) -> u32 {
        let mac_bytes = mac_subheader_bytes(u32::MAX);
        pdcp::HEADER_BYTES + self.rlc_header_bytes() + mac_bytes
    }

    /// Transport block bytes for the SDUs above the RLC, of those that it can take at their mean length.
    fn block_bytes_of(&self, waiting: BufferStatus) -> u64 {
        if waiting.packets == 0 {
            return 0;
        }
        let packets = u64::from(waiting.packets.min(self.room_packets()));
        let all_packets = u64::from(waiting.packets);
        let bytes = u128::from(waiting.bytes) * u128::from(packets) / u128::from(all_packets);
        bytes as u64 + packets * u64::from(self.whole_header_bytes())
    }

    /// Pulls SDUs until the RLC fills `grant_bytes` or can send no more.
    pub(super) fn pull_upper_layer(
        &mut self,
        index: BearerIndex,
        grant_bytes: u32,
        next_block: Option<NextBlock>,
        now_us: u64,
        upper: &mut dyn UpperLayer<P>,
    ) {
        if self.upper_bytes == 0 {
            return;
        }
        let header_bytes = self.whole_header_bytes();
        while self.room_packets() > 0 {
            let left_bytes = u64::from(grant_bytes).saturating_sub(self.rlc_demand_bytes());
            if left_bytes < SMALLEST_BLOCK_BYTES {
                break;
            }
            let room = BlockRoom {
                bytes: (left_bytes as u32).saturating_sub(header_bytes),
                next_block: next_block.map(|next| NextBlock {
                    bytes: next.bytes.saturating_sub(header_bytes),
                    ..next
                }),
            };
            let Some(sdu) = upper.pull(index, &room, now_us) else { break };
            if let Err(sdu) = self.enqueue(None, sdu, now_us) {
                upper.refused(index, sdu);
                break;
            }
        }
        self.upper_bytes = self.block_bytes_of(upper.buffer_status(index, now_us));
    }
}

impl<P: Sdu> Cell<P> {
    /// Queries the buffer status above each bearer.
    pub(super) fn query_upper_layer(&mut self, now_us: u64, upper: &mut dyn UpperLayer<P>) {
        for index in 0..self.bearers.len() {
            let Some(bearer) = self.bearers[index].as_mut() else { continue };
            let upper_bytes = bearer.block_bytes_of(upper.buffer_status(index, now_us));
            if upper_bytes != bearer.upper_bytes {
                bearer.upper_bytes = upper_bytes;
                self.update_backlog(index);
            }
        }
    }

    /// Pulls as many SDUs as the slot can carry before it is scheduled: EQP inspects each SDU
    /// (irazabal2021 Algorithm 4).
    pub(super) fn pull_before_scheduling(&mut self, slot: &Slot, upper: &mut dyn UpperLayer<P>) {
        for index in 0..self.bearers.len() {
            let Some(at) = self.bearers[index].as_ref().map(|bearer| bearer.ue) else { continue };
            let Some(ue) = self.ues[at].as_ref() else { continue };
            let block_bytes = self.link(ue, slot).bytes(slot.available_prb);
            let next = self.next_block(ue, slot, slot.available_prb);
            let Some(bearer) = self.bearers[index].as_mut() else { continue };
            bearer.pull_upper_layer(index, block_bytes, next, slot.start_us, upper);
            bearer.upper_bytes = 0;
            self.update_backlog(index);
        }
    }

    /// The block after one of `prb`, headers included.
    pub(super) fn next_block(&self, ue: &Ue, slot: &Slot, prb: u16) -> Option<NextBlock> {
        let radio = ue.channel.radio(slot.start_us, self.downlink_since_us, slot.end_us);
        let Radio::Mcs(mcs) = radio else { return None };
        (self.slot..self.slot + LOOK_AHEAD_SLOTS).find_map(|number| {
            let kind = self.config.duplexing.kind(number);
            let reserved = self.config.reserved.as_ref().map_or(0, |r| r.in_slot(number));
            let available = self.config.n_prb.checked_sub(reserved).filter(|prb| *prb > 0)?;
            if kind == SlotKind::Up {
                return None;
            }
            let share = u32::from(available) * u32::from(prb);
            let prb = share / u32::from(slot.available_prb.max(1));
            Some(NextBlock {
                at_us: self.config.numerology.slot_start_us(number),
                bytes: *self.tables.row(kind, mcs).get(prb as usize)?,
            })
        })
    }
}
