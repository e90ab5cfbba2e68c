//! The DU: RLC and MAC of all UEs of a cell, advanced by one call per slot.

mod am;
mod bearer;
mod downlink;
mod handover;
mod link;
mod schedule;
mod status;
mod ue;
mod uplink;
mod upper_layer;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Sdu;
use crate::config::{BearerConfig, CellConfig, UeConfig};
use crate::error::ConfigError;
use crate::mac::eqp::Eqp;
use crate::mac::harq::PendingBlocks;
use crate::mac::rbg::GroupSet;
use crate::mac::round_robin::Grant;
use crate::mac::scheduler::{SchedulerConfig, Slice};
use crate::numerology::SlotKind;
use crate::phy::LinkTables;
pub use crate::rlc::BearerIndex;
use crate::rlc::SduDelays;
use crate::tbs::TbsTables;
use crate::uplink::{RecordedUplink, ScheduledUplink, Uplink, UplinkArrival, UplinkConfig};
use crate::{Channel, MacReport, RlcReport};
use bearer::Bearer;
pub use handover::{MovingBearer, MovingUe};
use schedule::Scratch;
pub use status::{BearerStatus, CellTotals};
use ue::Ue;
use upper_layer::SlotIo;
pub use upper_layer::{BlockRoom, BufferStatus, NextBlock, UpperLayer};

/// An SDU delivered at the UE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// Its bearer.
    pub bearer: BearerIndex,
    /// Its COUNT, of which PDCP sends the low bits as sequence number (38.323 §6.3.5).
    pub count: u64,
    /// The packet.
    pub sdu: P,
    /// Time at which the RLC enqueued it.
    pub enqueued_us: u64,
    /// Time at which its last byte was submitted to the MAC.
    pub dequeued_us: u64,
    /// Time at which the UE's PDCP delivers it; never before the slot that returns it.
    pub delivered_us: u64,
}

/// A cell with its UEs and bearers. A clone continues exactly as the original.
#[derive(Debug, Clone)]
pub struct Cell<P> {
    config: CellConfig,
    tables: TbsTables,
    link_tables: Arc<LinkTables>,
    /// Number of the next slot.
    slot: u64,
    /// End of the downlink slot before the last, and of the last: the interval whose trace
    /// opportunities the last slot offers.
    downlink_since_us: u64,
    downlink_until_us: u64,
    ues: Vec<Option<Ue>>,
    by_rnti: BTreeMap<u16, usize>,
    bearers: Vec<Option<Box<Bearer<P>>>>,
    /// Indices of bearers that have moved to another cell, to be given again.
    vacant: Vec<BearerIndex>,
    slices: Vec<Slice>,
    pending: PendingBlocks<P>,
    /// UM bearers with t-Reassembly or t-Reordering running.
    timers: Vec<BearerIndex>,
    am_bearers: Vec<BearerIndex>,
    /// Uplink access of UEs without their own.
    uplink: UplinkConfig,
    /// UEs with uplink traffic, those served longest ago first.
    uplink_active: Vec<usize>,
    /// UEs that may have become active; reused.
    uplink_wanting: Vec<usize>,
    /// Grants of a slot; reused.
    uplink_grants: Vec<Grant>,
    /// Uplink slots with grants so far.
    uplink_slots: u64,
    /// Uplink packets that have left the gNB or were lost.
    uplink_out: Vec<UplinkArrival>,
    totals: CellTotals,
    last_slot_downlink: bool,
    /// Kind of the last slot, and its PRBs for data.
    last_slot: (SlotKind, u16),
    /// Whether a UE has had a channel that changes by steps, or timers of DRX.
    any_advancing: bool,
    /// Downlink slots so far.
    downlink_slots: u64,
    /// Groups of the slot that nobody has, where the gNB schedules by them.
    free_groups: GroupSet,
    /// State of EQP, if it is the scheduler.
    eqp: Option<Eqp>,
    scratch: Scratch,
}

