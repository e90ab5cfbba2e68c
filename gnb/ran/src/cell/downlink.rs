//! One downlink slot: retransmissions, grants, transport blocks.

use super::ue::Ue;
use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;
use crate::channel::Radio;
use crate::mac::deal::{Grant, deal};
use crate::mac::harq::PendingBlock;
use crate::numerology::SlotKind;
use crate::rlc::um::UmdPdu;

/// A transport block below this carries no byte of any segment: three bytes of MAC subheader, four
/// of RLC header, one of data.
const SMALLEST_BLOCK_BYTES: u64 = 8;

/// A slot that carries downlink.
pub(super) struct Slot {
    pub(super) slot: u64,
    pub(super) kind: SlotKind,
    pub(super) available_prb: u16,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
}

/// Bytes by number of PRBs, for one UE in one slot.
#[derive(Clone, Copy)]
enum Link<'a> {
    Table(&'a [u32]),
    /// This many bytes over all of the PRBs, spread evenly.
    Even {
        bytes: u32,
        n_prb: u16,
    },
}

impl Link<'_> {
    fn bytes(self, n_prb: u16) -> u32 {
        match self {
            Self::Table(row) => row.get(usize::from(n_prb)).copied().unwrap_or(0),
            Self::Even { bytes, n_prb: all } => {
                (u64::from(bytes) * u64::from(n_prb) / u64::from(all.max(1))) as u32
            }
        }
    }

    /// The fewest of `most_prb` PRBs that carry `bytes`; `most_prb` when none do.
    fn prb_for(self, bytes: u64, most_prb: u16) -> u16 {
        match self {
            Self::Table(row) => {
                // Most often a backlog takes all there is.
                if u64::from(self.bytes(most_prb)) <= bytes {
                    return most_prb;
                }
                row.partition_point(|b| u64::from(*b) < bytes) as u16
            }
            Self::Even { bytes: 0, .. } => 0,
            Self::Even { bytes: all, n_prb } => {
                let needed = (bytes * u64::from(n_prb)).div_ceil(u64::from(all));
                needed.min(u64::from(most_prb)) as u16
            }
        }
    }
}

impl<P: Sdu> Cell<P> {
    pub(super) fn downlink(&mut self, slot: &Slot, out: &mut Vec<Delivery<P>>) {
        self.last_slot_downlink = true;
        self.downlink_since_us = std::mem::replace(&mut self.downlink_until_us, slot.end_us);
        if self.any_opportunity(slot) {
            self.totals.available_prb += u64::from(slot.available_prb);
        }
        for slice in 0..self.slices.len() {
            let mut budget_prb = self.slices[slice].budget_prb(slot.available_prb);
            if !self.pending.is_empty() {
                budget_prb -= self.retransmit(slot, slice, budget_prb, out);
            }
            if budget_prb > 0 && !self.slices[slice].backlogged.is_empty() {
                self.transmit_new(slot, slice, budget_prb, out);
            }
        }
    }

    /// Whether a UE could be served: on traces without any opportunity nobody can.
    fn any_opportunity(&self, slot: &Slot) -> bool {
        let mut all = true;
        for ue in self.ues.iter().flatten() {
            match ue.channel.radio(slot.start_us, self.downlink_since_us, slot.end_us) {
                Radio::Mcs(_) => return true,
                Radio::Bytes(0) => all = false,
                Radio::Bytes(_) => return true,
            }
        }
        all
    }

    /// Sends again what is due in this slice; returns the PRBs that took.
    fn retransmit(
        &mut self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        out: &mut Vec<Delivery<P>>,
    ) -> u16 {
        let mut taken_prb = 0;
        let mut at = 0;
        while at < self.pending.len() {
            let block = &self.pending[at];
            if block.due_us > slot.start_us {
                break;
            }
            let fits = block.kind == slot.kind && block.n_prb <= budget_prb - taken_prb;
            let own = self.ues[block.ue].as_ref().is_some_and(|ue| ue.slice == slice);
            if !(fits && own) {
                at += 1;
                continue;
            }
            let Some(block) = self.pending.remove(at) else { break };
            taken_prb += block.n_prb;
            self.totals.used_prb += u64::from(block.n_prb);
            self.totals.retx_prb += u64::from(block.n_prb);
            self.retransmit_block(slot, block, out);
        }
        taken_prb
    }

