//! The course of a handover.
//!
//! | time | what happens |
//! |---|---|
//! | T₀ | event A3 triggers the UE's measurement report |
//! | T₁ = T₀ + preparation | the CU commands the UE to the target; over F1-U it sends nothing to the source any more |
//! | T₂ = T₁ + F1 delay | the source stops; what it has not delivered goes back to the CU; the target takes the UE in |
//! | T₂ + F1 delay | the CU sends it again, to the target, and goes on with its pipelines |
//! | T₂ + interruption | the random access is complete: the target schedules the UE |
//!
//! A random access to a cell out of range is tried again at the next occasion until T304 expires (38.331
//! §5.3.5.8.3). The UE then selects a cell and re-establishes its connection there (§5.3.7): every cell of the gNB
//! is prepared, as one CU has its context.

use e2sm_tc::v1::{BearerId, EventKind, UeId};
use ran::{MovingUe, Unconfirmed};

use super::{Again, RANDOM_ACCESS_PERIOD_US, SSB_PERIOD_US, Step, UeRadio};
use crate::World;
use crate::bearer::Bearer;
use crate::cells::Place;
use crate::packet::GnbPacket;
use crate::summary::HandoverRecord;

impl World {
    pub(super) fn take_step(&mut self, ue: u32, step: Step) {
        let now_us = self.now_us;
        let Some(handovers) = &mut self.handovers else { return };
        let settings = handovers.settings;
        let radio = &mut handovers.ues[ue as usize];
        if radio.probes.is_empty() {
            return;
        }
        match step {
            Step::Trigger => {
                let target = radio.measured.triggered(now_us).filter(|_| !radio.is_moving);
                if let Some(target) = target {
                    radio.is_moving = true;
                    handovers.tally.triggered_us[ue as usize] = now_us;
                    let at_us = now_us + settings.preparation_us;
                    handovers.steps.push(at_us, (ue, Step::Command(target)));
                }
            }
            Step::Command(target) => {
                handovers.steps.push(now_us + settings.f1_delay_us, (ue, Step::Leave(target)));
                self.hold(ue);
            }
            Step::Leave(target) => self.hand_over(ue, target),
            Step::Access(_) | Step::Reestablish if !radio.is_moving => {}
            Step::Access(expires_us) if !radio.probes[radio.cell].is_in_range(now_us) => {
                self.access_again(ue, expires_us);
            }
            Step::Reestablish => self.reestablish(ue),
            Step::Access(_) => {
                handovers.accessed(ue, now_us);
            }
            Step::StatusReport => self.discard_duplicates(ue),
        }
    }

    fn bearers_of(&self, ue: u32) -> Vec<u32> {
        self.ues.plans[ue as usize].bearers.iter().map(|(index, _)| *index).collect()
    }

    /// The CU stops to send over F1-U.
    fn hold(&mut self, ue: u32) {
        for index in self.bearers_of(ue) {
            let bearer = &mut self.bearers[index as usize];
            bearer.is_held = bearer.f1.is_some();
        }
    }

    /// Moves a UE to the cell to which it is commanded: all of T₂.
    fn hand_over(&mut self, ue: u32, target: usize) {
        let now_us = self.now_us;
        let Some(handovers) = &mut self.handovers else { return };
        let settings = handovers.settings;
        let accessed_us = now_us + settings.interruption_us;
        let expires_us = now_us + settings.t304_us;
        handovers.steps.push(accessed_us, (ue, Step::Access(expires_us)));
        let record = self.move_ue(ue, target, accessed_us);
        if let (Some(record), Some(handovers)) = (record, &mut self.handovers) {
            handovers.tally.add(ue, record);
        }
    }

    /// The target has not answered: the UE tries at the next occasion, or T304 expires before it.
    fn access_again(&mut self, ue: u32, expires_us: u64) {
        let Some(handovers) = &mut self.handovers else { return };
        let UeRadio { cell, rnti, .. } = handovers.ues[ue as usize];
        let again_us = self.now_us + RANDOM_ACCESS_PERIOD_US;
        let (at_us, step) = if again_us <= expires_us {
            (again_us, Step::Access(expires_us))
        } else {
            (expires_us + handovers.settings.reestablishment_us, Step::Reestablish)
        };
        handovers.steps.push(at_us, (ue, step));
        if let Some(record) = handovers.tally.last_mut(ue) {
            record.accessed_us = at_us;
        }
        self.cells[cell].silence_until(rnti, at_us);
    }

