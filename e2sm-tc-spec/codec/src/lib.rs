//! The E2SM-TC service model: information elements and codecs.
//!
//! - [`v0`] is FlexRIC's plain layout: one pipeline, no addressing.
//! - [`v1`] is the service model of `spec/E2SM-TC-v1.md`: aligned PER of `asn1/E2SM-TC-v1.asn`.
//! - [`json`] names messages at run time and carries them as JSON, for tools.
//!
//! Everything is pure: bytes or values in, values or bytes or a typed [`error`] out.

pub mod error;
pub mod json;
#[cfg(feature = "testing")]
pub mod testing;
pub mod v0;
pub mod v1;

pub use error::{DecodeError, EncodeError, Problem};
