//! Settings of `gnb-lab serve`.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use clap::{Args, ValueEnum};

use super::error::ServeError;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Settings of `gnb-lab serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Address of the E2 gateway; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:36421")]
    pub listen: String,

    /// Address of the Prometheus endpoint (`/metrics`); none when absent.
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics_listen: Option<String>,

    /// Take forecasts for the pacers from this `rlc-forecaster`, which is looked for until it is there.
    #[arg(long, value_name = "HOST:PORT")]
    pub forecasts: Option<String>,

    /// Server certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Demand client certificates signed by this CA (mutual TLS), PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,

    /// Speak plaintext gRPC beyond loopback.
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

    /// How log lines on stderr look; `RUST_LOG` filters them.
    #[arg(long, value_enum, default_value_t)]
    pub log_format: LogFormat,
}

impl Default for ServeOptions {
    /// What the command line gives without flags.
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
            log_format: LogFormat::default(),
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
    fn no_flags_are_the_defaults() {
        let parsed = parse(&[]).expect("valid");
        assert_eq!(format!("{parsed:?}"), format!("{:?}", ServeOptions::default()));
    }

    #[test]
    fn flags_that_contradict_or_miss_their_companion_are_named() {
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
    fn plaintext_is_for_loopback_only_whatever_its_family() {
        for (listen, secure) in [("127.0.0.1:0", true), ("[::1]:0", true), ("[::]:0", false)] {
            let options = ServeOptions { listen: listen.to_owned(), ..ServeOptions::default() };
            assert_eq!(options.grpc_address().is_ok(), secure, "{listen}");
            let forecasts = Some(listen.to_owned());
            let options = ServeOptions { forecasts, ..ServeOptions::default() };
            assert_eq!(options.forecaster_address().is_ok(), secure, "{listen}");
        }
    }
}
