//! `gnb-lab reproduce`: the experiments of papers, with the paper's values and ours side by side.
//!
//! A [`Paper`] is a module of [`papers`] with its assumptions and [`Experiment`]s. An experiment is a
//! grid of [`Cell`]s (a scheme, a scenario, what to observe), its [`Metric`]s, and the values the paper
//! reports. [`reproduce`] runs each cell once per seed on all cores, stores finished runs, and makes
//! [`Row`]s; `report` writes them.
//!
//! To add a paper, write `papers/NAME.rs` and add it to [`papers::ALL`].

mod builder;
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
mod seed;
mod watch;
mod xapp;

pub use builder::ScenarioBuilder;
pub use error::ReproduceError;
pub use floor::FloorOf;
pub use forecasts::{ForecasterKind, Forecasts, Trained};
pub use lab_batch::Progress;
pub use metric::{Curve, Flows, Metric};
pub use observe::{FlowObserved, Observed};
pub use plan::{At, By, Cell, Comparison, Experiment, Figure, Inputs, Paper, Work};
pub use report::{text, write_json, write_report};
pub use rows::{Row, Table};
pub use run::{Options, Reproduction, reproduce};
pub use watch::Watch;
pub use xapp::{Deploys, XApp};
