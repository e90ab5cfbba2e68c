//! FIFO: what happens at a queue's limit.

use e2sm_tc::v1::FifoDrop;

use super::QueueRules;
use crate::arena::Backlog;

/// Whether an arriving packet fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// The packet fits as it is.
    Fits,
    /// The packet fits after the oldest packet is dropped; check again.
    DropHead,
    /// Not at all.
    Refuse,
}

/// Whether a queue has room for one more packet of `len_bytes` within its limits.
#[inline]
pub(crate) fn fits(rules: &QueueRules, backlog: &Backlog, len_bytes: u32) -> bool {
    backlog.packets < rules.limit_packets
        && backlog.bytes + u64::from(len_bytes) <= u64::from(rules.limit_bytes)
}

/// Compares a queue with its limits for one more packet of `len_bytes`.
#[inline]
pub(crate) fn make_room(rules: &QueueRules, backlog: &Backlog, len_bytes: u32) -> Room {
    if fits(rules, backlog, len_bytes) {
        return Room::Fits;
    }
    // A packet that would not fit into the empty queue drops no other.
    let could_fit = rules.limit_packets > 0 && len_bytes <= rules.limit_bytes;
    match rules.discipline.drop_at_limit() {
        FifoDrop::Head if could_fit && !backlog.is_empty() => Room::DropHead,
        FifoDrop::Head | FifoDrop::Tail => Room::Refuse,
    }
}
