//! Subscriptions of E2SM-TC v1: what the E2 agent asks reports for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2sm_tc::v1::{
    self, ActionDefinition, BearerId, Event as E2Event, EventKind, EventTrigger, FlowInventory,
    IndicationHeader, PipelineStatus, ReportItem, ReportStyle,
};
use tc_rf::ReportCursor;

use crate::Host;
use crate::bearer::Bearer;
use crate::counts::Count;
use crate::events::{Event, Happening};
use crate::journal::Position;

/// How often the agent should ask for reports on change: as soon as an xApp can make use of one.
const ON_CHANGE_PERIOD_MS: u32 = 10;
/// Longest period that FlexRIC's agent keeps.
const MAX_PERIOD_MS: u32 = 10_000;
/// Subscriptions at a time.
const MAX_SUBSCRIPTIONS: usize = 64;
/// Events that wait for reports of one subscription.
const MAX_WAITING_EVENTS: usize = 1024;

#[derive(Debug)]
struct Subscription {
    on_change: bool,
    action: ActionDefinition,
    events: Position,
    /// Events that the reports so far had no room for, oldest first.
    waiting: VecDeque<E2Event>,
    /// Bearers that changed since they were reported, of a subscription on change.
    changed: BTreeSet<BearerId>,
    /// The bearer that was reported last: the next report begins behind it, so that each has its
    /// turn where one report has no room for all.
    last: Option<BearerId>,
    cursors: BTreeMap<BearerId, ReportCursor>,
    /// Whether a report had no room for all that was due.
    partial: bool,
}

impl Subscription {
    fn concerns(&self, bearer: &BearerId) -> bool {
        self.action.bearers.is_empty() || self.action.bearers.contains(bearer)
    }

    /// Takes the events that concern it. The oldest are lost where an agent asks for no report.
    fn take(&mut self, events: impl Iterator<Item = E2Event>) {
        for event in events {
            if !self.concerns(&event.bearer) {
                continue;
            }
            self.changed.insert(event.bearer);
            if self.action.style == ReportStyle::Events {
                if self.waiting.len() == MAX_WAITING_EVENTS {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(event);
            }
        }
    }

    /// Those of the connected bearers that are due, the one behind the last reported first.
    fn due<'a>(
        &self,
        connected: impl Iterator<Item = &'a Arc<Bearer>>,
    ) -> Vec<(BearerId, &'a Bearer)> {
        let mut due: Vec<_> = connected
            .map(|bearer| (bearer.id(), bearer.as_ref()))
            .filter(|(id, _)| self.concerns(id) && (!self.on_change || self.changed.contains(id)))
            .collect();
        due.sort_unstable_by_key(|(id, _)| *id);
        let reported = self.last.map_or(0, |last| due.partition_point(|(id, _)| *id <= last));
        due.rotate_left(reported);
        due
    }

    /// The message of as many of these items as fit, each with what is to be kept if it is sent.
    fn fitting<T: ReportItem>(
        &mut self,
        items: Vec<(BearerId, T, Option<ReportCursor>)>,
        capacity: usize,
    ) -> Option<Fitting> {
        let (kept, items): (Vec<_>, Vec<_>) =
            items.into_iter().map(|(id, item, cursor)| ((id, cursor), item)).unzip();
        let (message, sent) = v1::encode_first(&items, capacity).ok()??;
        for (id, cursor) in kept.into_iter().take(sent) {
            self.last = Some(id);
            self.changed.remove(&id);
            if let Some(cursor) = cursor {
                self.cursors.insert(id, cursor);
            }
        }
        Some(Fitting { message, due: items.len(), sent })
    }
}

/// A message, and how much of what was due it has.
struct Fitting {
    message: Vec<u8>,
    due: usize,
    sent: usize,
}

/// By the agent's number of the RIC request.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_request: Mutex<BTreeMap<u32, Subscription>>,
    /// Reports that had no room for all that was due.
    pub(crate) partial_reports: Count,
}

impl Subscriptions {
    /// A poisoned map is usable: entries are inserted and removed as a whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Subscription>> {
        self.by_request.lock().unwrap_or_else(PoisonError::into_inner)
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
        let subscription = Subscription {
            on_change,
            action,
            events,
            waiting: VecDeque::new(),
            changed: BTreeSet::new(),
            last: None,
            cursors: BTreeMap::new(),
            partial: false,
        };
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