    fn retransmit_block(
        &mut self,
        slot: &Slot,
        mut block: PendingBlock<P>,
        out: &mut Vec<Delivery<P>>,
    ) {
        let harq = self.config.harq;
        let Some(ue) = self.ues[block.ue].as_mut() else { return };
        let failed = ue.rng.chance(harq.retx_bler);
        ue.counters.count_round(block.transmissions, failed, slot.start_us);
        ue.counters.aggr_retx_prb += u64::from(block.n_prb);
        block.transmissions += 1;
        if !failed {
            let at_us = slot.start_us + u64::from(harq.phy_delay_us);
            for (index, pdu) in block.pdus {
                self.receive(index, pdu, at_us, out);
            }
        } else if block.transmissions < harq.max_transmissions {
            block.due_us = slot.start_us + u64::from(harq.rtt_us);
            self.pending.push_back(block);
        } else {
            self.give_up(block);
        }
    }

    /// The block never arrives.
    fn give_up(&mut self, block: PendingBlock<P>) {
        if let Some(ue) = self.ues[block.ue].as_mut() {
            ue.counters.given_up += 1;
        }
        let lost = block.pdus.iter().filter(|(_, pdu)| pdu.payload.is_some()).count();
        self.totals.lost_sdus += lost as u64;
    }

    fn transmit_new(
        &mut self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        out: &mut Vec<Delivery<P>>,
    ) {
        let mut grants = std::mem::take(&mut self.grants);
        grants.clear();
        self.choose(slot, slice, budget_prb, &mut grants);
        deal(budget_prb, self.config.rbg_size_prb, &mut grants);
        for grant in &grants {
            if grant.prb > 0 {
                self.transmit_block(slot, grant, out);
            }
        }
        // Whoever was served and has more goes to the end of the line. When all were, the first
        // goes there alone, so that the odd PRB goes round.
        let backlogged = &mut self.slices[slice].backlogged;
        let all = grants.len() == backlogged.len();
        for _ in 0..grants.len() {
            let Some(at) = backlogged.pop_front() else { break };
            let Some(ue) = self.ues[at].as_mut() else { continue };
            ue.is_backlogged = ue.backlog_bytes > 0;
            if ue.is_backlogged {
                backlogged.push_back(at);
            }
        }
        if all && backlogged.len() > 1 {
            backlogged.rotate_left(1);
        }
        self.grants = grants;
    }

    /// Picks the UEs of this slot from the front of the line; they are moved to its very front.
    fn choose(&mut self, slot: &Slot, slice: usize, budget_prb: u16, grants: &mut Vec<Grant>) {
        let most = usize::from(self.config.max_ues_per_slot);
        let mut at = 0;
        while at < self.slices[slice].backlogged.len() && grants.len() < most {
            let ue_at = self.slices[slice].backlogged[at];
            let Some(ue) = self.ues[ue_at].as_ref() else {
                at += 1;
                continue;
            };
            let link = self.link(ue, slot);
            let need_prb = link.prb_for(ue.backlog_bytes.max(SMALLEST_BLOCK_BYTES), budget_prb);
            let min_prb = link.prb_for(SMALLEST_BLOCK_BYTES, budget_prb);
            if need_prb > 0 && u64::from(link.bytes(min_prb)) >= SMALLEST_BLOCK_BYTES {
                let backlogged = &mut self.slices[slice].backlogged;
                if at != grants.len() {
                    backlogged.remove(at);
                    backlogged.insert(grants.len(), ue_at);
                }
                grants.push(Grant { ue: ue_at, min_prb, need_prb, prb: 0 });
            }
            at += 1;
        }
    }

