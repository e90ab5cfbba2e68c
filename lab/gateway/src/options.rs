//! Settings of `gnb-lab serve`.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use e2sm_tc::v1::DRAIN_QUANTILE;

use serving::{
    SetupError,
    hosts::HostName,
    incoming::{CertificateFiles, PemFile},
};

use super::{error::ServeError, limits::NodePools, metrics::MetricsDetail};

/// Settings of `gnb-lab serve`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Gateway")]
pub struct ServeOptions {
    /// Address of the E2 gateway; port 0 takes a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:36421")]
    pub listen: String,

    /// Maximum number of simultaneous subscriptions. A client may hold as many as are still free, half
    /// of them if it is alone; so for the loads below.
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Limits")]
    pub max_subscribers: usize,

    /// Connections of each listener. When it is full the longest idle one ends; one that sends nothing ends
    /// after 10 s, one without a call after 120 s.
    #[arg(long, value_name = "N", default_value_t = 400, help_heading = "Limits")]
    pub max_connections: usize,

    /// Load of all reports, MB/s; a report counts its bytes and 8,192. Subscriptions beyond are refused.
    #[arg(long, value_name = "MB/S", default_value_t = 400, help_heading = "Limits",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub max_report_load: u32,

    /// A control without an answer for this long ends with `DEADLINE_EXCEEDED`.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub control_timeout: Duration,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub forecasts: ForecastOptions,

    /// Server certificate chain, PEM, of both listeners. Changed files are used for new connections.
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "TLS and access")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS and access")]
    pub tls_key: Option<PathBuf>,

    /// CA that must have signed client certificates (mutual TLS), PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "TLS and access")]
    pub tls_client_ca: Option<PathBuf>,

    /// Access file: which clients may read, subscribe, control, on which nodes. Reloaded when it
    /// changes. If unset, whoever can connect may do everything.
    #[arg(long, value_name = "FILE", help_heading = "TLS and access")]
    pub access: Option<PathBuf>,

    /// Append controls, subscriptions and refusals to this file as JSON lines. If unset, they go to
    /// the log.
    #[arg(long, value_name = "FILE", help_heading = "TLS and access")]
    pub audit: Option<PathBuf>,

    /// Allow plain text beyond loopback, for a network that encrypts (service mesh).
    #[arg(long, conflicts_with = "tls_cert", help_heading = "TLS and access")]
    pub insecure: bool,

    /// Address of `/metrics`, `/healthz` and `/readyz`; port 0 takes a free one. Disabled if unset.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Metrics and health")]
    pub metrics_listen: Option<String>,

    /// Names by which HTTP clients may call this server, separated by commas. IP addresses, localhost and
    /// the name of --metrics-listen always are; over TLS any is.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = HostName::parse,
        help_heading = "Metrics and health")]
    pub allowed_hosts: Vec<HostName>,

    /// Number of bearers that have series of their own, five each: the worst by their sojourn over 15
    /// minutes. 0: none.
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Metrics and health",
        value_parser = clap::value_parser!(u16).range(..=1000))]
    pub metrics_top_bearers: u16,

    /// Metrics beyond the default, separated by commas: `distributions` of delays (3GPP TS 28.552),
    /// `flows`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Metrics and health")]
    pub metrics_detail: Vec<MetricsDetail>,

    /// Nice value of the program's threads; unset: as it was started. Below that it gets a core before
    /// other programs and needs CAP_SYS_NICE or RLIMIT_NICE; refused, it is a warning, and
    /// sojourn_process_nice stays.
    #[arg(long, value_name = "-20..19", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,

    /// Program in `sojourn_build_info`.
    #[arg(skip = "gnb-lab")]
    pub program: &'static str,

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
            allowed_hosts: Vec::new(),
            metrics_top_bearers: 20,
            metrics_detail: Vec::new(),
            nice: None,
            program: "gnb-lab",
            forecasts: ForecastOptions::default(),
            tls_cert: None,
            tls_key: None,
            tls_client_ca: None,
            access: None,
            audit: None,
            insecure: false,
            duration: None,
            summary: None,
            max_subscribers: 1024,
            max_report_load: 400,
            max_connections: 400,
            control_timeout: Duration::from_secs(3),
        }
    }
}

impl ServeOptions {
    /// What clients share of the node.
    pub(super) fn node_pools(&self) -> NodePools {
        NodePools::new(self.max_subscribers, u64::from(self.max_report_load) * 1_000_000)
    }

    /// Resolves `--listen`; refuses an address beyond loopback whose clients are not protected.
    pub(super) fn grpc_address(&self) -> Result<SocketAddr, ServeError> {
        self.socket_address("--listen", &self.listen)
    }

    /// Resolves `--metrics-listen`, as [`grpc_address`](Self::grpc_address).
    pub(super) fn http_address(&self) -> Result<Option<SocketAddr>, ServeError> {
        let address = |value| self.socket_address("--metrics-listen", value);
        self.metrics_listen.as_deref().map(address).transpose()
    }

    fn socket_address(&self, option: &'static str, value: &str) -> Result<SocketAddr, ServeError> {
        let address = resolve(option, value)?;
        if self.insecure || address.ip().is_loopback() {
            return Ok(address);
        }
        if self.tls_cert.is_none() {
            return Err(ServeError::Plaintext { option, address });
        }
        if self.tls_client_ca.is_none() && self.access.is_none() {
            return Err(ServeError::UnknownClients { option, address });
        }
        Ok(address)
    }

