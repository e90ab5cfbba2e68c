//! What of a run is observed.

/// Observation window of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Start, virtual µs.
    pub from_us: u64,
    /// End of window and run, virtual µs.
    pub to_us: u64,
    /// Whether the RLC occupancy over time is recorded.
    pub occupancy: bool,
}
