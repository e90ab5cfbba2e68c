//! `gnb-lab reproduce`: a paper's experiments, paper beside here.
//!
//! A [`Paper`] is a file under [`papers`]: the assumptions it leaves open, said once, and its
//! [`Experiment`]s. An experiment is a grid of [`Cell`]s (a scheme, a scenario, what to observe),
//! its [`Metric`]s, and the figures the paper reports. [`reproduce`] runs each cell once per seed
//! on all cores and virtual time, keeps what is finished when told to stop, and makes
//! [`Row`]s of it; `report` writes them down.
//!
//! To add a paper, write `papers/NAME.rs` and name it in [`papers::ALL`].

mod cache;
mod error;
mod floor;
mod forecasts;
mod metric;
mod observe;
mod page;
pub mod papers;
mod plan;
mod report;
mod rows;
mod run;
mod sketch;
mod table;
mod xapp;

pub use error::ReproduceError;
pub use floor::FloorOf;
pub use forecasts::{ForecasterKind, Forecasts, Trained};
pub use metric::{Curve, Flows, Metric};
pub use observe::{FlowObserved, Observed};
pub use plan::{At, Cell, Comparison, Experiment, Figure, Inputs, Paper, Watch, Work};
pub use report::{text, write_json, write_report};
pub use rows::{Row, Table};
pub use run::{Options, Progress, Reproduction, reproduce};
pub use sketch::Sketch;
pub use xapp::{Deploys, XApp};
