//! E2SM-TC v1.
//!
//! The information elements are the types of this module, under the names of
//! `asn1/E2SM-TC-v1.asn`; [`encode`] and [`decode`] are its aligned PER, [`Validate`] the rules
//! beyond its constraints.

#[macro_use]
mod per;
#[cfg(all(test, feature = "testing"))]
mod evolution;
mod feed;
mod model;
mod partial;
mod validate;

pub use feed::{
    DRAIN_QUANTILE, FeedGrid, FeedSeries, LEVEL_QUANTILE, QuantileColumn, cumulated_drain,
};
pub use model::*;
pub use partial::{ReportItem, encode_first};
pub use validate::{Invalid, Validate};

use crate::error::{DecodeError, EncodeError};
use per::{Reader, Type, Writer};

/// Object identifier of the service model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.146.1";
/// Short name of the RAN function.
pub const SHORT_NAME: &str = "ORAN-E2SM-TC";

mod sealed {
    pub trait Sealed {}
}

/// A type of the module that is a message of its own; see [`encode`] and [`decode`].
///
/// Every message of the service model is one, and so is [`Pipeline`], which tools store.
#[allow(private_bounds, reason = "the wire description is not part of the interface")]
pub trait Message: Sized + sealed::Sealed + Type<Self> {}

macro_rules! messages {
    ($($name:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $name {}
            impl Message for $name {}
        )*
    };
}

messages!(ActionDefinition, ControlHeader, ControlMessage, ControlOutcome, EventTrigger);
messages!(IndicationHeader, IndicationMessage, Pipeline, RanFunctionDefinition);

/// Encodes a message in aligned PER (X.691).
///
/// # Errors
/// A value outside the constraint of its ASN.1 type, with the path of the element.
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer::default();
    M::put(message, &mut writer)?;
    Ok(writer.finish())
}

/// CRC-32 of the encoding of a pipeline: equal pipelines have equal digests.
///
/// # Errors
/// As [`encode`].
pub fn digest(pipeline: &Pipeline) -> Result<u32, EncodeError> {
    encode(pipeline).map(|bytes| crc32fast::hash(&bytes))
}

/// Decodes a message in aligned PER (X.691).
///
/// Components added by later versions of the service model are skipped. Decoded values are within
/// the constraints of the ASN.1 types; [`Validate`] checks the other rules.
///
/// # Errors
/// Bytes that are not an encoding of `M`: truncated, trailing, out of range, an alternative of a
/// later version, or not canonical. Never panics, and never allocates for list members that the
/// bytes cannot hold.
pub fn decode<M: Message>(bytes: &[u8]) -> Result<M, DecodeError> {
    decode_with_extensions(bytes).map(|(message, _)| message)
}

/// Decodes a message and returns whether components of a later version were skipped.
///
/// # Errors
/// As [`decode`].
pub fn decode_with_extensions<M: Message>(bytes: &[u8]) -> Result<(M, bool), DecodeError> {
    let mut reader = Reader::new(bytes);
    let message = M::get(&mut reader)?;
    let extended = reader.finish()?;
    Ok((message, extended))
}
