//! Errors of a reproduction.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use lab_scenario::ScenarioError;

use super::identity::IdentityError;

/// Why a reproduction did not finish.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// No such paper.
    #[error("no paper '{name}'; there are {known}")]
    UnknownPaper {
        /// Name given.
        name: String,
        /// Known papers.
        known: String,
    },
    /// A file of a paper is invalid.
    #[error("{file}: {message}")]
    Paper {
        /// Its name.
        file: String,
        /// Place in it, and what is wrong.
        message: String,
    },
    /// No such experiment.
    #[error("{paper} has no experiment '{name}'; it has {known}")]
    UnknownExperiment {
        /// Paper.
        paper: String,
        /// Name given.
        name: String,
        /// Its experiments.
        known: String,
    },
    /// Runs end before their observation window.
    #[error("{experiment}, {scheme}: ends at {to_s} s; it counts from {from_s} s on")]
    TooShort {
        /// Experiment.
        experiment: String,
        /// Scheme.
        scheme: String,
        /// End of the run, virtual s.
        to_s: f64,
        /// Start of the window, virtual s.
        from_s: f64,
    },
    /// The scenario of a cell is invalid.
    #[error("{experiment}, {scheme}: {source}")]
    Scenario {
        /// Experiment.
        experiment: String,
        /// Scheme.
        scheme: String,
        /// Its error.
        source: ScenarioError,
    },
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// Its error.
        source: io::Error,
    },
    /// A file that a scenario names, or this program, cannot be read.
    #[error("{0}")]
    Identity(IdentityError),
    /// Interrupted.
    #[error("interrupted with {finished} of {total} runs finished; {}", kept_in(kept.as_deref()))]
    Interrupted {
        /// Finished runs.
        finished: usize,
        /// All runs.
        total: usize,
        /// Folder with their results.
        kept: Option<PathBuf>,
    },
}

fn kept_in(kept: Option<&Path>) -> String {
    match kept {
        Some(folder) => format!("the same command resumes from {}", folder.display()),
        None => "use --out DIR to keep them".to_owned(),
    }
}

impl ReproduceError {
    pub(super) fn paper(file: &str, place: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let message = if place.is_empty() { message } else { format!("{place}: {message}") };
        Self::Paper { file: file.to_owned(), message }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
