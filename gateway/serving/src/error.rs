//! Why a server cannot be set up.

use std::{io, path::PathBuf};

use bounded_input::FileError;

/// A setting that cannot be used; each error begins with its name and what separates it from the value.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The access file is not valid.
    #[error("--access {0}")]
    Access(String),
    /// The audit file cannot be written.
    #[error("{setting} {}: cannot write: {source}; expected a writable file", path.display())]
    Audit {
        /// The setting.
        setting: String,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A certificate or key cannot be read.
    #[error("{setting} {}: {source}", path.display())]
    TlsFile {
        /// The setting.
        setting: String,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: FileError,
    },
    /// A file that is no PEM.
    #[error("{setting} {}: not PEM; expected -----BEGIN …-----", path.display())]
    NotPem {
        /// The setting.
        setting: String,
        /// The file.
        path: PathBuf,
    },
    /// Certificates or a key that cannot be used.
    #[error("{settings}: {problem}; expected PEM files, the key matching the certificate")]
    Tls {
        /// The settings and their files.
        settings: String,
        /// What is wrong.
        problem: String,
    },
    /// An address that cannot be listened at.
    #[error("{setting} {listen}: cannot be bound ({source})")]
    Bind {
        /// The setting.
        setting: String,
        /// The address.
        listen: String,
        /// Cause.
        source: io::Error,
    },
}
