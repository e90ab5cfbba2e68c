//! The E2SM-TC service model: information elements and codecs.
//!
//! - [`v0`] is FlexRIC's plain layout: one pipeline, no addressing.
//! - [`v1`] is the service model of `spec/E2SM-TC-v1.md`: aligned PER of `asn1/E2SM-TC-v1.asn`.
//! - [`json`] encodes and decodes messages by the name of their kind, as JSON, for tools.
//!
//! All functions are pure: bytes or values in, values, bytes or a typed [`error`] out.
//!
//! # Example
//! ```
//! use e2sm_tc::v1::{self, BearerId, ControlMessage, LeaseRenewal, UeId};
//!
//! let bearer = BearerId { ue: UeId::Rnti(17921), drb: 1 };
//! let renewal = LeaseRenewal { bearer, revision: 3, lease_ms: 6000, owner: None };
//! let message = ControlMessage::LeaseRenewal(renewal);
//! let bytes = v1::encode(&message)?;
//! assert_eq!(v1::decode::<ControlMessage>(&bytes)?, message);
//!
//! let error = v1::decode::<ControlMessage>(&bytes[..4]).unwrap_err();
//! println!("{error}"); // where the bytes end, and in which element
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
