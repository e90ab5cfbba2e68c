//! Messages by the name of their kind, as JSON, for the CLI and the Python module.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{DecodeError, EncodeError};
use crate::v1::Validate;
use crate::{v0, v1};

/// Encoding of the service model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// FlexRIC's plain layout.
    V0,
    /// Aligned PER.
    V1,
}

/// Kind of message. [`Encoding::V0`] has no action definition, RAN function definition or stored
/// pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// RIC control message.
    Control,
    /// RIC control header.
    ControlHeader,
    /// RIC control outcome.
    ControlOutcome,
    /// RIC event trigger definition.
    EventTrigger,
    /// RIC action definition.
    ActionDefinition,
    /// RIC indication header.
    IndicationHeader,
    /// RIC indication message.
    Indication,
    /// RAN function definition.
    RanFunctionDefinition,
    /// A pipeline alone, as tools store it.
    Pipeline,
}

impl Encoding {
    /// Both, with their names.
    pub const ALL: [(Self, &'static str); 2] = [(Self::V0, "v0"), (Self::V1, "v1")];
}

impl Kind {
    /// All kinds, with their names.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Control, "control"),
        (Self::ControlHeader, "control-header"),
        (Self::ControlOutcome, "control-outcome"),
        (Self::EventTrigger, "event-trigger"),
        (Self::ActionDefinition, "action-definition"),
        (Self::IndicationHeader, "indication-header"),
        (Self::Indication, "indication"),
        (Self::RanFunctionDefinition, "ran-function-definition"),
        (Self::Pipeline, "pipeline"),
    ];
}

/// Why bytes or JSON are not a valid message.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The bytes do not decode.
    #[error("{0}")]
    Decode(#[from] DecodeError),
    /// The value does not fit the encoding.
    #[error("{0}")]
    Encode(#[from] EncodeError),
    /// The JSON does not have the shape of the message.
    #[error("{path}: {reason}")]
    Json {
        /// Path of the offending element.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The value has the shape of the message but fails validation.
    #[error("{0}")]
    Invalid(#[from] v1::Invalid),
    /// The encoding has no message of that kind.
    #[error("{encoding} has no {kind} message")]
    NoSuchMessage {
        /// The encoding.
        encoding: Encoding,
        /// The kind.
        kind: Kind,
    },
    /// Unknown name of an encoding or kind.
    #[error("expected {what} as one of {expected}, found {found:?}")]
    UnknownName {
        /// Encoding or kind.
        what: &'static str,
        /// The known names.
        expected: String,
        /// The name given.
        found: String,
    },
}

fn by_name<T: Copy>(what: &'static str, all: &[(T, &str)], name: &str) -> Result<T, CodecError> {
    all.iter().find(|(_, known)| *known == name).map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        CodecError::UnknownName { what, expected: names.join(", "), found: name.to_owned() }
    })
}

impl FromStr for Encoding {
    type Err = CodecError;

    fn from_str(name: &str) -> Result<Self, CodecError> {
        by_name("encoding", &Self::ALL, name)
    }
}

impl FromStr for Kind {
    type Err = CodecError;

    fn from_str(name: &str) -> Result<Self, CodecError> {
        by_name("message kind", &Self::ALL, name)
    }
}

fn name_of<T: PartialEq>(all: &[(T, &'static str)], value: &T) -> &'static str {
    all.iter().find(|(known, _)| known == value).map_or("", |(_, name)| name)
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Self::ALL, self))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Self::ALL, self))
    }
}

/// Reads one JSON value of type `T`.
///
/// # Errors
/// [`CodecError::Json`] with the path of what does not fit.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, CodecError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." || path == "?" => "value".to_owned(),
            path => path,
        };
        CodecError::Json { path, reason: reason(&error.into_inner()) }
    })?;
    deserializer.end().map_err(|error| whole_value_error(&error))?;
    Ok(value)
}

/// serde_json's message without its position in the text; the path replaces it.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) if error.is_data() => in_words(&text[..at]),
        _ => text,
    }
}

