//! Certificate, key and client CA of the listeners, read again when their files change; the end of validity
//! of these and of the certificate for the forecaster.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bounded_input::read_file;
use parking_lot::Mutex;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::Protocol;
use crate::{SetupError, metrics::ServingMetrics};

/// ALPN protocol ids (RFC 7301; RFC 9113 §3.1).
const H2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";
/// A certificate that expires within this time is reported in the log once a day.
const EXPIRY_WARNING: Duration = Duration::from_secs(14 * 86_400);
const WARNING_PERIOD: Duration = Duration::from_secs(86_400);

/// Largest PEM file, as of the Python programs; a bundle of public CAs is smaller.
pub const MAX_PEM_BYTES: u64 = 1 << 20;

/// Paths of PEM files.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The server certificate chain.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The CA of client certificates; `None` if clients show none.
    pub client_ca: Option<PathBuf>,
}

/// Contents of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl CertificateFiles {
    fn read(&self) -> Result<Contents, SetupError> {
        let client_ca = self.client_ca.as_deref();
        Ok(Contents {
            certificate: read("--tls-cert", &self.certificate)?,
            key: read("--tls-key", &self.key)?,
            client_ca: client_ca.map(|path| read("--tls-client-ca", path)).transpose()?,
        })
    }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, SetupError> {
    read_file(path, MAX_PEM_BYTES).map_err(|source| SetupError::TlsFile {
        option,
        path: path.to_owned(),
        source,
    })
}

/// TLS of both listeners. Running connections keep the certificate of their handshake.
#[derive(Debug)]
pub struct Certificates {
    files: CertificateFiles,
    state: Mutex<State>,
    metrics: ServingMetrics,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    grpc: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
    expiry: Expiry,
    /// Changed files that could not be used, and why: reported once.
    rejected: Option<String>,
}

/// What a [`Certificates::reload`] found.
pub enum Reloaded {
    /// The files are the same.
    Unchanged,
    /// The new files are in use.
    Accepted,
    /// The new files cannot be used: why.
    Rejected(String),
}

impl Certificates {
    /// Reads the files.
    ///
    /// # Errors
    /// A file cannot be read, or the private key is not that of the certificate.
    pub fn new(files: CertificateFiles, metrics: ServingMetrics) -> Result<Self, SetupError> {
        let state = State::new(files.read()?)?;
        let not_after = state.expiry.not_after;
        let certificates = Self { files, state: Mutex::new(state), metrics };
        certificates.export(not_after);
        Ok(certificates)
    }

    fn export(&self, not_after: i64) {
        for protocol in Protocol::ALL {
            self.metrics.certificate_not_after(protocol.name(), not_after);
            self.metrics.expect_reloads(protocol.name());
        }
    }

    /// Whether client certificates are verified.
    pub fn has_client_ca(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// The configuration for a new connection.
    pub fn config(&self, protocol: Protocol) -> Arc<ServerConfig> {
        let state = self.state.lock();
        match protocol {
            Protocol::Grpc => Arc::clone(&state.grpc),
            Protocol::Http => Arc::clone(&state.http),
        }
    }

    /// Takes over changed files. Files that cannot be used, as between the writes of a new
    /// certificate and of its key, leave the present ones in use.
    pub fn reload(&self) -> Reloaded {
        let mut state = self.state.lock();
        state.expiry.warn(&self.files.certificate);
        let read = self.files.read();
        if read.as_ref().is_ok_and(|contents| *contents == state.contents) {
            state.rejected = None;
            return Reloaded::Unchanged;
        }
        match read.and_then(State::new) {
            Ok(new) => {
                self.export(new.expiry.not_after);
                *state = new;
                tracing::info!("certificates were reloaded");
                Reloaded::Accepted
            }
            Err(error) => {
                let error = error.to_string();
                if state.rejected.as_ref() == Some(&error) {
                    return Reloaded::Unchanged;
                }
                for protocol in Protocol::ALL {
                    self.metrics.tls_reload_failed(protocol.name());
                }
                tracing::warn!(
                    error,
                    "changed certificates cannot be used; the previous ones stay"
                );
                state.rejected = Some(error.clone());
                Reloaded::Rejected(error)
            }
        }
    }
}

/// Whether the contents of files can be used.
pub fn check(
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
) -> Result<(), SetupError> {
    State::new(Contents { certificate, key, client_ca }).map(drop)
}

impl State {
    fn new(contents: Contents) -> Result<Self, SetupError> {
        let expiry = Expiry::of(&contents.certificate)?;
        Ok(Self {
            grpc: Arc::new(server_config(&contents, Protocol::Grpc)?),
            http: Arc::new(server_config(&contents, Protocol::Http)?),
            contents,
            expiry,
            rejected: None,
        })
    }
}

/// The certificate that the gateway shows to the forecaster; its file is read at each connection.
#[derive(Debug)]
pub struct ClientCertificate {
    file: PathBuf,
    expiry: Option<Expiry>,
    metrics: ServingMetrics,
}

impl ClientCertificate {
    const USE: &str = "forecasts";

