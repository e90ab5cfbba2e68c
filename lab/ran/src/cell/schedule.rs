//! New transmissions of one slot: the UEs scheduled and their PRBs.

use super::Cell;
use super::link::{Link, Slot};
use super::ue::Ue;
use super::upper_layer::{SMALLEST_BLOCK_BYTES, SlotIo};
use crate::Sdu;
use crate::mac::eqp::{Eqp, PacketSize, Queue};
use crate::mac::pf::{self, Candidate, PfConfig};
use crate::mac::rbg::GroupSet;
use crate::mac::round_robin::{Grant, split_equally};
use crate::mac::scheduler::UeScheduler;
use crate::phy::Subbands;

/// Lists reused between slots to avoid allocations.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    grants: Vec<Grant>,
    candidates: Vec<Candidate>,
    queues: Vec<Queue>,
    packets: Vec<PacketSize>,
    /// Rank in its slice, slice and grant.
    ranks: Vec<(usize, usize, usize)>,
    turns: Vec<usize>,
    served: Vec<usize>,
}

impl<P: Sdu> Cell<P> {
    /// Shares `budget_prb` among the UEs of `slice` and transmits.
    pub(super) fn transmit_new(
        &mut self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        io: &mut SlotIo<'_, P>,
    ) {
        match self.slices[slice].ues {
            UeScheduler::RoundRobin => self.round_robin(slot, slice, budget_prb, io),
            UeScheduler::ProportionalFair(pf) => {
                self.proportional_fair(slot, slice, budget_prb, pf, io);
            }
        }
    }

    fn round_robin(&mut self, slot: &Slot, slice: usize, budget_prb: u16, io: &mut SlotIo<'_, P>) {
        let mut grants = std::mem::take(&mut self.scratch.grants);
        grants.clear();
        self.select_round_robin(slot, slice, budget_prb, &mut grants);
        split_equally(budget_prb, self.config.rbg_size_prb, &mut grants);
        for grant in &grants {
            if grant.prb > 0 {
                self.transmit_block(slot, grant, io);
            }
        }
        // Served UEs with data left go to the end of the list. If all were served, the order is
        // rotated, so that an odd PRB alternates.
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
        self.scratch.grants = grants;
    }

    /// Selects the UEs of this slot, longest wait first, and moves them to the front of the list.
    fn select_round_robin(
        &mut self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        grants: &mut Vec<Grant>,
    ) {
        let most = usize::from(self.config.max_ues_per_slot);
        let mut at = 0;
        while at < self.slices[slice].backlogged.len() && grants.len() < most {
            let ue_at = self.slices[slice].backlogged[at];
            if let Some(grant) = self.grant_for(slot, ue_at, budget_prb) {
                let backlogged = &mut self.slices[slice].backlogged;
                if at != grants.len() {
                    backlogged.remove(at);
                    backlogged.insert(grants.len(), ue_at);
                }
                grants.push(grant);
            }
            at += 1;
        }
    }

    /// PRBs that a UE needs of `budget_prb`; `None` if they cannot carry a byte, no HARQ process is free or
    /// the UE does not listen.
    fn grant_for(&self, slot: &Slot, ue_at: usize, budget_prb: u16) -> Option<Grant> {
        let ue = self.ues[ue_at].as_ref()?;
        if !ue.is_active() || !ue.processes.is_free(self.config.harq.processes, slot.start_us) {
            return None;
        }
        let link = self.link(ue, slot);
        let need_prb = link.prb_for(ue.backlog_bytes.max(SMALLEST_BLOCK_BYTES), budget_prb);
        let min_prb = link.prb_for(SMALLEST_BLOCK_BYTES, budget_prb);
        let carries = need_prb > 0 && u64::from(link.bytes(min_prb)) >= SMALLEST_BLOCK_BYTES;
        carries.then_some(Grant { ue: ue_at, min_prb, need_prb, ..Grant::default() })
    }

    fn proportional_fair(
        &mut self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        config: PfConfig,
        io: &mut SlotIo<'_, P>,
    ) {
        let weight = config.weight(self.tti_us());
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        self.best_by_metric(slot, slice, budget_prb, weight, &mut candidates);
        if let Some(subbands) = self.link_tables.subbands() {
            self.share_groups(slot, subbands, weight, &mut candidates);
        } else {
            let bytes = |ue: usize, prb| self.link_of(ue, slot).map_or(0, |link| link.bytes(prb));
            let rbg_prb = self.config.rbg_size_prb;
            pf::share(budget_prb, rbg_prb, config.granularity, weight, &mut candidates, bytes);
        }
        for candidate in candidates.iter().filter(|candidate| candidate.grant.prb > 0) {
            self.send_and_count(slot, &candidate.grant, Some(weight), io);
        }
        let mut served = std::mem::take(&mut self.scratch.served);
        served.clear();
        served.extend(candidates.iter().map(|c| c.grant).filter(|g| g.prb > 0).map(|g| g.ue));
        self.requeue_served(slice, &served);
        self.scratch.served = served;
        self.scratch.candidates = candidates;
    }

