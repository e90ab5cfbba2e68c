//! UEs come and go.

use e2sm_tc::v1::EventKind;

use super::World;

impl World {
    /// A UE attaches with its bearers.
    pub(super) fn attach(&mut self, ue: u32) {
        let plan = &self.ues[ue as usize];
        // Configuration was checked when the world was built: a throw-away cell took it.
        if self.cell.add_ue(plan.config.clone()).is_err() {
            return;
        }
        let rnti = plan.config.rnti;
        let bearers = plan.bearers.clone();
        for (index, config) in bearers {
            let place = self.cell.add_bearer(rnti, config).ok();
            if let Some(place) = place {
                self.by_place.resize(place + 1, u32::MAX);
                self.by_place[place] = index;
            }
            self.bearers[index as usize].cell = place;
            self.report_event(index, EventKind::BearerAdded);
        }
    }

    /// A UE is released; what was queued for it is lost.
    pub(super) fn release(&mut self, ue: u32) {
        let plan = &self.ues[ue as usize];
        let rnti = plan.config.rnti;
        let bearers: Vec<u32> = plan.bearers.iter().map(|(index, _)| *index).collect();
        for index in &bearers {
            let bearer = &mut self.bearers[*index as usize];
            let failures = bearer.cell.and_then(|place| self.cell.radio_link_failures(place));
            bearer.measured.radio_link_failures += failures.unwrap_or(0);
        }
        let queued = self.cell.remove_ue(rnti).unwrap_or_default();
        for packet in queued {
            self.bearers[packet.bearer as usize].measured.released_packets += 1;
        }
        for index in bearers {
            let bearer = &mut self.bearers[index as usize];
            bearer.cell = None;
            let held = bearer.rlc_queue.as_ref().map_or(0, |queue| queue.backlog().1);
            bearer.measured.released_packets +=
                u64::from(bearer.tc.backlog_packets()) + u64::from(held);
            self.timers.set(2 * self.flows.len() as u32 + index, None);
            self.report_event(index, EventKind::BearerRemoved);
        }
    }
}
