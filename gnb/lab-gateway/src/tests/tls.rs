//! TLS and mutual TLS on the gRPC door.

use std::{fs, path::PathBuf, process};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::{double::Double, harness::*};
use crate::{
    Gateway, ServeError, ServeOptions,
    proto::{ListNodesRequest, e2_gateway_client::E2GatewayClient},
};

/// Files of one test, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("e2-gateway-{name}-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> Option<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text).expect("written");
        Some(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a CA"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key for `localhost`.
    fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

async fn dial(gateway: &Gateway, tls: ClientTlsConfig) -> Result<Channel, tonic::transport::Error> {
    Endpoint::try_from(format!("https://localhost:{}", gateway.address().port()))
        .expect("a URI")
        .tls_config(tls.domain_name("localhost"))?
        .connect()
        .await
}

async fn list(channel: Channel) -> Result<usize, tonic::Status> {
    let nodes = E2GatewayClient::new(channel).list_nodes(ListNodesRequest {}).await?;
    Ok(nodes.into_inner().nodes.len())
}

#[tokio::test]
async fn tls_serves_those_who_trust_the_certificate_and_nobody_in_the_clear() {
    let folder = Folder::new("tls");
    let authority = Authority::new();
    let (cert, key) = authority.issue();
    let options = ServeOptions {
        tls_cert: folder.file("cert.pem", &cert),
        tls_key: folder.file("key.pem", &key),
        ..options()
    };
    let (gateway, _script) = start_with(&options).await;

    let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));
    let channel = dial(&gateway, trusting).await.expect("a handshake");
    assert_eq!(list(channel).await.expect("nodes"), 1);
    let stranger = Authority::new().pem();
    let distrusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(stranger));
    assert!(dial(&gateway, distrusting).await.is_err());
    let uri = format!("http://{}", gateway.address());
    let clear = Endpoint::try_from(uri).expect("a URI").connect().await;
    if let Ok(channel) = clear {
        assert!(list(channel).await.is_err());
    }
}

#[tokio::test]
async fn mutual_tls_turns_away_clients_without_a_certificate() {
    let folder = Folder::new("mtls");
    let authority = Authority::new();
    let (cert, key) = authority.issue();
    let options = ServeOptions {
        tls_cert: folder.file("cert.pem", &cert),
        tls_key: folder.file("key.pem", &key),
        tls_client_ca: folder.file("ca.pem", &authority.pem()),
        ..options()
    };
    let (gateway, _script) = start_with(&options).await;
    let trusting = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()));

    let (cert, key) = authority.issue();
    let known = trusting.clone().identity(Identity::from_pem(cert, key));
    let channel = dial(&gateway, known).await.expect("a handshake");
    assert_eq!(list(channel).await.expect("nodes"), 1);
    let (cert, key) = Authority::new().issue();
    for unknown in [trusting.clone(), trusting.identity(Identity::from_pem(cert, key))] {
        // With TLS 1.3 the client learns of it with its first call.
        if let Ok(channel) = dial(&gateway, unknown).await {
            assert!(list(channel).await.is_err());
        }
    }
}

#[tokio::test]
async fn files_that_are_missing_or_no_certificates_are_named() {
    let folder = Folder::new("bad");
    let (cert, key) = Authority::new().issue();
    let good = ServeOptions {
        tls_cert: folder.file("cert.pem", &cert),
        tls_key: folder.file("key.pem", &key),
        ..options()
    };
    let absent = ServeOptions { tls_key: Some(folder.0.join("absent.pem")), ..good.clone() };
    let garbage = ServeOptions { tls_cert: folder.file("bad.pem", "no PEM"), ..good.clone() };
    let alone = ServeOptions { tls_key: None, ..good };
    for (options, word) in
        [(absent, "absent.pem"), (garbage, "--tls-cert"), (alone, "both be given")]
    {
        let (double, _script) = Double::new();
        let error: ServeError = Gateway::start(double, &options).await.expect_err("refused");
        assert!(error.to_string().contains(word), "{error}");
    }
}
