//! Certificate, key and client CA of a listener, read again when their files change; the end of validity
//! of these and of certificates that the program shows as a client.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bounded_input::read_file;
use parking_lot::Mutex;
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::Protocol;
use crate::{
    SetupError,
    access::{Audit, Entry},
    metrics::ServingMetrics,
};

/// ALPN protocol ids (RFC 7301; RFC 9113 §3.1).
const H2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";
/// A certificate that expires within this time is reported in the log once a day.
const EXPIRY_WARNING: Duration = Duration::from_secs(14 * DAY_S);
const WARNING_PERIOD: Duration = Duration::from_secs(DAY_S);
const DAY_S: u64 = 86_400;

/// Largest PEM file, as of the Python programs; a bundle of public CAs is smaller.
pub const MAX_PEM_BYTES: u64 = 1 << 20;

/// A PEM file, and the setting that names it, for errors.
#[derive(Clone, Debug)]
pub struct PemFile {
    /// The setting, e.g. `--tls-cert`.
    pub setting: String,
    /// The file.
    pub path: PathBuf,
}

impl PemFile {
    fn read(&self) -> Result<Vec<u8>, SetupError> {
        let Self { setting, path } = self.clone();
        let content = read_file(&path, MAX_PEM_BYTES).map_err(|source| SetupError::TlsFile {
            setting,
            path,
            source,
        })?;
        // What the parser finds in other files would say nothing.
        const BEGIN: &[u8] = b"-----BEGIN ";
        if content.windows(BEGIN.len()).any(|window| window == BEGIN) {
            Ok(content)
        } else {
            let Self { setting, path } = self.clone();
            Err(SetupError::NotPem { setting, path })
        }
    }
}

/// The files of a listener.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    /// The server certificate chain.
    pub certificate: PemFile,
    /// The private key of the certificate.
    pub key: PemFile,
    /// The CA of client certificates; `None` if clients show none.
    pub client_ca: Option<PemFile>,
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
        Ok(Contents {
            certificate: self.certificate.read()?,
            key: self.key.read()?,
            client_ca: self.client_ca.as_ref().map(PemFile::read).transpose()?,
        })
    }

    /// The settings, as an error names them.
    fn settings(&self) -> String {
        let named = [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref()];
        let named: Vec<String> = named
            .into_iter()
            .flatten()
            .map(|file| format!("{} {}", file.setting, file.path.display()))
            .collect();
        named.join(", ")
    }

    /// The contents in use, for connections of `protocol`.
    fn load(&self, protocol: Protocol, contents: Contents) -> Result<State, SetupError> {
        let made = State::new(protocol, contents);
        made.map_err(|problem| SetupError::Tls { settings: self.settings(), problem })
    }
}

/// TLS of a listener. Running connections keep the certificate of their handshake.
#[derive(Debug)]
pub struct Certificates {
    protocol: Protocol,
    files: CertificateFiles,
    state: Mutex<State>,
    metrics: ServingMetrics,
}

#[derive(Debug)]
struct State {
    contents: Contents,
    config: Arc<ServerConfig>,
    expiry: Expiry,
    /// Changed files that could not be used, and why: reported once.
    rejected: Option<String>,
}

impl Certificates {
    /// Reads the files of a listener for `protocol`.
    ///
    /// # Errors
    /// A file cannot be read, or the private key is not that of the certificate.
    pub fn new(
        protocol: Protocol,
        files: CertificateFiles,
        metrics: ServingMetrics,
    ) -> Result<Self, SetupError> {
        let mut state = files.load(protocol, files.read()?)?;
        state.expiry.warn(protocol.name());
        metrics.certificate_not_after(protocol.name(), state.expiry.not_after);
        metrics.expect_reloads(protocol.name());
        Ok(Self { protocol, files, state: Mutex::new(state), metrics })
    }

    /// Whether client certificates are verified.
    pub fn has_client_ca(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// The configuration for a new connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.state.lock().config)
    }

    /// Takes over changed files, which is written to the audit log. Files that cannot be used, as between
    /// the writes of a new certificate and of its key, leave the present ones in use.
    pub fn reload(&self, audit: &Audit) {
        let server = self.protocol.name();
        let mut state = self.state.lock();
        let read = self.files.read();
        if read.as_ref().is_ok_and(|contents| *contents == state.contents) {
            state.rejected = None;
            state.expiry.warn(server);
            return;
        }
        let outcome = match read.and_then(|contents| self.files.load(self.protocol, contents)) {
            Ok(new) => {
                *state = new;
                let not_after = state.expiry.not_after;
                self.metrics.certificate_not_after(server, not_after);
                let not_after = rfc3339(not_after);
                tracing::info!(server, not_after, "certificate reloaded");
                state.expiry.warn(server);
                "accepted".to_owned()
            }
            Err(error) => {
                let error = error.to_string();
                state.expiry.warn(server);
                if state.rejected.as_ref() == Some(&error) {
                    return;
                }
                self.metrics.tls_reload_failed(server);
                tracing::warn!(error, "certificate refused, the one in force stays");
                let outcome = format!("rejected: {error}");
                state.rejected = Some(error);
                outcome
            }
        };
        drop(state);
        let what = format!("certificate {server}");
        let entry = Entry { action: "reload", what: &what, outcome: &outcome, ..Entry::default() };
        audit.record(&entry);
    }
}

