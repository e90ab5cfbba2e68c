//! Identifiers of queues in the service model as indices of a compiled pipeline.

use e2sm_tc::v1::{QueueId, QueueTarget};

use super::QueueConfig;

/// A range of queues by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Target {
    /// The queues of a target; `queues` are in the order of their ids. Consecutive ids that all exist
    /// have consecutive indices.
    pub(crate) fn resolve(target: &QueueTarget, queues: &[QueueConfig]) -> Option<Self> {
        Some(Self { first: index_of(target.first, queues)?, count: u32::from(target.count) })
    }

    /// The indices.
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// The queue that a flow hash selects.
    #[inline]
    pub(crate) fn pick(self, hash: u64) -> u32 {
        self.first + crate::hash::scale(hash, self.count)
    }
}

/// Index of a queue among `queues`, which are in the order of their ids.
pub(crate) fn index_of(id: QueueId, queues: &[QueueConfig]) -> Option<u32> {
    queues.binary_search_by_key(&id, |queue| queue.id).ok().map(|index| index as u32)
}
