//! The CU: SDAP scheduling of the bearers' pipelines, RLC status, recall of unsent SDUs.

use lab_scenario::Split;
use tc_rf::RlcStatus;
use traffic::Rng;

use super::bearer::{Bearer, RlcEntry};
use super::bearers::Bearers;
use super::cells::{Cells, Place};
use super::f1::FromDu;
use super::links::{Left, Links};
use super::packet::GnbPacket;
use super::sdap::Sdap;
use super::timers::{Timer, Timers};

/// SDAP scheduling and recall settings of the CU.
#[derive(Clone, Debug)]
pub(crate) struct Cu {
    sdap_poll_us: u32,
    sdap_clock: SdapClock,
    can_recall: bool,
    f1_delay_us: u32,
}

/// The parts of the gNB that CU, DU and flows act on, at the present time.
pub(crate) struct GnbParts<'a> {
    pub(crate) bearers: &'a mut Bearers,
    pub(crate) cells: &'a mut Cells,
    pub(crate) links: &'a mut Links,
    pub(crate) timers: &'a mut Timers,
    pub(crate) sdap: &'a mut Sdap,
    pub(crate) now_us: u64,
}

impl Cu {
    pub(crate) fn new(split: &Split, sdap_random: Rng) -> Self {
        Self {
            sdap_poll_us: split.sdap_poll_us,
            sdap_clock: SdapClock::new(split.sdap_poll_us, sdap_random),
            can_recall: split.recall,
            f1_delay_us: split.f1_delay_us,
        }
    }

    /// A packet arrives from the core network; returns the index of its bearer if its UE is attached.
    pub(crate) fn enter_sdap(
        &mut self,
        mut packet: GnbPacket,
        gnb: &mut GnbParts<'_>,
    ) -> Option<u32> {
        let bearer = &mut gnb.bearers[packet.bearer as usize];
        if bearer.cell.is_none() {
            bearer.measured.unattached_packets += 1;
            return None;
        }
        packet.ingress_us = gnb.now_us;
        gnb.sdap.enter(packet).map(|packet| self.enter_pipeline(packet, gnb))
    }

    /// A packet enters the pipeline of its bearer; returns the index of that.
    pub(crate) fn enter_pipeline(&mut self, packet: GnbPacket, gnb: &mut GnbParts<'_>) -> u32 {
        let index = packet.bearer;
        let Bearer { measured, tc, tally, .. } = &mut gnb.bearers[index as usize];
        measured.ingress_packets += 1;
        measured.ingress_bytes += u64::from(packet.len_bytes());
        measured.flow_counts.entered(&packet);
        tc.ingress(packet, gnb.now_us, tally);
        measured.flow_counts.dropped(&mut tally.dropped_flows);
        self.poll(index, gnb);
        index
    }

    /// Forwards what the pipeline releases: now, or when the SDAP scheduler runs next.
    pub(crate) fn poll(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        if self.sdap_poll_us == 0 {
            self.run_sdap_scheduler(index, gnb);
            return;
        }
        let tc = &gnb.bearers[index as usize].tc;
        let at_us = if tc.backlog_packets() > 0 {
            Some(self.sdap_clock.next_us(gnb.now_us))
        } else {
            // A lease ends without traffic, too.
            tc.next_deadline_us(gnb.now_us).map(|at_us| at_us.max(gnb.now_us + 1))
        };
        if let Some(at_us) = at_us {
            gnb.timers.advance(Timer::Bearer(index), at_us);
        }
    }

    /// The timer of a bearer's pipeline expired.
    pub(crate) fn on_timer(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        let bearer = &mut gnb.bearers[index as usize];
        bearer.tc.tick(gnb.now_us, &mut bearer.tally);
        self.run_sdap_scheduler(index, gnb);
    }

    fn run_sdap_scheduler(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        if gnb.bearers[index as usize].is_held {
            gnb.timers.set(Timer::Bearer(index), None);
            return;
        }
        forward(index, gnb);
        let now_us = gnb.now_us;
        let Bearer { tc, rlc_query, .. } = &gnb.bearers[index as usize];
        let mut deadline_us = tc.next_deadline_us(now_us);
        if let Some(query) = rlc_query {
            deadline_us = query.next_poll_us(deadline_us, now_us);
        }
        // A pipeline that cannot forward now is polled again 1 µs later at the earliest.
        let mut earliest_us = now_us + 1;
        if self.sdap_poll_us > 0 {
            earliest_us = self.sdap_clock.next_us(now_us);
            if tc.backlog_packets() > 0 {
                deadline_us = Some(earliest_us);
            }
        }
        gnb.timers.set(Timer::Bearer(index), deadline_us.map(|at_us| at_us.max(earliest_us)));
    }

