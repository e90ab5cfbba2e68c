//! Leases of pipelines and nodes.

/// A lease on virtual time; without one a pipeline stays in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lease {
    ends_us: Option<u64>,
}

impl Lease {
    pub(crate) fn new(lease_ms: Option<u32>, now_us: u64) -> Self {
        Self { ends_us: lease_ms.map(|ms| now_us.saturating_add(u64::from(ms) * 1000)) }
    }

    pub(crate) fn ends_us(self) -> Option<u64> {
        self.ends_us
    }

    #[inline]
    pub(crate) fn has_ended(self, now_us: u64) -> bool {
        self.ends_us.is_some_and(|ends_us| now_us >= ends_us)
    }

    /// Milliseconds left, rounded up, so that a running lease never reads 0.
    pub(crate) fn left_ms(self, now_us: u64) -> Option<u32> {
        let left_us = self.ends_us?.saturating_sub(now_us);
        Some(u32::try_from(left_us.div_ceil(1000)).unwrap_or(u32::MAX))
    }
}
