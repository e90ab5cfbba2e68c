//! Settings of `gnb-lab serve`.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use clap::Args;

use super::error::ServeError;

/// Settings of `gnb-lab serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Address of the E2 gateway; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:36421")]
    pub listen: String,

    /// Address of the Prometheus endpoint (`/metrics`); none when absent.
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics_listen: Option<String>,

    /// Server certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Demand client certificates signed by this CA (mutual TLS), PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,

    /// Serve plaintext gRPC beyond loopback.
    #[arg(long, conflicts_with = "tls_cert")]
    pub insecure: bool,

    /// Stop by itself after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<Duration>,

    /// Write the summary of the run here (JSON) when it ends.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Most indication streams at once.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_subscribers: usize,

    /// A control unanswered for this long ends with `DEADLINE_EXCEEDED`.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub control_timeout: Duration,
}

impl Default for ServeOptions {
    /// What the command line gives without flags.
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:36421".to_owned(),
            metrics_listen: None,
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            insecure: false,
            duration: None,
            summary: None,
            max_subscribers: 1024,
            control_timeout: Duration::from_secs(3),
        }
    }
}

impl ServeOptions {
    /// Resolves `--listen` and refuses plaintext beyond loopback.
    pub(super) fn grpc_address(&self) -> Result<SocketAddr, ServeError> {
        let address = resolve("--listen", &self.listen)?;
        if self.tls_cert.is_none() && !self.insecure && !address.ip().is_loopback() {
            return Err(ServeError::Plaintext { address });
        }
        Ok(address)
    }

    /// Resolves `--metrics-listen`.
    pub(super) fn metrics_address(&self) -> Result<Option<SocketAddr>, ServeError> {
        self.metrics_listen.as_deref().map(|value| resolve("--metrics-listen", value)).transpose()
    }
}

fn resolve(option: &'static str, value: &str) -> Result<SocketAddr, ServeError> {
    value
        .to_socket_addrs()
        .and_then(|mut addresses| {
            addresses.next().ok_or_else(|| io::Error::other("the name has no address"))
        })
        .map_err(|source| ServeError::Address { option, value: value.to_owned(), source })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|error| format!("{error}; expected seconds"))?;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_err(|error| format!("{error}; expected seconds"))
    } else {
        Err("expected more than 0 seconds".to_owned())
    }
}
