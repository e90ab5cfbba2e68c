//! Mapping of QoS flows to DRBs, from a scenario.

use lab_scenario::{Flow, Scenario};
use ran::HarqConfig;

use super::{UePlan, micros};
use crate::bearer::Bearer;
use crate::packet::NO_FLOW;
use crate::sdap::{MoveTimes, Sdap};

/// SDAP with the QoS flows that DRBs, flows and moves name; `ues` are in the order of the scenario.
pub(super) fn sdap(
    scenario: &Scenario,
    ues: &[UePlan],
    bearers: &[Bearer],
    harq: &HarqConfig,
) -> Sdap {
    let mut sdap = Sdap::new(MoveTimes {
        hold_us: u64::from(scenario.split.qos_flow_hold_ms) * 1000,
        harq_us: u64::from(harq.phy_delay_us)
            + u64::from(harq.rtt_us) * u64::from(harq.max_transmissions.saturating_sub(1)),
        f1_us: scenario.split.f1_delay_us.into(),
    });
    let entries = scenario.ues.iter().flat_map(|ue| (0..ue.count).map(move |_| ue));
    for (plan, ue) in ues.iter().zip(entries) {
        let rnti = plan.config.rnti;
        if plan.bearers.len() > 1 {
            sdap.set_movable(rnti);
        }
        for ((index, _), drb) in plan.bearers.iter().zip(&ue.drbs) {
            for qfi in &drb.qfis {
                sdap.add(rnti, *qfi, *index);
            }
        }
        let own = |flow: &&Flow| flow.is_of(rnti);
        for flow in scenario.flows.iter().filter(own) {
            if let (Some(qfi), Some(drb)) = (flow.keys.qfi, flow.keys.drb)
                && let Some(index) = bearer_of(plan, bearers, drb)
            {
                sdap.add(rnti, qfi, index);
            }
        }
        for moved in &ue.qos_flow_moves {
            let flow = sdap.add(rnti, moved.qfi, plan.bearers[0].0);
            if let Some(to) = bearer_of(plan, bearers, moved.drb) {
                sdap.schedule(micros(moved.at_s), flow, to);
            }
        }
    }
    sdap
}

/// Index in the world of a DRB of a UE.
pub(super) fn bearer_of(ue: &UePlan, bearers: &[Bearer], drb: u8) -> Option<u32> {
    let numbers = ue.bearers.iter().map(|(number, _)| *number);
    numbers.into_iter().find(|number| bearers[*number as usize].drb == drb)
}

/// The bearer of a flow, and the index of its QoS flow if it can move; `given` is the bearer that it
/// names, or the default one.
pub(super) fn bind(flow: &Flow, ue: &UePlan, given: u32, sdap: &mut Sdap) -> (u32, u32) {
    let Some(qfi) = flow.keys.qfi else { return (given, NO_FLOW) };
    let qos_flow = sdap.add(ue.config.rnti, qfi, given);
    let bearer = sdap.down(qos_flow).unwrap_or(given);
    (bearer, if ue.bearers.len() > 1 { qos_flow } else { NO_FLOW })
}
