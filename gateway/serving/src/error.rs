//! Why a server cannot be set up.

use std::{io, path::PathBuf};

use bounded_input::FileError;

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The access file is not valid.
    #[error("--access {0}")]
    Access(String),
    /// The audit file cannot be written.
    #[error("--audit {}: cannot write: {source}", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A certificate or key cannot be read.
    #[error("{option} {}: {source}", path.display())]
    TlsFile {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: FileError,
    },
    /// Certificates or a key that cannot be used.
    #[error(
        "--tls-cert, --tls-key, --tls-client-ca: {0}; expected PEM files, the key matching the certificate"
    )]
    Tls(String),
}
