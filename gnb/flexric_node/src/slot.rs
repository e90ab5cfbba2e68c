//! The latest report of a RAN function, between the world's thread and the agent's.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;

/// A report older than this is not sent: a world that stands still must not look alive. Twice the
/// lag that the lab catches up with.
pub const STALE_AFTER: Duration = Duration::from_millis(500);

/// Holds one report; a newer one replaces it whether it was read or not.
#[derive(Debug, Default)]
pub struct Slot(Mutex<Option<(Bytes, Instant)>>);

impl Slot {
    /// Puts a report there, which was taken `now`.
    pub fn put(&self, report: Bytes, now: Instant) {
        *self.lock() = Some((report, now));
    }

    /// The report there, unless it is stale. It stays: two subscriptions may ask for it.
    pub fn latest(&self, now: Instant) -> Option<Bytes> {
        let held = self.lock();
        let (report, taken) = held.as_ref()?;
        (now.saturating_duration_since(*taken) <= STALE_AFTER).then(|| report.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Bytes, Instant)>> {
        // What is in there is whole whenever it can be locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_report_is_there_for_every_reader_until_it_is_stale() {
        let slot = Slot::default();
        let start = Instant::now();
        assert_eq!(slot.latest(start), None);
        slot.put(Bytes::from_static(b"old"), start);
        slot.put(Bytes::from_static(b"new"), start);
        for reader in ["one", "another"] {
            let read = slot.latest(start + STALE_AFTER);
            assert_eq!(read.as_deref(), Some(&b"new"[..]), "{reader}");
        }
        assert_eq!(slot.latest(start + STALE_AFTER + Duration::from_micros(1)), None);
    }
}
