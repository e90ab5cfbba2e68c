//! The part of aligned PER (ITU-T X.691) that `asn1/E2SM-TC-v1.asn` uses.
//!
//! [`bits`] holds the bit-level rules, [`types`] the ASN.1 types, [`macros`] the declarations
//! of SEQUENCE, CHOICE and ENUMERATED.

mod bits;
#[macro_use]
mod macros;
mod types;

pub(crate) use bits::{
    Reader, Writer, in_order, last, least_bits, read_whole, smallest, up_to_last_present,
};
pub(crate) use types::{Int, ListOf, POSITIVE, ReportOf, Shape, Type, Utf8, Visible, within};
