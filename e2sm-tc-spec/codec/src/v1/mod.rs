//! E2SM-TC v1.
//!
//! [`model`] are the information elements, flattened here; [`encode`] and [`decode`] the aligned
//! PER of `asn1/E2SM-TC-v1.asn`; [`validate`] what the ASN.1 constraints cannot say.

mod message;
mod model;
#[macro_use]
mod per;
mod wire;

pub use message::{Message, decode, encode};
pub use model::*;

/// Object identifier of the service model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.146.1";
/// Short name of the RAN function.
pub const SHORT_NAME: &str = "ORAN-E2SM-TC";
