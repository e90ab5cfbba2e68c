//! The event loop: what happens when.
//!
//! Sources of events are lines (things on their way, in order of arrival), timers (deadlines of
//! state machines) and the cell's slots. At one instant they run in the fixed order of
//! [`World::run_due`], so a run depends on scenario and seed alone.

use ran::{BearerIndex, Cell, Delivery};
use tc_rf::{RlcStatus, SduDelays};
use traffic::{Body, Endpoint as _};

use super::above::Pipelines;
use super::bearer::Measured;
use super::drql_limit::DrqlLimit;
use super::f1::{self, F1Bearer};
use super::packet::GnbPacket;
use super::rlc_queue::RlcQueue;
use super::snapshot::PacketSample;
use super::{Bearer, Output, SAMPLE_PERIOD_US, World};

impl World {
    /// When something happens next; `u64::MAX` when nothing ever will.
    pub(super) fn next_event_us(&self) -> u64 {
        self.next_traffic_us().min(self.e2.next_us())
    }

    /// As [`next_event_us`](Self::next_event_us), reports and answers aside.
    fn next_traffic_us(&self) -> u64 {
        [
            self.attachments.next_us(),
            self.e2.next_control_us(),
            self.core_down.next_us(),
            self.f1_up.next_us(),
            self.f1_down.next_us(),
            self.rlc_queries.next_us(),
            self.discards.next_us(),
            self.taken_back.next_us(),
            self.cell.next_slot_us(),
            self.radio_down.next_us(),
            self.uplink.next_us(),
            self.timers.next_us(),
            self.next_sample_us,
        ]
        .into_iter()
        .fold(u64::MAX, u64::min)
    }

    /// Runs what is due now. Packets come before the slot that may carry them, the slot before the
    /// pollers that look at what it left, and reports last.
    pub(super) fn run_due(&mut self, sink: &mut dyn FnMut(Output)) {
        let now_us = self.now_us;
        while let Some((_, (ue, joins))) = self.attachments.pop_due(now_us) {
            if joins { self.attach(ue) } else { self.release(ue) }
        }
        self.apply_due_controls();
        while let Some((_, packet)) = self.core_down.pop_due(now_us) {
            self.enter_sdap(packet);
        }
        while let Some((_, (bearer, told))) = self.f1_up.pop_due(now_us) {
            self.on_f1_uplink(bearer, &told);
        }
        while let Some((_, packet)) = self.f1_down.pop_due(now_us) {
            self.enter_rlc(packet);
        }
        self.answer_rlc_queries();
        self.run_take_backs();
        if self.cell.next_slot_us() <= now_us {
            self.slot();
        }
        while let Some((_, packet)) = self.radio_down.pop_due(now_us) {
            self.arrive_at_ue(&packet);
        }
        while let Some((_, packet)) = self.uplink.pop_due(now_us) {
            self.arrive_at_server(&packet);
        }
        while let Some(timer) = self.timers.pop_due(now_us) {
            self.fire(timer);
        }
        if self.next_sample_us <= now_us {
            self.next_sample_us = now_us - now_us % SAMPLE_PERIOD_US + SAMPLE_PERIOD_US;
            self.sample();
        }
        if self.next_traffic_us() > now_us {
            self.report(sink);
        }
    }

    /// A packet of the core network reaches the CU.
    fn enter_sdap(&mut self, mut packet: GnbPacket) {
        let index = packet.bearer;
        let bearer = &mut self.bearers[index as usize];
        if bearer.cell.is_none() {
            return;
        }
        packet.ingress_us = self.now_us;
        bearer.measured.ingress_packets += 1;
        bearer.measured.ingress_bytes += u64::from(packet.len_bytes());
        bearer.tc.ingress(packet, self.now_us, &mut bearer.tally);
        self.poll_bearer(index);
    }

    /// Lets the pipeline forward what it will, now or when the SDAP scheduler next looks.
    pub(super) fn poll_bearer(&mut self, index: u32) {
        if self.split.sdap_poll_us == 0 {
            self.run_sdap_scheduler(index);
        } else if self.bearers[index as usize].tc.backlog_packets() > 0 {
            let timer = 2 * self.flows.len() as u32 + index;
            self.timers.advance(timer, self.sdap_clock.next_us(self.now_us));
        }
        self.pass_on_events(index);
    }

