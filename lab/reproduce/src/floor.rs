//! The delay floor: the delays of a clairvoyant scheduler for the same arrivals on the same radio, with
//! all resource blocks used.

use serde::{Deserialize, Serialize};

use super::observe::{FlowObserved, Observed};
use lab_scenario::{LoadedScenario, ScenarioError};
use lab_world::World;
use lab_world::clairvoyant::{self, Arrival, Queueing, Rules};

/// Longest IP packet of bulk flows.
const BULK_PACKET_BYTES: u32 = 1_500;

/// Flows of a floor, and the queueing of the clairvoyant scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FloorOf {
    /// Kind of the flows served first, all of one UE.
    pub kind: String,
    /// Whether they share the RLC with bulk, so that a bulk packet sent in part is finished first;
    /// otherwise they have their own bearer.
    #[serde(default)]
    pub shared: bool,
}

/// Replaces the delays of the flows by their floor, and removes what depends on the senders of other
/// flows.
pub(super) fn apply(
    run: &mut Observed,
    of: &FloorOf,
    loaded: &LoadedScenario,
) -> Result<(), ScenarioError> {
    let served = |flow: &FlowObserved| flow.kind == of.kind;
    let Some(rnti) = run.flows.iter().find(|flow| served(flow)).map(|flow| flow.rnti) else {
        let message = format!("no flow of kind {}; expected one for its floor", of.kind);
        return Err(ScenarioError::new(&loaded.file, "flows", message));
    };
    let slots = World::capacity_series(loaded, rnti, run.watch.to_us)?;
    let slots: Vec<_> = slots.into_iter().filter(|s| s.time_us >= run.watch.from_us).collect();
    // Arrival time, flow and packet.
    let mut order: Vec<(u64, usize, usize)> = Vec::new();
    for (index, flow) in run.flows.iter().enumerate().filter(|(_, flow)| served(flow)) {
        let arrived = flow.left_us.iter().zip(&flow.sojourn_us);
        order.extend(arrived.enumerate().map(|(packet, (left_us, sojourn_us))| {
            (left_us - u64::from(*sojourn_us), index, packet)
        }));
    }
    order.sort_unstable();
    let arrivals: Vec<Arrival> = order
        .iter()
        .map(|(time_us, flow, packet)| Arrival {
            time_us: *time_us,
            bytes: run.flows[*flow].len_bytes[*packet].max(1),
        })
        .collect();
    let queueing = if of.shared {
        Queueing::Shared { bulk_packet_bytes: BULK_PACKET_BYTES }
    } else {
        Queueing::Own
    };
    let floor = clairvoyant::floor(&arrivals, &slots, &Rules { queueing, ..Rules::default() })
        .map_err(|error| ScenarioError::new(&loaded.file, "flows", error.to_string()))?;
    for flow in &mut run.flows {
        flow.goodput_bps = f64::NAN;
        flow.goodput_mbps_over_s.clear();
        flow.overall_us.clear();
        if flow.kind != of.kind {
            flow.sojourn_us.clear();
            flow.one_way_us.clear();
            flow.rtt_us.clear();
        }
    }
    let mut least: Vec<Vec<Option<u64>>> =
        run.flows.iter().map(|flow| vec![None; flow.sojourn_us.len()]).collect();
    for ((_, flow, packet), delay_us) in order.iter().zip(&floor.delays_us) {
        least[*flow][*packet] = *delay_us;
    }
    for (flow, least) in run.flows.iter_mut().zip(least) {
        set_delays(flow, &least);
    }
    run.occupancy.clear();
    run.summary.flows.clear();
    (run.used_prb, run.available_prb) = (floor.flow_bytes + floor.bulk_bytes, floor.capacity_bytes);
    Ok(())
}

/// Sets the delays of a flow and shortens its end-to-end delays accordingly. Packets not served by the
/// end of the slots are left out.
fn set_delays(flow: &mut FlowObserved, least_us: &[Option<u64>]) {
    let saved_us: Vec<u64> = flow
        .sojourn_us
        .iter()
        .zip(least_us)
        .map(|(run_us, least_us)| u64::from(*run_us).saturating_sub(least_us.unwrap_or(u64::MAX)))
        .collect();
    for (at_us, rtt_us) in &mut flow.rtt_us {
        let last = flow.left_us.partition_point(|left_us| *left_us <= *at_us);
        let saved_us = last.checked_sub(1).and_then(|packet| saved_us.get(packet));
        *rtt_us = rtt_us.saturating_sub(saved_us.copied().unwrap_or(0));
    }
    for (one_way_us, saved_us) in flow.one_way_us.iter_mut().zip(&saved_us) {
        *one_way_us = one_way_us.saturating_sub(*saved_us as u32);
    }
    flow.sojourn_us = least_us.iter().flatten().map(|us| *us as u32).collect();
    flow.sdap_us.clone_from(&flow.sojourn_us);
}
