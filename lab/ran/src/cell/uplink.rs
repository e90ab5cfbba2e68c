//! One uplink slot: retransmissions, grants, transport blocks of the UEs.

use super::bearer::Bearer;
use super::ue::Ue;
use super::{BearerIndex, Cell, CellTotals};
use crate::Sdu;
use crate::mac::pf::{self, Candidate};
use crate::mac::round_robin::{Grant, split_equally};
use crate::mac::scheduler::UeScheduler;
use crate::phy::{Radio, Reception};
use crate::uplink::{
    Block, SMALLEST_BLOCK_BYTES, ScheduledUplink, Status, Uplink, UplinkArrival, UplinkConfig,
    Wanted,
};

/// MCS of the uplink of a UE whose downlink is a record of bytes: 4 Mbit/s in two slots of 106 PRBs
/// each 5 ms at half of the PRBs.
const MCS_BESIDE_A_TRACE: u8 = 10;

/// Bytes of a buffer status report with its MAC subheader, at most, less one group of eight.
const REPORT_BYTES: u64 = 8;

/// Most logical channel groups (38.321 §5.4.5).
const MAX_GROUPS: usize = 8;

/// An uplink slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct UplinkSlot {
    pub(super) slot: u64,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
}

impl<P: Sdu> Cell<P> {
    /// Shares the PRBs of an uplink slot among the UEs whose queues the gNB knows of.
    pub(super) fn uplink_slot(&mut self, slot: UplinkSlot) {
        let mut budget_prb = self.config.n_prb;
        let mut active = std::mem::take(&mut self.uplink_active);
        for at in &active {
            budget_prb -= self.retransmit_uplink(slot, *at, budget_prb);
        }
        let mut grants = std::mem::take(&mut self.uplink_grants);
        self.select_uplink(slot, &active, budget_prb, &mut grants);
        for grant in grants.iter().filter(|grant| grant.prb > 0) {
            self.transmit_uplink(slot, grant.ue, grant.prb);
        }
        // Those that were served go to the end; those without a queue leave.
        let served = || grants.iter().filter(|grant| grant.prb > 0).map(|grant| grant.ue);
        active.retain(|at| !served().any(|ue| ue == *at));
        active.extend(served());
        active.retain(|at| {
            let Some(ue) = self.ues[*at].as_mut() else { return false };
            let Uplink::Scheduled(uplink) = &ue.uplink else { return false };
            ue.uplink_is_active = uplink.is_active();
            ue.uplink_is_active
        });
        self.uplink_active = active;
        self.uplink_grants = grants;
    }

