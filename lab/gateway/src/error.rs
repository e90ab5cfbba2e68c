//! Why the gateway could not be started or ended badly.

use std::{io, net::SocketAddr, path::PathBuf};

use serving::SetupError;

/// Errors of [`serve`](super::serve).
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An invalid address.
    #[error(
        "{option}: {value:?} is not an address ({source}); expected HOST:PORT, e.g. 127.0.0.1:0"
    )]
    Address {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// Cause.
        source: io::Error,
    },
    /// Plain text on an address beyond loopback.
    #[error(
        "{option} {address}: plaintext beyond loopback is refused; \
         give --tls-cert and --tls-key, or --insecure if the network encrypts"
    )]
    Plaintext {
        /// The option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// TLS beyond loopback without a way to identify clients.
    #[error(
        "{option} {address}: anyone could connect; give --tls-client-ca, --access or both, \
         or --insecure without TLS if the network protects it"
    )]
    UnknownClients {
        /// The option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// The forecaster cannot be reached as the options say.
    #[error("--forecasts {address}: {reason}")]
    Forecasts {
        /// The address.
        address: String,
        /// Cause and expectation.
        reason: String,
    },
    /// What protects the listeners cannot be used.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The address is in use or not local.
    #[error("{option} {address}: cannot listen: {source}")]
    Bind {
        /// The option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
        /// Cause.
        source: io::Error,
    },
    /// The gRPC or metrics server failed.
    #[error("{server} server failed: {detail}")]
    Server {
        /// `gRPC` or `metrics`.
        server: &'static str,
        /// Cause.
        detail: String,
    },
    /// Threads or signal handlers could not be set up.
    #[error("cannot set up {what}: {source}")]
    System {
        /// What was being set up.
        what: &'static str,
        /// Cause.
        source: io::Error,
    },
    /// A component that uses the local client could not be started.
    #[error("{0}")]
    Component(String),
    /// The recording of the run could not be written; the run itself completed.
    #[error("{reason}")]
    Recording {
        /// File and cause.
        reason: String,
        /// Summary of the run.
        summary: serde_json::Value,
    },
    /// The world's thread panicked.
    #[error("the world's thread panicked; the log has the cause")]
    World,
    /// The summary could not be written.
    #[error("--summary {}: cannot write: {source}", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

/// The innermost cause; tonic's own text is only "transport error".
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
