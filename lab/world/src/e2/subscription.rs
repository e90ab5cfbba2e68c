//! A RIC subscription: its checked trigger and actions, and what it has reported so far.

use std::collections::HashMap;
use std::sync::Arc;

use e2sm_tc::v0;
use e2sm_tc::v1::{
    self, ActionDefinition, BearerId, Event, EventKind, EventTrigger, Quantity, ReportStyle,
};
use tc_rf::ReportCursor;

use super::types::{RanFunction, SubscribeError, SubscriptionRequest};
use crate::reports::kpm::{self, UeCounters};

/// Longest period of the plain service models; that of E2SM-TC v1.
const MAX_PERIOD_MS: u32 = 60_000;

/// Time of a report that nothing has triggered yet.
pub(super) const NEVER: u64 = u64::MAX;

/// A subscription in force.
#[derive(Clone, Debug)]
pub(super) struct Subscription {
    pub(super) function: RanFunction,
    pub(super) what: What,
    pub(super) when: When,
    /// Time of the next report; [`NEVER`] until an event triggers it.
    pub(super) next_us: u64,
    pub(super) sequence: u64,
    /// Events of TC v1 not yet reported.
    pub(super) events: Vec<Event>,
    /// Bearers that triggered the report that is due; empty means all.
    pub(super) causes: Vec<BearerId>,
    /// State of a threshold trigger by bearer index.
    watched: HashMap<u32, Watched>,
    /// KPM: counters at the last report by RNTI.
    pub(super) kpm_before: HashMap<u16, UeCounters>,
    /// TC v1: progress of each action, by position, through the totals of each bearer.
    pub(super) cursors: HashMap<(usize, u32), ReportCursor>,
}

/// A bearer under a threshold trigger.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    is_above: bool,
    reported_us: Option<u64>,
    drops_before: u64,
}

/// A bearer whose watched quantity is compared with the threshold.
pub(super) struct Sample {
    pub(super) index: u32,
    pub(super) bearer: BearerId,
    pub(super) dropped_packets: u64,
}

impl Subscription {
    pub(super) fn new(
        function: RanFunction,
        request: &SubscriptionRequest,
        now_us: u64,
    ) -> Result<Self, SubscribeError> {
        let (what, when) = parse(function, request)?;
        let mut subscription = Self {
            function,
            what,
            when,
            next_us: NEVER,
            sequence: 0,
            events: Vec::new(),
            causes: Vec::new(),
            watched: HashMap::new(),
            kpm_before: HashMap::new(),
            cursors: HashMap::new(),
        };
        subscription.schedule_next(now_us);
        Ok(subscription)
    }

    /// The next multiple of the period, so that a report shows the state after a slot.
    pub(super) fn schedule_next(&mut self, now_us: u64) {
        self.next_us = match self.when {
            When::Every { period_us } => (now_us / period_us + 1) * period_us,
            When::Above { .. } | When::OnChange => NEVER,
        };
    }

    /// Adds an event of the TC RAN function.
    pub(super) fn add_event(&mut self, event: &Event, now_us: u64) {
        let What::TcV1(actions) = &self.what else { return };
        if matches!(self.when, When::Above { .. })
            || !actions.iter().any(|action| concerns(action, &event.bearer))
        {
            return;
        }
        if actions.iter().any(|action| action.style == ReportStyle::Events) {
            self.events.push(event.clone());
        }
        if matches!(self.when, When::OnChange) {
            self.causes.push(event.bearer);
            self.next_us = now_us;
        }
    }

    /// Packets of a bearer dropped before the subscription do not count towards a threshold.
    pub(super) fn start_watching(&mut self, index: u32, drops_before: u64) {
        self.watched.insert(index, Watched { drops_before, ..Watched::default() });
    }

    /// Compares a bearer with the threshold: a report is due when `quantity` rises above it.
    /// `quantity` takes the drops since the last report.
    pub(super) fn check_threshold(
        &mut self,
        sample: &Sample,
        now_us: u64,
        epoch_us: u64,
        value_of: impl FnOnce(Quantity, u64) -> u32,
    ) {
        let (When::Above { quantity, above, hysteresis, min_interval_us }, What::TcV1(actions)) =
            (self.when, &self.what)
        else {
            return;
        };
        let Sample { index, bearer, dropped_packets } = *sample;
        if !actions.iter().any(|action| concerns(action, &bearer)) {
            return;
        }
        let watched = self.watched.entry(index).or_default();
        let value = value_of(quantity, dropped_packets - watched.drops_before);
        if watched.is_above {
            watched.is_above = value >= above - hysteresis;
            return;
        }
        let waits = watched.reported_us.is_some_and(|at_us| now_us < at_us + min_interval_us);
        if value <= above || waits {
            return;
        }
        *watched =
            Watched { is_above: true, reported_us: Some(now_us), drops_before: dropped_packets };
        let kind = EventKind::ThresholdCrossed { quantity, value };
        self.events.push(Event { bearer, at_us: epoch_us + now_us, kind });
        self.causes.push(bearer);
        self.next_us = now_us;
    }
}

/// What a subscription reports.
#[derive(Clone, Debug)]
pub(super) enum What {
    Rlc,
    Mac,
    Kpm { wanted: Vec<&'static str>, unsupported: Arc<[String]> },
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

fn parse(
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
            What::Kpm { wanted, unsupported: unsupported.into() }
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
