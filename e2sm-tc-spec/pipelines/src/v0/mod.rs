//! E2SM-TC version 0 in terms of version 1, as annex B of the E2SM-TC document relates them: for a
//! RAN function that offers both. What v0 leaves unsaid is refused, not guessed.

mod controls;
mod reports;

pub use controls::{ControlError, edits};
pub use reports::indication;