/// A message of serde with what was expected as people name it, not as a type of Rust: `a whole
/// number, 0 to 255` for `u8`. For every JSON or YAML that people write.
#[must_use]
pub fn in_words(message: &str) -> String {
    let Some((found, kind)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let whole = |low: String, high: String| format!("a whole number, {low} to {high}");
    let kind = match kind {
        "u8" => whole("0".to_owned(), u8::MAX.to_string()),
        "u16" => whole("0".to_owned(), u16::MAX.to_string()),
        "u32" => whole("0".to_owned(), u32::MAX.to_string()),
        "i8" => whole(i8::MIN.to_string(), i8::MAX.to_string()),
        "i16" => whole(i16::MIN.to_string(), i16::MAX.to_string()),
        "i32" => whole(i32::MIN.to_string(), i32::MAX.to_string()),
        "u64" | "usize" => "a whole number, 0 or more".to_owned(),
        "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        other if other.starts_with("struct ") => "an object with its fields by name".to_owned(),
        other => other.to_owned(),
    };
    format!("{found}, expected {kind}")
}

fn whole_value_error(error: &serde_json::Error) -> CodecError {
    CodecError::Json { path: "value".to_owned(), reason: reason(error) }
}

/// Writes a message as JSON.
///
/// # Errors
/// Never for the messages of this crate.
pub fn to_json<T: Serialize>(value: &T) -> Result<String, CodecError> {
    serde_json::to_string(value).map_err(|error| whole_value_error(&error))
}

/// Runs `$body` with `$message` as the type of a kind's message.
macro_rules! with_message {
    ($version:ident { $($known:ident: $type:ident),* $(,)? } $(else $missing:pat => $refused:expr)?;
        $kind:expr, $message:ident => $body:expr
    ) => {
        match $kind {
            $(Kind::$known => {
                type $message = $version::$type;
                $body
            })*
            $($missing => $refused,)?
        }
    };
}

macro_rules! with_v1_message {
    ($kind:expr, $message:ident => $body:expr) => {
        with_message!(v1 {
            Control: ControlMessage, ControlHeader: ControlHeader, ControlOutcome: ControlOutcome,
            EventTrigger: EventTrigger, ActionDefinition: ActionDefinition,
            IndicationHeader: IndicationHeader, Indication: IndicationMessage,
            RanFunctionDefinition: RanFunctionDefinition, Pipeline: Pipeline,
        }; $kind, $message => $body)
    };
}

macro_rules! with_v0_message {
    ($kind:expr, $message:ident => $body:expr) => {
        with_message!(v0 {
            Control: ControlMessage, ControlHeader: ControlHeader, ControlOutcome: ControlOutcome,
            EventTrigger: EventTrigger, IndicationHeader: IndicationHeader,
            Indication: IndicationMessage,
        } else kind => Err(CodecError::NoSuchMessage { encoding: Encoding::V0, kind });
        $kind, $message => $body)
    };
}

/// Decodes a message to JSON.
///
/// # Errors
/// [`CodecError::Decode`], or [`CodecError::NoSuchMessage`].
pub fn decode(encoding: Encoding, kind: Kind, bytes: &[u8]) -> Result<String, CodecError> {
    match encoding {
        Encoding::V0 => with_v0_message!(kind, M => to_json(&v0::decode::<M>(bytes)?)),
        Encoding::V1 => with_v1_message!(kind, M => to_json(&v1::decode::<M>(bytes)?)),
    }
}

/// Encodes the message that the JSON describes.
///
/// # Errors
/// [`CodecError::Json`], [`CodecError::Encode`] or [`CodecError::NoSuchMessage`].
pub fn encode(encoding: Encoding, kind: Kind, json: &str) -> Result<Vec<u8>, CodecError> {
    match encoding {
        Encoding::V0 => with_v0_message!(kind, M => Ok(v0::encode(&from_json::<M>(json)?)?)),
        Encoding::V1 => with_v1_message!(kind, M => Ok(v1::encode(&from_json::<M>(json)?)?)),
    }
}

/// Validates the v1 message that the JSON describes; see [`v1::Validate`].
///
/// # Errors
/// [`CodecError::Json`], [`CodecError::Invalid`], or [`CodecError::Encode`] for messages without
/// rules beyond their ASN.1 constraints.
pub fn validate(kind: Kind, json: &str) -> Result<(), CodecError> {
    match kind {
        Kind::Pipeline => Ok(from_json::<v1::Pipeline>(json)?.validate()?),
        Kind::Control => Ok(from_json::<v1::ControlMessage>(json)?.validate()?),
        Kind::EventTrigger => Ok(from_json::<v1::EventTrigger>(json)?.validate()?),
        Kind::ActionDefinition => Ok(from_json::<v1::ActionDefinition>(json)?.validate()?),
        Kind::ControlHeader
        | Kind::ControlOutcome
        | Kind::IndicationHeader
        | Kind::Indication
        | Kind::RanFunctionDefinition => encode(Encoding::V1, kind, json).map(|_| ()),
    }
}