    /// A frame arrives from the DU; returns whether the bearer's pipeline was polled.
    pub(crate) fn on_f1_uplink(
        &mut self,
        index: u32,
        (frame, left): &(FromDu, Left),
        gnb: &mut GnbParts<'_>,
    ) -> bool {
        let bearer = &mut gnb.bearers[index as usize];
        let is_am = bearer.is_am;
        let status = bearer.f1.as_mut().and_then(|f1| f1.rlc_status(frame, is_am));
        status.is_some_and(|status| self.on_rlc_status(index, &status, left, gnb))
    }

    /// An RLC status arrives; returns whether the bearer's pipeline was polled.
    pub(crate) fn on_rlc_status(
        &mut self,
        index: u32,
        status: &RlcStatus,
        left: &Left,
        gnb: &mut GnbParts<'_>,
    ) -> bool {
        let bearer = &mut gnb.bearers[index as usize];
        if bearer.cell.is_none() {
            return false;
        }
        if let Some(query) = &mut bearer.rlc_query {
            query.on_status();
        }
        bearer.tc.rlc_status(status, gnb.now_us);
        let counts = &mut bearer.measured.flow_counts;
        counts.left(left);
        counts.dropped(&mut bearer.tally.dropped_flows);
        gnb.sdap.on_progress(index, counts, gnb.now_us);
        let has_backlog = bearer.tc.backlog_packets() > 0;
        if has_backlog {
            self.poll(index, gnb);
        }
        has_backlog
    }

    /// Requests from the DU the SDUs that it has not started to send, when a bearer gets a pacer. They
    /// return a slot later at the earliest; there may be thousands, so the answer to the control does
    /// not wait for them.
    ///
    /// A pipeline without pacer forwards everything at once: its backlog is in the RLC, out of reach of
    /// classifier and scheduler. The RLC may discard, on PDCP's request, SDUs of which no segment was
    /// submitted to lower layers (38.322 §5.4; 38.323 §5.3). In a split gNB the CU requests this over
    /// F1-U (38.425 §5.4.1, DL discard) and stores sent SDUs until delivery status reports them
    /// transmitted. Their COUNT values were never sent and are reused.
    pub(crate) fn recall_unsent(&self, index: u32, gnb: &mut GnbParts<'_>) {
        if self.can_recall {
            let delay_us = self.f1_delay_us.max(gnb.cells.tti_us());
            gnb.links.discards.push(gnb.now_us + u64::from(delay_us), index);
        }
    }

    /// Runs the next discard that has reached the DU, or the next return of packets to the CU. Returns
    /// the bearer and whether its pipeline was polled; `None` if neither is due.
    pub(crate) fn run_recall(&mut self, gnb: &mut GnbParts<'_>) -> Option<(u32, bool)> {
        if let Some((_, index)) = gnb.links.discards.pop_due(gnb.now_us) {
            return Some((index, self.discard(index, gnb)));
        }
        let (_, (index, packets)) = gnb.links.recalled.pop_due(gnb.now_us)?;
        Some((index, self.requeue(index, packets.into_iter(), gnb)))
    }

    fn discard(&mut self, index: u32, gnb: &mut GnbParts<'_>) -> bool {
        let bearer = &mut gnb.bearers[index as usize];
        let Some(place) = bearer.cell else { return false };
        let cell = &mut gnb.cells[place.cell];
        let Some(packets) = cell.take_unsent(place.bearer) else { return false };
        let packets: Vec<GnbPacket> = packets.collect();
        packets.iter().for_each(|packet| bearer.measured.flows_in_rlc.removed(packet));
        if let (Some(f1), Some(next_count)) = (&mut bearer.f1, cell.next_count(place.bearer)) {
            f1.discarded(next_count);
            let at_us = gnb.now_us + u64::from(self.f1_delay_us);
            gnb.links.recalled.push(at_us, (index, packets));
            false
        } else {
            self.requeue(index, packets.into_iter(), gnb)
        }
    }