    /// The SDAP scheduler looks at a bearer and asks when to look again.
    fn run_sdap_scheduler(&mut self, index: u32) {
        self.forward(index);
        let Bearer { tc, rlc_query, .. } = &self.bearers[index as usize];
        let mut deadline_us = tc.next_deadline_us(self.now_us);
        if let Some(query) = rlc_query {
            deadline_us = query.next_poll_us(deadline_us, self.now_us);
        }
        // Whoever could not go on now is asked again no sooner than in the next instant.
        let mut earliest_us = self.now_us + 1;
        if self.split.sdap_poll_us > 0 {
            earliest_us = self.sdap_clock.next_us(self.now_us);
            if tc.backlog_packets() > 0 {
                deadline_us = Some(earliest_us);
            }
        }
        let deadline_us = deadline_us.map(|at_us| at_us.max(earliest_us));
        self.timers.set(2 * self.flows.len() as u32 + index, deadline_us);
    }

    fn pass_on_events(&mut self, index: u32) {
        if !self.bearers[index as usize].tally.events.is_empty() {
            self.report_pipeline_events(index);
        }
    }

    /// Hands what scheduler, shapers and pacer let go to the DU.
    fn forward(&mut self, index: u32) {
        let Self { bearers, cell, f1_down, rlc_queries, now_us, .. } = self;
        let now_us = *now_us;
        let bearer = &mut bearers[index as usize];
        let Some(place) = bearer.cell else { return };
        let Bearer { tc, tally, rlc_query, rlc_queue, drql_limit, measured, f1, .. } = bearer;
        let (queue, limit) = (rlc_queue.as_mut(), drql_limit.as_mut());
        let mut door = RlcDoor { cell, place, queue, limit, f1: f1.as_deref_mut(), measured };
        let mut forward = |mut packet: GnbPacket| {
            door.measured.take_down(&mut packet);
            let Some(f1) = &mut door.f1 else {
                door.measured.received_bytes += u64::from(packet.len_bytes());
                door.put(packet, None, now_us);
                return;
            };
            if let Some(at_us) = f1.send(&mut packet, now_us) {
                f1_down.push(at_us, packet);
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
            rlc_queries.push(at_us, index);
        }
    }

    /// A packet of the CU reaches the DU.
    fn enter_rlc(&mut self, packet: GnbPacket) {
        let Bearer { cell: place, rlc_queue, drql_limit, measured, f1, .. } =
            &mut self.bearers[packet.bearer as usize];
        measured.received_bytes = measured.received_bytes.max(packet.f1_sent_bytes);
        let Some(place) = *place else { return };
        let cell = &mut self.cell;
        let (queue, limit) = (rlc_queue.as_mut(), drql_limit.as_mut());
        let mut f1 = f1.as_deref_mut();
        let next_count = cell.next_count(place).unwrap_or(0);
        let arrive = |f1: &mut &mut F1Bearer| f1.arrive(packet.f1_number, next_count, self.now_us);
        let count = f1.as_mut().map(arrive);
        RlcDoor { cell, place, queue, limit, f1, measured }.put(packet, count, self.now_us);
    }

    /// One slot of the cell, and the status of each RLC on its way to the CU.
    fn slot(&mut self) {
        let now_us = self.now_us;
        self.fill_from_rlc_queues();
        let mut deliveries = std::mem::take(&mut self.deliveries);
        let mut above = Pipelines { bearers: &mut self.bearers, by_place: &self.by_place };
        self.cell.slot_from(&mut above, now_us, &mut deliveries);
        for delivery in deliveries.drain(..) {
            self.drained(delivery);
        }
        self.deliveries = deliveries;

        for index in 0..self.bearers.len() as u32 {
            let bearer = &mut self.bearers[index as usize];
            let Some(state) = bearer.cell.and_then(|place| self.cell.bearer_status(place)) else {
                continue;
            };
            let held = bearer.rlc_queue.as_ref().map_or((0, 0), RlcQueue::backlog);
            let mut removed = std::mem::take(&mut bearer.measured.removed);
            removed.merge(&removals(&mut self.cell, bearer));
            bearer.measured.removals.sdus += u64::from(removed.count);
            bearer.measured.removals.blocks += u64::from(removed.count > 0);
            bearer.measured.removals.delay_us += removed.sum_us;
            let status = RlcStatus {
                at_us: now_us,
                occupancy_bytes: state.occupancy_bytes + held.0,
                occupancy_packets: state.occupancy_packets + held.1,
                capacity_bytes_per_tti: state.capacity_bytes_per_tti,
                tti_us: state.tti_us,
                dl_opportunity: state.dl_opportunity,
                unacknowledged_packets: state.unacknowledged_packets,
                unacknowledged_bytes: state.unacknowledged_bytes,
                removed,
                status_pdu_at_us: state.status_pdu_at_us,
                received_bytes: Some(bearer.measured.received_bytes),
            };
            if let Some(limit) = &mut bearer.drql_limit {
                limit.tti(&status);
            }
            let Bearer { f1, cell: Some(place), .. } = bearer else { continue };
            match f1 {
                None => self.hear_rlc_status(index, &status),
                Some(f1) => {
                    if let Some((at_us, told)) = f1.tell(&status, &self.cell, *place) {
                        self.f1_up.push(at_us, (index, told));
                    }
                }
            }
        }
    }

    /// Where an AQM stands in place of the RLC's FIFO, the MAC draws from it what a slot can
    /// carry, right before it schedules: first the bearers that it serves first.
    fn fill_from_rlc_queues(&mut self) {
        let Self { bearers, drawn, cell, now_us, .. } = self;
        for index in drawn.iter() {
            let bearer = &mut bearers[*index as usize];
            let (Some(place), Some(queue)) = (bearer.cell, bearer.rlc_queue.as_mut()) else {
                continue;
            };
            while cell.room_in_coming_slot_bytes(place) > 0
                && let Some(packet) = queue.dequeue(*now_us)
            {
                let f1 = bearer.f1.as_deref_mut();
                let measured = &mut bearer.measured;
                RlcDoor { cell, place, queue: None, limit: None, f1, measured }
                    .enqueue(packet, None, *now_us);
            }
        }
    }

    /// The last byte of an SDU went to the MAC; the packet is at the UE when it is decoded.
    fn drained(&mut self, delivery: Delivery<GnbPacket>) {
        let packet = delivery.sdu;
        let Bearer { measured, rnti, drb, is_am, .. } = &mut self.bearers[packet.bearer as usize];
        let sojourn_us = delivery.dequeued_us - packet.ingress_us;
        measured.drained_packets += 1;
        measured.drained_bytes += u64::from(packet.len_bytes());
        measured.rlc_sojourn.record(delivery.dequeued_us - packet.rlc_us);
        if !*is_am {
            measured.removed.add(delivery.dequeued_us - packet.rlc_us);
        }
        measured.sojourn.record(sojourn_us);
        let flow = self.flow_of[packet.inner.flow as usize];
        self.flows[flow as usize].queuing.record(sojourn_us);
        if let Some(packets) = &mut self.packets {
            packets.push(PacketSample {
                flow,
                rnti: *rnti,
                drb: *drb,
                len_bytes: packet.len_bytes(),
                sent_us: packet.inner.sent_us,
                sdap_us: packet.ingress_us,
                rlc_us: packet.rlc_us,
                mac_us: delivery.dequeued_us,
                ue_us: delivery.delivered_us,
                ce: packet.inner.ecn == traffic::Ecn::Ce,
                age_us: match &packet.inner.body {
                    Body::Tcp(segment) => segment.age_us,
                    _ => 0,
                },
            });
        }
        self.radio_down.push(delivery.delivered_us.max(self.now_us), packet);
    }

    /// The CU learns what an RLC holds.
    pub(super) fn hear_rlc_status(&mut self, index: u32, status: &RlcStatus) {
        let bearer = &mut self.bearers[index as usize];
        if bearer.cell.is_none() {
            return;
        }
        if let Some(query) = &mut bearer.rlc_query {
            query.on_status();
        }
        bearer.tc.rlc_status(status, self.now_us);
        if bearer.tc.backlog_packets() > 0 {
            self.poll_bearer(index);
        }
    }

    fn arrive_at_ue(&mut self, packet: &GnbPacket) {
        if self.bearers[packet.bearer as usize].cell.is_none() {
            return;
        }
        let flow = self.flow_of[packet.inner.flow as usize];
        let mut sent = std::mem::take(&mut self.sent);
        self.flows[flow as usize].ends.ue.on_packet(&packet.inner, self.now_us, &mut sent);
        self.ue_sends(flow, &mut sent);
        self.sent = sent;
    }

    fn arrive_at_server(&mut self, packet: &traffic::Packet) {
        let mut sent = std::mem::take(&mut self.sent);
        let flow = self.flow_of[packet.flow as usize];
        let server = &mut self.flows[flow as usize].ends.server;
        server.on_packet(packet, self.now_us, &mut sent);
        self.server_sends(flow, &mut sent);
        self.sent = sent;
    }

    /// Sends what a server has to say and asks for its next deadline.
    fn server_sends(&mut self, flow: u32, sent: &mut Vec<traffic::Packet>) {
        let bound = &mut self.flows[flow as usize];
        self.timers.set(2 * flow, bound.ends.server.next_deadline_us());
        for packet in sent.drain(..) {
            let jitter_us = self.core_jitter.below(u64::from(self.split.core_jitter_us) + 1);
            let at_us = self.now_us + bound.core_delay_us + jitter_us;
            bound.core_last_us = at_us.max(bound.core_last_us);
            self.core_down.push(bound.core_last_us, GnbPacket::new(packet, bound));
        }
    }

    /// Sends what a UE has to say over its uplink and asks for its next deadline.
    fn ue_sends(&mut self, flow: u32, sent: &mut Vec<traffic::Packet>) {
        let bound = &self.flows[flow as usize];
        self.timers.set(2 * flow + 1, bound.ends.ue.next_deadline_us());
        if sent.is_empty() {
            return;
        }
        let bearer = &mut self.bearers[bound.bearer as usize];
        let Some(place) = bearer.cell else {
            sent.clear();
            return;
        };
        let core_us = bound.core_delay_us;
        for packet in sent.drain(..) {
            let len_bytes = packet.len_bytes + bound.ip_version.extra_bytes();
            let sent = self.cell.send_uplink(place, len_bytes, self.now_us);
            let Some(at_us) = sent else { continue };
            bearer.measured.uplink_bytes += u64::from(len_bytes);
            let at_cu = bearer.f1.as_mut().map_or(Some(at_us), |f1| f1.send_up(at_us));
            let Some(at_us) = at_cu else { continue };
            self.uplink.push(at_us + core_us, packet);
        }
    }

    fn fire(&mut self, timer: u32) {
        let ends = 2 * self.flows.len() as u32;
        if timer >= ends {
            let index = timer - ends;
            let bearer = &mut self.bearers[index as usize];
            bearer.tc.tick(self.now_us, &mut bearer.tally);
            self.run_sdap_scheduler(index);
            self.pass_on_events(index);
            return;
        }
        let flow = timer / 2;
        let mut sent = std::mem::take(&mut self.sent);
        let ends = &mut self.flows[flow as usize].ends;
        if timer.is_multiple_of(2) {
            ends.server.poll(self.now_us, &mut sent);
            self.server_sends(flow, &mut sent);
        } else {
            ends.ue.poll(self.now_us, &mut sent);
            self.ue_sends(flow, &mut sent);
        }
        self.sent = sent;
    }
}

/// Delays of SDUs that status reports removed from an AM bearer's buffer.
fn removals(cell: &mut Cell<GnbPacket>, bearer: &Bearer) -> SduDelays {
    let removed = bearer.cell.and_then(|place| cell.take_removed(place)).unwrap_or_default();
    f1::narrowed(&removed)
}

/// Where packets enter a bearer's RLC.
struct RlcDoor<'a> {
    cell: &'a mut Cell<GnbPacket>,
    place: BearerIndex,
    /// What stands in place of the RLC's FIFO.
    queue: Option<&'a mut RlcQueue>,
    /// DRQL's limit where the DU keeps it.
    limit: Option<&'a mut DrqlLimit>,
    f1: Option<&'a mut F1Bearer>,
    measured: &'a mut Measured,
}

