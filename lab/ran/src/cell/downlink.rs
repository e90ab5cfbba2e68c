//! One downlink slot: retransmissions, grants, transport blocks.

use super::bearer::{Bearer, Block};
use super::link::{Link, Slot};
use super::ue::Ue;
use super::upper_layer::SlotIo;
use super::{BearerIndex, Cell, CellTotals, Delivery};
use crate::Sdu;
use crate::mac::harq::PendingBlock;
use crate::mac::rbg::GroupSet;
use crate::mac::round_robin::Grant;
use crate::numerology::SlotKind;
use crate::phy::{Radio, cqi};
use crate::rlc::RlcPdu;
use crate::rlc::report::count;

impl<P: Sdu> Cell<P> {
    pub(super) fn downlink(&mut self, slot: &Slot, io: &mut SlotIo<'_, P>) {
        self.last_slot_downlink = true;
        self.downlink_since_us = std::mem::replace(&mut self.downlink_until_us, slot.end_us);
        if self.any_opportunity(slot) {
            self.totals.available_prb += u64::from(slot.available_prb);
        }
        if let Some(subbands) = self.link_tables.subbands() {
            self.free_groups = subbands.groups_within(slot.available_prb);
        }
        self.query_upper_layer(slot.start_us, io.upper);
        if self.eqp.is_some() {
            self.pull_before_scheduling(slot, io.upper);
            // Shares are of the RBs that retransmissions leave (irazabal2021 §V-E).
            let mut data_prb = slot.available_prb;
            for slice in 0..self.slices.len() {
                data_prb -= self.retransmit(slot, slice, data_prb, io.out);
            }
            self.elastic_partition(slot, data_prb, io);
        } else {
            self.partition(slot, io);
        }
        self.downlink_slots += 1;
    }

    /// Each slice has its own PRBs for retransmissions and new data.
    fn partition(&mut self, slot: &Slot, io: &mut SlotIo<'_, P>) {
        for slice in 0..self.slices.len() {
            let mut budget_prb = self.slices[slice].budget_prb(slot.available_prb);
            if !self.pending.is_empty() {
                budget_prb -= self.retransmit(slot, slice, budget_prb, io.out);
            }
            if budget_prb > 0 && !self.slices[slice].backlogged.is_empty() {
                self.transmit_new(slot, slice, budget_prb, io);
            }
        }
    }

    /// Whether any UE can be served: not if all are out of range or on traces without opportunity.
    fn any_opportunity(&self, slot: &Slot) -> bool {
        let mut ues = self.ues.iter().flatten().peekable();
        let radio = |ue: &Ue| ue.channel.radio(slot.start_us, self.downlink_since_us, slot.end_us);
        ues.peek().is_none()
            || ues.any(|ue| !matches!(radio(ue), Radio::Bytes(0) | Radio::OutOfRange))
    }

