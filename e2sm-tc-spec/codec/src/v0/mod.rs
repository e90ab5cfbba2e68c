//! E2SM-TC v0: FlexRIC's plain layout (RAN function 146), byte for byte.
//!
//! Little-endian, unaligned, enumerations as 32-bit numbers, counts before lists. The layout has
//! no UE, no DRB, no queue id in indications and no cause in outcomes.
//! The JSON of the types is that of the published vectors, with keys in wire order.

#[macro_use]
mod plain;
mod control;
mod indication;

pub use control::*;
pub use indication::*;

use crate::error::{DecodeError, EncodeError};
use plain::{Cursor, Plain};

/// Object identifier of the service model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.146.0";

mod sealed {
    pub trait Sealed {}
}

/// A message of v0; see [`encode`] and [`decode`].
#[allow(private_bounds, reason = "the wire description is not part of the interface")]
pub trait Message: sealed::Sealed + Plain {}

macro_rules! messages {
    ($($name:ident: $decode:ident $encode:ident,)*) => {
        $(
            impl sealed::Sealed for $name {}
            impl Message for $name {}

            #[doc = concat!("[`decode`] of a [`", stringify!($name), "`].")]
            ///
            /// # Errors
            /// As [`decode`].
            pub fn $decode(bytes: &[u8]) -> Result<$name, DecodeError> {
                decode(bytes)
            }

            #[doc = concat!("[`encode`] of a [`", stringify!($name), "`].")]
            ///
            /// # Errors
            /// As [`encode`].
            pub fn $encode(message: &$name) -> Result<Vec<u8>, EncodeError> {
                encode(message)
            }
        )*
    };
}

messages!(
    ControlMessage: decode_control encode_control,
    ControlHeader: decode_control_header encode_control_header,
    ControlOutcome: decode_control_outcome encode_control_outcome,
    EventTrigger: decode_event_trigger encode_event_trigger,
    IndicationHeader: decode_indication_header encode_indication_header,
    IndicationMessage: decode_indication encode_indication,
);

/// Encodes a message in the plain layout.
///
/// # Errors
/// A list with more members than a 32-bit count can hold.
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    message.put(&mut bytes)?;
    Ok(bytes)
}

/// Decodes a message in the plain layout.
///
/// # Errors
/// Bytes that are truncated, trailing or of an unknown kind. Never panics, and never allocates for
/// list members that the bytes cannot hold.
pub fn decode<M: Message>(bytes: &[u8]) -> Result<M, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let message = M::get(&mut cursor)?;
    cursor.finish()?;
    Ok(message)
}
