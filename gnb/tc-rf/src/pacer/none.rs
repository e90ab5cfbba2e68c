//! No pacing: everything at once, what the gNB does without traffic control.

/// There is nothing to learn.
pub(super) fn status() {}

/// Always.
pub(super) fn may_send() -> bool {
    true
}
