//! The CU: SDAP scheduling of the bearers' pipelines, RLC status, recall of unsent SDUs.

use lab_scenario::Split;
use ran::Cell;
use tc_rf::RlcStatus;

use super::bearer::Bearer;
use super::bearers::Bearers;
use super::f1::FromDu;
use super::links::Links;
use super::packet::GnbPacket;
use super::random::SplitMix64;
use super::rlc_entry::RlcEntry;
use super::sdap_clock::SdapClock;
use super::timers::{Timer, Timers};

/// How the CU of a scenario schedules and recalls.
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
    pub(crate) cell: &'a mut Cell<GnbPacket>,
    pub(crate) links: &'a mut Links,
    pub(crate) timers: &'a mut Timers,
    pub(crate) now_us: u64,
}

impl Cu {
    pub(crate) fn new(split: &Split, sdap_random: SplitMix64) -> Self {
        Self {
            sdap_poll_us: split.sdap_poll_us,
            sdap_clock: SdapClock::new(split.sdap_poll_us, sdap_random),
            can_recall: split.recall,
            f1_delay_us: split.f1_delay_us,
        }
    }

    /// A packet of the core network arrives; the index of its bearer, if that is attached.
    pub(crate) fn enter_sdap(
        &mut self,
        mut packet: GnbPacket,
        gnb: &mut GnbParts<'_>,
    ) -> Option<u32> {
        let index = packet.bearer;
        let bearer = &mut gnb.bearers[index as usize];
        bearer.cell?;
        packet.ingress_us = gnb.now_us;
        bearer.measured.ingress_packets += 1;
        bearer.measured.ingress_bytes += u64::from(packet.len_bytes());
        bearer.tc.ingress(packet, gnb.now_us, &mut bearer.tally);
        self.poll(index, gnb);
        Some(index)
    }

    /// Lets the pipeline forward what it will: now, or when the SDAP scheduler runs next.
    pub(crate) fn poll(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        if self.sdap_poll_us == 0 {
            self.run_sdap_scheduler(index, gnb);
        } else if gnb.bearers[index as usize].tc.backlog_packets() > 0 {
            gnb.timers.advance(Timer::Bearer(index), self.sdap_clock.next_us(gnb.now_us));
        }
    }

    /// The deadline of a bearer's pipeline has come.
    pub(crate) fn on_timer(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        let bearer = &mut gnb.bearers[index as usize];
        bearer.tc.tick(gnb.now_us, &mut bearer.tally);
        self.run_sdap_scheduler(index, gnb);
    }

    fn run_sdap_scheduler(&mut self, index: u32, gnb: &mut GnbParts<'_>) {
        forward(index, gnb);
        let now_us = gnb.now_us;
        let Bearer { tc, rlc_query, .. } = &gnb.bearers[index as usize];
        let mut deadline_us = tc.next_deadline_us(now_us);
        if let Some(query) = rlc_query {
            deadline_us = query.next_poll_us(deadline_us, now_us);
        }
        // A pipeline that cannot forward now is polled again in the next instant at the soonest.
        let mut earliest_us = now_us + 1;
        if self.sdap_poll_us > 0 {
            earliest_us = self.sdap_clock.next_us(now_us);
            if tc.backlog_packets() > 0 {
                deadline_us = Some(earliest_us);
            }
        }
        gnb.timers.set(Timer::Bearer(index), deadline_us.map(|at_us| at_us.max(earliest_us)));
    }

    /// A frame of the DU about a bearer arrives; whether the bearer's pipeline was polled.
    pub(crate) fn on_f1_uplink(
        &mut self,
        index: u32,
        frame: &FromDu,
        gnb: &mut GnbParts<'_>,
    ) -> bool {
        let bearer = &mut gnb.bearers[index as usize];
        let is_am = bearer.is_am;
        let status = bearer.f1.as_mut().and_then(|f1| f1.rlc_status(frame, is_am));
        status.is_some_and(|status| self.on_rlc_status(index, &status, gnb))
    }

    /// The state of a bearer's RLC arrives; whether the bearer's pipeline was polled.
    pub(crate) fn on_rlc_status(
        &mut self,
        index: u32,
        status: &RlcStatus,
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
        let has_backlog = bearer.tc.backlog_packets() > 0;
        if has_backlog {
            self.poll(index, gnb);
        }
        has_backlog
    }

    /// A pacer takes over a bearer: has the DU return the SDUs that it has not begun to send, a slot
    /// later at the soonest. That may be thousands of packets, so the answer to the control does not
    /// wait for it.
    ///
    /// A pipeline without pacer forwards everything at once, so its backlog is in the RLC, where no
    /// classifier or scheduler reaches it. The RLC may discard, on PDCP's request, SDUs of which no
    /// segment was submitted to lower layers (38.322 §5.4; 38.323 §5.3). In a split gNB the CU asks
    /// over F1-U (38.425 §5.4.1, DL discard) and keeps what it sent until delivery status reports it
    /// transmitted. Their COUNT values were never sent, so the packets that follow get them.
    pub(crate) fn recall_unsent(&self, index: u32, gnb: &mut GnbParts<'_>) {
        if self.can_recall {
            let delay_us = self.f1_delay_us.max(gnb.cell.tti_us());
            gnb.links.discards.push(gnb.now_us + u64::from(delay_us), index);
        }
    }

    /// Runs the next discard that reaches the DU, or the next return of packets that reaches the CU.
    /// The bearer, and whether its pipeline was polled; `None` when neither is due.
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
        let Some(packets) = gnb.cell.take_unsent(place) else { return false };
        if let (Some(f1), Some(next_count)) = (&mut bearer.f1, gnb.cell.next_count(place)) {
            f1.discarded(next_count);
            let at_us = gnb.now_us + u64::from(self.f1_delay_us);
            gnb.links.recalled.push(at_us, (index, packets.collect()));
            false
        } else {
            self.requeue(index, packets, gnb)
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
        let packets = packets.map(|packet| {
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

/// Hands to the DU what scheduler, shapers and pacer of a bearer release.
fn forward(index: u32, gnb: &mut GnbParts<'_>) {
    let GnbParts { bearers, cell, links, now_us, .. } = gnb;
    let now_us = *now_us;
    let bearer = &mut bearers[index as usize];
    let Some(place) = bearer.cell else { return };
    let Bearer { tc, tally, rlc_query, rlc_queue, drql_limit, measured, f1, .. } = bearer;
    let (queue, limit) = (rlc_queue.as_mut(), drql_limit.as_mut());
    let mut rlc = RlcEntry { cell, place, queue, limit, f1: f1.as_deref_mut(), measured };
    let mut forward = |mut packet: GnbPacket| {
        rlc.measured.take_down(&mut packet);
        let Some(f1) = &mut rlc.f1 else {
            rlc.measured.received_bytes += u64::from(packet.len_bytes());
            rlc.put(packet, None, now_us);
            return;
        };
        if let Some(at_us) = f1.send(&mut packet, now_us) {
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
    if query.take()
        && let Some(f1) = f1
        && let Some(at_us) = f1.query(now_us)
    {
        links.rlc_queries.push(at_us, index);
    }
}
