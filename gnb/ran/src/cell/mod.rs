//! The DU: RLC and MAC of all UEs of a cell, driven by one call per slot.

mod am;
mod bearer;
mod downlink;
mod link;
mod schedule;
mod status;
mod ue;
mod upper_layer;

use std::collections::BTreeMap;

use crate::Sdu;
use crate::config::{BearerConfig, CellConfig, UeConfig};
use crate::error::ConfigError;
use crate::mac::eqp::Eqp;
use crate::mac::harq::PendingBlocks;
use crate::mac::scheduler::{SchedulerConfig, Slice};
use crate::numerology::SlotKind;
use crate::rlc::SduDelays;
use crate::tbs::TbsTables;
use crate::uplink::{Uplink, UplinkConfig};
use crate::{Channel, MacReport, RlcReport};
use bearer::Bearer;
use schedule::Scratch;
pub use status::{BearerStatus, CellTotals};
use ue::Ue;
use upper_layer::Ends;
pub use upper_layer::{BlockRoom, BufferStatus, NextBlock, UpperLayer};

/// Names a bearer of a cell for as long as the cell lives; never given to another.
pub type BearerIndex = usize;

/// An SDU at the UE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// Its bearer.
    pub bearer: BearerIndex,
    /// The packet.
    pub sdu: P,
    /// When the RLC took it.
    pub enqueued_us: u64,
    /// When its last byte went to the MAC.
    pub dequeued_us: u64,
    /// When the UE's PDCP hands it up; never earlier than the slot that reports it.
    pub delivered_us: u64,
}

/// A cell with its UEs and bearers. A clone goes on exactly as the original would.
#[derive(Debug, Clone)]
pub struct Cell<P> {
    config: CellConfig,
    tables: TbsTables,
    /// Number of the next slot.
    slot: u64,
    /// End of the last slot that carried downlink, and of the one before: what a trace offers in
    /// the last slot lies between.
    downlink_since_us: u64,
    downlink_until_us: u64,
    ues: Vec<Option<Ue>>,
    by_rnti: BTreeMap<u16, usize>,
    bearers: Vec<Option<Box<Bearer<P>>>>,
    slices: Vec<Slice>,
    pending: PendingBlocks<P>,
    /// Bearers whose UE waits for something lost: t-Reassembly or t-Reordering runs.
    waiting: Vec<BearerIndex>,
    /// Bearers in AM.
    acknowledged: Vec<BearerIndex>,
    /// Uplink access of UEs that have none of their own.
    uplink: UplinkConfig,
    totals: CellTotals,
    last_slot_downlink: bool,
    /// Kind of the last slot, and PRBs it had for data.
    last_slot: (SlotKind, u16),
    /// Whether a UE has, or had, a channel that is drawn step by step.
    any_random_channel: bool,
    /// Downlink slots so far.
    downlink_slots: u64,
    /// What slices have lent each other, where they do.
    eqp: Option<Eqp>,
    scratch: Scratch,
}