    /// A certificate in a file.
    pub fn new(file: PathBuf, metrics: ServingMetrics) -> Self {
        Self { file, expiry: None, metrics }
    }

    /// Reads the end of validity again; what is wrong with the file is reported by the connection.
    pub fn check(&mut self) {
        let found = read_file(&self.file, MAX_PEM_BYTES).ok().and_then(|pem| Expiry::of(&pem).ok());
        match &found {
            Some(expiry) => self.metrics.certificate_not_after(Self::USE, expiry.not_after),
            None => self.metrics.certificate_unknown(Self::USE),
        }
        let not_after = |expiry: &Option<Expiry>| expiry.as_ref().map(|expiry| expiry.not_after);
        if not_after(&found) != not_after(&self.expiry) {
            self.expiry = found;
        }
        if let Some(expiry) = &mut self.expiry {
            expiry.warn(&self.file);
        }
    }
}

/// The end of a certificate's validity, Unix time, and when it is reported next.
#[derive(Debug)]
struct Expiry {
    not_after: i64,
    warn_at: SystemTime,
}

impl Expiry {
    /// The validity of the first certificate.
    fn of(pem: &[u8]) -> Result<Self, SetupError> {
        let chain = certificates(pem)?;
        let (_, leaf) = X509Certificate::from_der(&chain[0]).map_err(|error| unusable(&error))?;
        Ok(Self { not_after: leaf.validity().not_after.timestamp(), warn_at: UNIX_EPOCH })
    }

    fn warn(&mut self, file: &Path) {
        let now = SystemTime::now();
        let expires = UNIX_EPOCH + Duration::from_secs(u64::try_from(self.not_after).unwrap_or(0));
        if now >= self.warn_at && now + EXPIRY_WARNING >= expires {
            self.warn_at = now + WARNING_PERIOD;
            let days = expires.duration_since(now).unwrap_or_default().as_secs() / 86_400;
            tracing::warn!(file = %file.display(), days, "a certificate expires soon");
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> SetupError {
    SetupError::Tls(error.to_string())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = chain.map_err(|error| unusable(&error))?;
    if chain.is_empty() {
        return Err(SetupError::Tls("a file has no certificate".to_owned()));
    }
    Ok(chain)
}

fn server_config(contents: &Contents, protocol: Protocol) -> Result<ServerConfig, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let builder = match &contents.client_ca {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(pem)? {
                roots.add(certificate).map_err(|error| unusable(&error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            // Probes of a kubelet come without a certificate; other paths require one.
            let verifier = match protocol {
                Protocol::Grpc => verifier,
                Protocol::Http => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|error| unusable(&error))?)
        }
    };
    let chain = certificates(&contents.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| unusable(&error))?;
    let mut config = builder.with_single_cert(chain, key).map_err(|error| unusable(&error))?;
    config.alpn_protocols = match protocol {
        Protocol::Grpc => vec![H2.to_vec()],
        Protocol::Http => vec![HTTP_1_1.to_vec()],
    };
    Ok(config)
}

/// DNS and URI SANs of a certificate, without any its subject CNs (RFC 9525 §2), each once; none if it cannot
/// be parsed. Shared test vectors with the Python programs: `gateway/access/vectors/certificates.yaml`.
pub fn certificate_names(certificate: &CertificateDer<'_>) -> Arc<[String]> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
        return Arc::from([]);
    };
    let mut names: Vec<String> = Vec::new();
    if let Ok(Some(alternative)) = certificate.subject_alternative_name() {
        for name in &alternative.value.general_names {
            match name {
                GeneralName::DNSName(name) | GeneralName::URI(name) => {
                    names.push((*name).to_owned());
                }
                _ => {}
            }
        }
    }
    if names.is_empty() {
        let common = certificate.subject().iter_common_name();
        names.extend(common.filter_map(|name| name.as_str().ok().map(str::to_owned)));
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;

    use super::*;

    #[test]
    fn names_are_those_of_the_shared_vectors() {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR"));
        let vectors = vectors.join("../access/vectors/certificates.yaml");
        let cases: Value =
            serde_saphyr::from_str(&fs::read_to_string(vectors).expect("the vectors"))
                .expect("YAML");
        let cases = cases.as_array().expect("a list");
        assert!(cases.len() > 10);
        for case in cases {
            let pem = case["pem"].as_str().expect("a text").as_bytes();
            let certificate = CertificateDer::from_pem_slice(pem).expect("a certificate");
            let names = Value::from(certificate_names(&certificate).to_vec());
            assert_eq!(names, case["names"], "{}", case["name"]);
        }
    }
}
