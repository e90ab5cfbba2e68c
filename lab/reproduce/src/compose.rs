//! A scenario from a file and the changes of variants.

use std::collections::HashMap;

use e2sm_tc::v1::Pipeline;
use lab_scenario::{Override, PipelineSpec, parse_yaml};
use serde_json::{Value, json};
use tc_rf::templates;

use super::variant::{Variant, XAppVariant};
use super::xapp::XApp;

/// Variables by name.
pub(super) type Variables<'a> = HashMap<&'a str, Value>;

/// Variables of variants, and the path of a recording if they name one.
pub(super) fn variables<'a>(
    variants: &[&'a Variant],
    recording: Option<&std::path::Path>,
) -> Variables<'a> {
    let own = variants.iter().flat_map(|variant| variant.variables.iter());
    let own = own.map(|(name, value)| (name, value.clone()));
    own.chain(recording.map(|path| ("recording", json!(path)))).collect()
}

/// The scenario of variants in their order; `files` has the text of each scenario file.
///
/// # Errors
/// What is wrong, with the file or the path in the scenario.
pub(super) fn scenario<'a>(
    variants: &[&Variant],
    variables: &Variables<'_>,
    files: impl Fn(&str) -> Result<&'a str, String>,
) -> Result<Value, String> {
    let named = variants.iter().rev().find_map(|variant| variant.scenario.as_deref());
    let file = named.ok_or("no scenario; expected the name of a file")?;
    let mut value = parse_yaml(files(file)?).map_err(|error| format!("{file}: {error}"))?;
    for (path, element) in variants.iter().flat_map(|variant| variant.set.iter()) {
        substituted(element, variables)
            .and_then(|element| put(&mut value, path, element))
            .map_err(|error| format!("set.{path}: {error}"))?;
    }
    Ok(value)
}

/// The xApp with its pipeline.
///
/// # Errors
/// What is wrong with the pipeline.
pub(super) fn xapp(variant: &XAppVariant, variables: &Variables<'_>) -> Result<XApp, String> {
    let failed = |error: String| format!("xapp.pipeline: {error}");
    let pipeline = substituted(&variant.pipeline, variables).map_err(failed)?;
    let spec = serde_json::from_value(pipeline).map_err(|error| failed(error.to_string()))?;
    let pipeline = match spec {
        PipelineSpec::Full(pipeline) => *pipeline,
        PipelineSpec::Template(name) => template(&name).map_err(failed)?,
    };
    Ok(XApp { rnti: variant.rnti, drb: variant.drb, when: variant.when, pipeline })
}

fn template(name: &str) -> Result<Pipeline, String> {
    templates::by_name(name).ok_or_else(|| format!("no template '{name}'"))
}

fn put(scenario: &mut Value, path: &str, element: Value) -> Result<(), String> {
    let Some(list) = path.strip_suffix("[+]") else {
        return Override::new(path, element)?.apply(scenario);
    };
    match (scenario.get_mut(list), element) {
        (Some(Value::Array(list)), Value::Array(further)) => {
            list.extend(further);
            Ok(())
        }
        _ => Err("expected a list to append to, and one to append".to_owned()),
    }
}

/// A value with variables, products and templates in their places.
fn substituted(value: &Value, variables: &Variables<'_>) -> Result<Value, String> {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            None => Ok(value.clone()),
            Some(name) => variables.get(name).cloned().ok_or_else(|| {
                let mut known: Vec<&str> = variables.keys().copied().collect();
                known.sort_unstable();
                format!("no variable '{name}'; there are {}", known.join(", "))
            }),
        },
        Value::Array(list) => list.iter().map(|element| substituted(element, variables)).collect(),
        Value::Object(map) => match map.iter().next().filter(|_| map.len() == 1) {
            Some((key, Value::String(name))) if key == "$template" => Ok(json!(template(name)?)),
            Some((key, Value::Array(factors))) if key == "$product" => {
                factors.iter().try_fold(1_u64, |product, factor| {
                    let factor = substituted(factor, variables)?;
                    let number = factor.as_u64().ok_or(format!("{factor}: no whole number"))?;
                    product.checked_mul(number).ok_or_else(|| "too large a product".to_owned())
                })
            }
            .map(Value::from),
            _ => map
                .iter()
                .map(|(key, element)| Ok((key.clone(), substituted(element, variables)?)))
                .collect(),
        },
        other => Ok(other.clone()),
    }
}
