//! E2SM-TC version 0 in terms of version 1 and back, as annex B of the E2SM-TC document relates them.
//! What v0 cannot express is refused, not guessed.
//!
//! A RAN function that offers both versions carries out v0 controls as [`edits`] of its pipeline and
//! reports it by [`indication`]. A gateway in front of a node that has v0 alone [`lower`]s v1
//! pipelines to a [`NodeState`], leads the node there by a [`plan`] and [`lift`]s its reports.

mod controls;
mod lift;
mod lower;
mod plan;
mod reports;
mod state;

pub use controls::{ControlError, edits};
pub use lift::{BearerContext, Counters, lift};
pub use lower::{UnsupportedInV0, capabilities, lower};
pub use plan::{groups, plan};
pub use reports::indication;
pub use state::{NodeState, ReportError, Unknown, queue_numbers};
