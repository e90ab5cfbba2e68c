//! The E2SM-TC service model: information elements and codecs.
//!
//! - [`v0`] is FlexRIC's plain layout: one pipeline, no addressing.
//! - [`v1`] is the service model of `spec/E2SM-TC-v1.md`: aligned PER of `asn1/E2SM-TC-v1.asn`.
//! - [`json`] encodes and decodes messages by the name of their kind, as JSON, for tools.
//!
//! All functions are pure: bytes or values in, values, bytes or a typed [`error`] out.

pub mod error;
pub mod json;
pub mod v0;
pub mod v1;

pub use error::{DecodeError, EncodeError, Problem};

/// Property tests: strategies of all messages, made from the declarations that encode them; they
/// include the limits of each range.
#[cfg(feature = "testing")]
pub mod testing {
    use proptest::strategy::BoxedStrategy;

    use crate::{v0, v1};

    /// Messages of v0. Floats are never NaN, so that a message equals itself.
    pub fn v0_message<M: v0::Message>() -> BoxedStrategy<M> {
        M::strategy()
    }

    /// Messages of v1 that can be encoded; not all are valid.
    pub fn v1_message<M: v1::Message>() -> BoxedStrategy<M> {
        M::strategy()
    }
}