impl RlcDoor<'_> {
    /// Takes a packet, with the COUNT it has when F1-U gave it one.
    fn put(&mut self, mut packet: GnbPacket, count: Option<u64>, now_us: u64) {
        packet.rlc_us = now_us;
        let len_bytes = u64::from(packet.len_bytes());
        if self.limit.as_mut().is_some_and(|limit| !limit.takes(len_bytes)) {
            self.measured.rlc_dropped_packets += 1;
            return;
        }
        match &mut self.queue {
            Some(queue) => queue.enqueue(packet, now_us),
            None => self.enqueue(packet, count, now_us),
        }
    }

    /// Puts a packet in the RLC itself. What comes out of an AQM has no COUNT yet: what was lost or
    /// dropped before it leaves no hole.
    fn enqueue(&mut self, packet: GnbPacket, count: Option<u64>, now_us: u64) {
        let number = packet.f1_number;
        let count = count.or_else(|| self.cell.next_count(self.place)).unwrap_or(0);
        match (self.cell.enqueue_numbered(self.place, count, packet, now_us), &mut self.f1) {
            (Ok(()), Some(f1)) => f1.taken(number, count),
            (Ok(()), None) => {}
            (Err(_), _) => self.measured.rlc_dropped_packets += 1,
        }
    }
}
