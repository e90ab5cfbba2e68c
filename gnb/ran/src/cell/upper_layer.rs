//! The layer above the RLC in a monolithic gNB, which supplies SDUs as the MAC builds its blocks.
//!
//! The MAC queries an RLC entity's data volume before it schedules a slot (38.322 §5.5), and requests
//! PDUs of a size when it builds a transport block. Both calls are passed on to the queues above the
//! RLC: what waits there counts as demand, and the RLC receives just what the block has room for.

use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;
use crate::channel::Radio;
use crate::numerology::SlotKind;
use crate::rlc::RlcMode;
use crate::rlc::um::pdu::mac_subheader_bytes;
use crate::rlc::{am, um};

use super::bearer::Bearer;
use super::link::Slot;
use super::ue::Ue;

/// A transport block below this carries no byte of any segment: three bytes of MAC subheader, four
/// of RLC header, one of data.
pub(super) const SMALLEST_BLOCK_BYTES: u64 = 8;

/// How far ahead the next slot with downlink is sought: the longest TDD pattern, 10 ms in slots of
/// 62.5 µs.
const LOOK_AHEAD_SLOTS: u64 = 160;

/// SDUs that wait above a bearer's RLC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// Their bytes.
    pub bytes: u64,
    /// How many they are.
    pub packets: u32,
}

/// What a bearer has left of the transport block being built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRoom {
    /// Bytes of the longest SDU that would leave whole.
    pub bytes: u32,
    /// The block after it, over as great a part of the PRBs and at the present MCS; absent on a trace.
    pub next_block: Option<NextBlock>,
}

/// A block to come, in the next slot with downlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextBlock {
    /// When the slot begins.
    pub at_us: u64,
    /// Bytes of the longest SDU that would leave whole.
    pub bytes: u32,
}

/// The queues above the RLC.
pub trait UpperLayer<P> {
    /// SDUs that could be pulled at once, queried before each slot with downlink is scheduled; none
    /// where the RLC alone holds what there is to send.
    fn buffer_status(&mut self, bearer: BearerIndex, now_us: u64) -> BufferStatus;

    /// The next SDU for the block being built, or none.
    fn pull(&mut self, bearer: BearerIndex, room: &BlockRoom, now_us: u64) -> Option<P>;

    /// An SDU for which the RLC has no room after all.
    fn refused(&mut self, bearer: BearerIndex, sdu: P);
}

/// No queues above: the RLC holds all there is to send.
impl<P> UpperLayer<P> for () {
    fn buffer_status(&mut self, _: BearerIndex, _: u64) -> BufferStatus {
        BufferStatus::default()
    }

    fn pull(&mut self, _: BearerIndex, _: &BlockRoom, _: u64) -> Option<P> {
        None
    }

    fn refused(&mut self, _: BearerIndex, _: P) {}
}

/// What a slot works with beside the cell.
pub(super) struct Ends<'a, P> {
    pub(super) above: &'a mut dyn UpperLayer<P>,
    /// What UEs get.
    pub(super) out: &'a mut Vec<Delivery<P>>,
}

impl<P: Sdu> Bearer<P> {
    /// Headers of PDCP, RLC and MAC on an SDU that leaves whole.
    fn whole_header_bytes(&self) -> u32 {
        let rlc_bytes = match self.config.mode {
            RlcMode::Um(um) => um::pdu::header_bytes(um.sn_length, true, true),
            RlcMode::Am(am) => am::pdu::header_bytes(am.sn_length, true),
        };
        self.config.pdcp.header_bytes() + rlc_bytes + mac_subheader_bytes(u32::MAX)
    }

    /// Bytes of transport block that would carry what waits above.
    fn block_bytes_of(&self, waiting: BufferStatus) -> u64 {
        waiting.bytes + u64::from(waiting.packets) * u64::from(self.whole_header_bytes())
    }

    /// Pulls SDUs until what the RLC holds fills `grant_bytes`.
    pub(super) fn fill(
        &mut self,
        index: BearerIndex,
        grant_bytes: u32,
        next_block: Option<NextBlock>,
        now_us: u64,
        above: &mut dyn UpperLayer<P>,
    ) {
        if self.above_bytes == 0 {
            return;
        }
        let header_bytes = self.whole_header_bytes();
        loop {
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
            let Some(sdu) = above.pull(index, &room, now_us) else { break };
            if let Err(sdu) = self.enqueue(None, sdu, now_us) {
                above.refused(index, sdu);
                break;
            }
        }
        self.above_bytes = self.block_bytes_of(above.buffer_status(index, now_us));
    }
}

impl<P: Sdu> Cell<P> {
    /// Queries what waits above each bearer.
    pub(super) fn query_upper_layer(&mut self, now_us: u64, above: &mut dyn UpperLayer<P>) {
        for index in 0..self.bearers.len() {
            let Some(bearer) = self.bearers[index].as_mut() else { continue };
            let above_bytes = bearer.block_bytes_of(above.buffer_status(index, now_us));
            if above_bytes != bearer.above_bytes {
                bearer.above_bytes = above_bytes;
                self.backlog_changed(index);
            }
        }
    }

    /// Fills each RLC with what the slot could carry before it is scheduled: EQP inspects each
    /// SDU (irazabal2021 Algorithm 4).
    pub(super) fn fill_ahead(&mut self, slot: &Slot, above: &mut dyn UpperLayer<P>) {
        for index in 0..self.bearers.len() {
            let Some(at) = self.bearers[index].as_ref().map(|bearer| bearer.ue) else { continue };
            let Some(ue) = self.ues[at].as_ref() else { continue };
            let block_bytes = self.link(ue, slot).bytes(slot.available_prb);
            let next = self.next_block(ue, slot, slot.available_prb);
            let Some(bearer) = self.bearers[index].as_mut() else { continue };
            bearer.fill(index, block_bytes, next, slot.start_us, above);
            bearer.above_bytes = 0;
            self.backlog_changed(index);
        }
    }

    /// The block that follows one of `prb`, headers included.
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
