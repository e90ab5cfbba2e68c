//! The DU: RLC and MAC of all UEs of a cell, driven by one call per slot.

mod bearer;
mod downlink;
mod status;
mod ue;

use std::collections::BTreeMap;

use crate::Sdu;
use crate::config::{BearerConfig, CellConfig, ConfigError, UeConfig};
use crate::mac::deal::Grant;
use crate::mac::harq::PendingBlocks;
use crate::mac::scheduler::Slice;
use crate::numerology::SlotKind;
use crate::tbs::TbsTables;
use crate::{Channel, MacReport, RlcReport};
use bearer::Bearer;
pub use status::{BearerStatus, CellTotals};
use ue::Ue;

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
    totals: CellTotals,
    last_slot_downlink: bool,
    /// Kept to spare an allocation a slot.
    grants: Vec<Grant>,
}

impl<P: Sdu> Cell<P> {
    /// An empty cell whose first slot begins at 0.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first field that is wrong.
    pub fn new(config: CellConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            tables: TbsTables::new(&config),
            slot: 0,
            downlink_since_us: 0,
            downlink_until_us: 0,
            ues: Vec::new(),
            by_rnti: BTreeMap::new(),
            bearers: Vec::new(),
            slices: Slice::of(&config.scheduler),
            pending: PendingBlocks::new(),
            waiting: Vec::new(),
            totals: CellTotals::default(),
            last_slot_downlink: false,
            grants: Vec::new(),
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
    /// [`ConfigError`] when the RNTI is taken, the slice unknown or the channel's MCS too high.
    pub fn add_ue(&mut self, config: UeConfig) -> Result<(), ConfigError> {
        if self.by_rnti.contains_key(&config.rnti) {
            return Err(ConfigError::Duplicate { what: "rnti", id: u32::from(config.rnti) });
        }
        config.channel.validate(self.config.tbs.max_mcs())?;
        let Some(slice) = Slice::find(&self.slices, config.slice) else {
            let expected = "a slice of the scheduler";
            return Err(ConfigError::new("ue.slice", config.slice, expected));
        };
        let ue = Ue::new(config, slice, self.config.seed);
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
        self.bearers.push(Some(Box::new(Bearer::new(at, rnti, config))));
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
                queued.extend(bearer.tx.into_sdus());
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
            ue.backlog_bytes -= bearer.tx.demand_bytes();
            ue.remove_bearer(index);
            if ue.backlog_bytes == 0 && ue.is_backlogged {
                ue.is_backlogged = false;
                self.slices[ue.slice].backlogged.retain(|other| *other != bearer.ue);
            }
        }
        Some(bearer.tx.into_sdus().collect())
    }

    /// Takes back, oldest first, the SDUs of which no byte has left; `None` for a bearer that is
    /// not there. PDCP discards them (38.323 §5.3, in the DU on the CU's word: 38.425 §5.4.1, DL
    /// discard) and may send them again later, so they count again when they come.
    pub fn take_unsent(
        &mut self,
        index: BearerIndex,
    ) -> Option<impl ExactSizeIterator<Item = P> + use<P>> {
        let bearer = self.bearers.get_mut(index)?.as_mut()?;
        let before = bearer.tx.demand_bytes();
        let sdus = bearer.tx.take_unsent();
        let given_back = before - bearer.tx.demand_bytes();
        if let Some(ue) = self.ues[bearer.ue].as_mut() {
            ue.backlog_bytes -= given_back;
            if ue.backlog_bytes == 0 && ue.is_backlogged {
                ue.is_backlogged = false;
                self.slices[ue.slice].backlogged.retain(|other| *other != bearer.ue);
            }
        }
        Some(sdus)
    }

