//! E2SM-TC v1.
//!
//! The information elements are the types of this module, under the names of
//! `asn1/E2SM-TC-v1.asn`; [`encode`] and [`decode`] are its aligned PER, [`Validate`] what its
//! constraints cannot say.

#[macro_use]
mod per;
mod message;
mod model;
mod validate;

#[cfg(feature = "testing")]
pub(crate) use message::decode_noting_extensions;
pub use message::{Message, decode, encode};
pub use model::*;
pub use validate::{Invalid, Validate};

/// Object identifier of the service model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.146.1";
/// Short name of the RAN function.
pub const SHORT_NAME: &str = "ORAN-E2SM-TC";
