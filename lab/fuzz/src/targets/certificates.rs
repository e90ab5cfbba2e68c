//! PEM files of a listener: certificate, key and client CA, each with its length ahead; a certificate
//! without PEM, as a client shows it.

use lab_gateway::fuzzing;

use sojourn_fuzz::Cursor;

pub(crate) fn check(input: &[u8]) {
    let mut input = Cursor::new(input);
    let (certificate, key) = (input.block(), input.block());
    fuzzing::certificates(certificate, key, input.block());
    fuzzing::shown_certificate(input.rest());
}
