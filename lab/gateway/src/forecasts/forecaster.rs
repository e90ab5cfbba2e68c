//! Address of the forecaster and how to connect to it: TLS, token; what is asked of it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bounded_input::read_file;
use tonic::{
    metadata::{Ascii, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use serving::{access::first_line_token, incoming::MAX_PEM_BYTES};

use crate::{
    error::{ServeError, cause},
    options::{ForecastOptions, resolve},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A forecaster's host that disappears without closing is detected within twice this, by TCP (RFC 9293
/// §3.8.4). Servers of gRPC end connections with more than a few HTTP/2 pings in 300 s (gRFC A8), which is
/// too long; a forecaster that hangs is one whose forecasts are late, which the pacers see.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// Time between two probes without an answer, and how many.
const PROBE: Duration = Duration::from_secs(2);
const PROBES: u32 = 2;

/// A forecaster's address and the client's credentials, which are read at each connection.
#[derive(Clone, Debug)]
pub(crate) struct Forecaster {
    address: String,
    tls: Option<ClientFiles>,
    token: Option<PathBuf>,
    drain_quantile: f32,
}

/// CA of the server; certificate and key of the client.
#[derive(Clone, Debug)]
struct ClientFiles {
    ca: PathBuf,
    identity: Option<(PathBuf, PathBuf)>,
}

impl Forecaster {
    /// `None` if no forecaster is configured. A name need not resolve yet.
    ///
    /// # Errors
    /// No HOST:PORT; plain text beyond loopback without `is_insecure`; a file that cannot be used.
    pub(crate) fn from_options(
        options: &ForecastOptions,
        is_insecure: bool,
    ) -> Result<Option<Self>, ServeError> {
        let Some(address) = &options.address else { return Ok(None) };
        let error = |reason: &str| ServeError::Forecasts {
            address: address.clone(),
            reason: reason.to_owned(),
        };
        let port = address.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) {
            return Err(error("not an address; expected HOST:PORT, e.g. 127.0.0.1:36422"));
        }
        if options.ca.is_none()
            && !is_insecure
            && !resolve("--forecasts", address)?.ip().is_loopback()
        {
            return Err(error(
                "plaintext beyond loopback is refused; give --forecasts-ca, or --insecure if the \
                 network encrypts",
            ));
        }
        let identity = options.cert.clone().zip(options.key.clone());
        let tls = options.ca.clone().map(|ca| ClientFiles { ca, identity });
        let (token, drain_quantile) = (options.token.clone(), options.drain_quantile);
        let forecaster = Self { address: address.clone(), tls, token, drain_quantile };
        forecaster.endpoint().and_then(|_| forecaster.token()).map_err(|reason| error(&reason))?;
        Ok(Some(forecaster))
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Quantile of the drain that pacers are fed.
    pub(crate) fn drain_quantile(&self) -> f32 {
        self.drain_quantile
    }

    /// Connects with the files of now.
    pub(crate) async fn connect(&self) -> Result<Channel, String> {
        self.endpoint()?.connect().await.map_err(|error| cause(&error))
    }

    /// The header `authorization`, if there is a token.
    pub(crate) fn token(&self) -> Result<Option<MetadataValue<Ascii>>, String> {
        let Some(path) = &self.token else { return Ok(None) };
        let text = read(path)?;
        let token = str::from_utf8(&text).ok().and_then(first_line_token);
        let header = token.and_then(|token| format!("Bearer {token}").parse().ok());
        let header: MetadataValue<Ascii> = header.ok_or_else(|| {
            format!("{}: expected a first line of 32 to 512 printable characters", path.display())
        })?;
        Ok(Some(header))
    }

    fn endpoint(&self) -> Result<Endpoint, String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::try_from(format!("{scheme}://{}", self.address))
            .map_err(|error| cause(&error))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            .tcp_keepalive_interval(Some(PROBE))
            .tcp_keepalive_retries(Some(PROBES));
        let Some(files) = &self.tls else { return Ok(endpoint) };
        let mut tls =
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&files.ca)?));
        if let Some((certificate, key)) = &files.identity {
            tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
        }
        endpoint.tls_config(tls).map_err(|error| cause(&error))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    read_file(path, MAX_PEM_BYTES).map_err(|error| format!("{}: {error}", path.display()))
}
