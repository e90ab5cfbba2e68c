//! Monotonic time of the limits.

use std::time::Instant;

/// Time since the gateway began.
#[derive(Clone, Copy, Debug)]
pub struct Monotonic {
    origin: Instant,
}

impl Monotonic {
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub fn now_us(self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
