//! A pipeline in a scenario: a template by name, with parameters, or a whole E2SM-TC v1 pipeline.

use std::borrow::Cow;

use e2sm_tc::json::in_words;
use e2sm_tc::v1::Pipeline;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tc_rf::templates::{self, Template};

/// A pipeline: the name of a template, `template` with its parameters as in a policy of
/// tc-controller, or all six stages in the shape of E2SM-TC v1.
#[derive(Clone, Debug, PartialEq)]
pub enum PipelineSpec {
    /// A named composition of tc-rf.
    Template(String),
    /// All stages.
    Full(Box<Pipeline>),
}

/// Name of the pipeline that forwards packets unchanged.
pub const TRANSPARENT: &str = "transparent";

impl Default for PipelineSpec {
    fn default() -> Self {
        Self::Template(TRANSPARENT.to_owned())
    }
}

impl<'de> Deserialize<'de> for PipelineSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::Template(name)),
            Value::Object(mut keys) => match keys.remove("template") {
                Some(template) => composed(&template, Value::Object(keys)),
                None => strict_pipeline(Value::Object(keys)),
            }
            .map(|pipeline| Self::Full(Box::new(pipeline)))
            .map_err(D::Error::custom),
            other => Err(D::Error::custom(format!(
                "expected the name of a template or a pipeline, found {}",
                kind_of(&other)
            ))),
        }
    }
}

/// The pipeline of a template with these parameters; what they leave out has its default.
fn composed(template: &Value, parameters: Value) -> Result<Pipeline, String> {
    let Value::String(name) = template else {
        return Err(format!("template: expected a name, found {}", kind_of(template)));
    };
    let template = Template::parse(name, parameters).map_err(|error| error.to_string())?;
    template.pipeline().map_err(|error| error.to_string())
}

/// Refuses unknown keys, which the wire model ignores: they would hide typos.
fn strict_pipeline(value: Value) -> Result<Pipeline, String> {
    let mut unknown = None;
    let mut record = |path: serde_ignored::Path<'_>| {
        unknown.get_or_insert_with(|| path.to_string());
    };
    let ignoring = serde_ignored::Deserializer::new(value, &mut record);
    let pipeline = serde_path_to_error::deserialize(ignoring)
        .map_err(|error| format!("{}: {}", error.path(), in_words(&error.inner().to_string())))?;
    match unknown {
        None => Ok(pipeline),
        Some(path) => Err(format!("{path}: unknown key")),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

impl JsonSchema for PipelineSpec {
    fn schema_name() -> Cow<'static, str> {
        "Pipeline".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Name of a template, a template with parameters, or a pipeline in the \
                JSON shape of E2SM-TC v1.",
            "oneOf": [
                { "type": "string", "enum": templates::NAMES },
                {
                    "description": "A template with its parameters (annex A of the E2SM-TC \
                        document).",
                    "type": "object",
                    "required": ["template"],
                    "properties": { "template": { "enum": templates::NAMES } }
                },
                {
                    "type": "object",
                    "required": ["name", "classifier", "queues", "scheduler", "pacer", "buffer"],
                    "properties": {
                        "name": { "type": "string", "maxLength": 64 },
                        "classifier": { "description": "Stage 1." },
                        "queues": {
                            "description": "Stages 2, 3 and 5.",
                            "type": "array",
                            "minItems": 1,
                            "items": { "type": "object" }
                        },
                        "scheduler": { "description": "Stage 4." },
                        "pacer": { "description": "Stage 6." },
                        "buffer": {
                            "type": "object",
                            "required": ["packets", "bytes", "overflow"]
                        }
                    },
                    "additionalProperties": false
                }
            ]
        })
    }
}
