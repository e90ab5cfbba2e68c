//! Why a reproduction did not come to its end.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use lab_scenario::ScenarioError;

/// Why a reproduction did not come to its end.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// No such paper.
    #[error("no paper '{name}'; there are {known}")]
    UnknownPaper {
        /// As asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No such experiment.
    #[error("{paper} has no experiment '{name}'; it has {known}")]
    UnknownExperiment {
        /// Paper.
        paper: &'static str,
        /// As asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Runs are to end before anything of them counts.
    #[error("{experiment}, {scheme}: ends at {to_s} s; it counts from {from_s} s on")]
    TooShort {
        /// Experiment.
        experiment: &'static str,
        /// Scheme.
        scheme: String,
        /// When it is to end, virtual s.
        to_s: f64,
        /// From when on it counts, virtual s.
        from_s: f64,
    },
    /// A scenario of a cell cannot be built.
    #[error("{experiment}, {scheme}: {source}")]
    Scenario {
        /// Experiment.
        experiment: String,
        /// Scheme.
        scheme: String,
        /// Why.
        source: ScenarioError,
    },
    /// A file or folder.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Told to stop.
    #[error("interrupted with {finished} of {total} runs finished; {}", kept_in(kept.as_deref()))]
    Interrupted {
        /// Runs whose results are there.
        finished: usize,
        /// Runs wanted.
        total: usize,
        /// Folder with their results.
        kept: Option<PathBuf>,
    },
}

fn kept_in(kept: Option<&Path>) -> String {
    match kept {
        Some(folder) => format!("the same command goes on from {}", folder.display()),
        None => "--out DIR would have kept them".to_owned(),
    }
}

impl ReproduceError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