    /// Sends a block that is due again, if its PRBs fit; returns them.
    fn retransmit_uplink(&mut self, slot: UplinkSlot, at: usize, budget_prb: u16) -> u16 {
        let harq = self.config.harq;
        let Some(ue) = self.ues[at].as_ref() else { return 0 };
        let Uplink::Scheduled(uplink) = &ue.uplink else { return 0 };
        let Some(due_us) = uplink.due_since_us(slot.start_us) else { return 0 };
        let is_reached =
            ue.receives_again(due_us, slot.start_us) && self.uplink_mcs(ue, 1).is_some();
        let Some(ue) = self.ues[at].as_mut().filter(|_| is_reached && budget_prb > 0) else {
            return 0;
        };
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return 0 };
        let config = uplink.config;
        let Some(block) = uplink.due_block(slot.start_us) else { return 0 };
        if let Some(left_bytes) = block.left_bytes() {
            return self.resend_uplink(slot, at, left_bytes, budget_prb);
        }
        let n_prb = block.n_prb;
        if n_prb > budget_prb {
            return 0;
        }
        let failure_rate = match &mut block.reception {
            Some(reception) => ue.channel.uplink_failure_rate(reception, &config, n_prb),
            None => ue.errors.probability(block.transmissions),
        };
        let failed = ue.rng.chance(failure_rate);
        let counters = &mut ue.counters;
        counters.count_uplink_round(block.transmissions, failed, slot.start_us);
        counters.uplink_retx_prb += u64::from(n_prb);
        block.transmissions += 1;
        let due_us = slot.start_us + u64::from(harq.rtt_us);
        if !failed {
            let decoded_us = slot.end_us + u64::from(config.decode_us);
            let statuses = std::mem::take(&mut block.statuses);
            block.sent_again(Ok(decoded_us));
            Self::receive_statuses(&mut self.bearers, statuses, decoded_us);
        } else if block.transmissions < harq.max_transmissions {
            block.sent_again(Err(Some(due_us)));
        } else {
            counters.count_uplink_failure();
            Self::end_harq(&self.bearers, block, due_us);
        }
        if let Some(Uplink::Scheduled(uplink)) = self.ues[at].as_mut().map(|ue| &mut ue.uplink) {
            uplink.count_prb(slot.slot, n_prb);
        }
        self.release_uplink(at);
        n_prb
    }

    /// A block has failed in all transmissions: RLC-UM loses it, RLC-AM sends its content again from
    /// `due_us` on.
    fn end_harq(bearers: &[Option<Box<Bearer<P>>>], block: &mut Block, due_us: u64) {
        let is_am = |index: BearerIndex| bearers[index].as_ref().is_some_and(|one| one.is_am());
        let has_am = block.bearers().any(is_am);
        if has_am { block.leave_to_rlc(due_us) } else { block.sent_again(Err(None)) }
    }

    /// Sends what RLC-AM has to send again of a block, as much as the radio of the slot carries; returns
    /// the PRBs.
    fn resend_uplink(
        &mut self,
        slot: UplinkSlot,
        at: usize,
        left_bytes: u32,
        budget_prb: u16,
    ) -> u16 {
        let rtt_us = self.config.harq.rtt_us;
        let Some(ue) = self.ues[at].as_ref() else { return 0 };
        let Uplink::Scheduled(uplink) = &ue.uplink else { return 0 };
        let config = uplink.config;
        let (_, most_prb) = self.uplink_prb_range(ue, budget_prb);
        let n_prb = self.fewest_uplink_prb(ue, left_bytes.into(), most_prb);
        let Some(mcs) = self.uplink_mcs(ue, n_prb) else { return 0 };
        let tbs_bytes = self.uplink_bytes(ue, n_prb);
        let Some(ue) = self.ues[at].as_mut() else { return 0 };
        ue.count_new_transmission(slot.start_us);
        let failed = Self::fails_at_first(ue, &config, (mcs, tbs_bytes, n_prb)).0;
        ue.counters.count_uplink_round(0, failed, slot.start_us);
        ue.counters.uplink_retx_prb += u64::from(n_prb);
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return 0 };
        uplink.count_prb(slot.slot, n_prb);
        if let Some(block) = uplink.due_block(slot.start_us) {
            let decoded_us = slot.end_us + u64::from(config.decode_us);
            let carried_bytes = if failed { 0 } else { tbs_bytes };
            block.carried(carried_bytes, decoded_us, slot.start_us + u64::from(rtt_us));
        }
        self.release_uplink(at);
        n_prb
    }

    /// Passes on the packets of a UE that leave the gNB.
    fn release_uplink(&mut self, at: usize) {
        let Some(ue) = self.ues[at].as_mut() else { return };
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return };
        let out = &mut self.uplink_out;
        uplink.release(|arrival| out.push(arrival));
    }

    /// Whether the first transmission of a block of this MCS, bytes and PRBs fails, and its receiver.
    fn fails_at_first(
        ue: &mut Ue,
        config: &UplinkConfig,
        (mcs, tbs_bytes, n_prb): (u8, u32, u16),
    ) -> (bool, Option<Reception>) {
        let mut reception = ue.channel.reception(|| mcs, 8 * tbs_bytes);
        let failure_rate = match &mut reception {
            Some(reception) => ue.channel.uplink_failure_rate(reception, config, n_prb),
            None if ue.channel.is_trace() => 0.0,
            None => ue.errors.bler,
        };
        let failed = failure_rate > 0.0 && ue.rng.chance(failure_rate);
        ue.channel.uplink_transmitted(!failed);
        (failed, reception)
    }

    /// The UEs that get a grant, and its PRBs.
    fn select_uplink(
        &mut self,
        slot: UplinkSlot,
        active: &[usize],
        budget_prb: u16,
        grants: &mut Vec<Grant>,
    ) {
        grants.clear();
        if budget_prb == 0 {
            return;
        }
        let most = usize::from(self.config.max_ues_per_slot);
        let is_fair = matches!(self.config.uplink_scheduler, UeScheduler::ProportionalFair(_));
        let mut unasked = Vec::new();
        for at in active {
            if grants.len() == most && !is_fair {
                break;
            }
            let Some((grant, is_unasked)) = self.uplink_need(slot, *at, budget_prb) else {
                continue;
            };
            if is_unasked { &mut unasked } else { &mut *grants }.push(grant);
        }
        match self.config.uplink_scheduler {
            UeScheduler::RoundRobin => split_equally(budget_prb, 1, grants),
            UeScheduler::ProportionalFair(config) => {
                let weight = config.weight(self.tti_us());
                let bytes = |at: usize, n_prb: u16| {
                    self.ues[at].as_ref().map_or(0, |ue| self.uplink_bytes(ue, n_prb))
                };
                let mut candidates: Vec<Candidate> = grants
                    .iter()
                    .map(|grant| Candidate {
                        grant: *grant,
                        rate_bytes: bytes(grant.ue, budget_prb),
                        average_bytes: self.ues[grant.ue]
                            .as_ref()
                            .map_or(0.0, |ue| ue.uplink_average.at(self.uplink_slots, weight)),
                    })
                    .collect();
                pf::best(&mut candidates, most, weight);
                pf::share(budget_prb, 1, config.granularity, weight, &mut candidates, bytes);
                grants.clear();
                grants.extend(candidates.iter().map(|candidate| candidate.grant));
            }
        }
        self.uplink_slots += 1;
        // What is left goes to UEs of which the gNB only supposes that they have data.
        let given_prb: u16 = grants.iter().map(|grant| grant.prb).sum();
        unasked.truncate(most.saturating_sub(grants.len()));
        split_equally(budget_prb - given_prb, 1, &mut unasked);
        grants.append(&mut unasked);
    }

    /// PRBs that the gNB would grant a UE, and whether without knowing of a buffer.
    fn uplink_need(
        &mut self,
        slot: UplinkSlot,
        at: usize,
        budget_prb: u16,
    ) -> Option<(Grant, bool)> {
        let ue = self.ues[at].as_mut()?;
        let is_active = ue.is_active();
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return None };
        let wanted = uplink.wanted(slot.start_us).filter(|_| is_active)?;
        let config = uplink.config;
        let ue = self.ues[at].as_ref()?;
        let (min_prb, most_prb) = self.uplink_prb_range(ue, budget_prb);
        // Without a radio the UE waits.
        self.uplink_mcs(ue, 1)?;
        let mut need_prb = config.sr_grant_prb.min(most_prb);
        if let Wanted::Reported(known_bytes) = wanted {
            // With the next report.
            need_prb = self.fewest_uplink_prb(ue, known_bytes + REPORT_BYTES, most_prb);
        }
        let need_prb = need_prb.max(min_prb);
        let grant = Grant { ue: at, min_prb, need_prb, ..Grant::default() };
        Some((grant, wanted == Wanted::Prescheduled))
    }

    /// The fewest PRBs that carry anything, and the most over which the UE's power suffices, of `budget_prb`.
    fn uplink_prb_range(&self, ue: &Ue, budget_prb: u16) -> (u16, u16) {
        let Uplink::Scheduled(uplink) = &ue.uplink else { return (0, 0) };
        let few =
            (1..=budget_prb).find(|n_prb| self.uplink_bytes(ue, *n_prb) >= SMALLEST_BLOCK_BYTES);
        let few = few.unwrap_or(budget_prb);
        let by_power = ue.channel.uplink_most_prb(&uplink.config).min(budget_prb);
        (few, by_power.max(few))
    }

    /// The fewest of `most_prb` PRBs that carry `bytes`, or all; more carry more.
    fn fewest_uplink_prb(&self, ue: &Ue, bytes: u64, most_prb: u16) -> u16 {
        let (mut few, mut many) = (0, most_prb);
        while many - few > 1 {
            let middle = few + (many - few) / 2;
            let carries = u64::from(self.uplink_bytes(ue, middle)) >= bytes;
            if carries { many = middle } else { few = middle }
        }
        many
    }

    /// MCS of a UE's block over `n_prb` PRBs; `None` without a radio.
    fn uplink_mcs(&self, ue: &Ue, n_prb: u16) -> Option<u8> {
        let Uplink::Scheduled(uplink) = &ue.uplink else { return None };
        let own = ue.channel.uplink_radio(&uplink.config, n_prb);
        match (own.unwrap_or_else(|| self.radio_now(ue)), uplink.config.mcs) {
            (Radio::OutOfRange, _) => None,
            (_, Some(mcs)) | (Radio::Mcs(mcs), None) => Some(mcs),
            (Radio::Bytes(_), None) => Some(MCS_BESIDE_A_TRACE),
        }
    }

    fn uplink_bytes(&self, ue: &Ue, n_prb: u16) -> u32 {
        let mcs = self.uplink_mcs(ue, n_prb);
        let row = mcs.map(|mcs| self.tables.uplink_row(mcs));
        row.and_then(|row| row.get(usize::from(n_prb)).copied()).unwrap_or(0)
    }

    fn transmit_uplink(&mut self, slot: UplinkSlot, at: usize, n_prb: u16) {
        let harq = self.config.harq;
        let Some(ue) = self.ues[at].as_ref() else { return };
        let Some(mcs) = self.uplink_mcs(ue, n_prb) else { return };
        let tbs_bytes = self.uplink_bytes(ue, n_prb);
        let groups = ue.bearers.len().min(MAX_GROUPS) as u32;
        let Some(ue) = self.ues[at].as_mut() else { return };
        ue.count_new_transmission(slot.start_us);
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return };
        let config = uplink.config;
        let mut room_bytes = uplink.room_bytes(tbs_bytes, groups);
        let mut statuses = Vec::new();
        if uplink.wants_control {
            for index in &ue.bearers {
                let Some(bearer) = self.bearers[*index].as_mut() else { continue };
                let Some((pdu, bytes)) = bearer.make_status(slot.start_us, room_bytes) else {
                    continue;
                };
                room_bytes -= bytes + crate::rlc::um::pdu::mac_subheader_bytes(bytes);
                statuses.push(Status { bearer: *index, pdu, bytes });
            }
        }
        let filled =
            uplink.fill((slot.slot, slot.start_us), (tbs_bytes, n_prb), room_bytes, groups);
        let most_prb = ue.channel.uplink_most_prb(&config).min(self.config.n_prb);
        uplink.count_full(slot.slot, n_prb, most_prb);
        let (failed, reception) = Self::fails_at_first(ue, &config, (mcs, tbs_bytes, n_prb));
        let Uplink::Scheduled(uplink) = &mut ue.uplink else { return };
        let counters = &mut ue.counters;
        counters.count_uplink_round(0, failed, slot.start_us);
        CellTotals::count_block(&mut self.totals.uplink_blocks, failed);
        counters.uplink_prb += u64::from(n_prb);
        counters.report.ul_mcs1 = mcs;
        counters.report.bsr = u32::try_from(uplink.demand_bytes()).unwrap_or(u32::MAX);
        counters.last_uplink = (slot.slot, u64::from(tbs_bytes), u64::from(n_prb));
        let decoded_us = slot.end_us + u64::from(config.decode_us);
        let due_us = slot.start_us + u64::from(harq.rtt_us);
        let mut arrived = Vec::new();
        let decoded_or_due_us = if failed {
            Err(due_us)
        } else {
            arrived = std::mem::take(&mut statuses);
            Ok(decoded_us)
        };
        uplink.sent(filled, (tbs_bytes, n_prb), reception, statuses, decoded_or_due_us);
        if let UeScheduler::ProportionalFair(config) = self.config.uplink_scheduler {
            let weight = config.weight(self.config.numerology.slot_us());
            ue.uplink_average.served(self.uplink_slots, weight, tbs_bytes);
        }
        Self::receive_statuses(&mut self.bearers, arrived, decoded_us);
        if failed
            && harq.max_transmissions == 1
            && let Some(block) = uplink.newest_block()
        {
            counters.count_uplink_failure();
            Self::end_harq(&self.bearers, block, due_us);
        }
        self.release_uplink(at);
    }

    /// The DU receives status reports of RLC-AM at `at_us`.
    fn receive_statuses(bearers: &mut [Option<Box<Bearer<P>>>], statuses: Vec<Status>, at_us: u64) {
        for Status { bearer, pdu, bytes } in statuses {
            if let Some(bearer) = bearers[bearer].as_mut() {
                bearer.status_sent(at_us, pdu, bytes);
            }
        }
    }

    /// A UE whose uplink has something to do takes part in uplink slots.
    pub(super) fn activate_uplink(&mut self, at: usize) {
        let Some(ue) = self.ues[at].as_mut() else { return };
        let is_active = matches!(&ue.uplink, Uplink::Scheduled(uplink) if uplink.is_active());
        if is_active && !ue.uplink_is_active {
            ue.uplink_is_active = true;
            self.uplink_active.push(at);
        }
    }

    /// Whether [`take_uplink_arrivals`](Self::take_uplink_arrivals) has any.
    pub fn has_uplink_arrivals(&self) -> bool {
        !self.uplink_out.is_empty()
    }

    /// Packets of UEs that have left the gNB's PDCP or will, and those that the radio has lost, since the
    /// last call.
    pub fn take_uplink_arrivals(&mut self) -> std::vec::Drain<'_, UplinkArrival> {
        self.uplink_out.drain(..)
    }

    /// Queues a packet of the UE's IP layer at `now_us` in the uplink of `index`; `false` if the UE's queue
    /// is full or there is no such bearer. [`take_uplink_arrivals`](Self::take_uplink_arrivals) says under
    /// `tag` when it leaves the gNB. `now_us` must not decrease between calls, slots included.
    pub fn send_uplink(
        &mut self,
        index: BearerIndex,
        tag: u64,
        len_bytes: u32,
        now_us: u64,
    ) -> bool {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else {
            return false;
        };
        let at = bearer.ue;
        let Some(ue) = self.ues[at].as_mut() else { return false };
        let block_bytes = bearer.uplink_block_bytes(len_bytes);
        let is_taken = match &mut ue.uplink {
            Uplink::Scheduled(uplink) => {
                let channel = (index, &bearer.config.channel);
                uplink.send(channel, tag, len_bytes, block_bytes, now_us)
            }
            Uplink::Recorded(uplink) => match uplink.send(len_bytes, now_us) {
                Some(at_us) => {
                    let leaves_us = Some(at_us);
                    self.uplink_out.push(UplinkArrival { bearer: index, tag, leaves_us });
                    true
                }
                None => false,
            },
        };
        if is_taken {
            bearer.count_uplink(len_bytes);
            ue.counters.count_uplink(block_bytes.into(), len_bytes.into(), 1);
            self.activate_uplink(at);
        }
        is_taken
    }

    /// Share of the PRBs of the cell's uplink slots that the UE of a bearer had, percent, since it first
    /// had a grant; `None` without such a bearer, and with a recorded uplink.
    pub fn uplink_used_pct(&self, index: BearerIndex, now_us: u64) -> Option<f64> {
        let uplink = self.scheduled_uplink(index)?;
        let Some((first, used_prb)) = uplink.used() else { return Some(0.0) };
        let there = self.uplink_slots_since(first, now_us) * f64::from(self.config.n_prb);
        Some((used_prb as f64 * 100.0 / there).min(100.0))
    }

    /// Share of the cell's uplink slots in which the UE of a bearer sent over all PRBs that the carrier and its
    /// power allow and had data left, percent, since it first had a grant; `None` as by
    /// [`uplink_used_pct`](Self::uplink_used_pct).
    pub fn uplink_full_pct(&self, index: BearerIndex, now_us: u64) -> Option<f64> {
        let uplink = self.scheduled_uplink(index)?;
        let Some((first, _)) = uplink.used() else { return Some(0.0) };
        let slots = self.uplink_slots_since(first, now_us);
        Some((uplink.full_slots() as f64 * 100.0 / slots).min(100.0))
    }

    fn scheduled_uplink(&self, index: BearerIndex) -> Option<&ScheduledUplink> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        match &self.ues[bearer.ue].as_ref()?.uplink {
            Uplink::Scheduled(uplink) => Some(uplink),
            Uplink::Recorded(_) => None,
        }
    }

    /// Uplink slots from slot number `first` to `now_us`, at least 1.
    fn uplink_slots_since(&self, first: u64, now_us: u64) -> f64 {
        let duplexing = &self.config.duplexing;
        let now_slot = (now_us << self.config.numerology.mu()) / 1000;
        let slots = duplexing.uplink_slots(now_slot).saturating_sub(duplexing.uplink_slots(first));
        slots.max(1) as f64
    }
}
