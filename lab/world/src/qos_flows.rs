//! Moves of QoS flows between the DRBs of a UE.

use super::World;
use super::bearer::Bearer;
use super::links::FromUe;
use super::sdap::{END_MARKER_BYTES, SdapEvent};

impl World {
    /// Maps a QoS flow to another bearer of its UE.
    pub(crate) fn move_qos_flow(&mut self, flow: u32, to: u32) {
        let Some(from) = self.sdap.down(flow) else { return };
        let Bearer { measured, tally, .. } = &mut self.bearers[from as usize];
        measured.flow_counts.dropped(&mut tally.dropped_flows);
        let event = self.sdap.move_flow(flow, to, &measured.flow_counts, self.now_us);
        self.flows.moved(flow, to, self.bearers[to as usize].drb);
        if let Some(event) = event {
            self.on_sdap(event);
        }
    }

    /// Runs what is due in SDAP.
    pub(super) fn run_sdap(&mut self) {
        while let Some(event) = self.sdap.pop_due(self.now_us) {
            self.on_sdap(event);
        }
    }

    fn on_sdap(&mut self, event: SdapEvent) {
        match event {
            SdapEvent::Move { flow, to } => self.move_qos_flow(flow, to),
            SdapEvent::Enter(packets) => {
                for packet in packets {
                    let (cu, _, mut gnb) = self.parts();
                    let index = cu.enter_pipeline(packet, &mut gnb);
                    self.report_events_of(index);
                }
            }
            SdapEvent::EndMarker { flow, bearer } => self.send_end_marker(flow, bearer),
            SdapEvent::Leave(packets) => self.flows.leave_sdap(packets, &mut self.links),
        }
    }

    fn send_end_marker(&mut self, flow: u32, bearer: u32) {
        let Some(place) = self.bearers[bearer as usize].cell else { return };
        let tag = self.links.at_ues.insert(FromUe::EndMarker(flow));
        let cell = &mut self.cells[place.cell];
        if !cell.send_uplink(place.bearer, tag, END_MARKER_BYTES, self.now_us) {
            self.links.at_ues.take(tag);
        }
        let (_, flows, mut gnb) = self.parts();
        flows.leave_gnb(&mut gnb);
    }
}
