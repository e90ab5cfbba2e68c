//! Subscriptions and reports of E2SM-TC v1.

use e2sm_tc::v1::{
    self, ActionDefinition, Event as E2Event, EventKind, EventTrigger, FlowInventory,
    IndicationHeader, PipelineStatus, ReportStyle,
};

use crate::Host;
use crate::events::{Event, Happening};
use crate::subscriptions::{Fitting, Subscription};

/// How often the agent should ask for reports on change: as soon as an xApp can make use of one.
const ON_CHANGE_PERIOD_MS: u32 = 10;
/// Longest period that FlexRIC's agent keeps.
const MAX_PERIOD_MS: u32 = 10_000;

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
        self.subscriptions.add(request, Subscription::new(on_change, action, events))?;
        Ok(period_ms)
    }

    /// Ends a subscription.
    pub fn unsubscribe_v1(&self, request: u32) {
        self.subscriptions.lock().remove(&request);
    }

    /// The report of a subscription that is due now, header and message. Where `capacity` bytes of
    /// message do not hold all bearers, or events, that are due, the next reports have the others.
    /// None if nothing changed, of an unknown subscription, and of events if there are none.
    pub fn report_v1(
        &self,
        request: u32,
        capacity: usize,
        now_us: u64,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut subscriptions = self.subscriptions.lock();
        let subscription = subscriptions.get_mut(&request)?;
        let events = self.journal.since(&self.around.events, &mut subscription.events);
        subscription.take(events.into_iter().filter_map(|event| self.as_e2(event)));
        if subscription.on_change && subscription.changed.is_empty() {
            return None;
        }
        let directory = self.directory.load();
        let fitting = match subscription.action.style {
            ReportStyle::Events => {
                if subscription.waiting.is_empty() {
                    return None;
                }
                let events: &[E2Event] = subscription.waiting.make_contiguous();
                let (message, sent) = v1::encode_first(events, capacity).ok()??;
                let due = subscription.waiting.len();
                subscription.waiting.drain(..sent);
                if sent == due {
                    subscription.changed.clear();
                }
                Fitting { message, due, sent }
            }
            ReportStyle::PipelineStatus => {
                let due = subscription.due(directory.connected());
                let states = due.into_iter().filter_map(|(id, bearer)| {
                    let mut cursor = subscription.cursors.get(&id).cloned().unwrap_or_default();
                    let state = bearer.configure(&self.around, now_us, |tc, now_us, _| {
                        tc.status_since(&mut cursor, now_us)
                    })?;
                    Some((id, state, Some(cursor)))
                });
                let states = states.collect();
                subscription.fitting::<PipelineStatus>(states, capacity)?
            }
            ReportStyle::FlowInventory => {
                let top = subscription.action.top_flows;
                let due = subscription.due(directory.connected());
                let flows = due.into_iter().filter_map(|(id, bearer)| {
                    let flows = bearer.configure(&self.around, now_us, |tc, now_us, _| {
                        tc.flow_inventory(top, now_us)
                    })?;
                    Some((id, flows, None))
                });
                let flows = flows.collect();
                subscription.fitting::<FlowInventory>(flows, capacity)?
            }
        };
        if fitting.sent < fitting.due {
            self.subscriptions.partial_reports.add(1);
            if !subscription.partial {
                subscription.partial = true;
                eprintln!(
                    "sojourn: E2 request {request}: {capacity} bytes hold {} of {} that are due; the \
                     others are in the next reports",
                    fitting.sent, fitting.due
                );
            }
        } else {
            // What is left in it has no pipeline any more.
            subscription.changed.clear();
        }
        let collected_at_us = self.settings.epoch_us + now_us;
        Some((v1::encode(&IndicationHeader { collected_at_us }).ok()?, fitting.message))
    }

    /// The event as the service model has it; none for what it does not know, or of a UE without a name.
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
