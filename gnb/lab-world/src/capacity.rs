//! What the radio of a scenario could carry, slot by slot, known ahead.

use ran::Delivery;

use super::packet::GnbPacket;
use super::{World, build};
use crate::clairvoyant::Slot;
use lab_scenario::{LoadedScenario, ScenarioError};

impl World {
    /// The capacity of every slot that begins before `until_us`, if the UE `rnti` had all of it: the
    /// same channel, seed and reserved PRBs as when the scenario runs. Slots without downlink, or
    /// without the UE, carry 0 bytes. For [`clairvoyant::floor`](crate::clairvoyant::floor).
    ///
    /// # Errors
    /// [`ScenarioError`] as [`World::new`], and when the scenario has no such UE.
    pub fn capacity_series(
        loaded: &LoadedScenario,
        rnti: u16,
        until_us: u64,
    ) -> Result<Vec<Slot>, ScenarioError> {
        let parts = build::parts(loaded)?;
        let Some(plan) = parts.ues.iter().find(|plan| plan.config.rnti == rnti) else {
            let message = format!("{rnti} is no UE of this scenario");
            return Err(ScenarioError::new(&loaded.file, "ues", message));
        };
        let mut cell = parts.cell;
        let mut nothing: Vec<Delivery<GnbPacket>> = Vec::new();
        let mut slots = Vec::new();
        let mut joined = false;
        while cell.next_slot_us() < until_us {
            let time_us = cell.next_slot_us();
            if !joined && plan.join_us <= time_us {
                joined = true;
                cell.add_ue(plan.config.clone())
                    .map_err(|error| ScenarioError::new(&loaded.file, "ues", error.to_string()))?;
            }
            if plan.leave_us.is_some_and(|leave_us| leave_us <= time_us) {
                cell.remove_ue(rnti);
            }
            cell.slot(time_us, &mut nothing);
            let capacity_bytes = cell.last_slot_bytes(rnti).unwrap_or(0);
            slots.push(Slot { time_us, capacity_bytes });
        }
        Ok(slots)
    }
}
