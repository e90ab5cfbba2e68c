//! A slot as the downlink of a cell goes through it.

use crate::numerology::SlotKind;

/// A slot that carries downlink.
pub(super) struct Slot {
    pub(super) slot: u64,
    pub(super) kind: SlotKind,
    pub(super) available_prb: u16,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
}
