//! Subscriptions of E2SM-TC v1: what the E2 agent asks reports for.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use e2sm_tc::v1::{
    self, ActionDefinition, BearerId, Event as E2Event, EventKind, EventTrigger, FlowInventory,
    IndicationHeader, IndicationMessage, PipelineStatus, ReportStyle,
};
use tc_rf::ReportCursor;

use crate::Host;
use crate::bearer::Bearer;
use crate::events::{Event, Happening};
use crate::journal::Position;

/// How often the agent should ask for reports on change: as soon as an xApp can make use of one.
const ON_CHANGE_PERIOD_MS: u32 = 10;
/// Longest period that FlexRIC's agent keeps.
const MAX_PERIOD_MS: u32 = 10_000;
/// Subscriptions at a time.
const MAX_SUBSCRIPTIONS: usize = 64;

#[derive(Debug)]
struct Subscription {
    on_change: bool,
    action: ActionDefinition,
    events: Position,
    cursors: BTreeMap<BearerId, ReportCursor>,
}

/// By the agent's number of the RIC request.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<BTreeMap<u32, Subscription>>);

impl Subscriptions {
    /// A poisoned map is usable: entries are inserted and removed as a whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Subscription>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// Begins a subscription; the period at which the agent should ask for its reports, ms.
    ///
    /// # Errors
    /// Why it is refused: bytes that do not decode, a threshold, which this node does not watch, a
    /// period above ten seconds, or too many subscriptions.
    pub fn subscribe_v1(&self, request: u32, trigger: &[u8], action: &[u8]) -> Result<u32, String> {
        let trigger: EventTrigger =
            v1::decode(trigger).map_err(|error| format!("event trigger: {error}"))?;
        let action: ActionDefinition =
            v1::decode(action).map_err(|error| format!("action definition: {error}"))?;
        let (on_change, period_ms) = match trigger {
            EventTrigger::Periodic { period_ms } if period_ms <= MAX_PERIOD_MS => {
                (false, period_ms)
            }
            EventTrigger::Periodic { period_ms } => {
                return Err(format!("period_ms: {period_ms}; expected at most {MAX_PERIOD_MS}"));
            }
            EventTrigger::OnChange => (true, ON_CHANGE_PERIOD_MS),
            EventTrigger::Threshold { .. } => {
                return Err("event trigger: threshold; expected periodic or on_change".to_owned());
            }
        };
        let events = self.journal.end(&self.around.events);
        let subscription = Subscription { on_change, action, events, cursors: BTreeMap::new() };
        let mut subscriptions = self.subscriptions.lock();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains_key(&request) {
            return Err(format!("{MAX_SUBSCRIPTIONS} subscriptions; expected no more"));
        }
        subscriptions.insert(request, subscription);
        Ok(period_ms)
    }

    /// Ends a subscription.
    pub fn unsubscribe_v1(&self, request: u32) {
        self.subscriptions.lock().remove(&request);
    }

    /// The report of a subscription that is due now, header and message; of as many bearers as
    /// `capacity` bytes of message hold. None if nothing changed, of an unknown subscription, and of
    /// events if there are none.
    pub fn report_v1(
        &self,
        request: u32,
        capacity: usize,
        now_us: u64,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut subscriptions = self.subscriptions.lock();
        let subscription = subscriptions.get_mut(&request)?;
        let bearers = subscription.action.bearers.clone();
        let concerns = |id: &BearerId| bearers.is_empty() || bearers.contains(id);
        let mut events: Vec<_> = self
            .journal
            .since(&self.around.events, &mut subscription.events)
            .into_iter()
            .filter_map(|event| self.as_e2(event))
            .collect();
        events.retain(|event| concerns(&event.bearer));
        if subscription.on_change && events.is_empty() {
            return None;
        }
        let changed = |id: &BearerId| {
            !subscription.on_change || events.iter().any(|event| event.bearer == *id)
        };
        let message = match subscription.action.style {
            ReportStyle::Events if events.is_empty() => return None,
            ReportStyle::Events => {
                fitting(events, capacity, |events| IndicationMessage::Events(events.to_vec()))
            }
            ReportStyle::PipelineStatus => {
                let cursors = &mut subscription.cursors;
                let states = self.of_connected(
                    |id| concerns(id) && changed(id),
                    |bearer| {
                        let cursor = cursors.entry(bearer.id()).or_default();
                        bearer.configure(&self.around, now_us, |tc, now_us, _| {
                            tc.status_since(cursor, now_us)
                        })
                    },
                );
                fitting(states, capacity, |states: &[PipelineStatus]| {
                    IndicationMessage::PipelineStatus(states.to_vec())
                })
            }
            ReportStyle::FlowInventory => {
                let top = subscription.action.top_flows;
                let flows = self.of_connected(
                    |id| concerns(id) && changed(id),
                    |bearer| {
                        bearer.configure(&self.around, now_us, |tc, now_us, _| {
                            tc.flow_inventory(top, now_us)
                        })
                    },
                );
                fitting(flows, capacity, |flows: &[FlowInventory]| {
                    IndicationMessage::FlowInventory(flows.to_vec())
                })
            }
        }?;
        let collected_at_us = self.settings.epoch_us + now_us;
        Some((v1::encode(&IndicationHeader { collected_at_us }).ok()?, message))
    }

    fn of_connected<T>(
        &self,
        concerns: impl Fn(&BearerId) -> bool,
        mut report: impl FnMut(&Bearer) -> Option<T>,
    ) -> Vec<T> {
        let directory = self.directory.load();
        let concerned = directory.connected().filter(|bearer| concerns(&bearer.id()));
        concerned.filter_map(|bearer| report(bearer)).collect()
    }

    /// As the service model has it; none for what it does not know, or of a UE without a name.
    fn as_e2(&self, event: Event) -> Option<E2Event> {
        let kind = match event.what {
            Happening::Pipeline(kind) => kind,
            // To an xApp a UE with another name is another.
            Happening::BearerUp | Happening::RntiChanged => EventKind::BearerAdded,
            Happening::BearerDown | Happening::PipelineFailed => EventKind::BearerRemoved,
        };
        let bearer = event.bearer.id()?;
        Some(E2Event { bearer, at_us: self.settings.epoch_us + event.at_us, kind })
    }
}

/// The message of as many of the first items as fit; none if not even one does.
fn fitting<T>(
    mut items: Vec<T>,
    capacity: usize,
    message: impl Fn(&[T]) -> IndicationMessage,
) -> Option<Vec<u8>> {
    loop {
        let bytes = v1::encode(&message(&items)).ok()?;
        if bytes.len() <= capacity {
            return Some(bytes);
        }
        items.truncate(items.len() / 2);
        if items.is_empty() {
            return None;
        }
    }
}
