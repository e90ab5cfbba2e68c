//! Errors of sweeps and comparisons.

use std::io;
use std::path::{Path, PathBuf};

use bounded_input::FileError;
use lab_batch::IdentityError;
use lab_recording::RecordingError;
use lab_scenario::ScenarioError;
use thiserror::Error;

/// Why a sweep or a comparison did not finish.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The scenario, or a value of an axis.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The axes together.
    #[error("--over: {0}")]
    Axes(String),
    /// The folder has runs of something else.
    #[error("{}: {what}; choose another --out, or run all again with --restart", path.display())]
    Changed {
        /// The file that says so.
        path: PathBuf,
        /// What is different.
        what: String,
    },
    /// A scenario that cannot be run.
    #[error("{message}")]
    Run {
        /// What is wrong with it.
        message: String,
    },
    /// A run as a message.
    #[error("order of a run: {0}")]
    Order(String),
    /// A run as a message that another program wrote.
    #[error(
        "this gnb-lab is another build than that of the sweep; \
         expected the same program on all machines"
    )]
    OtherBuild,
    /// A file of results is missing or damaged.
    #[error("{}: {message}", path.display())]
    Results {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The program cannot be read.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Interrupted.
    #[error(
        "interrupted with {finished} of {total} runs finished; the same command resumes from {}",
        kept.display()
    )]
    Interrupted {
        /// Finished runs.
        finished: usize,
        /// All runs.
        total: usize,
        /// Folder with their results.
        kept: PathBuf,
    },
}

impl SweepError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn results(path: &Path, message: impl ToString) -> Self {
        Self::Results { path: path.to_owned(), message: message.to_string() }
    }

    pub(crate) fn unreadable(path: &Path) -> impl FnOnce(FileError) -> Self {
        move |error| Self::results(path, error)
    }

    /// Whether the user's input is to blame, not the machine.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Scenario(_)
            | Self::Axes(_)
            | Self::Changed { .. }
            | Self::Run { .. }
            | Self::Results { .. } => true,
            Self::Identity(error) => matches!(error, IdentityError::Input { .. }),
            Self::Order(_)
            | Self::OtherBuild
            | Self::Io { .. }
            | Self::Recording(_)
            | Self::Interrupted { .. } => false,
        }
    }
}