    /// Certificate, key and client CA; `None` without TLS.
    pub(super) fn certificate_files(&self) -> Result<Option<CertificateFiles>, ServeError> {
        let pem = |setting: &str, path: &PathBuf| PemFile {
            setting: setting.to_owned(),
            path: path.clone(),
        };
        match (&self.tls_cert, &self.tls_key, &self.tls_client_ca) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), client_ca) => Ok(Some(CertificateFiles {
                certificate: pem("--tls-cert", certificate),
                key: pem("--tls-key", key),
                client_ca: client_ca.as_ref().map(|path| pem("--tls-client-ca", path)),
            })),
            _ => {
                let settings = "--tls-cert, --tls-key, --tls-client-ca".to_owned();
                let problem = "certificate and key must both be given".to_owned();
                Err(SetupError::Tls { settings, problem }.into())
            }
        }
    }
}

/// Address, TLS and token for the forecast stream of an `rlc-forecaster`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Forecasts")]
pub struct ForecastOptions {
    /// Address of the forecast stream of an `rlc-forecaster`, for the pacers; reconnects until it is
    /// available. Without forecasts if unset.
    #[arg(id = "forecasts", long, value_name = "HOST:PORT")]
    pub address: Option<String>,

    /// CA of the forecaster's certificate, PEM. Plain text if unset: loopback only, or --insecure.
    #[arg(id = "forecasts-ca", long, value_name = "FILE", requires = "forecasts")]
    pub ca: Option<PathBuf>,

    /// Client certificate chain, PEM. Read again at each connection, as the files below.
    #[arg(id = "forecasts-cert", long, value_name = "FILE", requires_all = ["forecasts-ca", "forecasts-key"])]
    pub cert: Option<PathBuf>,

    /// Private key of the client certificate, PEM.
    #[arg(id = "forecasts-key", long, value_name = "FILE", requires = "forecasts-cert")]
    pub key: Option<PathBuf>,

    /// File whose first line is the client's token.
    #[arg(id = "forecasts-token", long, value_name = "FILE", requires = "forecasts")]
    pub token: Option<PathBuf>,

    /// Quantile of the forecast drain that pacers are fed, above 0 and below 1: higher loses less of
    /// the radio and delays more. A forecaster refuses one beyond its model's.
    #[arg(id = "forecasts-drain-quantile", long, value_name = "Q", default_value_t = DRAIN_QUANTILE,
          value_parser = quantile)]
    pub drain_quantile: f32,
}

impl Default for ForecastOptions {
    /// Options without forecasts.
    fn default() -> Self {
        let drain_quantile = DRAIN_QUANTILE;
        Self { address: None, ca: None, cert: None, key: None, token: None, drain_quantile }
    }
}

pub(super) fn resolve(option: &'static str, value: &str) -> Result<SocketAddr, ServeError> {
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

/// A quantile of a command line: above 0 and below 1.
///
/// # Errors
/// What was expected.
pub fn quantile(text: &str) -> Result<f32, String> {
    let quantile = text.parse::<f32>().ok().filter(|level| *level > 0.0 && *level < 1.0);
    quantile.ok_or_else(|| "expected a number above 0 and below 1".to_owned())
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
            (&["--forecasts-ca", "a.pem"], "--forecasts"),
            (&["--forecasts", "a:1", "--forecasts-cert", "a"], "--forecasts-ca"),
            (&["--insecure", "--tls-cert", "a", "--tls-key", "b"], "--insecure"),
            (&["--forecasts-drain-quantile", "1"], "above 0 and below 1"),
            (&["--forecasts-drain-quantile", "NaN"], "above 0 and below 1"),
            (&["--duration", "0"], "more than 0 seconds"),
            (&["--duration", "soon"], "expected seconds"),
            (&["--control-timeout", "1e300"], "expected seconds"),
            (&["--max-subscribers", "few"], "max-subscribers"),
            (&["--nice", "-21"], "-21 is not in -20..=19"),
            (&["--metrics-top-bearers", "1001"], "1001 is not in 0..=1000"),
            (&["--allowed-hosts", "a.example,b:80"], "a host name without a port"),
            (&["--metrics-detail", "everything"], "expected distributions"),
        ] {
            let error = parse(arguments).expect_err("refused").to_string();
            assert!(error.contains(word), "{word:?} is not in {error}");
        }
    }

    #[test]
    fn addresses_beyond_loopback_need_a_certificate_and_known_clients() {
        let some = || Some(PathBuf::from("file"));
        let plain = ServeOptions::default();
        let tls = ServeOptions { tls_cert: some(), tls_key: some(), ..ServeOptions::default() };
        let mutual = ServeOptions { tls_client_ca: some(), ..tls.clone() };
        let tokens = ServeOptions { access: some(), ..tls.clone() };
        let mesh = ServeOptions { insecure: true, ..ServeOptions::default() };
        for (address, options, is_allowed) in [
            ("127.0.0.1:0", &plain, true),
            ("[::1]:0", &plain, true),
            ("127.0.0.1:0", &tls, true),
            ("[::]:0", &plain, false),
            ("0.0.0.0:0", &tls, false),
            ("0.0.0.0:0", &mutual, true),
            ("0.0.0.0:0", &tokens, true),
            ("0.0.0.0:0", &mesh, true),
        ] {
            let options = ServeOptions {
                listen: address.to_owned(),
                metrics_listen: Some(address.to_owned()),
                ..options.clone()
            };
            assert_eq!(options.grpc_address().is_ok(), is_allowed, "{options:?}");
            assert_eq!(options.http_address().is_ok(), is_allowed, "{options:?}");
        }
    }
}
