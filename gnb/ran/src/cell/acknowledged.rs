//! AM bearers of a cell, slot by slot.

use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;

impl<P: Sdu> Cell<P> {
    /// At the start of a slot, before the MAC schedules: status reports arrive at the DU and are
    /// sent by the UEs, and timers of the transmitters expire.
    pub(super) fn begin_acknowledged(&mut self, now_us: u64, out: &mut Vec<Delivery<P>>) {
        let mut bearers = std::mem::take(&mut self.acknowledged);
        bearers.retain(|index| {
            let Some(bearer) = self.bearers[*index].as_mut() else { return false };
            let Some(ue) = self.ues[bearer.ue].as_mut() else { return false };
            let before = bearer.demand_bytes();
            let reported = bearer.begin_slot(*index, now_us, &mut ue.uplink, out);
            if reported.pdus > 0 {
                ue.counters.count_control(reported.block_bytes, reported.bytes, reported.pdus);
            }
            self.totals.radio_link_failures += reported.failures;
            if bearer.demand_bytes() != before {
                self.backlog_changed(*index);
            }
            true
        });
        self.acknowledged = bearers;
    }

    /// What the UEs of AM bearers get until `until_us`.
    pub(super) fn receive_acknowledged(&mut self, until_us: u64, out: &mut Vec<Delivery<P>>) {
        for index in &self.acknowledged {
            if let Some(bearer) = self.bearers[*index].as_mut() {
                bearer.receive_until(*index, until_us, out);
            }
        }
    }

    /// What a bearer may send has changed by itself: its UE's backlog follows.
    pub(super) fn backlog_changed(&mut self, index: BearerIndex) {
        let Some(at) = self.bearers[index].as_ref().map(|bearer| bearer.ue) else { return };
        let Some(ue) = self.ues[at].as_mut() else { return };
        let bearers = ue.bearers.iter().filter_map(|index| self.bearers[*index].as_ref());
        ue.backlog_bytes = bearers.map(|bearer| bearer.demand_bytes()).sum();
        let is_backlogged = ue.backlog_bytes > 0;
        if is_backlogged != ue.is_backlogged {
            ue.is_backlogged = is_backlogged;
            let backlogged = &mut self.slices[ue.slice].backlogged;
            if is_backlogged {
                backlogged.push_back(at);
            } else {
                backlogged.retain(|other| *other != at);
            }
        }
    }
}
