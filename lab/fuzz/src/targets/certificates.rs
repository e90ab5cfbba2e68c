//! PEM files of a listener: certificate, key and client CA, each with its length ahead; a certificate
//! without PEM, as a client shows it.

use rustls_pki_types::CertificateDer;
use serving::incoming::{certificate_names, check_certificates};
use sojourn_fuzz::Cursor;

pub(crate) fn check(input: &[u8]) {
    let mut input = Cursor::new(input);
    let (certificate, key, client_ca) = (input.block(), input.block(), input.block());
    let client_ca = (!client_ca.is_empty()).then(|| client_ca.to_vec());
    let _ = check_certificates(certificate.to_vec(), key.to_vec(), client_ca);
    let _ = certificate_names(&CertificateDer::from(input.rest()));
}
