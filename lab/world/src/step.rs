//! The event loop.
//!
//! Events come from links (arrivals), timers (deadlines of state machines) and the cell's slots. Events
//! of the same time run in the fixed order of [`World::run_due`], so a run depends only on scenario and
//! seed.

use ran::Delivery;
use tc_rf::{Packet as _, RlcStatus};
use traffic::Body;

use super::bearer::Bearer;
use super::cu::{Cu, GnbParts};
use super::du;
use super::flows::Flows;
use super::hosts::AirPacket;
use super::kinds::Departure;
use super::links::Left;
use super::measure::SAMPLE_PERIOD_US;
use super::packet::GnbPacket;
use super::snapshot::PacketSample;
use super::timers::Timer;
use super::{Output, World};

impl World {
    /// Time of the next event; `u64::MAX` if there is none.
    pub(super) fn next_event_us(&self) -> u64 {
        self.next_traffic_us().min(self.e2.next_us())
    }

    /// The next event as by [`next_event_us`](Self::next_event_us), without reports and answers.
    fn next_traffic_us(&self) -> u64 {
        [
            self.ues.attachments.next_us(),
            self.e2.next_control_us(),
            self.links.next_us(),
            self.sdap.next_us(),
            self.cells.next_slot_us(),
            self.timers.next_us(),
            self.recording.next_sample_us,
            self.handovers.as_ref().map_or(u64::MAX, |handovers| handovers.next_us()),
        ]
        .into_iter()
        .fold(u64::MAX, u64::min)
    }

    /// The CU, the flows, and the parts that both act on.
    pub(super) fn parts(&mut self) -> (&mut Cu, &mut Flows, GnbParts<'_>) {
        let Self { cu, flows, bearers, cells, links, timers, sdap, now_us, .. } = self;
        (cu, flows, GnbParts { bearers, cells, links, timers, sdap, now_us: *now_us })
    }

    /// Runs what is due now: packets before the slot that may carry them, the slot before timers and
    /// samples, reports last.
    pub(super) fn run_due(&mut self, sink: &mut dyn FnMut(Output)) {
        let now_us = self.now_us;
        while let Some((_, (ue, attaches))) = self.ues.attachments.pop_due(now_us) {
            if attaches { self.attach(ue) } else { self.release(ue) }
        }
        if self.handovers.is_some() {
            self.run_handovers();
        }
        self.apply_due_controls();
        self.run_sdap();
        while let Some((_, packet)) = self.links.core_down.pop_due(now_us) {
            let (cu, _, mut gnb) = self.parts();
            if let Some(index) = cu.enter_sdap(packet, &mut gnb) {
                self.report_events_of(index);
            }
        }
        while let Some((_, (index, frame))) = self.links.f1_up.pop_due(now_us) {
            let (cu, _, mut gnb) = self.parts();
            if cu.on_f1_uplink(index, &frame, &mut gnb) {
                self.report_events_of(index);
            }
        }
        while let Some((_, packet)) = self.links.f1_down.pop_due(now_us) {
            du::enter_rlc(packet, &mut self.parts().2);
        }
        if self.handovers.is_some() {
            self.receive_again();
        }
        du::answer_rlc_queries(&mut self.parts().2);
        self.run_recalls();
        if self.cells.next_slot_us() <= now_us {
            self.slot();
        }
        while let Some((_, packet)) = self.links.radio_down.pop_due(now_us) {
            let (_, flows, mut gnb) = self.parts();
            flows.arrive_at_ue(&packet, &mut gnb);
        }
        while let Some((_, packet)) = self.links.uplink.pop_due(now_us) {
            let (_, flows, mut gnb) = self.parts();
            flows.arrive_at_server(&packet, &mut gnb);
        }
        while let Some(timer) = self.timers.pop_due(now_us) {
            self.fire(timer);
        }
        if self.recording.next_sample_us <= now_us {
            self.recording.next_sample_us = now_us - now_us % SAMPLE_PERIOD_US + SAMPLE_PERIOD_US;
            self.sample();
        }
        if self.next_traffic_us() > now_us {
            self.report(sink);
        }
    }

    fn fire(&mut self, timer: Timer) {
        let (cu, flows, mut gnb) = self.parts();
        match timer {
            Timer::Server(flow) => flows.poll_server(flow, &mut gnb),
            Timer::Ue(flow) => flows.poll_ue(flow, &mut gnb),
            Timer::Bearer(index) => {
                cu.on_timer(index, &mut gnb);
                self.report_events_of(index);
            }
        }
    }

