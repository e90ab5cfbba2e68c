//! A UE that moves between cells of one gNB: what it leaves with, and how it enters (38.300 §9.2.3,
//! 38.401 §8.2.1.1).
//!
//! HARQ and RLC end in the source (38.321 §5.12, 38.322 §5.1.2) and begin anew in the target; PDCP of both
//! ends goes on with its COUNTs. With RLC-AM the target sends again what the source has not had
//! acknowledged (PDCP data recovery, 38.323 §5.5). With RLC-UM what the source had begun to send is lost.

use super::bearer::{Bearer, Entity, to_pdcp};
use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;
use crate::channel::SnrProbe;
use crate::config::{BearerConfig, UeConfig};
use crate::error::ConfigError;
use crate::pdcp::Reordering;
use crate::rlc::{RlcPdu, Unconfirmed};
use crate::uplink::{KeptPacket, Uplink};

/// A UE between two cells.
#[derive(Debug, Clone)]
pub struct MovingUe<P> {
    /// Its bearers.
    pub bearers: Vec<MovingBearer<P>>,
    /// Packets in the UE.
    kept: Vec<KeptPacket>,
}

/// A bearer between two cells.
#[derive(Debug, Clone)]
pub struct MovingBearer<P> {
    /// Its index in the source.
    pub source: BearerIndex,
    /// What the source has not delivered as far as its RLC knows, in the order of the COUNTs; with
    /// RLC-UM, what it has not sent in full.
    pub unconfirmed: Vec<Unconfirmed<P>>,
    /// SDUs in flight that are lost, with RLC-UM.
    pub lost_sdus: u64,
    /// COUNT of the next SDU.
    pub next_count: u64,
    config: BearerConfig,
    pdcp: Reordering<P>,
    uplink_left_us: Option<u64>,
}

impl<P: Sdu> Bearer<P> {
    /// What is left of a bearer in the source, of which `lost_in_harq` SDUs were in blocks that failed.
    /// SDUs that its RLC receiver holds for the order are delivered at `now_us`.
    fn depart(
        mut self,
        source: BearerIndex,
        lost_in_harq: u64,
        now_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) -> MovingBearer<P> {
        let next_count = self.next_count();
        let Self { entity, pdcp, config, .. } = &mut self;
        let mut lost_sdus = lost_in_harq;
        if let Entity::Um { rx, .. } = entity {
            lost_sdus += rx.held_payloads() as u64;
        }
        if let Entity::Am(am) = entity {
            am.rx.reestablish(|count, payload| {
                to_pdcp(pdcp, source, count, payload, now_us, out);
            });
        }
        let pdcp = std::mem::replace(pdcp, Reordering::new(0));
        let config = config.clone();
        let unconfirmed = match self.entity {
            Entity::Um { tx, .. } => {
                tx.into_numbered().map(|(count, sdu)| Unconfirmed::new(count, sdu)).collect()
            }
            Entity::Am(am) => am.tx.into_unconfirmed(),
        };
        MovingBearer {
            source,
            unconfirmed,
            lost_sdus,
            config,
            pdcp,
            next_count,
            uplink_left_us: None,
        }
    }
}

impl<P: Sdu> Cell<P> {
    /// The SNR of a UE with `channel` and identity `rnti` that comes into reach now, whether the cell
    /// serves it or not; `None` for a channel without an SNR.
    ///
    /// # Errors
    /// [`ConfigError`] for an invalid channel.
    pub fn probe(
        &self,
        channel: &crate::Channel,
        rnti: u16,
    ) -> Result<Option<SnrProbe>, ConfigError> {
        channel.validate(self.config.tbs.max_mcs())?;
        let random = super::ue::channel_stream(self.config.seed, rnti, 0);
        let now_us = self.next_slot_us();
        Ok(SnrProbe::new(channel, &self.config, &self.link_tables, &random, now_us))
    }

    /// Removes a UE that moves to another cell at `now_us`; `None` for an unknown UE. `out` gets SDUs that
    /// the UE's RLC had held for the order.
    pub fn depart(
        &mut self,
        rnti: u16,
        now_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) -> Option<MovingUe<P>> {
        let at = self.by_rnti.remove(&rnti)?;
        let mut ue = self.ues.get_mut(at)?.take()?;
        let owned: Vec<BearerIndex> = ue.bearers.clone();
        let mut kept = Vec::new();
        let mut left_us = vec![None; owned.len()];
        if let Uplink::Scheduled(uplink) = &mut ue.uplink {
            let bearers = &self.bearers;
            let bearer = |index: BearerIndex| bearers[index].as_ref();
            let arrivals = &mut self.uplink_out;
            kept = uplink.depart(
                |index| bearer(index).is_some_and(|one| one.is_am()),
                |index, len_bytes| bearer(index).map_or(0, |one| one.uplink_block_bytes(len_bytes)),
                |arrival| arrivals.push(arrival),
            );
            left_us = owned.iter().map(|index| uplink.last_left_us(*index)).collect();
        }
        self.uplink_active.retain(|other| *other != at);
        self.slices[ue.slice].backlogged.retain(|other| *other != at);
        let in_harq = |index: BearerIndex| {
            let pdus = self.pending.iter().flat_map(|block| &block.pdus);
            pdus.filter(|(owner, pdu)| *owner == index && RlcPdu::carries_payload(pdu)).count()
        };
        let in_harq: Vec<usize> = owned.iter().map(|index| in_harq(*index)).collect();
        self.pending.retain(|block| block.ue != at);
        let mut bearers = Vec::with_capacity(owned.len());
        for ((index, lost), uplink_left_us) in owned.into_iter().zip(in_harq).zip(left_us) {
            let Some(bearer) = self.bearers[index].take() else { continue };
            self.timers.retain(|other| *other != index);
            self.am_bearers.retain(|other| *other != index);
            self.vacant.push(index);
            self.totals.lost_sdus += bearer.lost_in_rlc_at_ue();
            let bearer = bearer.depart(index, lost as u64, now_us, out);
            self.totals.lost_sdus += bearer.lost_sdus;
            bearers.push(MovingBearer { uplink_left_us, ..bearer });
        }
        Some(MovingUe { bearers, kept })
    }

