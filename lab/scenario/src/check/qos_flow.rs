//! QoS flows of a UE: each is on one DRB at a time.

use std::collections::HashMap;

use crate::error::Violation;
use crate::model::{Scenario, Ue};
use crate::rules::{Check, MAX_TIME_S, ensure, within};

/// QFIs of DRBs, and moves, of one UE.
pub(super) fn check(ue: &Ue, path: &str) -> Check {
    let mut taken = HashMap::new();
    for (at, drb) in ue.drbs.iter().enumerate() {
        for (index, qfi) in drb.qfis.iter().enumerate() {
            let path = format!("{path}.drbs[{at}].qfis[{index}]");
            within(&path, *qfi, 0..=63)?;
            if let Some(other) = taken.insert(*qfi, drb.id) {
                let message = format!("{qfi} is on DRB {other} already; expected one DRB a QFI");
                return Err(Violation::new(path, message));
            }
        }
    }
    for (index, moved) in ue.qos_flow_moves.iter().enumerate() {
        let path = format!("{path}.qos_flow_moves[{index}]");
        within(format_args!("{path}.at_s"), moved.at_s, 0.0..=MAX_TIME_S)?;
        within(format_args!("{path}.qfi"), moved.qfi, 0..=63)?;
        let is_own = ue.drbs.iter().any(|drb| drb.id == moved.drb);
        let message = format_args!("{} is no DRB of this UE", moved.drb);
        ensure(is_own, format_args!("{path}.drb"), message)?;
    }
    Ok(())
}

/// Flows of a QFI are on the DRB that carries it.
pub(super) fn flows(scenario: &Scenario) -> Check {
    for ue in &scenario.ues {
        let of_drbs = ue.drbs.iter().flat_map(|drb| drb.qfis.iter().map(|qfi| (*qfi, drb.id)));
        let mapped: HashMap<u8, u8> = of_drbs.collect();
        for rnti in ue.rnti..=ue.rnti + (ue.count - 1) {
            let mut mapped = mapped.clone();
            for (index, flow) in scenario.flows.iter().enumerate() {
                let (Some(qfi), Some(drb)) = (flow.keys.qfi, flow.keys.drb) else { continue };
                if !flow.is_of(rnti) {
                    continue;
                }
                let known = *mapped.entry(qfi).or_insert(drb);
                let path = format_args!("flows[{index}].drb");
                let message = format_args!(
                    "{drb}; QFI {qfi} of UE {rnti} is on DRB {known}, expected one DRB a QFI"
                );
                ensure(known == drb, path, message)?;
            }
        }
    }
    Ok(())
}