    /// Shares the groups that retransmissions left by what the UEs report of sub-bands.
    fn share_groups(
        &self,
        slot: &Slot,
        subbands: Subbands,
        weight: f64,
        candidates: &mut [Candidate],
    ) {
        let need = |ue: usize| self.ues[ue].as_ref().map_or(0, |ue| ue.backlog_bytes);
        let bytes = |ue: usize, groups: GroupSet| {
            let link = self.ues[ue].as_ref().map(|ue| self.link_over(ue, slot, groups));
            link.map_or(0, |link| link.bytes(subbands.prb_of(groups)))
        };
        pf::share_groups(self.free_groups, weight, candidates, need, bytes);
        for grant in candidates.iter_mut().map(|candidate| &mut candidate.grant) {
            let carries = u64::from(bytes(grant.ue, grant.groups)) >= SMALLEST_BLOCK_BYTES;
            grant.prb = if carries { subbands.prb_of(grant.groups) } else { 0 };
        }
    }

    /// The UEs of a slice with the highest metric, as many as fit the PDCCH.
    fn best_by_metric(
        &self,
        slot: &Slot,
        slice: usize,
        budget_prb: u16,
        weight: f64,
        candidates: &mut Vec<Candidate>,
    ) {
        candidates.clear();
        for at in &self.slices[slice].backlogged {
            let Some(ue) = self.ues[*at].as_ref() else { continue };
            let Some(grant) = self.grant_for(slot, *at, budget_prb) else { continue };
            let rate_bytes = self.link(ue, slot).bytes(budget_prb);
            let average_bytes = ue.average.at(self.downlink_slots, weight);
            candidates.push(Candidate { grant, rate_bytes, average_bytes });
        }
        pf::best(candidates, usize::from(self.config.max_ues_per_slot), weight);
    }

    /// One slot under EQP (irazabal2021 Algorithm 4), with `data_prb` left by retransmissions.
    pub(super) fn elastic_partition(&mut self, slot: &Slot, data_prb: u16, io: &mut SlotIo<'_, P>) {
        let Some(mut eqp) = self.eqp.take() else { return };
        let mut scratch = std::mem::take(&mut self.scratch);
        // Line 1.
        let total_prb = eqp.assign_quantum(data_prb);
        // Line 2: converts queues from bytes to RBs. The bearers of a UE share a transport block by
        // priority, so they form one queue in that order.
        self.active_rntis(slot, total_prb, &mut scratch);
        let Scratch { queues, packets, served, turns, .. } = &mut scratch;
        packets.clear();
        for queue in queues.iter_mut() {
            self.generate_rbs(&eqp, slot, total_prb, queue, packets);
        }
        let rbg_prb = self.config.rbg_size_prb;
        turns.clear();
        turns.resize(self.slices.len(), 0);
        eqp.share(total_prb, rbg_prb, queues, packets, |slice, queues| {
            self.next_rnti(slot, slice, queues, &mut turns[slice])
        });
        for queue in queues.iter().filter(|queue| queue.prb > 0) {
            let grant = Grant { ue: queue.ue, prb: queue.prb, ..Grant::default() };
            let weight = self.weight_of(queue.slice);
            self.send_and_count(slot, &grant, weight, io);
        }
        for slice in 0..self.slices.len() {
            served.clear();
            // The queues are in reverse order of the list.
            let own = queues.iter().rev().filter(|queue| queue.prb > 0 && queue.slice == slice);
            served.extend(own.map(|queue| queue.ue));
            self.requeue_served(slice, served);
        }
        self.scratch = scratch;
        self.eqp = Some(eqp);
    }

    /// Picks as many UEs as fit the PDCCH, in turn from each slice the one its scheduler serves
    /// next. Algorithm 5 prefers later queues on ties (lines 26–30), so the order is reversed.
    fn active_rntis(&self, slot: &Slot, total_prb: u16, scratch: &mut Scratch) {
        let Scratch { grants, candidates, queues, ranks, .. } = scratch;
        queues.clear();
        let most = usize::from(self.config.max_ues_per_slot);
        // By rank in the slice: first all first ones, then all second ones.
        grants.clear();
        ranks.clear();
        for (slice, state) in self.slices.iter().enumerate() {
            let from = grants.len();
            match self.weight_of(slice) {
                Some(weight) => {
                    self.best_by_metric(slot, slice, total_prb, weight, candidates);
                    grants.extend(candidates.iter().map(|candidate| candidate.grant));
                }
                None => {
                    let waiting = state.backlogged.iter();
                    let usable = waiting.filter_map(|ue| self.grant_for(slot, *ue, total_prb));
                    grants.extend(usable.take(most));
                }
            }
            ranks.extend((from..grants.len()).map(|at| (at - from, slice, at)));
        }
        ranks.sort_unstable();
        ranks.truncate(most);
        for (_, slice, at) in ranks.drain(..).rev() {
            let Grant { ue, min_prb, need_prb, .. } = grants[at];
            queues.push(Queue { ue, slice, packets_end: 0, min_prb, need_prb, prb: 0 });
        }
    }