impl<P: Sdu> Cell<P> {
    /// An empty cell whose first slot begins at 0.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first field that is wrong.
    pub fn new(config: CellConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let uplink = config.uplink_config();
        Uplink::new(uplink, config.numerology, &config.duplexing)?;
        Ok(Self {
            uplink,
            tables: config.tbs_tables(),
            slot: 0,
            downlink_since_us: 0,
            downlink_until_us: 0,
            ues: Vec::new(),
            by_rnti: BTreeMap::new(),
            bearers: Vec::new(),
            slices: Slice::of(&config.scheduler),
            pending: PendingBlocks::new(),
            waiting: Vec::new(),
            acknowledged: Vec::new(),
            totals: CellTotals::default(),
            last_slot_downlink: false,
            last_slot: (SlotKind::Up, 0),
            any_random_channel: false,
            downlink_slots: 0,
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
    /// [`ConfigError`] when the RNTI is taken, the slice unknown, the channel's MCS too high or a
    /// chance none.
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
        let access = config.uplink.unwrap_or(self.uplink);
        let uplink = Uplink::new(access, self.config.numerology, &self.config.duplexing)?;
        let now_us = self.next_slot_us();
        let ue = Ue::new(config, slice, &self.config, uplink, now_us);
        self.any_random_channel |= ue.channel.is_random();
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
    /// [`ConfigError`] when the UE is not there, the DRB is, or a value is out of range.
    pub fn add_bearer(
        &mut self,
        rnti: u16,
        config: BearerConfig,
    ) -> Result<BearerIndex, ConfigError> {
        config.validate()?;
        let Some((at, ue)) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti) else {
            return Err(ConfigError::NoSuchUe { rnti });
        };
        let index = self.bearers.len();
        let bearers = &self.bearers;
        let drb_of = |i: &BearerIndex| bearers[*i].as_ref().map(|b| b.config.drb);
        if ue.bearers.iter().any(|i| drb_of(i) == Some(config.drb)) {
            return Err(ConfigError::Duplicate { what: "drb", id: u32::from(config.drb) });
        }
        ue.add_bearer(index, config.priority);
        let bearer = Bearer::new(at, rnti, config);
        if bearer.is_am() {
            self.acknowledged.push(index);
        }
        self.bearers.push(Some(Box::new(bearer)));
        Ok(index)
    }

    /// Takes a UE out, with its bearers; gives back the SDUs that were queued. What is in the air
    /// is lost. `None` when there is no such UE.
    pub fn remove_ue(&mut self, rnti: u16) -> Option<Vec<P>> {
        let at = self.by_rnti.remove(&rnti)?;
        let ue = self.ues.get_mut(at)?.take()?;
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

    /// Takes a bearer out; gives back the SDUs that were queued. What is in the air is lost.
    /// `None` when there is no such bearer.
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

    /// Takes back, oldest first, the SDUs of which no byte has left; `None` for a bearer that is
    /// not there. PDCP discards them (38.323 §5.3, in the DU on the CU's word: 38.425 §5.4.1, DL
    /// discard) and may send them again later, so they count again when they come.
    pub fn take_unsent(
        &mut self,
        index: BearerIndex,
    ) -> Option<impl ExactSizeIterator<Item = P> + use<P>> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        let sdus = bearer.take_unsent();
        self.backlog_changed(index);
        Some(sdus)
    }

    /// Gives a UE another channel from the next slot on.
    ///
    /// # Errors
    /// [`ConfigError`] when the UE is not there or the channel's MCS too high.
    pub fn set_channel(&mut self, rnti: u16, channel: Channel) -> Result<(), ConfigError> {
        channel.validate(self.config.tbs.max_mcs())?;
        let now_us = self.next_slot_us();
        let (_, ue) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti)
            .ok_or(ConfigError::NoSuchUe { rnti })?;
        ue.set_channel(channel, &self.config.tbs, self.config.seed, now_us);
        self.any_random_channel |= ue.channel.is_random();
        Ok(())
    }

    /// Puts an SDU in the RLC queue of `index`.
    ///
    /// # Errors
    /// Gives the SDU back when the queue is full (tail drop), or the bearer gone.
    pub fn enqueue(&mut self, index: BearerIndex, sdu: P, now_us: u64) -> Result<(), P> {
        self.enqueue_with(index, None, sdu, now_us)
    }

    /// As [`enqueue`](Self::enqueue), for an SDU to which the CU's PDCP has given `count`: numbers
    /// that are left out have been lost on the way, and the UE's PDCP waits for them.
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

    /// COUNT that the next SDU of a bearer gets when it comes without; `None` when there is no such
    /// bearer.
    pub fn next_count(&self, index: BearerIndex) -> Option<u64> {
        Some(self.bearers.get(index)?.as_ref()?.next_count())
    }

    /// Highest COUNT of which everything went to the MAC and, in AM, the COUNT below which all is
    /// acknowledged: what delivery status tells the CU (38.425 §5.4.2). `None` when there is no such
    /// bearer.
    pub fn progress(&self, index: BearerIndex) -> Option<(Option<u64>, Option<u64>)> {
        Some(self.bearers.get(index)?.as_ref()?.progress())
    }

    /// What the buffer of a bearer holds at most; `None` when there is no such bearer.
    pub fn limit_bytes(&self, index: BearerIndex) -> Option<u32> {
        Some(self.bearers.get(index)?.as_ref()?.config.limit_bytes)
    }

    /// Delays of SDUs removed from an AM bearer's buffer since the last call; empty for UM, where
    /// the delivery tells. `None` when there is no such bearer.
    pub fn take_removed(&mut self, index: BearerIndex) -> Option<SduDelays> {
        Some(self.bearers.get_mut(index)?.as_mut()?.take_removed())
    }

    /// When the next slot begins.
    pub fn next_slot_us(&self) -> u64 {
        self.config.numerology.slot_start_us(self.slot)
    }

    /// Length of a slot, which is the TTI.
    pub fn tti_us(&self) -> u32 {
        self.config.numerology.slot_us()
    }

    /// Runs the next slot if it has begun by `now_us`: the MAC shares out the PRBs, pulls the RLC
    /// queues into transport blocks, and what the UEs make whole from them is put in `out`, with
    /// times that are not before the slot. Time in between is the caller's.
    pub fn slot(&mut self, now_us: u64, out: &mut Vec<Delivery<P>>) {
        self.slot_from(&mut (), now_us, out);
    }

    /// As [`slot`](Self::slot), with someone `above` the RLC whom the MAC asks as it schedules.
    pub fn slot_from(
        &mut self,
        above: &mut dyn UpperLayer<P>,
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
        if self.any_random_channel {
            self.ues.iter_mut().flatten().for_each(|ue| ue.channel.advance(start_us));
        }
        let kind = self.config.duplexing.kind(slot);
        let reserved = self.config.reserved.as_ref().map_or(0, |r| r.in_slot(slot));
        let available_prb = self.config.n_prb.saturating_sub(reserved);
        self.last_slot = (kind, available_prb);
        self.begin_acknowledged(start_us, out);
        if kind != SlotKind::Up && available_prb > 0 {
            let slot = link::Slot { slot, kind, available_prb, start_us, end_us };
            self.downlink(&slot, &mut Ends { above, out });
        }
        // No later transmission arrives before this: timers up to here cannot be stopped any more.
        let horizon_us = end_us + u64::from(self.config.harq.phy_delay_us);
        self.expire_timers(horizon_us.saturating_sub(1), out);
        self.receive_acknowledged(end_us.saturating_sub(1), out);
    }

    /// A packet comes from the UE's IP layer at `now_us` and goes up through `index`; answers when
    /// it leaves the gNB's PDCP. Time never runs backwards between calls, slots included. `None`
    /// when there is no such bearer.
    pub fn send_uplink(&mut self, index: BearerIndex, len_bytes: u32, now_us: u64) -> Option<u64> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        let ue = self.ues[bearer.ue].as_mut()?;
        let tbs_bytes = bearer.count_uplink(len_bytes);
        ue.counters.count_uplink(tbs_bytes.into(), len_bytes.into(), 1);
        Some(ue.uplink.send(len_bytes, now_us))
    }