    /// Gives a UE another channel from the next slot on.
    ///
    /// # Errors
    /// [`ConfigError`] when the UE is not there or the channel's MCS too high.
    pub fn set_channel(&mut self, rnti: u16, channel: Channel) -> Result<(), ConfigError> {
        channel.validate(self.config.tbs.max_mcs())?;
        let (_, ue) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti)
            .ok_or(ConfigError::NoSuchUe { rnti })?;
        ue.channel = channel;
        Ok(())
    }

    /// Puts an SDU in the RLC queue of `index`.
    ///
    /// # Errors
    /// Gives the SDU back when the queue is full (tail drop), or the bearer gone.
    pub fn enqueue(&mut self, index: BearerIndex, sdu: P, now_us: u64) -> Result<(), P> {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else {
            return Err(sdu);
        };
        let before = bearer.tx.demand_bytes();
        bearer.enqueue(sdu, now_us)?;
        if let Some(ue) = self.ues[bearer.ue].as_mut() {
            ue.backlog_bytes += bearer.tx.demand_bytes() - before;
            if !ue.is_backlogged {
                ue.is_backlogged = true;
                self.slices[ue.slice].backlogged.push_back(bearer.ue);
            }
        }
        Ok(())
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
        let start_us = self.next_slot_us();
        if now_us < start_us {
            return;
        }
        let slot = self.slot;
        self.slot += 1;
        let end_us = self.next_slot_us();
        self.last_slot_downlink = false;
        let kind = self.config.duplexing.kind(slot);
        let reserved = self.config.reserved.as_ref().map_or(0, |r| r.in_slot(slot));
        let available_prb = self.config.n_prb.saturating_sub(reserved);
        if kind != SlotKind::Up && available_prb > 0 {
            self.downlink(&downlink::Slot { slot, kind, available_prb, start_us, end_us }, out);
        }
        // No later transmission arrives before this: timers up to here cannot be stopped any more.
        let horizon_us = end_us + u64::from(self.config.harq.phy_delay_us);
        self.expire_timers(horizon_us.saturating_sub(1), out);
    }

    /// Counts a packet of the UE that came up through `index`, for the reports.
    pub fn count_uplink(&mut self, index: BearerIndex, len_bytes: u32) {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        let tbs_bytes = bearer.count_uplink(len_bytes);
        if let Some(ue) = self.ues[bearer.ue].as_mut() {
            ue.counters.ul_aggr_tbs += u64::from(tbs_bytes);
            ue.counters.ul_curr_tbs = u64::from(tbs_bytes);
            ue.counters.ul_aggr_bytes_sdus += u64::from(len_bytes);
            ue.counters.ul_aggr_sdus += 1;
        }
    }

    /// The RLC as the CU's pacer sees it; `None` when there is no such bearer.
    pub fn bearer_status(&self, index: BearerIndex) -> Option<BearerStatus> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let ue = self.ues[bearer.ue].as_ref()?;
        let capacity_bytes_per_tti = self.capacity_bytes(ue);
        Some(BearerStatus {
            occupancy_bytes: bearer.tx.occupancy_bytes(),
            occupancy_packets: bearer.tx.occupancy_packets(),
            head_of_line_us: bearer.tx.head_enqueued_us(),
            capacity_bytes_per_tti,
            tti_us: self.tti_us(),
            dl_opportunity: self.last_slot_downlink && capacity_bytes_per_tti > 0,
        })
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
        report.wb_cqi = crate::mac::cqi::wideband_cqi(&self.config.tbs, report.dl_mcs1);
        report.frame = ((now_slot / per_frame) % 1024) as u16;
        report.slot = (now_slot % per_frame) as u16;
        Some(report)
    }

    /// PRBs of the whole cell so far, and SDUs lost on the air.
    pub fn totals(&self) -> CellTotals {
        let lost_at_ues: u64 = self.bearers.iter().flatten().map(|b| b.lost_at_ue()).sum();
        CellTotals { lost_sdus: self.totals.lost_sdus + lost_at_ues, ..self.totals }
    }

    /// SDUs of a bearer between the RLC queue and the UE's PDCP: in blocks to be sent again, or
    /// held back for others. `None` when there is no such bearer.
    pub fn sdus_in_air(&self, index: BearerIndex) -> Option<usize> {
        let bearer = self.bearers.get(index)?.as_ref()?;
        let pdus = self.pending.iter().flat_map(|block| &block.pdus);
        let blocks = pdus.filter(|(owner, pdu)| *owner == index && pdu.payload.is_some()).count();
        Some(blocks + bearer.held_at_ue())
    }

    /// PRBs given to a UE so far, retransmissions included; `None` when there is no such UE.
    pub fn used_prb(&self, rnti: u16) -> Option<u64> {
        let ue = self.ues[*self.by_rnti.get(&rnti)?].as_ref()?;
        Some(ue.counters.aggr_prb + ue.counters.aggr_retx_prb)
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
