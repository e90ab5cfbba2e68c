//! Whole messages: what E2AP carries as octet strings.

use super::model::{
    ActionDefinition, ControlHeader, ControlMessage, ControlOutcome, EventTrigger,
    IndicationHeader, IndicationMessage, Pipeline, RanFunctionDefinition,
};
use super::per::{Reader, Type, Writer};
use crate::error::{DecodeError, EncodeError};

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

messages!(
    ActionDefinition,
    ControlHeader,
    ControlMessage,
    ControlOutcome,
    EventTrigger,
    IndicationHeader,
    IndicationMessage,
    Pipeline,
    RanFunctionDefinition,
);

/// Encodes a message in aligned PER (X.691).
///
/// # Errors
/// A value outside the constraint of its ASN.1 type, with the path of the element.
pub fn encode<M: Message>(message: &M) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer::default();
    M::put(message, &mut writer)?;
    Ok(writer.finish())
}

/// Decodes a message in aligned PER (X.691).
///
/// Components added by later versions of the service model are passed over. What decodes is
/// within the constraints of the ASN.1 types; whether it makes sense is for
/// [`Validate`](super::Validate) to say.
///
/// # Errors
/// Bytes that are no encoding of `M`: truncated, trailing, out of range, of a later version's
/// alternative, or not in the form the encoding rules prescribe. Never panics, and never
/// allocates for list members that the bytes cannot hold.
pub fn decode<M: Message>(bytes: &[u8]) -> Result<M, DecodeError> {
    decode_noting_extensions(bytes).map(|(message, _)| message)
}

/// Also answers whether components of a later version were passed over.
pub(crate) fn decode_noting_extensions<M: Message>(bytes: &[u8]) -> Result<(M, bool), DecodeError> {
    let mut reader = Reader::new(bytes);
    let message = M::get(&mut reader)?;
    let extended = reader.finish()?;
    Ok((message, extended))
}
