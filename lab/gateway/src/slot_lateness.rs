//! Whether a node between real network stacks keeps up with the wall clock.

/// Slots that ran while the gNB carried packets of real hosts, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotLateness {
    /// Such slots.
    pub slots: u64,
    /// Those of `slots` that ran more than a slot late.
    pub late_slots: u64,
    /// How late the latest of them ran, µs.
    pub worst_us: u64,
}