    /// The UE selects the best cell in range and goes on there; it searches on where there is none.
    fn reestablish(&mut self, ue: u32) {
        let now_us = self.now_us;
        let Some(handovers) = &mut self.handovers else { return };
        let radio = &mut handovers.ues[ue as usize];
        let probes = radio.probes.iter_mut().enumerate();
        let in_range = probes.filter_map(|(cell, probe)| {
            probe.is_in_range(now_us).then(|| (cell, probe.snr_db(now_us)))
        });
        let best = in_range.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((target, _)) = best else {
            let again_us = now_us + SSB_PERIOD_US;
            handovers.steps.push(again_us, (ue, Step::Reestablish));
            let (cell, rnti) = (radio.cell, radio.rnti);
            if let Some(record) = handovers.tally.last_mut(ue) {
                record.accessed_us = again_us;
            }
            self.cells[cell].silence_until(rnti, again_us);
            return;
        };
        handovers.accessed(ue, now_us);
        let moved = self.move_ue(ue, target, now_us);
        let last = self.handovers.as_mut().and_then(|handovers| handovers.tally.last_mut(ue));
        if let (Some(moved), Some(record)) = (moved, last) {
            record.fail(&moved);
        }
    }

    /// Moves a UE to a cell, which it has accessed at `accessed_us`.
    fn move_ue(&mut self, ue: u32, target: usize, accessed_us: u64) -> Option<HandoverRecord> {
        let now_us = self.now_us;
        let handovers = self.handovers.as_deref_mut()?;
        let rnti = handovers.allocate_rnti(&self.ues.plans);
        let radio = &mut handovers.ues[ue as usize];
        let (source, old_rnti) = (radio.cell, radio.rnti);
        (radio.cell, radio.rnti) = (target, rnti);
        let probe = radio.probes[target].clone();
        let mut record = HandoverRecord {
            ue_rnti: self.ues.plans[ue as usize].config.rnti,
            triggered_us: handovers.tally.triggered_us[ue as usize],
            left_us: now_us,
            accessed_us,
            source,
            target,
            source_rnti: old_rnti,
            target_rnti: rnti,
            forwarded_packets: 0,
            duplicated_packets: 0,
            lost_packets: 0,
            lost_uplink_packets: 0,
            failed: false,
        };
        self.settle_rlc(ue);
        let mut moving = self.leave_cell(source, old_rnti, &mut record)?;
        let mut unconfirmed = self.take_unconfirmed(source, &mut moving, &mut record);
        let config = self.ues.plans[ue as usize].config_in(target);
        let config = ran::UeConfig { rnti, ..config };
        // Fails never: the RNTI is free, and the UE is as it was.
        let places = self.cells[target].enter(config, &probe, moving, accessed_us).ok()?;
        for ((index, own), bearer) in unconfirmed.iter_mut().zip(places) {
            let own = std::mem::take(own);
            self.enter_cell(*index, Place { cell: target, bearer }, rnti, own);
        }
        self.e2.ue_renamed(old_rnti, rnti);
        self.sdap.rename(old_rnti, rnti);
        Some(record)
    }

    /// Takes what the source's RLC has counted, before it ends.
    fn settle_rlc(&mut self, ue: u32) {
        for index in self.bearers_of(ue) {
            let bearer = &mut self.bearers[index as usize];
            let Some(place) = bearer.cell else { continue };
            let failures = self.cells.radio_link_failures(place);
            bearer.measured.radio_link_failures += failures.unwrap_or(0);
            let removed = self.cells[place.cell].take_removed(place.bearer).unwrap_or_default();
            bearer.measured.removed.merge(&crate::f1::narrowed(&removed));
        }
    }

    /// The UE leaves its cell.
    fn leave_cell(
        &mut self,
        source: usize,
        rnti: u16,
        record: &mut HandoverRecord,
    ) -> Option<MovingUe<GnbPacket>> {
        let now_us = self.now_us;
        let mut deliveries = std::mem::take(&mut self.deliveries);
        let moving = self.cells[source].depart(rnti, now_us, &mut deliveries);
        for delivery in deliveries.drain(..) {
            self.drained(delivery);
        }
        self.deliveries = deliveries;
        let before = self.uplink_lost_packets();
        self.pass_on_uplink();
        record.lost_uplink_packets = self.uplink_lost_packets() - before;
        moving
    }

    fn uplink_lost_packets(&self) -> u64 {
        self.bearers.iter().map(|bearer| bearer.measured.uplink_lost_packets).sum()
    }

    /// What the target has to send of each bearer, by the bearer's index in the world: what the source's RLC
    /// had not delivered and what is on the way to it over F1-U.
    fn take_unconfirmed(
        &mut self,
        source: usize,
        moving: &mut MovingUe<GnbPacket>,
        record: &mut HandoverRecord,
    ) -> Vec<(u32, Vec<Unconfirmed<GnbPacket>>)> {
        let forwarding = self.handovers.as_ref().is_some_and(|it| it.settings.forwarding);
        let mut all = Vec::with_capacity(moving.bearers.len());
        for departed in &mut moving.bearers {
            let place = Place { cell: source, bearer: departed.source };
            let Some(index) = self.bearers.at(place) else { continue };
            let mut unconfirmed = std::mem::take(&mut departed.unconfirmed);
            let mut on_f1 = self.links.f1_down.extract(|packet| packet.bearer == index);
            on_f1.sort_by_key(|packet| packet.f1_number);
            let bearer = &mut self.bearers[index as usize];
            for packet in on_f1 {
                let Some(f1) = &mut bearer.f1 else { break };
                let count = f1.arrive(packet.f1_number, departed.next_count, self.now_us);
                departed.next_count = departed.next_count.max(count + 1);
                let received_bytes = &mut bearer.measured.received_bytes;
                *received_bytes = packet.sent_bytes.max(*received_bytes);
                unconfirmed.push(Unconfirmed::new(count, packet));
            }
            unconfirmed.sort_by_key(|one| one.count);
            record.lost_packets += departed.lost_sdus;
            if !bearer.is_am && !forwarding {
                for packet in unconfirmed.drain(..).filter_map(|one| one.sdu) {
                    bearer.measured.rlc_dropped.count(&packet);
                    record.lost_packets += 1;
                }
            }
            let duplicates = unconfirmed.iter().filter(|one| one.sdu.is_none()).count() as u64;
            record.duplicated_packets += duplicates;
            record.forwarded_packets += unconfirmed.len() as u64 - duplicates;
            all.push((index, unconfirmed));
        }
        all
    }

