//! Why a live run could not start or failed.

use std::io;
use std::path::PathBuf;

use lab_gateway::{ServeError, cli::Failure};

/// Errors of `gnb-lab live`.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Neither root nor unprivileged user namespaces.
    #[error(
        "network namespaces: {source}; expected root (CAP_NET_ADMIN and CAP_SYS_ADMIN), or a kernel that \
         lets this user make user namespaces (sysctl user.max_user_namespaces above 0, \
         kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Namespaces {
        /// Cause.
        source: io::Error,
    },
    /// The TUN device cannot be opened.
    #[error(
        "/dev/net/tun: {source}; expected a TUN device that this user may open (modprobe tun, mode 0666)"
    )]
    Tun {
        /// Cause.
        source: io::Error,
    },
    /// A device or an address could not be set up.
    #[error("{what}: {source}")]
    Setup {
        /// What was being set up.
        what: String,
        /// Cause.
        source: io::Error,
    },
    /// Too many UEs with hosts.
    #[error(
        "{file}: {found} UEs would get a network namespace; expected at most {most}: \
         name those with real hosts in flows of kind host"
    )]
    TooManyUes {
        /// Scenario file.
        file: String,
        /// UEs found.
        found: usize,
        /// Most that are accepted.
        most: usize,
    },
    /// A UE without hosts is addressed.
    #[error("--ue {rnti}: no UE with a flow of kind host has this RNTI; expected one of {known}")]
    UnknownUe {
        /// RNTI.
        rnti: u16,
        /// RNTIs known.
        known: String,
    },
    /// Two options are in each other's way.
    #[error("{option} {value}: {problem}")]
    Packets {
        /// Option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// A file of packets cannot be written.
    #[error("{option}: {}: {source}; expected a file that can be written", .path.display())]
    File {
        /// Option that names it.
        option: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The command could not be started.
    #[error("{command}: cannot start: {source}")]
    Command {
        /// The command.
        command: String,
        /// Cause.
        source: io::Error,
    },
    /// The gateway failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

impl LiveError {
    /// Makes an error of the set-up of `what`, for `map_err`.
    pub(crate) fn setup<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Setup { what, source: source.into() }
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::TooManyUes { .. }
            | LiveError::UnknownUe { .. }
            | LiveError::Packets { .. } => Self::Input(error.to_string()),
            LiveError::Serve(error) => error.into(),
            _ => Self::Machine(error.to_string()),
        }
    }
}