    fn link(&self, ue: &Ue, slot: &Slot) -> Link<'_> {
        match ue.channel.radio(slot.start_us, self.downlink_since_us, slot.end_us) {
            Radio::Mcs(mcs) => Link::Table(self.tables.row(slot.kind, mcs)),
            Radio::Bytes(bytes) => Link::Even { bytes, n_prb: slot.available_prb },
        }
    }

    fn transmit_block(&mut self, slot: &Slot, grant: &Grant, out: &mut Vec<Delivery<P>>) {
        let harq = self.config.harq;
        let Some(ue) = self.ues[grant.ue].as_ref() else { return };
        let tbs_bytes = self.link(ue, slot).bytes(grant.prb);
        let Some(ue) = self.ues[grant.ue].as_mut() else { return };
        let failed = harq.bler > 0.0 && !ue.channel.is_trace() && ue.rng.chance(harq.bler);
        let at_us = slot.start_us + u64::from(harq.phy_delay_us);
        let mut kept: Vec<(BearerIndex, UmdPdu<P>)> = Vec::new();
        let mut left = tbs_bytes;
        let mut backlog_bytes = 0;
        let counters = &mut ue.counters;
        for index in &ue.bearers {
            let Some(bearer) = self.bearers[*index].as_mut() else { continue };
            let (used, pdus, pdu_bytes) = bearer.pull(left, slot.start_us, |receiving, pdu| {
                if failed {
                    kept.push((*index, pdu));
                } else {
                    receiving.receive(*index, pdu, at_us, out);
                }
            });
            left -= used;
            counters.aggr_sdus += pdus;
            counters.aggr_bytes_sdus += pdu_bytes;
            backlog_bytes += bearer.tx.demand_bytes();
            if !failed && !bearer.is_waiting && bearer.has_running_timer() {
                bearer.is_waiting = true;
                self.waiting.push(*index);
            }
        }
        counters.aggr_tbs += u64::from(tbs_bytes);
        counters.aggr_prb += u64::from(grant.prb);
        counters.last_slot = slot.slot;
        counters.last_tbs = u64::from(tbs_bytes);
        counters.last_prb = u64::from(grant.prb);
        counters.count_round(0, failed, slot.start_us);
        ue.backlog_bytes = backlog_bytes;
        ue.rotate_equals();
        self.totals.used_prb += u64::from(grant.prb);
        if failed {
            let block = PendingBlock {
                ue: grant.ue,
                due_us: slot.start_us + u64::from(harq.rtt_us),
                n_prb: grant.prb,
                kind: slot.kind,
                transmissions: 1,
                pdus: kept,
            };
            if harq.max_transmissions > 1 {
                self.pending.push_back(block);
            } else {
                self.give_up(block);
            }
        }
    }

    fn receive(
        &mut self,
        index: BearerIndex,
        pdu: UmdPdu<P>,
        at_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let Some(bearer) = self.bearers[index].as_mut() else { return };
        bearer.receiving().receive(index, pdu, at_us, out);
        if !bearer.is_waiting && bearer.has_running_timer() {
            bearer.is_waiting = true;
            self.waiting.push(index);
        }
    }

    /// Lets the timers of the UEs run up to `until_us`.
    pub(super) fn expire_timers(&mut self, until_us: u64, out: &mut Vec<Delivery<P>>) {
        self.totals.slots += 1;
        let bearers = &mut self.bearers;
        self.waiting.retain(|index| {
            let Some(bearer) = bearers[*index].as_mut() else { return false };
            bearer.receiving().expire(*index, until_us, out);
            bearer.is_waiting = bearer.has_running_timer();
            bearer.is_waiting
        });
    }

    /// Transport block over the whole carrier at the present MCS.
    pub(super) fn capacity_bytes(&self, ue: &Ue) -> u32 {
        match self.radio_now(ue) {
            Radio::Mcs(mcs) => self.tables.full(SlotKind::Down, mcs),
            Radio::Bytes(bytes) => bytes,
        }
    }

    /// The MCS of a UE; on a trace, the highest whose transport block the last slot could have
    /// carried.
    pub(super) fn mcs_now(&self, ue: &Ue) -> u8 {
        match self.radio_now(ue) {
            Radio::Mcs(mcs) => mcs,
            Radio::Bytes(bytes) => self.tables.mcs_of_bytes(SlotKind::Down, bytes),
        }
    }

    fn radio_now(&self, ue: &Ue) -> Radio {
        let start_us = self.config.numerology.slot_start_us(self.slot.saturating_sub(1));
        ue.channel.radio(start_us, self.downlink_since_us, self.downlink_until_us)
    }
}