    /// The RLC as the CU's pacer sees it; `None` when there is no such bearer.
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
            dl_opportunity: self.last_slot_downlink && capacity_bytes_per_tti > 0,
        })
    }

    /// How many more bytes the RLC of a bearer could put into the coming slot, headers included and
    /// less what bearers before it have to send (38.321 §5.4.3.1): for a queue within the RLC from
    /// which the MAC draws as it schedules. 0 when there is no such bearer.
    pub fn room_in_coming_slot_bytes(&self, index: BearerIndex) -> u32 {
        let Some(bearer) = self.bearers.get(index).and_then(Option::as_ref) else { return 0 };
        let Some(ue) = self.ues[bearer.ue].as_ref() else { return 0 };
        let before = ue.bearers.iter().take_while(|other| **other != index);
        let before = before.filter_map(|other| self.bearers.get(*other)?.as_ref());
        let demand_bytes: u64 = before.chain([bearer]).map(|bearer| bearer.demand_bytes()).sum();
        let demand_bytes = u32::try_from(demand_bytes).unwrap_or(u32::MAX);
        self.coming_capacity_bytes(ue).saturating_sub(demand_bytes)
    }

    /// FlexRIC's RLC record of a bearer at `now_us`; `None` when there is no such bearer.
    pub fn rlc_report(&mut self, index: BearerIndex, now_us: u64) -> Option<RlcReport> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        Some(bearer.report(now_us))
    }

    /// FlexRIC's MAC record of a UE at `now_us`; `None` when there is no such UE.
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

    /// PRBs of the whole cell so far, and SDUs lost on the air.
    pub fn totals(&self) -> CellTotals {
        let lost_at_ues: u64 = self.bearers.iter().flatten().map(|b| b.lost_at_ue()).sum();
        CellTotals { lost_sdus: self.totals.lost_sdus + lost_at_ues, ..self.totals }
    }

    /// SDUs of a bearer between the RLC queue and what the UE's PDCP hands up: on their way, in
    /// blocks to be sent again, or held back for others. `None` when there is no such bearer.
    pub fn sdus_in_air(&self, index: BearerIndex) -> Option<usize> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let pdus = self.pending.iter().flat_map(|block| &block.pdus);
        let blocks = pdus.filter(|(owner, pdu)| *owner == index && pdu.carries_payload()).count();
        Some(blocks + bearer.held_at_ue())
    }

    /// PRBs given to a UE so far, retransmissions included; `None` when there is no such UE.
    pub fn used_prb(&self, rnti: u16) -> Option<u64> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        Some(ue.counters.aggr_prb + ue.counters.aggr_retx_prb)
    }

    /// Bytes that the last slot could have carried to a UE that had all of it, as a transport block
    /// over the PRBs there were for data; 0 for an uplink slot. `None` when there is no such UE.
    pub fn last_slot_bytes(&self, rnti: u16) -> Option<u32> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        Some(self.bytes_of_last_slot(ue))
    }

    /// PRBs a slice has lent the others, or owes them where negative; `None` without EQP, or when
    /// there is no such slice.
    pub fn quantum_prb(&self, slice: u8) -> Option<i64> {
        let slice = self.config.scheduler.slices()?.iter().position(|own| own.slice == slice)?;
        self.eqp.as_ref()?.quantum_prb(slice)
    }

    /// How often an AM bearer had to be re-established; `None` when there is no such bearer.
    pub fn radio_link_failures(&self, index: BearerIndex) -> Option<u64> {
        Some(self.bearers.get(index)?.as_ref()?.radio_link_failures())
    }

    /// UEs of the cell by RNTI.
    pub fn rntis(&self) -> impl Iterator<Item = u16> + '_ {
        self.by_rnti.keys().copied()
    }

    /// UE and DRB of a bearer; `None` when there is no such bearer.
    pub fn bearer_identity(&self, index: BearerIndex) -> Option<(u16, u8)> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        Some((bearer.rnti, bearer.config.drb))
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
