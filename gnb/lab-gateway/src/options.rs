//! Settings of `gnb-lab serve`.

use std::{
    fs, io,
    net::{SocketAddr, ToSocketAddrs},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use super::error::ServeError;

/// Settings of `gnb-lab serve`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Gateway")]
pub struct ServeOptions {
    /// Address of the E2 gateway; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:36421")]
    pub listen: String,

    /// Maximum number of simultaneous subscriptions.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub max_subscribers: usize,

    /// A control without an answer for this long ends with `DEADLINE_EXCEEDED`.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub control_timeout: Duration,

    /// Address of the forecast stream of an `rlc-forecaster`, for the pacers; reconnects until it is
    /// available. Without forecasts if unset.
    #[arg(long, value_name = "HOST:PORT")]
    pub forecasts: Option<String>,

    /// Server certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub tls_key: Option<PathBuf>,

    /// CA that must have signed client certificates (mutual TLS), PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS")]
    pub tls_client_ca: Option<PathBuf>,

    /// Allow plain text beyond loopback.
    #[arg(long, conflicts_with = "tls_cert", help_heading = "TLS")]
    pub insecure: bool,

    /// Address of `/metrics`; port 0 takes a free one. Disabled if unset.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Metrics")]
    pub metrics_listen: Option<String>,

    /// Stop after this time.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Scenario")]
    pub duration: Option<Duration>,

    /// Summary of the run, JSON, written when it ends. Disabled if unset.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub summary: Option<PathBuf>,
}

impl Default for ServeOptions {
    /// The settings without flags.
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:36421".to_owned(),
            metrics_listen: None,
            forecasts: None,
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

    /// Resolves `--forecasts` and refuses plaintext beyond loopback.
    pub(super) fn forecaster_address(&self) -> Result<Option<SocketAddr>, ServeError> {
        let Some(value) = &self.forecasts else { return Ok(None) };
        let address = resolve("--forecasts", value)?;
        if !self.insecure && !address.ip().is_loopback() {
            return Err(ServeError::PlaintextForecasts { address });
        }
        Ok(Some(address))
    }

    /// Reads certificate, key and client CA; `None` without TLS.
    pub(super) fn tls_config(&self) -> Result<Option<ServerTlsConfig>, ServeError> {
        let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return match (&self.tls_cert, &self.tls_key, &self.tls_client_ca) {
                (None, None, None) => Ok(None),
                _ => Err(ServeError::Tls("certificate and key must both be given".to_owned())),
            };
        };
        let identity = Identity::from_pem(read("--tls-cert", cert)?, read("--tls-key", key)?);
        let config = ServerTlsConfig::new().identity(identity);
        match &self.tls_client_ca {
            None => Ok(Some(config)),
            Some(ca) => {
                let ca = Certificate::from_pem(read("--tls-client-ca", ca)?);
                Ok(Some(config.client_ca_root(ca)))
            }
        }
    }

    /// Resolves `--metrics-listen`.
    pub(super) fn metrics_address(&self) -> Result<Option<SocketAddr>, ServeError> {
        self.metrics_listen.as_deref().map(|value| resolve("--metrics-listen", value)).transpose()
    }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, ServeError> {
    fs::read(path).map_err(|source| ServeError::TlsFile { option, path: path.to_owned(), source })
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: ServeOptions,
    }

    fn parse(arguments: &[&str]) -> Result<ServeOptions, clap::Error> {
        CommandLine::try_parse_from([&["serve"], arguments].concat()).map(|line| line.options)
    }

    #[test]
    fn without_flags_options_are_the_defaults() {
        let parsed = parse(&[]).expect("valid");
        assert_eq!(format!("{parsed:?}"), format!("{:?}", ServeOptions::default()));
    }

    #[test]
    fn conflicting_or_incomplete_flags_are_named() {
        for (arguments, word) in [
            (&["--tls-cert", "a.pem"][..], "--tls-key"),
            (&["--tls-client-ca", "a.pem"], "--tls-cert"),
            (&["--insecure", "--tls-cert", "a", "--tls-key", "b"], "--insecure"),
            (&["--duration", "0"], "more than 0 seconds"),
            (&["--duration", "soon"], "expected seconds"),
            (&["--control-timeout", "1e300"], "expected seconds"),
            (&["--max-subscribers", "few"], "max-subscribers"),
        ] {
            let error = parse(arguments).expect_err("refused").to_string();
            assert!(error.contains(word), "{word:?} is not in {error}");
        }
    }

    #[test]
    fn plaintext_is_for_loopback_only_in_ipv4_and_ipv6() {
        for (listen, secure) in [("127.0.0.1:0", true), ("[::1]:0", true), ("[::]:0", false)] {
            let options = ServeOptions { listen: listen.to_owned(), ..ServeOptions::default() };
            assert_eq!(options.grpc_address().is_ok(), secure, "{listen}");
            let forecasts = Some(listen.to_owned());
            let options = ServeOptions { forecasts, ..ServeOptions::default() };
            assert_eq!(options.forecaster_address().is_ok(), secure, "{listen}");
        }
    }
}
