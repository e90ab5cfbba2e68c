//! The Unix time of virtual time 0, which changes when the system clock is set or time is skipped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unix time of virtual time 0; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch(Arc<AtomicU64>);

impl Epoch {
    pub(crate) fn set_unix_us(&self, unix_us: u64) {
        self.0.store(unix_us, Ordering::Relaxed);
    }

    /// Unix time of a virtual time.
    pub(crate) fn unix_ns(&self, virtual_ns: u64) -> u64 {
        self.0.load(Ordering::Relaxed).saturating_mul(1_000).saturating_add(virtual_ns)
    }
}