    /// Forwards what the pipeline of a bearer releases.
    pub(super) fn poll_bearer(&mut self, index: u32) {
        let (cu, _, mut gnb) = self.parts();
        cu.poll(index, &mut gnb);
        self.report_events_of(index);
    }

    /// Recalls the SDUs of a bearer that the DU has not started to send.
    pub(super) fn recall_unsent_from_rlc(&mut self, index: u32) {
        let (cu, _, mut gnb) = self.parts();
        cu.recall_unsent(index, &mut gnb);
    }

    fn run_recalls(&mut self) {
        loop {
            let (cu, _, mut gnb) = self.parts();
            let Some((index, polled)) = cu.run_recall(&mut gnb) else { break };
            if polled {
                self.report_events_of(index);
            }
        }
    }

    pub(super) fn report_events_of(&mut self, index: u32) {
        if !self.bearers[index as usize].tally.events.is_empty() {
            self.report_pipeline_events(index);
        }
    }

    /// Runs one slot of each cell and sends the status of each RLC to the CU.
    fn slot(&mut self) {
        let now_us = self.now_us;
        self.bearers.fill_rlc(&mut self.cells, now_us);
        let mut deliveries = std::mem::take(&mut self.deliveries);
        for cell in 0..self.cells.len() {
            self.bearers.serve(cell);
            self.cells[cell].slot_from(&mut self.bearers, now_us, &mut deliveries);
            for delivery in deliveries.drain(..) {
                self.drained(delivery);
            }
        }
        self.deliveries = deliveries;
        self.pass_on_uplink();

        for index in 0..self.bearers.len() as u32 {
            let bearer = &mut self.bearers[index as usize];
            let Some((place, status)) = du::rlc_status(bearer, &mut self.cells, now_us) else {
                continue;
            };
            match &mut bearer.f1 {
                None => {
                    let left = du::left(bearer, &self.cells);
                    self.on_rlc_status(index, &status, &left);
                }
                Some(f1) => {
                    let cell = &self.cells[place.cell];
                    if let Some((at_us, frame)) = f1.report(&status, cell, place.bearer) {
                        let left = du::left(bearer, &self.cells);
                        self.links.f1_up.push(at_us, (index, (frame, left)));
                    }
                }
            }
        }
    }

    /// Passes on the packets of UEs that leave the gNB.
    pub(super) fn pass_on_uplink(&mut self) {
        let (_, flows, mut gnb) = self.parts();
        flows.leave_gnb(&mut gnb);
    }

    fn on_rlc_status(&mut self, index: u32, status: &RlcStatus, left: &Left) {
        let (cu, _, mut gnb) = self.parts();
        if cu.on_rlc_status(index, status, left, &mut gnb) {
            self.report_events_of(index);
        }
    }

    /// Records an SDU whose last byte went to the MAC, and sends it to the UE.
    pub(super) fn drained(&mut self, delivery: Delivery<GnbPacket>) {
        let packet = delivery.sdu;
        let Bearer { measured, rnti, drb, is_am, .. } = &mut self.bearers[packet.bearer as usize];
        let sojourn_us = delivery.dequeued_us - packet.ingress_us;
        measured.drained_packets += 1;
        measured.drained_bytes += u64::from(packet.len_bytes());
        let rlc_us = delivery.dequeued_us - packet.rlc_us;
        let f1_us = u64::from(packet.f1_delay_us);
        let pdcp_us = (packet.rlc_us - packet.ingress_us).saturating_sub(f1_us);
        self.delays.record(pdcp_us, f1_us, rlc_us);
        measured.rlc_sojourn.record(rlc_us);
        if !*is_am {
            measured.removed.add(rlc_us);
        }
        measured.sojourn.record(sojourn_us);
        let departure = Departure {
            flow: packet.flow(),
            len_bytes: packet.len_bytes(),
            ingress_us: packet.ingress_us,
            pipeline_us: pdcp_us,
            sojourn_us,
        };
        measured.by_kind.record(&departure, self.now_us);
        let flow = self.flows.record_sojourn(packet.inner.flow, self.now_us, sojourn_us);
        if let Some(packets) = &mut self.recording.packets {
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
                age_us: packet.inner.body.age_us(),
            });
        }
        if let (Some(air), Body::Host(_)) = (&mut self.recording.air, &packet.inner.body) {
            air.push(AirPacket {
                flow,
                count: delivery.count,
                sdap_us: packet.ingress_us,
                rlc_us: packet.rlc_us,
                mac_us: delivery.dequeued_us,
                ue_us: delivery.delivered_us,
                packet: packet.inner.clone(),
            });
        }
        self.links.radio_down.push(delivery.delivered_us.max(self.now_us), packet);
    }
}
