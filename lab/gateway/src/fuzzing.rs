//! The parsers of files and certificates for fuzzing; a value for what they refuse.

use std::path::Path;

use rustls::pki_types::CertificateDer;

use crate::{
    access::{AccessFile, Digest256, first_line_token},
    incoming::{certificate_names, check_certificates},
};

/// Reads an access file, and asks it for the token of a token file and for a node.
pub fn access_file(text: &str, token_file: &str) {
    let Ok(file) = AccessFile::parse(Path::new("access.yaml"), text) else { return };
    if let Some(token) = first_line_token(token_file) {
        let _ = file.by_token(Digest256::of(token));
    }
    let names: Vec<String> = token_file.lines().map(str::to_owned).collect();
    let Some(client) = file.by_certificate(&names) else { return };
    let _ = client.may_access(token_file);
}

/// Certificate, key and client CA of a listener.
pub fn certificates(certificate: &[u8], key: &[u8], client_ca: &[u8]) {
    let client_ca = (!client_ca.is_empty()).then(|| client_ca.to_vec());
    let _ = check_certificates(certificate.to_vec(), key.to_vec(), client_ca);
}

/// The certificate that a client shows.
pub fn shown_certificate(der: &[u8]) {
    let _ = certificate_names(&CertificateDer::from(der));
}
