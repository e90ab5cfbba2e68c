//! The version of the internet protocol in the file: the number 4 or 6.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::flow::IpVersion;

impl TryFrom<u8> for IpVersion {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(format!("{other}; expected 4 or 6")),
        }
    }
}

impl From<IpVersion> for u8 {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        }
    }
}

impl JsonSchema for IpVersion {
    fn schema_name() -> Cow<'static, str> {
        "IpVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": [4, 6] })
    }
}
