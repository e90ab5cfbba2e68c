//! Monotonic time of the limits.

use std::time::Instant;

/// Time since the gateway began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    pub(super) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(super) fn now_us(self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
