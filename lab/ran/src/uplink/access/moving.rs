//! The queue of a UE that moves to another cell.

use super::super::queues::Queued;
use super::{BlockState, ScheduledUplink, UplinkArrival};
use crate::mac::prioritisation::LogicalChannel;
use crate::rlc::BearerIndex;

/// The packets that a UE brings were taken before.
const NO_LIMITS: (u32, u32) = (u32::MAX, u32::MAX);

/// A packet that stays in the UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptPacket {
    pub(crate) bearer: BearerIndex,
    pub(crate) tag: u64,
    pub(crate) len_bytes: u32,
}

impl ScheduledUplink {
    /// Ends the uplink, because the UE leaves the cell: HARQ and RLC discard what they have
    /// (38.321 §5.12, 38.322 §5.1.2). Returns the packets that the UE's PDCP sends in the next cell,
    /// of each bearer the oldest first: those that it has not begun to send and, of bearers in AM, those that the gNB does
    /// not have in full and in order (38.323 §5.5). `out` gets the others: received, or lost.
    ///
    /// `is_am` says the mode of a bearer, `block_bytes` what a packet takes of transport blocks.
    pub(crate) fn depart(
        &mut self,
        is_am: impl Fn(BearerIndex) -> bool,
        block_bytes: impl Fn(BearerIndex, u32) -> u32,
        mut out: impl FnMut(UplinkArrival),
    ) -> Vec<KeptPacket> {
        self.release(&mut out);
        let mut kept: Vec<KeptPacket> = Vec::new();
        for block in &mut self.blocks {
            block.parts.retain(|part| {
                if !is_am(part.bearer) {
                    return true;
                }
                if !kept.iter().any(|one| one.tag == part.tag) {
                    let (bearer, tag, len_bytes) = (part.bearer, part.tag, part.len_bytes);
                    kept.push(KeptPacket { bearer, tag, len_bytes });
                }
                false
            });
            if matches!(block.state, BlockState::Due(_)) {
                block.state = BlockState::Lost;
            }
        }
        self.release(&mut out);
        let begun = kept.len();
        for (bearer, Queued { tag, len_bytes, left_bytes }) in self.channels.take() {
            let is_begun = left_bytes < block_bytes(bearer, len_bytes);
            if is_begun && !is_am(bearer) {
                out(UplinkArrival { bearer, tag, leaves_us: None });
            } else if !is_begun || !kept[..begun].iter().any(|one| one.tag == tag) {
                kept.push(KeptPacket { bearer, tag, len_bytes });
            }
        }
        kept
    }

    /// Takes in the packets that the UE brings from another cell, each with its logical channel and what it
    /// takes of transport blocks; the random access tells the gNB of them.
    pub(crate) fn enter<'a>(
        &mut self,
        kept: impl Iterator<Item = (KeptPacket, &'a LogicalChannel, u32)>,
        now_us: u64,
    ) {
        for (KeptPacket { bearer, tag, len_bytes }, channel, block_bytes) in kept {
            let packet = Queued { tag, len_bytes, left_bytes: block_bytes };
            self.channels.push((bearer, channel), packet, NO_LIMITS, now_us);
        }
        if self.channels.demand_bytes() > 0 {
            self.request_if_unknown(now_us);
        }
    }

    /// Time at which the last packet of a bearer left the gNB.
    pub(crate) fn last_left_us(&self, bearer: BearerIndex) -> Option<u64> {
        self.left_us.get(&bearer).copied()
    }

    /// No packet of a bearer leaves the gNB before `at_us`: those before it do not.
    pub(crate) fn leave_from(&mut self, bearer: BearerIndex, at_us: u64) {
        self.left_us.insert(bearer, at_us);
    }
}
