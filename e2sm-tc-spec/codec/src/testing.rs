//! Values of every message for property tests, drawn from the same descriptions that encode and
//! decode them: within the constraints, their edges among them.

use proptest::strategy::BoxedStrategy;

use crate::error::DecodeError;
use crate::{v0, v1};

/// Messages of v0. Floats are never NaN, so that a message equals itself.
pub fn v0_message<M: v0::Message>() -> BoxedStrategy<M> {
    M::strategy()
}

/// Messages of v1 that can be encoded; they need not make sense.
pub fn v1_message<M: v1::Message>() -> BoxedStrategy<M> {
    M::strategy()
}

/// Decodes a message of v1 and tells whether components of a later version were passed over:
/// without, only one sequence of bytes decodes to a message.
///
/// # Errors
/// As [`v1::decode`].
pub fn decode_noting_extensions<M: v1::Message>(bytes: &[u8]) -> Result<(M, bool), DecodeError> {
    v1::decode_noting_extensions(bytes)
}
