//! Events for their readers: each reads all, at its own pace.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::events::{Event, EventLog};

/// Events that are kept for readers that are late.
const KEPT: usize = 1024;

/// Events that real-time threads have left in the log, kept for several readers.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Event>,
    /// Events that were ever kept before the first of `events`.
    before: u64,
}

/// Position of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position(u64);

impl Journal {
    /// The position behind all events so far.
    pub(crate) fn end(&self, log: &EventLog) -> Position {
        let kept = self.collect(log);
        Position(kept.before + kept.events.len() as u64)
    }

    /// Events since `position`, which moves on. Those that the reader missed are not made up for.
    pub(crate) fn since(&self, log: &EventLog, position: &mut Position) -> Vec<Event> {
        let kept = self.collect(log);
        let read = position.0.saturating_sub(kept.before) as usize;
        *position = Position(kept.before + kept.events.len() as u64);
        kept.events.iter().skip(read).cloned().collect()
    }

    fn collect(&self, log: &EventLog) -> MutexGuard<'_, Kept> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(event) = log.pop() {
            if kept.events.len() == KEPT {
                kept.events.pop_front();
                kept.before += 1;
            }
            kept.events.push_back(event);
        }
        kept
    }
}
