//! `gnb-lab reproduce`: the experiments of papers, with the paper's values and ours side by side.
//!
//! A [`Paper`] is a folder of YAML files under `papers`: `paper.yaml` with citation, assumptions and
//! what its experiments share, and a file for each [`Experiment`]: a grid of [`Cell`]s (a scenario and
//! what changes in it), metrics and curves from the vocabulary of [`Measure`] and [`Series`], and the
//! values that the paper reports. [`reproduce`] runs each cell once per seed on all cores, stores
//! finished runs, and makes [`Row`]s; `report` writes them.

mod cache;
mod cells;
mod compose;
mod document;
mod error;
mod estimate;
mod feed;
mod figure;
mod files;
mod floor;
mod flows;
mod forecasts;
mod identity;
mod measure;
mod observe;
mod ordered;
mod page;
pub mod papers;
mod plan;
mod recordings;
mod report;
mod rows;
mod run;
mod seed;
mod series;
mod variant;
mod watch;
mod workers;
mod xapp;

pub use error::ReproduceError;
pub use figure::Figure;
pub use floor::FloorOf;
pub use flows::{Delay, Flows, Unit};
pub use forecasts::{ForecasterKind, Forecasts, Trained};
pub use identity::IdentityError;
pub use measure::Measure;
pub use observe::{FlowObserved, Observed};
pub use ordered::Ordered;
pub use papers::Paper;
pub use plan::{At, By, Cell, Comparison, Experiment, Inputs, Work};
pub use report::{text, write_json, write_report};
pub use rows::{Row, Table};
pub use run::{Options, Reproduction, reproduce};
pub use series::Series;
pub use watch::Watch;
pub use workers::Progress;
pub use xapp::{Deploys, XApp};