    fn requeue(
        &mut self,
        index: u32,
        packets: impl ExactSizeIterator<Item = GnbPacket>,
        gnb: &mut GnbParts<'_>,
    ) -> bool {
        let bearer = &mut gnb.bearers[index as usize];
        if bearer.cell.is_none() {
            bearer.measured.released_packets += packets.len() as u64;
            return false;
        }
        let f1 = &mut bearer.f1;
        let counts = &mut bearer.measured.flow_counts;
        let packets = packets.map(|packet| {
            counts.entered(&packet);
            if let Some(f1) = f1 {
                f1.recalled(packet.f1_number);
            }
            let ingress_us = packet.ingress_us;
            (packet, ingress_us)
        });
        bearer.tc.recall_unsent(packets, gnb.now_us);
        self.poll(index, gnb);
        true
    }
}

/// Sends to the DU what scheduler, shapers and pacer of a bearer release.
fn forward(index: u32, gnb: &mut GnbParts<'_>) {
    let GnbParts { bearers, cells, links, now_us, .. } = gnb;
    let now_us = *now_us;
    let bearer = &mut bearers[index as usize];
    let Some(Place { cell, bearer: place }) = bearer.cell else { return };
    let cell = &mut cells[cell];
    let Bearer { tc, tally, rlc_query, rlc_queue, drql_limit, measured, f1, .. } = bearer;
    let (queue, limit) = (rlc_queue.as_mut(), drql_limit.as_mut());
    let mut rlc = RlcEntry { cell, place, queue, limit, f1: f1.as_deref_mut(), measured };
    let mut forward = |mut packet: GnbPacket| {
        rlc.measured.count_forwarded(&mut packet);
        let Some(f1) = &mut rlc.f1 else {
            rlc.measured.received_bytes += u64::from(packet.len_bytes());
            packet.sent_bytes = rlc.measured.received_bytes;
            rlc.measured.flow_counts.forwarded(&packet);
            rlc.put(packet, None, now_us);
            return;
        };
        let arrives_us = f1.send(&mut packet, now_us);
        rlc.measured.flow_counts.forwarded(&packet);
        if let Some(at_us) = arrives_us {
            links.f1_down.push(at_us, packet);
        }
    };
    let Some(query) = rlc_query else {
        tc.egress(now_us, tally, &mut forward);
        return;
    };
    while let Some(packet) = query.release(tc, now_us, tally) {
        forward(packet);
    }
    if query.take_due()
        && let Some(f1) = f1
        && let Some(at_us) = f1.query(now_us)
    {
        links.rlc_queries.push(at_us, index);
    }
}

/// Linux wakes a sleeping thread up to this much late (default timer slack, prctl(2)).
const TIMER_SLACK_US: u64 = 50;

/// Wake-up times of an SDAP scheduler thread that sleeps `period_us` plus a random timer slack, so
/// that they drift through all phases of a slot.
#[derive(Clone, Debug)]
pub(crate) struct SdapClock {
    period_us: u64,
    next_us: u64,
    random: Rng,
}

impl SdapClock {
    pub(crate) fn new(period_us: u32, mut random: Rng) -> Self {
        let period_us = u64::from(period_us);
        Self { period_us, next_us: random.below(period_us), random }
    }

    /// The first wake-up after `now_us`, which must not decrease; `now_us` if the period is 0.
    pub(crate) fn next_us(&mut self, now_us: u64) -> u64 {
        if self.period_us == 0 {
            return now_us;
        }
        while self.next_us <= now_us {
            self.next_us += self.period_us + self.random.below(TIMER_SLACK_US + 1);
        }
        self.next_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdap_scheduler_sleeps_at_least_its_period_and_drifts() {
        let mut clock = SdapClock::new(200, Rng::new(7));
        let mut now_us = 0;
        let mut phases = std::collections::BTreeSet::new();
        for _ in 0..10_000 {
            let next_us = clock.next_us(now_us);
            assert_eq!(clock.next_us(next_us - 1), next_us, "the wake-up is stable");
            if now_us > 0 {
                assert!((200..=250).contains(&(next_us - now_us)));
            }
            now_us = next_us;
            phases.insert(now_us % 1000 / 100);
        }
        assert_eq!(phases.len(), 10);
    }
}
