//! What stands at the head of each queue: for schedulers that compare arrivals and for the
//! classifier that keeps a flow where its packets wait.

/// The oldest packet of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadOfLine {
    /// When it entered the pipeline.
    pub(crate) arrived_us: u64,
    /// Position among all packets that ever entered this pipeline.
    pub(crate) sequence: u64,
}

/// The queues of a stage by index.
pub(crate) trait Heads {
    /// The head of a queue; absent when it is empty.
    fn head(&self, queue: u32) -> Option<HeadOfLine>;
}