impl<P: Sdu> Cell<P> {
    /// An empty cell whose first slot begins at 0.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn new(config: CellConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let uplink = config.uplink_config();
        uplink.validate(&config.duplexing, config.tbs.max_mcs())?;
        Ok(Self {
            uplink,
            uplink_active: Vec::new(),
            uplink_wanting: Vec::new(),
            uplink_grants: Vec::new(),
            uplink_slots: 0,
            uplink_out: Vec::new(),
            tables: config.tbs_tables(),
            link_tables: config.link_tables().into(),
            slot: 0,
            downlink_since_us: 0,
            downlink_until_us: 0,
            ues: Vec::new(),
            by_rnti: BTreeMap::new(),
            bearers: Vec::new(),
            vacant: Vec::new(),
            slices: Slice::of(&config.scheduler),
            pending: PendingBlocks::new(),
            timers: Vec::new(),
            am_bearers: Vec::new(),
            totals: CellTotals::default(),
            last_slot_downlink: false,
            last_slot: (SlotKind::Up, 0),
            any_advancing: false,
            downlink_slots: 0,
            free_groups: GroupSet::default(),
            eqp: match &config.scheduler {
                SchedulerConfig::ElasticQuantumPartition(eqp) => {
                    let percents = eqp.slices.iter().map(|share| share.percent);
                    Some(Eqp::new(percents, eqp.quantum_limit_prb))
                }
                _ => None,
            },
            scratch: Scratch::default(),
            config,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Adds a UE without bearers.
    ///
    /// # Errors
    /// [`ConfigError`] for an RNTI in use, an unknown slice or an invalid value.
    pub fn add_ue(&mut self, config: UeConfig) -> Result<(), ConfigError> {
        if self.by_rnti.contains_key(&config.rnti) {
            return Err(ConfigError::Duplicate { what: "rnti", id: u32::from(config.rnti) });
        }
        config.channel.validate(self.config.tbs.max_mcs())?;
        let Some(slice) = Slice::find(&self.slices, config.slice) else {
            let expected = "a slice of the scheduler";
            return Err(ConfigError::new("ue.slice", config.slice, expected));
        };
        if let Some(errors) = &config.errors {
            errors.validate("ue.errors")?;
        }
        if let Some(drx) = &config.drx {
            drx.validate(&self.config.duplexing, self.config.numerology)?;
        }
        let uplink = match &config.recorded_uplink {
            Some(recorded) => Uplink::Recorded(RecordedUplink::new(recorded.clone())?),
            None => {
                let access = config.uplink.unwrap_or(self.uplink);
                access.validate(&self.config.duplexing, self.config.tbs.max_mcs())?;
                Uplink::Scheduled(Box::new(ScheduledUplink::new(access)))
            }
        };
        let now_us = self.next_slot_us();
        let ue = Ue::new(config, slice, &self.config, &self.link_tables, uplink, now_us);
        self.any_advancing |= ue.channel.is_advancing() || ue.drx.is_some();
        let at = match self.ues.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.ues.push(None);
                self.ues.len() - 1
            }
        };
        self.by_rnti.insert(ue.rnti, at);
        self.ues[at] = Some(ue);
        Ok(())
    }