    /// The packets of a queue that can be sent whole: those that fit the slot and the quantum limit.
    fn generate_rbs(
        &self,
        eqp: &Eqp,
        slot: &Slot,
        total_prb: u16,
        queue: &mut Queue,
        packets: &mut Vec<PacketSize>,
    ) {
        if let Some(ue) = self.ues[queue.ue].as_ref() {
            let link = self.link(ue, slot);
            let factor = eqp.size_factor(queue.slice);
            let bearers = ue.bearers.iter().filter_map(|index| self.bearers[*index].as_ref());
            let mut sum_bytes = 0;
            for block_bytes in bearers.flat_map(|bearer| bearer.block_bytes_of_sdus()) {
                sum_bytes += u64::from(block_bytes);
                let scaled_bytes = (sum_bytes as f64 * factor).ceil() as u64;
                let Some(scaled_prb) = link.prb_that_carry(scaled_bytes, total_prb) else { break };
                let prb = link.prb_for(sum_bytes, total_prb);
                if !eqp.allows(queue.slice, prb) {
                    break;
                }
                packets.push(PacketSize { prb, scaled_prb });
            }
        }
        queue.packets_end = packets.len();
    }

    /// The next queue of a slice with data left. The queues are in reverse order.
    fn next_rnti(
        &self,
        slot: &Slot,
        slice: usize,
        queues: &[Queue],
        turn: &mut usize,
    ) -> Option<usize> {
        let open = |queue: &Queue| queue.slice == slice && queue.needs_more();
        let Some(weight) = self.weight_of(slice) else {
            // Round robin: the one after the last served.
            let next = (0..queues.len()).map(|step| (*turn + step) % queues.len());
            let found = next.map(|at| queues.len() - 1 - at).find(|at| open(&queues[*at]))?;
            *turn = queues.len() - found;
            return Some(found);
        };
        let metric = |queue: &Queue| {
            let ue = self.ues[queue.ue].as_ref()?;
            let link = self.link(ue, slot);
            let candidate = Candidate {
                grant: Grant::default(),
                rate_bytes: link.bytes(slot.available_prb),
                average_bytes: ue.average.at(self.downlink_slots, weight),
            };
            Some(candidate.metric(weight, link.bytes(queue.prb)))
        };
        let open = queues.iter().enumerate().filter(|(_, queue)| open(queue));
        let rated = open.filter_map(|(at, queue)| Some((at, metric(queue)?)));
        rated.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// Weight of a slot in the averages of a slice under proportional fair.
    fn weight_of(&self, slice: usize) -> Option<f64> {
        match self.slices[slice].ues {
            UeScheduler::RoundRobin => None,
            UeScheduler::ProportionalFair(pf) => Some(pf.weight(self.tti_us())),
        }
    }

    fn link_of(&self, ue_at: usize, slot: &Slot) -> Option<Link<'_>> {
        self.ues[ue_at].as_ref().map(|ue: &Ue| self.link(ue, slot))
    }

    fn send_and_count(
        &mut self,
        slot: &Slot,
        grant: &Grant,
        weight: Option<f64>,
        io: &mut SlotIo<'_, P>,
    ) {
        let ue = self.ues[grant.ue].as_ref();
        let link = ue.map(|ue| self.link_over(ue, slot, grant.groups));
        let bytes = link.map_or(0, |link| link.bytes(grant.prb));
        self.transmit_block(slot, grant, io);
        if let (Some(weight), Some(ue)) = (weight, self.ues[grant.ue].as_mut()) {
            ue.average.served(self.downlink_slots, weight, bytes);
        }
    }

    /// Moves served UEs with data left to the end of the list and removes the others.
    fn requeue_served(&mut self, slice: usize, served: &[usize]) {
        let backlogged = &mut self.slices[slice].backlogged;
        backlogged.retain(|at| !served.contains(at));
        for at in served {
            let Some(ue) = self.ues[*at].as_mut() else { continue };
            ue.is_backlogged = ue.backlog_bytes > 0;
            if ue.is_backlogged {
                backlogged.push_back(*at);
            }
        }
    }
}
