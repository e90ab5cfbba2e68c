//! What all bearers of a host share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::events::EventLog;
use crate::gnb::Gnb;
use crate::sdu::BufferPool;

pub(crate) struct Surroundings {
    pub(crate) gnb: Box<dyn Gnb>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) events: EventLog,
    radio_us: AtomicU64,
}

impl Surroundings {
    pub(crate) fn new(gnb: Box<dyn Gnb>, pool: Arc<BufferPool>) -> Self {
        Self { gnb, pool, events: EventLog::new(), radio_us: AtomicU64::new(0) }
    }

    /// A cell has had slots of so many µs together.
    pub(crate) fn radio_has_reached(&self, radio_us: u64) {
        self.radio_us.fetch_max(radio_us, Ordering::Relaxed);
    }

    /// Time of the radio: that of the cell that has had most. None before the first slot has passed, and in
    /// a gNB that does not say when slots pass.
    pub(crate) fn radio_us(&self) -> Option<u64> {
        Some(self.radio_us.load(Ordering::Relaxed)).filter(|radio_us| *radio_us > 0)
    }
}