    /// Adds a bearer to a UE.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown UE, a DRB in use or an invalid value.
    pub fn add_bearer(
        &mut self,
        rnti: u16,
        config: BearerConfig,
    ) -> Result<BearerIndex, ConfigError> {
        config.validate()?;
        let Some((at, ue)) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti) else {
            return Err(ConfigError::NoSuchUe { rnti });
        };
        let index = self.vacant.last().copied().unwrap_or(self.bearers.len());
        let bearers = &self.bearers;
        let drb_of = |i: &BearerIndex| bearers[*i].as_ref().map(|b| b.config.drb);
        if ue.bearers.iter().any(|i| drb_of(i) == Some(config.drb)) {
            return Err(ConfigError::Duplicate { what: "drb", id: u32::from(config.drb) });
        }
        ue.add_bearer(index, &config.channel);
        let bearer = Bearer::new(at, rnti, config);
        if bearer.is_am() {
            self.am_bearers.push(index);
        }
        match self.vacant.pop() {
            Some(index) => self.bearers[index] = Some(Box::new(bearer)),
            None => self.bearers.push(Some(Box::new(bearer))),
        }
        Ok(index)
    }

    /// Removes a UE with its bearers and returns the queued SDUs; SDUs in transit are lost. `None` for
    /// an unknown UE.
    pub fn remove_ue(&mut self, rnti: u16) -> Option<Vec<P>> {
        let at = self.by_rnti.remove(&rnti)?;
        let mut ue = self.ues.get_mut(at)?.take()?;
        if let Uplink::Scheduled(uplink) = &mut ue.uplink {
            uplink.abandon(|arrival| self.uplink_out.push(arrival));
        }
        self.uplink_active.retain(|other| *other != at);
        self.slices[ue.slice].backlogged.retain(|other| *other != at);
        self.pending.retain(|block| block.ue != at);
        let mut queued = Vec::new();
        for (index, _) in ue.logical_channels() {
            if let Some(bearer) = self.bearers[index].take() {
                self.totals.lost_sdus += bearer.lost_at_ue();
                queued.extend(bearer.into_sdus());
            }
        }
        Some(queued)
    }

    /// Removes a bearer and returns the queued SDUs; SDUs in transit are lost. `None` for an unknown
    /// bearer, here and below.
    pub fn remove_bearer(&mut self, index: BearerIndex) -> Option<Vec<P>> {
        let bearer = self.bearers.get_mut(index)?.take()?;
        self.totals.lost_sdus += bearer.lost_at_ue();
        for block in &mut self.pending {
            block.pdus.retain(|(owner, _)| *owner != index);
        }
        if let Some(ue) = self.ues[bearer.ue].as_mut() {
            ue.backlog_bytes -= bearer.demand_bytes();
            ue.remove_bearer(index);
            if ue.backlog_bytes == 0 && ue.is_backlogged {
                ue.is_backlogged = false;
                self.slices[ue.slice].backlogged.retain(|other| *other != bearer.ue);
            }
        }
        Some(bearer.into_sdus())
    }

    /// Removes the SDUs of which no byte is sent and returns them, oldest first. PDCP discards them
    /// (38.323 §5.3, in the DU by DL discard, 38.425 §5.4.1) and may send them again later, when they
    /// are counted again.
    pub fn take_unsent(
        &mut self,
        index: BearerIndex,
    ) -> Option<impl ExactSizeIterator<Item = P> + use<P>> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        let sdus = bearer.take_unsent();
        self.update_backlog(index);
        Some(sdus)
    }

    /// Replaces the channel of a UE from the next slot on.
    ///
    /// # Errors
    /// [`ConfigError`] for an unknown UE or an invalid channel.
    pub fn set_channel(&mut self, rnti: u16, channel: Channel) -> Result<(), ConfigError> {
        channel.validate(self.config.tbs.max_mcs())?;
        let now_us = self.next_slot_us();
        let (_, ue) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti)
            .ok_or(ConfigError::NoSuchUe { rnti })?;
        ue.set_channel(channel, &self.config, &self.link_tables, now_us);
        self.any_advancing |= ue.channel.is_advancing();
        Ok(())
    }

    /// Enqueues an SDU in the RLC of `index`.
    ///
    /// # Errors
    /// Returns the SDU if the queue is full (tail drop) or the bearer unknown.
    pub fn enqueue(&mut self, index: BearerIndex, sdu: P, now_us: u64) -> Result<(), P> {
        self.enqueue_with(index, None, sdu, now_us)
    }

    /// Enqueues as [`enqueue`](Self::enqueue) does, with the COUNT assigned by the CU's PDCP; the
    /// UE's PDCP waits for omitted ones.
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_numbered(
        &mut self,
        index: BearerIndex,
        count: u64,
        sdu: P,
        now_us: u64,
    ) -> Result<(), P> {
        self.enqueue_with(index, Some(count), sdu, now_us)
    }

    fn enqueue_with(
        &mut self,
        index: BearerIndex,
        count: Option<u64>,
        sdu: P,
        now_us: u64,
    ) -> Result<(), P> {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else {
            return Err(sdu);
        };
        let before = bearer.demand_bytes();
        bearer.enqueue(count, sdu, now_us)?;
        if let Some(ue) = self.ues[bearer.ue].as_mut() {
            ue.backlog_bytes += bearer.demand_bytes() - before;
            if !ue.is_backlogged && ue.backlog_bytes > 0 {
                ue.is_backlogged = true;
                self.slices[ue.slice].backlogged.push_back(bearer.ue);
            }
        }
        Ok(())
    }

    /// COUNT that [`enqueue`](Self::enqueue) assigns to the next SDU of a bearer.
    pub fn next_count(&self, index: BearerIndex) -> Option<u64> {
        Some(self.bearers.get(index)?.as_ref()?.next_count())
    }

    /// Highest COUNT sent in full and, in AM, the COUNT below which all SDUs are acknowledged, as
    /// reported in delivery status (38.425 §5.4.2).
    pub fn progress(&self, index: BearerIndex) -> Option<(Option<u64>, Option<u64>)> {
        Some(self.bearers.get(index)?.as_ref()?.progress())
    }

    /// Most bytes in the buffer of a bearer.
    pub fn limit_bytes(&self, index: BearerIndex) -> Option<u32> {
        Some(self.bearers.get(index)?.as_ref()?.config.limit_bytes)
    }

    /// Delays of SDUs removed from an AM bearer's buffer since the previous call; empty for UM.
    pub fn take_removed(&mut self, index: BearerIndex) -> Option<SduDelays> {
        Some(self.bearers.get_mut(index)?.as_mut()?.take_removed())
    }

    /// Start of the next slot.
    pub fn next_slot_us(&self) -> u64 {
        self.config.numerology.slot_start_us(self.slot)
    }

    /// Length of a slot.
    pub fn tti_us(&self) -> u32 {
        self.config.numerology.slot_us()
    }

    /// Runs the next slot if it has begun by `now_us`: the MAC schedules, fills transport blocks from
    /// the RLC queues, and SDUs delivered at the UEs are appended to `out`.
    pub fn slot(&mut self, now_us: u64, out: &mut Vec<Delivery<P>>) {
        self.slot_from(&mut (), now_us, out);
    }

    /// Runs a slot as [`slot`](Self::slot) does, with queues above the RLC.
    pub fn slot_from(
        &mut self,
        upper: &mut dyn UpperLayer<P>,
        now_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let start_us = self.next_slot_us();
        if now_us < start_us {
            return;
        }
        let slot = self.slot;
        self.slot += 1;
        let end_us = self.next_slot_us();
        self.last_slot_downlink = false;
        if self.any_advancing {
            self.ues.iter_mut().flatten().for_each(|ue| ue.begin_slot(start_us));
        }
        let kind = self.config.duplexing.kind(slot);
        let reserved = self.config.reserved.as_ref().map_or(0, |r| r.in_slot(slot));
        let available_prb = self.config.n_prb.saturating_sub(reserved);
        self.last_slot = (kind, available_prb);
        self.begin_slot_of_am(start_us, out);
        if kind != SlotKind::Up && available_prb > 0 {
            let slot = link::Slot { slot, kind, available_prb, start_us, end_us };
            self.downlink(&slot, &mut SlotIo { upper, out });
        }
        if !self.uplink_active.is_empty() && self.config.duplexing.carries_uplink(slot) {
            self.uplink_slot(uplink::UplinkSlot { slot, start_us, end_us });
        }
        // No later transmission is received before the horizon, so timers due by then expire.
        let horizon_us = end_us + u64::from(self.config.harq.phy_delay_us);
        self.expire_timers(horizon_us.saturating_sub(1), out);
        self.receive_am(end_us.saturating_sub(1), out);
    }

    /// RLC status of a bearer.
    pub fn bearer_status(&self, index: BearerIndex) -> Option<BearerStatus> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let ue = self.ues[bearer.ue].as_ref()?;
        let capacity_bytes_per_tti = self.capacity_bytes(ue);
        let (occupancy_bytes, occupancy_packets) = bearer.occupancy();
        let (unacknowledged_bytes, unacknowledged_packets) = bearer.unacknowledged();
        Some(BearerStatus {
            occupancy_bytes,
            occupancy_packets,
            unacknowledged_bytes,
            unacknowledged_packets,
            status_pdu_at_us: bearer.status_pdu_at_us(),
            head_of_line_us: bearer.head_enqueued_us(),
            capacity_bytes_per_tti,
            tti_us: self.tti_us(),
            dl_opportunity: self.last_slot_downlink && capacity_bytes_per_tti > 0 && ue.is_active(),
        })
    }

    /// Arrival time of the SDU at the head of a bearer's RLC, and the bytes in its buffer, those that only
    /// wait for a status report included.
    pub fn buffered(&self, index: BearerIndex) -> Option<(Option<u64>, u64)> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let bytes = u64::from(bearer.occupancy().0) + u64::from(bearer.unacknowledged().0);
        Some((bearer.head_enqueued_us(), bytes))
    }

    /// Transport block bytes of the next slot over the whole carrier to the UE of a bearer; 0 without
    /// downlink, if the UE does not listen, and for an unknown bearer.
    pub fn coming_slot_bytes(&self, index: BearerIndex) -> u32 {
        let bearer = self.bearers.get(index).and_then(Option::as_ref);
        let ue = bearer.and_then(|bearer| self.ues[bearer.ue].as_ref());
        ue.map_or(0, |ue| self.coming_capacity_bytes(ue))
    }

    /// Bytes that the RLC of a bearer can add to a slot of `slot_bytes`, headers included, after the bearers
    /// served before it (38.321 §5.4.3.1): for a queue in the RLC from which the MAC pulls while it
    /// schedules. 0 while the window of an AM bearer is stalled, and for an unknown bearer.
    pub fn room_in_slot_bytes(&self, index: BearerIndex, slot_bytes: u32) -> u32 {
        let Some(bearer) = self.bearers.get(index).and_then(Option::as_ref) else { return 0 };
        let Some(ue) = self.ues[bearer.ue].as_ref() else { return 0 };
        if bearer.room_packets() == 0 {
            return 0;
        }
        let before = ue.bearers.iter().take_while(|other| **other != index);
        let before = before.filter_map(|other| self.bearers.get(*other)?.as_ref());
        let demand_bytes: u64 = before.chain([bearer]).map(|bearer| bearer.demand_bytes()).sum();
        let demand_bytes = u32::try_from(demand_bytes).unwrap_or(u32::MAX);
        slot_bytes.saturating_sub(demand_bytes)
    }

    /// FlexRIC's RLC record of a bearer at `now_us`.
    pub fn rlc_report(&mut self, index: BearerIndex, now_us: u64) -> Option<RlcReport> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        Some(bearer.report(now_us))
    }

    /// FlexRIC's MAC record of a UE at `now_us`; `None` for an unknown UE, here and below.
    pub fn mac_report(&self, rnti: u16, now_us: u64) -> Option<MacReport> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        let now_slot = (now_us << self.config.numerology.mu()) / 1000;
        let per_frame = self.config.numerology.slots_per_frame();
        let mut report = ue.counters.report(rnti, self.slot.saturating_sub(1));
        report.dl_mcs1 = self.mcs_now(ue);
        report.wb_cqi = self.cqi_now(ue);
        report.frame = ((now_slot / per_frame) % 1024) as u16;
        report.slot = (now_slot % per_frame) as u16;
        Some(report)
    }

    /// Totals since the first slot.
    pub fn totals(&self) -> CellTotals {
        let lost_at_ues: u64 = self.bearers.iter().flatten().map(|b| b.lost_at_ue()).sum();
        CellTotals { lost_sdus: self.totals.lost_sdus + lost_at_ues, ..self.totals }
    }

    /// SDUs of a bearer that have left the RLC queue and are not delivered: in transit, in pending
    /// retransmissions, or held back at the UE.
    pub fn sdus_in_air(&self, index: BearerIndex) -> Option<usize> {
        // An SDU that RLC-AM sends again waits in the RLC.
        let waiting = self.bearers.get(index)?.as_ref()?.occupancy().1;
        Some(self.sdus_undelivered(index)?.saturating_sub(waiting as usize))
    }

    /// SDUs of a bearer that its RLC has taken and that are not delivered: in the RLC or
    /// [in the air](Self::sdus_in_air).
    pub fn sdus_undelivered(&self, index: BearerIndex) -> Option<usize> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let pdus = self.pending.iter().flat_map(|block| &block.pdus);
        let blocks = pdus.filter(|(owner, pdu)| *owner == index && pdu.carries_payload()).count();
        Some(blocks + bearer.undelivered())
    }

    /// PRBs given to a UE since the first slot, retransmissions included.
    pub fn used_prb(&self, rnti: u16) -> Option<u64> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        Some(ue.counters.aggr_prb + ue.counters.aggr_retx_prb)
    }

    /// Share of the slots in which the UE of a bearer monitored the PDCCH, percent; `None` without DRX.
    pub fn active_pct(&self, index: BearerIndex) -> Option<f64> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let (active, all) = self.ues[bearer.ue].as_ref()?.drx.as_ref()?.slots;
        Some(active as f64 * 100.0 / all.max(1) as f64)
    }

    /// Transport block bytes that the last slot could have carried to a UE over all PRBs for data; 0
    /// for an uplink slot.
    pub fn last_slot_bytes(&self, rnti: u16) -> Option<u32> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        Some(self.bytes_of_last_slot(ue))
    }

    /// PRBs a slice has lent the others, or owes them if negative; `None` without EQP or for an
    /// unknown slice.
    pub fn quantum_prb(&self, slice: u8) -> Option<i64> {
        let slice = self.config.scheduler.slices()?.iter().position(|own| own.slice == slice)?;
        self.eqp.as_ref()?.quantum_prb(slice)
    }

    /// Re-establishments of an AM bearer.
    pub fn radio_link_failures(&self, index: BearerIndex) -> Option<u64> {
        Some(self.bearers.get(index)?.as_ref()?.radio_link_failures())
    }

    /// RNTIs of the UEs.
    pub fn rntis(&self) -> impl Iterator<Item = u16> + '_ {
        self.by_rnti.keys().copied()
    }

    fn ue_mut<'a>(
        by_rnti: &BTreeMap<u16, usize>,
        ues: &'a mut [Option<Ue>],
        rnti: u16,
    ) -> Option<(usize, &'a mut Ue)> {
        let at = *by_rnti.get(&rnti)?;
        ues.get_mut(at)?.as_mut().map(|ue| (at, ue))
    }
}
