//! Attachment and release of UEs.

use e2sm_tc::v1::EventKind;

use super::World;
use super::bearer::Bearer;
use super::build::UePlan;
use super::cells::Place;
use super::links::Line;
use super::timers::Timer;

/// The UEs of the scenario and their future attachments and releases.
#[derive(Clone, Debug)]
pub(crate) struct Ues {
    pub(crate) plans: Vec<UePlan>,
    /// UEs that attach (`true`) or leave.
    pub(crate) attachments: Line<(u32, bool)>,
}

impl Ues {
    pub(crate) fn new(plans: Vec<UePlan>) -> Self {
        let mut attachments = Line::default();
        for (index, ue) in (0..).zip(&plans) {
            attachments.push(ue.join_us, (index, true));
            if let Some(leave_us) = ue.leave_us {
                attachments.push(leave_us, (index, false));
            }
        }
        Self { plans, attachments }
    }
}

impl World {
    /// Attaches a UE with its bearers, of several cells to the best.
    pub(super) fn attach(&mut self, ue: u32) {
        let cell = self.select_cell(ue);
        let plan = &self.ues.plans[ue as usize];
        let config = plan.config_in(cell);
        let rnti = config.rnti;
        // Fails never: `build` validated the configuration.
        if self.cells[cell].add_ue(config).is_err() {
            return;
        }
        for (index, config) in plan.bearers.clone() {
            let bearer = self.cells[cell].add_bearer(rnti, config).ok();
            self.bearers.add_to_cell(index, bearer.map(|bearer| Place { cell, bearer }));
            self.report_event(index, EventKind::BearerAdded);
            let Bearer { tc, tally, drb, .. } = &mut self.bearers[index as usize];
            let start = self.e2.node_default.start_of(*drb, &tc.qos(), self.now_us);
            if let Some(start) = start {
                tc.start_with(start, self.now_us, tally);
                self.report_pipeline_events(index);
            }
        }
    }

    /// Releases a UE; its queued packets are lost.
    pub(super) fn release(&mut self, ue: u32) {
        self.end_measurements(ue);
        let plan = &self.ues.plans[ue as usize];
        let bearers: Vec<u32> = plan.bearers.iter().map(|(index, _)| *index).collect();
        let mut served = None;
        for index in &bearers {
            let bearer = &mut self.bearers[*index as usize];
            let Some(place) = bearer.cell else { continue };
            served = Some((place.cell, bearer.rnti));
            let failures = self.cells.radio_link_failures(place);
            bearer.measured.radio_link_failures += failures.unwrap_or(0);
            let undelivered = self.cells.sdus_undelivered(place).unwrap_or(0);
            bearer.measured.released_packets += undelivered as u64;
        }
        if let Some((cell, rnti)) = served {
            self.cells[cell].remove_ue(rnti);
        }
        let Some(rnti) = bearers.first().map(|index| self.bearers[*index as usize].rnti) else {
            return;
        };
        let (held, uplink) = self.sdap.release(rnti);
        for packet in held {
            self.bearers[packet.bearer as usize].measured.released_packets += 1;
        }
        self.flows.leave_sdap(uplink, &mut self.links);
        for index in bearers {
            let bearer = &mut self.bearers[index as usize];
            bearer.cell = None;
            let held = bearer.rlc_queue.as_ref().map_or(0, |queue| queue.backlog().1);
            bearer.measured.released_packets +=
                u64::from(bearer.tc.backlog_packets()) + u64::from(held);
            self.timers.set(Timer::Bearer(index), None);
            self.report_event(index, EventKind::BearerRemoved);
        }
    }
}
