//! Subscriptions of E2SM-TC v1: what is due in the next report of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use e2sm_tc::v1::{self, ActionDefinition, BearerId, Event as E2Event, ReportItem, ReportStyle};
use tc_rf::ReportCursor;

use crate::bearer::Bearer;
use crate::counts::Count;
use crate::journal::Position;

/// Subscriptions at a time.
const MAX_SUBSCRIPTIONS: usize = 64;
/// Events that wait for reports of one subscription.
const MAX_WAITING_EVENTS: usize = 1024;

/// A subscription and what is left to report of it.
#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) on_change: bool,
    pub(crate) action: ActionDefinition,
    pub(crate) events: Position,
    /// Events that the reports so far had no room for, oldest first.
    pub(crate) waiting: VecDeque<E2Event>,
    /// Bearers that changed since they were reported, of a subscription on change.
    pub(crate) changed: BTreeSet<BearerId>,
    /// The bearer that was reported last: the next report begins behind it, so that each has its
    /// turn where one report has no room for all.
    last: Option<BearerId>,
    pub(crate) cursors: BTreeMap<BearerId, ReportCursor>,
    /// Whether a report had no room for all that was due.
    pub(crate) partial: bool,
}

impl Subscription {
    /// A subscription to what happens after `events`.
    pub(crate) fn new(on_change: bool, action: ActionDefinition, events: Position) -> Self {
        Self {
            on_change,
            action,
            events,
            waiting: VecDeque::new(),
            changed: BTreeSet::new(),
            last: None,
            cursors: BTreeMap::new(),
            partial: false,
        }
    }

    fn concerns(&self, bearer: &BearerId) -> bool {
        self.action.bearers.is_empty() || self.action.bearers.contains(bearer)
    }

    /// Takes the events that concern it. The oldest are lost where an agent asks for no report.
    pub(crate) fn take(&mut self, events: impl Iterator<Item = E2Event>) {
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
    pub(crate) fn due<'a>(
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
    pub(crate) fn fitting<T: ReportItem>(
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
pub(crate) struct Fitting {
    pub(crate) message: Vec<u8>,
    pub(crate) due: usize,
    pub(crate) sent: usize,
}

/// Subscriptions by the agent's number of the RIC request.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_request: Mutex<BTreeMap<u32, Subscription>>,
    /// Reports that had no room for all that was due.
    pub(crate) partial_reports: Count,
}

impl Subscriptions {
    /// A poisoned map is usable: entries are inserted and removed as a whole.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Subscription>> {
        self.by_request.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a subscription; one of the same request is replaced.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn add(&self, request: u32, subscription: Subscription) -> Result<(), String> {
        let mut subscriptions = self.lock();
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains_key(&request) {
            return Err(format!("{MAX_SUBSCRIPTIONS} subscriptions; expected no more"));
        }
        subscriptions.insert(request, subscription);
        Ok(())
    }
}
