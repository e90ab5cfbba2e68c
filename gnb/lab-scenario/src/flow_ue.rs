//! Which UE a flow belongs to, in the file: an RNTI or the word `each`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flow::FlowUe;

const EACH: &str = "each";

impl<'de> Deserialize<'de> for FlowUe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RntiOrEach;
        impl Visitor<'_> for RntiOrEach {
            type Value = FlowUe;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an RNTI (1..=65519) or 'each'")
            }

            fn visit_u64<E: Error>(self, rnti: u64) -> Result<FlowUe, E> {
                u16::try_from(rnti)
                    .map(FlowUe::Rnti)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(rnti), &self))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<FlowUe, E> {
                if word == EACH {
                    Ok(FlowUe::Each)
                } else {
                    Err(E::invalid_value(Unexpected::Str(word), &self))
                }
            }
        }
        deserializer.deserialize_any(RntiOrEach)
    }
}

impl Serialize for FlowUe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rnti(rnti) => rnti.serialize(serializer),
            Self::Each => EACH.serialize(serializer),
        }
    }
}

impl JsonSchema for FlowUe {
    fn schema_name() -> Cow<'static, str> {
        "FlowUe".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                { "type": "integer", "minimum": 1, "maximum": 65519 },
                { "const": EACH }
            ]
        })
    }
}
