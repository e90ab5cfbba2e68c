//! Ranges of a flow's keys, and whether its bearer exists.

use std::collections::HashSet;

use crate::error::Violation;
use crate::flow::{Flow, FlowKeys, FlowUe};
use crate::rules::{Bearers, Check, MAX_DELAY_US, span, within};

pub(super) fn flows(flows: &[Flow], bearers: &Bearers) -> Check {
    let mut names = HashSet::new();
    for (index, flow) in flows.iter().enumerate() {
        let path = format!("flows[{index}]");
        let keys = &flow.keys;
        if keys.name.is_empty() || keys.name.len() > 64 {
            let message = format!("'{}' has {} bytes; expected 1..=64", keys.name, keys.name.len());
            return Err(Violation::new(format!("{path}.name"), message));
        }
        within(format_args!("{path}.count"), keys.count, 1..=64)?;
        if let Some(taken) = flow.names().find(|name| !names.insert(name.clone())) {
            let message = format!("'{taken}' is taken by an earlier flow");
            return Err(Violation::new(format!("{path}.name"), message));
        }
        let jitter_ms = keys.start_jitter_ms.unwrap_or(0);
        within(format_args!("{path}.start_jitter_ms"), jitter_ms, 0..=60_000)?;
        span(&path, ("start_s", keys.start_s), ("stop_s", keys.stop_s))?;
        let core_delay_us = keys.core_delay_us.unwrap_or(0);
        within(format_args!("{path}.core_delay_us"), core_delay_us, 0..=MAX_DELAY_US)?;
        within(format_args!("{path}.dscp"), keys.dscp, 0..=63)?;
        within(format_args!("{path}.qfi"), keys.qfi.unwrap_or(0), 0..=63)?;
        bearer(keys, bearers, &path)?;
        flow.config().validate().map_err(|error| {
            let message = format!("{}; expected {}", error.value, error.expected);
            Violation::new(format!("{path}.{}", error.field), message)
        })?;
    }
    Ok(())
}

fn bearer(keys: &FlowKeys, bearers: &Bearers, path: &str) -> Check {
    let rntis: Vec<u16> = match keys.rnti {
        Some(FlowUe::Rnti(rnti)) if bearers.contains_key(&rnti) => vec![rnti],
        Some(FlowUe::Rnti(rnti)) => {
            let message = format!("{rnti} is no UE of this scenario");
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
        Some(FlowUe::Each) => bearers.keys().copied().collect(),
        None if bearers.len() == 1 => bearers.keys().copied().collect(),
        None => {
            let message = format!("missing; there are {} UEs", bearers.len());
            return Err(Violation::new(format!("{path}.rnti"), message));
        }
    };
    let Some(drb) = keys.drb else { return Ok(()) };
    match rntis.iter().filter(|rnti| !bearers[rnti].contains(&drb)).min() {
        None => Ok(()),
        Some(rnti) => {
            let message = format!("{drb} is no DRB of UE {rnti}");
            Err(Violation::new(format!("{path}.drb"), message))
        }
    }
}