    /// Retransmits due blocks of this slice; returns the PRBs used.
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
            let place = self.place_of(block, budget_prb - taken_prb);
            let own = self.ues[block.ue].as_ref().is_some_and(|ue| {
                ue.slice == slice && ue.receives_again(block.due_us, slot.start_us)
            });
            let Some(place) = place.filter(|_| own && block.kind == slot.kind) else {
                at += 1;
                continue;
            };
            let Some(block) = self.pending.remove(at) else { break };
            let (n_prb, groups) = place;
            taken_prb += n_prb;
            self.free_groups = self.free_groups.without(groups);
            self.totals.used_prb += u64::from(n_prb);
            self.totals.retx_prb += u64::from(n_prb);
            self.retransmit_block(slot, block, place, out);
        }
        taken_prb
    }

    /// PRBs of a block that is sent again, of `left_prb`, and where they are: as many as at first; by groups
    /// those of which the UE reports most, as many as hold them. `None` if they are not there.
    fn place_of(&self, block: &PendingBlock<P>, left_prb: u16) -> Option<(u16, GroupSet)> {
        let Some(subbands) = self.link_tables.subbands() else {
            return (block.n_prb <= left_prb).then_some((block.n_prb, GroupSet::default()));
        };
        let channel = &self.ues[block.ue].as_ref()?.channel;
        let known_db = |group| channel.known_over_db(GroupSet::default().with(group));
        let mut free: Vec<(f64, u16)> =
            self.free_groups.iter().map(|group| (known_db(group), group)).collect();
        free.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut groups = GroupSet::default();
        for (_, group) in free {
            groups = groups.with(group);
            let n_prb = subbands.prb_of(groups);
            if n_prb >= block.n_prb {
                return Some((n_prb, groups));
            }
        }
        None
    }

    fn retransmit_block(
        &mut self,
        slot: &Slot,
        mut block: PendingBlock<P>,
        (n_prb, groups): (u16, GroupSet),
        out: &mut Vec<Delivery<P>>,
    ) {
        let harq = self.config.harq;
        let Some(ue) = self.ues[block.ue].as_mut() else { return };
        let failure_rate = match &mut block.reception {
            Some(reception) => ue.channel.failure_rate(reception, groups),
            None => ue.errors.probability(block.transmissions),
        };
        let failed = ue.rng.chance(failure_rate);
        ue.counters.count_round(block.transmissions, failed, slot.start_us);
        ue.counters.aggr_retx_prb += u64::from(n_prb);
        block.transmissions += 1;
        let free_us = slot.start_us + u64::from(harq.rtt_us);
        if failed && block.transmissions < harq.max_transmissions {
            block.due_us = free_us;
            self.pending.push_back(block);
            return;
        }
        ue.processes.retransmitted_last(free_us);
        if failed {
            self.drop_block(block);
        } else {
            let at_us = slot.start_us + u64::from(harq.phy_delay_us);
            for (index, pdu) in block.pdus {
                self.receive(index, pdu, at_us, out);
            }
        }
    }

    /// Counts a block that failed in its last transmission.
    fn drop_block(&mut self, block: PendingBlock<P>) {
        if let Some(ue) = self.ues[block.ue].as_mut() {
            count(&mut ue.counters.report.dl_harq[4], 1u32);
        }
        let lost = block.pdus.iter().filter(|(_, pdu)| pdu.carries_payload()).count();
        self.totals.lost_sdus += lost as u64;
    }

    pub(super) fn link(&self, ue: &Ue, slot: &Slot) -> Link<'_> {
        self.link_over(ue, slot, GroupSet::default())
    }

    /// The link of a block over `groups`, or anywhere in the carrier without any.
    pub(super) fn link_over(&self, ue: &Ue, slot: &Slot, groups: GroupSet) -> Link<'_> {
        match self.radio_over(ue, slot, groups) {
            Radio::Mcs(mcs) => self.table(slot.kind, mcs),
            Radio::Bytes(bytes) => Link::Even { bytes, n_prb: slot.available_prb },
            Radio::OutOfRange => Link::Even { bytes: 0, n_prb: slot.available_prb },
        }
    }

    #[inline]
    fn radio_over(&self, ue: &Ue, slot: &Slot, groups: GroupSet) -> Radio {
        let times = (slot.start_us, self.downlink_since_us, slot.end_us);
        if groups.is_empty() {
            ue.channel.radio(times.0, times.1, times.2)
        } else {
            ue.channel.radio_over(groups, times)
        }
    }

    fn table(&self, kind: SlotKind, mcs: u8) -> Link<'_> {
        Link::Table { sizes: self.tables.row(kind, mcs), rbg_prb: self.config.rbg_size_prb }
    }

    pub(super) fn transmit_block(&mut self, slot: &Slot, grant: &Grant, io: &mut SlotIo<'_, P>) {
        let harq = self.config.harq;
        let Some(ue) = self.ues[grant.ue].as_ref() else { return };
        let tbs_bytes = self.link_over(ue, slot, grant.groups).bytes(grant.prb);
        let mcs = || match self.radio_over(ue, slot, grant.groups) {
            Radio::Mcs(mcs) => mcs,
            Radio::Bytes(_) | Radio::OutOfRange => self.mcs_now(ue),
        };
        let mut reception = ue.channel.reception(mcs, 8 * tbs_bytes);
        let waits_above = |index: &BearerIndex| {
            self.bearers[*index].as_ref().is_some_and(|bearer| bearer.upper_bytes > 0)
        };
        let next_block = if ue.bearers.iter().any(waits_above) {
            self.next_block(ue, slot, grant.prb)
        } else {
            None
        };
        let Some(ue) = self.ues[grant.ue].as_mut() else { return };
        let failure_rate = match &mut reception {
            Some(reception) => ue.channel.failure_rate(reception, grant.groups),
            None if ue.channel.is_trace() => 0.0,
            None => ue.errors.bler,
        };
        let failed = failure_rate > 0.0 && ue.rng.chance(failure_rate);
        ue.channel.transmitted(!failed, slot.start_us);
        ue.count_new_transmission(slot.start_us);
        let free_us = slot.start_us + u64::from(harq.rtt_us);
        let at_us = slot.start_us + u64::from(harq.phy_delay_us);
        let mut kept = Vec::new();
        let mut block = if failed {
            Block::Failed { kept: &mut kept }
        } else {
            Block::Decoded { at_us, out: io.out }
        };
        let mut left = tbs_bytes;
        // Of the channels that are still to be served.
        let mut first_bytes = share_block(&mut self.bearers, ue, tbs_bytes, slot.start_us);
        let mut backlog_bytes = 0;
        let counters = &mut ue.counters;
        for index in &ue.bearers {
            let Some(bearer) = self.bearers[*index].as_mut() else { continue };
            first_bytes -= bearer.first_bytes;
            let room = left - first_bytes;
            bearer.pull_upper_layer(*index, room, next_block, slot.start_us, io.upper);
            let pulled = bearer.pull(*index, room, slot.start_us, &mut block);
            bearer.take_first_bytes(pulled.used);
            left -= pulled.used;
            counters.count_downlink(pulled.pdu_bytes, pulled.pdus);
            backlog_bytes += bearer.demand_bytes();
            if !failed {
                watch_timers(&mut self.timers, *index, bearer);
            }
        }
        counters.report.dl_aggr_tbs += u64::from(tbs_bytes);
        counters.aggr_prb += u64::from(grant.prb);
        counters.last_slot = slot.slot;
        counters.last_tbs = u64::from(tbs_bytes);
        counters.last_prb = u64::from(grant.prb);
        counters.count_round(0, failed, slot.start_us);
        CellTotals::count_block(&mut self.totals.downlink_blocks, failed);
        ue.backlog_bytes = backlog_bytes;
        ue.rotate_equals();
        self.totals.used_prb += u64::from(grant.prb);
        let is_kept = failed && harq.max_transmissions > 1;
        ue.processes.transmitted(is_kept, slot.start_us, free_us);
        if failed {
            let block = PendingBlock {
                ue: grant.ue,
                due_us: free_us,
                n_prb: grant.prb,
                kind: slot.kind,
                transmissions: 1,
                reception,
                pdus: kept,
            };
            if is_kept {
                self.pending.push_back(block);
            } else {
                self.drop_block(block);
            }
        }
    }

    fn receive(
        &mut self,
        index: BearerIndex,
        pdu: RlcPdu<P>,
        at_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let Some(bearer) = self.bearers[index].as_mut() else { return };
        bearer.receive(index, pdu, at_us, out);
        watch_timers(&mut self.timers, index, bearer);
    }

    /// Expires the timers of the UEs that are due by `until_us`.
    pub(super) fn expire_timers(&mut self, until_us: u64, out: &mut Vec<Delivery<P>>) {
        self.totals.slots += 1;
        let bearers = &mut self.bearers;
        self.timers.retain(|index| {
            let Some(bearer) = bearers[*index].as_mut() else { return false };
            bearer.expire(*index, until_us, out);
            bearer.in_timers = bearer.has_running_timer();
            bearer.in_timers
        });
    }

    /// Transport block bytes over the whole carrier at the current MCS.
    pub(super) fn capacity_bytes(&self, ue: &Ue) -> u32 {
        self.radio_now(ue).bytes(|mcs| self.tables.full(SlotKind::Down, mcs))
    }

    /// Transport block bytes of the next slot over the whole carrier; 0 without downlink, or if the UE does
    /// not listen.
    pub(super) fn coming_capacity_bytes(&self, ue: &Ue) -> u32 {
        let kind = self.config.duplexing.kind(self.slot);
        let reserved = self.config.reserved.as_ref().map_or(0, |r| r.in_slot(self.slot));
        let is_active = ue.is_active_at(self.next_slot_us());
        if kind == SlotKind::Up || reserved >= self.config.n_prb || !is_active {
            return 0;
        }
        let end_us = self.config.numerology.slot_start_us(self.slot + 1);
        let radio = ue.channel.radio_ahead(self.next_slot_us(), self.downlink_until_us, end_us);
        radio.bytes(|mcs| self.tables.full(kind, mcs))
    }

    /// Transport block bytes that the last slot could have carried to a UE.
    pub(super) fn bytes_of_last_slot(&self, ue: &Ue) -> u32 {
        let (kind, available_prb) = self.last_slot;
        if kind == SlotKind::Up || available_prb == 0 {
            return 0;
        }
        let of_mcs = |mcs| self.table(kind, mcs).bytes(available_prb);
        self.radio_now(ue).bytes(of_mcs)
    }

    /// Current MCS of a UE; on a trace, the highest whose transport block fits the last slot.
    pub(super) fn mcs_now(&self, ue: &Ue) -> u8 {
        match self.radio_now(ue) {
            Radio::Mcs(mcs) => mcs,
            Radio::Bytes(bytes) => self.tables.mcs_of_bytes(SlotKind::Down, bytes),
            Radio::OutOfRange => 0,
        }
    }

    /// The CQI that the gNB has, or that of the current MCS where it needs none; 0 out of range.
    pub(super) fn cqi_now(&self, ue: &Ue) -> u8 {
        match (ue.channel.reported_cqi(), self.radio_now(ue)) {
            (Some(cqi), _) => cqi,
            (None, Radio::OutOfRange) => 0,
            (None, Radio::Mcs(_) | Radio::Bytes(_)) => {
                cqi::wideband_cqi(&self.config.tbs, self.mcs_now(ue))
            }
        }
    }

    pub(super) fn radio_now(&self, ue: &Ue) -> Radio {
        let start_us = self.config.numerology.slot_start_us(self.slot.saturating_sub(1));
        ue.channel.radio(start_us, self.downlink_since_us, self.downlink_until_us)
    }
}

/// Sets what each channel of a UE has of a block before those of lower priority take more than their
/// share; returns the sum.
fn share_block<P: Sdu>(
    bearers: &mut [Option<Box<Bearer<P>>>],
    ue: &Ue,
    tbs_bytes: u32,
    now_us: u64,
) -> u32 {
    if !ue.has_prioritised_rate {
        return 0;
    }
    let mut left_bytes = tbs_bytes;
    for index in &ue.bearers {
        let Some(bearer) = bearers[*index].as_mut() else { continue };
        bearer.set_first_bytes(left_bytes, now_us);
        left_bytes -= bearer.first_bytes;
    }
    tbs_bytes - left_bytes
}

/// Adds a bearer to the list of running timers.
fn watch_timers<P: Sdu>(timers: &mut Vec<BearerIndex>, index: BearerIndex, bearer: &mut Bearer<P>) {
    if !bearer.in_timers && bearer.has_running_timer() {
        bearer.in_timers = true;
        timers.push(index);
    }
}
