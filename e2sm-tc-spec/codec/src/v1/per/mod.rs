//! Aligned PER (ITU-T X.691), as far as the module `asn1/E2SM-TC-v1.asn` needs it.
//!
//! [`bits`] holds the bit-level rules, [`types`] the ASN.1 types, [`macros`] what turns one
//! description of a SEQUENCE, CHOICE or ENUMERATED into encoder, decoder and, for tests, a
//! generator of values.

mod bits;
#[macro_use]
mod macros;
mod types;

pub(crate) use bits::{Reader, Writer, last, least_bits, smallest};
pub(crate) use types::{Address4, Address6, Bool, Int, ListOf, Opt, Shape, Type, Utf8, Visible};
pub(crate) use types::{U16, U32, U64};
