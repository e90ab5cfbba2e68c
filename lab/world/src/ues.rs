//! Attachment and release of UEs.

use e2sm_tc::v1::EventKind;

use super::World;
use super::bearer::Bearer;
use super::build::UePlan;
use super::links::Line;
use super::timers::Timer;

/// The UEs of the scenario and their future attachments and releases.
#[derive(Clone, Debug)]
pub(crate) struct Ues {
    plans: Vec<UePlan>,
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
    /// Attaches a UE with its bearers.
    pub(super) fn attach(&mut self, ue: u32) {
        let plan = &self.ues.plans[ue as usize];
        // Fails never: `build` validated the configuration.
        if self.cell.add_ue(plan.config.clone()).is_err() {
            return;
        }
        let rnti = plan.config.rnti;
        for (index, config) in plan.bearers.clone() {
            self.bearers.add_to_cell(index, self.cell.add_bearer(rnti, config).ok());
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
        let plan = &self.ues.plans[ue as usize];
        let rnti = plan.config.rnti;
        let bearers: Vec<u32> = plan.bearers.iter().map(|(index, _)| *index).collect();
        for index in &bearers {
            let bearer = &mut self.bearers[*index as usize];
            let Some(place) = bearer.cell else { continue };
            let failures = self.cell.radio_link_failures(place);
            bearer.measured.radio_link_failures += failures.unwrap_or(0);
            let undelivered = self.cell.sdus_undelivered(place).unwrap_or(0);
            bearer.measured.released_packets += undelivered as u64;
        }
        self.cell.remove_ue(rnti);
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
