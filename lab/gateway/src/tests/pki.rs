//! Certificates of one test, and connections with them.

use std::{fs, path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::harness::{options, patiently};
use crate::{Gateway, ServeOptions};

/// Certificate chain and key, PEM.
pub(super) type Pair = (String, String);

pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a CA"))
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A pair for `localhost`, which the server's certificates are for.
    pub(super) fn server(&self) -> Pair {
        self.issue("localhost", |_| {})
    }

    /// A pair with one DNS name.
    pub(super) fn client(&self, name: &str) -> Pair {
        self.issue(name, |_| {})
    }

    /// A pair with a subject CN instead of a DNS name, and a URI if given.
    pub(super) fn named_by_uri_and_cn(&self, uri: Option<&str>, cn: &str) -> Pair {
        self.issue("unused", |params| {
            let uri = uri.map(|uri| SanType::URI(uri.try_into().expect("ASCII")));
            params.subject_alt_names = uri.into_iter().collect();
            params.distinguished_name.push(DnType::CommonName, cn);
        })
    }

    fn issue(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        params.distinguished_name = rcgen::DistinguishedName::new();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// Files of a gateway, removed with the test.
pub(super) struct Files(TempDir);

impl Files {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Option<PathBuf> {
        fs::write(self.path(name), text).expect("written");
        Some(self.path(name))
    }

    pub(super) fn write_pair(&self, (certificate, key): &Pair) {
        self.write("cert.pem", certificate);
        self.write("key.pem", key);
    }

    /// TLS with a certificate of `authority`.
    pub(super) fn tls(&self, authority: &Authority) -> ServeOptions {
        self.write_pair(&authority.server());
        ServeOptions {
            tls_cert: Some(self.path("cert.pem")),
            tls_key: Some(self.path("key.pem")),
            ..options()
        }
    }

    /// TLS whose clients need a certificate of `authority`.
    pub(super) fn mutual_tls(&self, authority: &Authority) -> ServeOptions {
        let tls_client_ca = self.write("ca.pem", &authority.pem());
        ServeOptions { tls_client_ca, ..self.tls(authority) }
    }
}

/// Trusts certificates of `authority`; shows a certificate if given.
pub(super) fn tls_client(authority: &Authority, pair: Option<&Pair>) -> ClientTlsConfig {
    let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
    match pair {
        None => tls,
        Some((certificate, key)) => tls.identity(Identity::from_pem(certificate, key)),
    }
}

pub(super) async fn dial(
    gateway: &Gateway,
    tls: ClientTlsConfig,
) -> Result<Channel, tonic::transport::Error> {
    Endpoint::try_from(format!("https://localhost:{}", gateway.address().port()))
        .expect("a URI")
        .tls_config(tls.domain_name("localhost"))?
        .connect()
        .await
}

/// `GET path` over HTTPS: the whole answer.
pub(super) async fn https_get(
    gateway: &Gateway,
    authority: &Authority,
    pair: Option<&Pair>,
    path: &str,
    header: &str,
) -> String {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("a certificate");
    roots.add(ca).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = match pair {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
            let chain = chain.collect::<Result<Vec<_>, _>>().expect("a chain");
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
            config.with_client_auth_cert(chain, key).expect("a pair")
        }
    };
    let address = gateway.metrics_address().expect("HTTP is on");
    let stream = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let mut stream = connected.expect("a handshake");
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    // The server may close without TLS's close_notify.
    let _ = patiently(stream.read_to_end(&mut answer)).await;
    String::from_utf8(answer).expect("UTF-8")
}