/// Whether the contents of files can be used.
///
/// # Errors
/// What is wrong with them.
pub fn check(certificate: Vec<u8>, key: Vec<u8>, client_ca: Option<Vec<u8>>) -> Result<(), String> {
    State::new(Protocol::Http, Contents { certificate, key, client_ca }).map(drop)
}

/// Whether the files of a listener can be used.
///
/// # Errors
/// The errors of [`Certificates::new`].
pub fn check_files(protocol: Protocol, files: &CertificateFiles) -> Result<(), SetupError> {
    files.load(protocol, files.read()?).map(drop)
}

impl State {
    fn new(protocol: Protocol, contents: Contents) -> Result<Self, String> {
        let expiry = Expiry::of(&contents.certificate)?;
        let config = Arc::new(server_config(&contents, protocol)?);
        Ok(Self { config, contents, expiry, rejected: None })
    }
}

/// A certificate that the program shows as a client; its file is read at each connection.
#[derive(Debug)]
pub struct ClientCertificate {
    name: &'static str,
    file: PathBuf,
    expiry: Option<Expiry>,
    metrics: ServingMetrics,
}

impl ClientCertificate {
    /// A certificate in a file; `name` is what it is shown to, a label of metrics.
    pub fn new(name: &'static str, file: PathBuf, metrics: ServingMetrics) -> Self {
        let mut made = Self { name, file, expiry: None, metrics };
        made.check();
        made
    }

    /// Reads the end of validity again; what is wrong with the file is reported by the connection.
    pub fn check(&mut self) {
        let found = read_file(&self.file, MAX_PEM_BYTES).ok().and_then(|pem| Expiry::of(&pem).ok());
        match &found {
            Some(expiry) => self.metrics.certificate_not_after(self.name, expiry.not_after),
            None => self.metrics.certificate_unknown(self.name),
        }
        let not_after = |expiry: &Option<Expiry>| expiry.as_ref().map(|expiry| expiry.not_after);
        if not_after(&found) != not_after(&self.expiry) {
            self.expiry = found;
        }
        if let Some(expiry) = &mut self.expiry {
            expiry.warn(self.name);
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
    fn of(pem: &[u8]) -> Result<Self, String> {
        let chain = certificates(pem)?;
        let (_, leaf) = X509Certificate::from_der(&chain[0]).map_err(|error| error.to_string())?;
        Ok(Self { not_after: leaf.validity().not_after.timestamp(), warn_at: UNIX_EPOCH })
    }

    /// Reports once a day that it has ended or ends soon; `name` is the label `use` of metrics.
    fn warn(&mut self, name: &'static str) {
        let now = SystemTime::now();
        let expires = UNIX_EPOCH + Duration::from_secs(u64::try_from(self.not_after).unwrap_or(0));
        if now < self.warn_at || now + EXPIRY_WARNING < expires {
            return;
        }
        self.warn_at = now + WARNING_PERIOD;
        let left_s = match expires.duration_since(now) {
            Ok(left) => left.as_secs_f64(),
            Err(error) => -error.duration().as_secs_f64(),
        };
        let days_left = (left_s / DAY_S as f64 * 10.0).round() / 10.0;
        let event = if left_s > 0.0 { "certificate expires soon" } else { "certificate expired" };
        tracing::warn!(r#use = name, days_left, "{event}");
    }
}

fn rfc3339(unix_s: i64) -> String {
    OffsetDateTime::from_unix_timestamp(unix_s)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let chain = chain.map_err(text)?;
    if chain.is_empty() {
        return Err("a file has no certificate".to_owned());
    }
    Ok(chain)
}

fn server_config(contents: &Contents, protocol: Protocol) -> Result<ServerConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(text)?;
    let builder = match &contents.client_ca {
        None => builder.with_no_client_auth(),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(pem)? {
                roots.add(certificate).map_err(text)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            // Probes of a kubelet come without a certificate; other paths require one.
            let verifier = match protocol {
                Protocol::Grpc => verifier,
                Protocol::Http | Protocol::A1 => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().map_err(text)?)
        }
    };
    let chain = certificates(&contents.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(text)?;
    let mut config = builder.with_single_cert(chain, key).map_err(text)?;
    config.alpn_protocols = match protocol {
        Protocol::Grpc => vec![H2.to_vec()],
        Protocol::Http | Protocol::A1 => vec![HTTP_1_1.to_vec()],
    };
    // A resumed session would outlive its client's CA.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
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
    use std::{fs, path::Path};

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