    /// A bearer enters a cell under another C-RNTI.
    fn enter_cell(
        &mut self,
        index: u32,
        place: Place,
        rnti: u16,
        unconfirmed: Vec<Unconfirmed<GnbPacket>>,
    ) {
        let now_us = self.now_us;
        self.report_event(index, EventKind::BearerRemoved);
        self.bearers.add_to_cell(index, Some(place));
        self.bearers.rename(index, rnti);
        let Bearer { tc, drb, drql_limit, f1, rlc_query, .. } = &mut self.bearers[index as usize];
        tc.rename(BearerId { ue: UeId::Rnti(rnti), drb: *drb });
        tc.rlc_replaced(now_us);
        *drql_limit = drql_limit.as_ref().map(|limit| limit.anew());
        if let Some(query) = rlc_query {
            *query = Default::default();
        }
        if let (Some(f1), Some(handovers)) = (f1, &mut self.handovers) {
            f1.enter_du(unconfirmed.len() as u64, now_us);
            let at_us = now_us + handovers.settings.f1_delay_us;
            handovers.returned.push(at_us, (index, unconfirmed));
        } else {
            for again in unconfirmed {
                self.enqueue_again(index, again);
            }
        }
        self.report_event(index, EventKind::BearerAdded);
        self.report_pipeline_events(index);
    }

    /// The CU sends over F1-U what the former DU has not delivered, and goes on.
    pub(super) fn send_again(&mut self, index: u32, unconfirmed: Vec<Unconfirmed<GnbPacket>>) {
        let now_us = self.now_us;
        let bearer = &mut self.bearers[index as usize];
        if bearer.cell.is_none() {
            let packets = unconfirmed.iter().filter(|one| one.sdu.is_some()).count();
            bearer.measured.released_packets += packets as u64;
            return;
        }
        bearer.is_held = false;
        for mut again in unconfirmed {
            let (Some(f1), Some(handovers)) = (&mut bearer.f1, &mut self.handovers) else { break };
            let (number, at_us) = f1.send_again(&mut again, now_us);
            if let Some(at_us) = at_us {
                let again = Again { bearer: index, number, unconfirmed: again };
                handovers.again.push(at_us, again);
            }
        }
        self.poll_bearer(index);
    }

    /// Packets that the CU has sent again arrive at the DU.
    pub(crate) fn receive_again(&mut self) {
        loop {
            let Some(handovers) = &mut self.handovers else { return };
            let Some((_, again)) = handovers.again.pop_due(self.now_us) else { return };
            let Again { bearer: index, number, unconfirmed } = again;
            let bearer = &mut self.bearers[index as usize];
            if let Some(f1) = &mut bearer.f1 {
                // It carries its COUNT.
                f1.arrive(number, unconfirmed.count, self.now_us);
                f1.enqueued(number, unconfirmed.count);
            }
            self.enqueue_again(index, unconfirmed);
        }
    }

    fn enqueue_again(&mut self, index: u32, mut again: Unconfirmed<GnbPacket>) {
        let now_us = self.now_us;
        let Bearer { cell, measured, .. } = &mut self.bearers[index as usize];
        if let Some(packet) = &mut again.sdu {
            packet.rlc_us = now_us;
        }
        let Some(place) = *cell else {
            measured.released_packets += u64::from(again.sdu.is_some());
            return;
        };
        let refused = self.cells[place.cell].enqueue_again(place.bearer, again, now_us);
        if let Err(Unconfirmed { sdu: Some(packet), .. }) = refused {
            measured.rlc_dropped.count(&packet);
        }
    }

    /// The PDCP status report has taken effect: duplicates that wait are discarded.
    fn discard_duplicates(&mut self, ue: u32) {
        let mut discarded = 0;
        for index in self.bearers_of(ue) {
            if let Some(place) = self.bearers[index as usize].cell {
                discarded += self.cells[place.cell].discard_duplicates(place.bearer);
            }
        }
        let last = self.handovers.as_mut().and_then(|handovers| handovers.tally.last_mut(ue));
        if let Some(record) = last {
            record.duplicated_packets = record.duplicated_packets.saturating_sub(discarded);
        }
    }
}
