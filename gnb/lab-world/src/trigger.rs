//! RIC event triggers and actions of a subscription, checked.

use e2sm_tc::v0;
use e2sm_tc::v1::{self, ActionDefinition, BearerId, EventTrigger, Quantity};

use super::api::{RanFunction, SubscribeError, SubscriptionRequest};
use crate::reports::kpm;

/// Longest period of the plain service models, as of v1.
const MAX_PERIOD_MS: u32 = 60_000;

/// What a subscription reports.
#[derive(Clone, Debug)]
pub(super) enum What {
    Rlc,
    Mac,
    Kpm { wanted: Vec<&'static str>, unsupported: Vec<String> },
    TcV0,
    TcV1(Vec<ActionDefinition>),
}

/// When a subscription reports.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Every { period_us: u64 },
    Above { quantity: Quantity, above: u32, hysteresis: u32, min_interval_us: u64 },
    OnChange,
}

/// Checks a request for the RAN function it names.
pub(super) fn parse(
    function: RanFunction,
    request: &SubscriptionRequest,
) -> Result<(What, When), SubscribeError> {
    if function == RanFunction::TcV1 {
        return Ok((What::TcV1(actions(request)?), v1_trigger(&request.event_trigger)?));
    }
    if let Some(first) = request.action_definitions.iter().position(|bytes| !bytes.is_empty()) {
        return Err(SubscribeError::ActionDefinition {
            index: first,
            message: format!("RAN function {} has none; expected it empty", function.id()),
        });
    }
    let what = match function {
        RanFunction::Rlc => What::Rlc,
        RanFunction::Mac => What::Mac,
        RanFunction::Kpm => {
            let (wanted, unsupported) = kpm::select(&request.kpm_measurements);
            What::Kpm { wanted, unsupported }
        }
        RanFunction::TcV0 | RanFunction::TcV1 => What::TcV0,
    };
    Ok((what, plain_trigger(&request.event_trigger)?))
}

fn plain_trigger(bytes: &[u8]) -> Result<When, SubscribeError> {
    let trigger = v0::decode_event_trigger(bytes)
        .map_err(|error| SubscribeError::EventTrigger { message: error.to_string() })?;
    every(trigger.ms)
}

fn every(period_ms: u32) -> Result<When, SubscribeError> {
    if !(1..=MAX_PERIOD_MS).contains(&period_ms) {
        let message = format!("period {period_ms} ms; expected 1..={MAX_PERIOD_MS}");
        return Err(SubscribeError::EventTrigger { message });
    }
    Ok(When::Every { period_us: u64::from(period_ms) * 1000 })
}

fn v1_trigger(bytes: &[u8]) -> Result<When, SubscribeError> {
    let trigger: EventTrigger = v1::decode(bytes)
        .map_err(|error| SubscribeError::EventTrigger { message: error.to_string() })?;
    match trigger {
        EventTrigger::Periodic { period_ms } => every(period_ms),
        EventTrigger::OnChange => Ok(When::OnChange),
        EventTrigger::Threshold { quantity, above, hysteresis, min_interval_ms } => {
            if hysteresis > above {
                let message = format!("hysteresis {hysteresis}; expected at most above, {above}");
                return Err(SubscribeError::EventTrigger { message });
            }
            let min_interval_us = u64::from(min_interval_ms) * 1000;
            Ok(When::Above { quantity, above, hysteresis, min_interval_us })
        }
    }
}

fn actions(request: &SubscriptionRequest) -> Result<Vec<ActionDefinition>, SubscribeError> {
    if request.action_definitions.is_empty() {
        let message = "missing; TC v1 needs at least one".to_owned();
        return Err(SubscribeError::ActionDefinition { index: 0, message });
    }
    request
        .action_definitions
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            v1::decode(bytes).map_err(|error| SubscribeError::ActionDefinition {
                index,
                message: error.to_string(),
            })
        })
        .collect()
}

/// Whether an action is about a bearer.
pub(super) fn concerns(action: &ActionDefinition, bearer: &BearerId) -> bool {
    action.bearers.is_empty() || action.bearers.contains(bearer)
}