    /// Adds a UE that comes from another cell; its radio is silent until `from_us`, when its random access
    /// is complete. Returns the index of each of its bearers here. `config.channel` has the radio that
    /// `probe` measures.
    ///
    /// # Errors
    /// As [`add_ue`](Self::add_ue) and [`add_bearer`](Self::add_bearer).
    pub fn enter(
        &mut self,
        config: UeConfig,
        probe: &SnrProbe,
        moving: MovingUe<P>,
        from_us: u64,
    ) -> Result<Vec<BearerIndex>, ConfigError> {
        let rnti = config.rnti;
        let now_us = self.next_slot_us();
        let channel = probe.silent_until(from_us, &config.channel, &self.config);
        self.add_ue(config)?;
        self.any_advancing = true;
        let mut indices = Vec::with_capacity(moving.bearers.len());
        let mut targets = Vec::with_capacity(moving.bearers.len());
        for MovingBearer { source, config, pdcp, next_count, uplink_left_us, .. } in moving.bearers
        {
            let index = self.add_bearer(rnti, config)?;
            targets.push((source, index, uplink_left_us));
            indices.push(index);
            let Some(bearer) = self.bearers[index].as_mut() else { continue };
            bearer.pdcp = pdcp;
            match &mut bearer.entity {
                Entity::Um { tx, .. } => tx.continue_at(next_count),
                Entity::Am(am) => am.tx.continue_at(next_count),
            }
            if bearer.has_running_timer() && !bearer.in_timers {
                bearer.in_timers = true;
                self.timers.push(index);
            }
        }
        let Some((at, ue)) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti) else {
            return Err(ConfigError::NoSuchUe { rnti });
        };
        ue.channel = channel;
        if let Uplink::Scheduled(uplink) = &mut ue.uplink {
            for (_, index, left_us) in &targets {
                if let Some(left_us) = left_us {
                    uplink.leave_from(*index, *left_us);
                }
            }
            let bearers = &self.bearers;
            let kept = moving.kept.into_iter().filter_map(|packet| {
                let (_, bearer, _) =
                    *targets.iter().find(|(source, ..)| *source == packet.bearer)?;
                let own = bearers[bearer].as_ref()?;
                let block_bytes = own.uplink_block_bytes(packet.len_bytes);
                Some((KeptPacket { bearer, ..packet }, &own.config.channel, block_bytes))
            });
            uplink.enter(kept, now_us);
        }
        self.activate_uplink(at);
        Ok(indices)
    }

    /// The random access of a UE that has entered has failed: it tries again, and its radio is silent until
    /// `until_us`.
    pub fn silence_until(&mut self, rnti: u16, until_us: u64) {
        if let Some((_, ue)) = Self::ue_mut(&self.by_rnti, &mut self.ues, rnti) {
            ue.channel.silence_until(until_us);
        }
    }

    /// Enqueues an SDU that another cell has not delivered; it keeps its COUNT.
    ///
    /// # Errors
    /// Returns it if the queue is full or the bearer unknown.
    pub fn enqueue_again(
        &mut self,
        index: BearerIndex,
        again: Unconfirmed<P>,
        now_us: u64,
    ) -> Result<(), Unconfirmed<P>> {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else {
            return Err(again);
        };
        bearer.enqueue_again(again, now_us)?;
        self.update_backlog(index);
        Ok(())
    }

    /// A PDCP status report of the UE has arrived: the duplicates that RLC-AM has not begun to send are
    /// discarded (38.323 §5.4.2). Returns their number.
    pub fn discard_duplicates(&mut self, index: BearerIndex) -> u64 {
        let Some(bearer) = self.bearers.get_mut(index).and_then(Option::as_mut) else { return 0 };
        let Entity::Am(am) = &mut bearer.entity else { return 0 };
        let discarded = am.tx.discard_duplicates();
        self.update_backlog(index);
        discarded
    }
}
