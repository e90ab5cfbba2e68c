//! Why the gateway could not be started or ended badly.

use std::{io, net::SocketAddr, path::PathBuf};

/// Errors of [`serve`](super::serve).
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address that is none.
    #[error("{option}: {value:?} is no address ({source}); expected HOST:PORT, e.g. 127.0.0.1:0")]
    Address {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// Plaintext gRPC on an address others can reach.
    #[error(
        "--listen {address}: plaintext gRPC beyond loopback is refused; \
         give --tls-cert and --tls-key, or --insecure if the network is trusted"
    )]
    Plaintext {
        /// The address.
        address: SocketAddr,
    },
    /// Plaintext gRPC to an address beyond this machine.
    #[error(
        "--forecasts {address}: plaintext gRPC beyond loopback is refused; \
         give --insecure if the network is trusted"
    )]
    PlaintextForecasts {
        /// The address.
        address: SocketAddr,
    },
    /// The address is taken or not ours.
    #[error("{option} {address}: cannot listen: {source}")]
    Bind {
        /// The option.
        option: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A certificate or key cannot be read.
    #[error("{option} {}: cannot read: {source}", path.display())]
    TlsFile {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Certificates or key are not what TLS needs.
    #[error(
        "--tls-cert, --tls-key, --tls-client-ca: {0}; expected PEM files, the key matching the certificate"
    )]
    Tls(String),
    /// The gRPC or metrics server failed.
    #[error("{door} server failed: {detail}")]
    Server {
        /// `gRPC` or `metrics`.
        door: &'static str,
        /// What it said.
        detail: String,
    },
    /// Threads or signal handlers could not be set up.
    #[error("cannot set up {what}: {source}")]
    System {
        /// What was being set up.
        what: &'static str,
        /// What the system said.
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
    /// The thread that steps the world died.
    #[error("the world stopped on an internal error; the log above says where")]
    World,
    /// The summary could not be written.
    #[error("--summary {}: cannot write: {source}", path.display())]
    Summary {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
