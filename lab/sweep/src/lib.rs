//! `gnb-lab sweep` and `gnb-lab compare`: a scenario over axes of values and seeds, and the statistics
//! of recorded runs.
//!
//! A [`Plan`] is the product of [`Axis`] values and seeds, checked as a whole; [`run`] makes what its
//! folder lacks, or [`missing`] lists it as [`Order`]s that other machines make. [`Comparison`] reads
//! folders of runs and sweeps; [`compare`] shows it.

mod axis;
pub mod compare;
mod distribution;
mod error;
mod make;
mod measures;
mod order;
mod plan;
mod range;
mod run;
mod state;
mod table;

pub use axis::Axis;
pub use compare::Comparison;
pub use error::SweepError;
pub use measures::{Scope, Subject};
pub use order::{Input, Order};
pub use plan::{DEFAULT_MAX_RUNS, Plan, Request};
pub use run::{Done, Missing, Options, missing, run};
