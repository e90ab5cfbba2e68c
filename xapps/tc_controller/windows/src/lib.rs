//! Windows over the RLC state of all bearers of a node, and the violations of their objectives.
//!
//! A controller takes in a report each millisecond and acts on few of them. What each report needs is done
//! here in one pass; what a decision needs is computed when it is asked for.
//!
//! A bearer is a *slot*, a column of the rings. The sojourn of a packet is the age of the RLC's head of line
//! plus the sojourn of ungreedy flows in the pipeline in front of it.

mod detector;
mod history;
mod pauses;
mod report;
mod windows;

pub use detector::Objective;
pub use report::{BearerCode, FieldError, Fields, FrameError};
pub use windows::{Changes, Taken, Violations, Windows};
