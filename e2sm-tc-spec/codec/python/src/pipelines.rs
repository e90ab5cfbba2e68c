//! Templates, transactions and limits: `tc_pipelines` with values as JSON.

use std::collections::HashMap;

use e2sm_tc::v1::{Capabilities, Pipeline, PipelineChange};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use tc_pipelines::templates::{self, Template, TemplateError as InvalidTemplate};
use tc_pipelines::{FlowLoad, GreedyFlows, PipelineError as InvalidPipeline, candidate, limits};

use crate::{codec_error, with_attribute};

create_exception!(
    e2sm_tc,
    TemplateError,
    PyValueError,
    "Unknown template or invalid parameters. `parameter` is the path of the first invalid one, \
     `detail` says what was expected."
);

create_exception!(
    e2sm_tc,
    PipelineError,
    PyValueError,
    "A pipeline or transaction that a node does not accept. `cause` is that of the RAN \
     function's refusal, `element` the path of the offending element, `detail` says what was \
     expected."
);

fn template_error(py: Python<'_>, error: &InvalidTemplate) -> PyErr {
    let (parameter, detail) = match error {
        InvalidTemplate::UnknownName { .. } => ("template", error.to_string()),
        InvalidTemplate::Parameter(of) => (of.parameter.as_str(), of.detail.clone()),
    };
    let detail = detail.strip_prefix("template: ").unwrap_or(&detail);
    let raised = TemplateError::new_err(error.to_string());
    let raised = with_attribute(py, raised, "parameter", parameter);
    with_attribute(py, raised, "detail", detail)
}

fn pipeline_error(py: Python<'_>, error: &InvalidPipeline) -> PyErr {
    with_pipeline_attributes(py, PipelineError::new_err(error.to_string()), error)
}

/// Sets the attributes of a `PipelineError`.
pub(crate) fn with_pipeline_attributes(
    py: Python<'_>,
    raised: PyErr,
    error: &InvalidPipeline,
) -> PyErr {
    let raised = with_attribute(py, raised, "cause", error.cause.kind());
    let raised = with_attribute(py, raised, "element", &error.element);
    with_attribute(py, raised, "detail", &error.detail)
}

pub(crate) fn from_json<T: DeserializeOwned>(
    py: Python<'_>,
    what: &str,
    json: &str,
) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| codec_error(py, &format!("{what}: {error}"), what))
}

pub(crate) fn to_json<T: Serialize>(py: Python<'_>, value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| codec_error(py, &error.to_string(), ""))
}

/// Declared capabilities; omitted ones count as fully supported.
fn capabilities_from_json(py: Python<'_>, json: &str) -> PyResult<Capabilities> {
    let mut all = serde_json::to_value(limits::everything())
        .map_err(|error| codec_error(py, &error.to_string(), "capabilities"))?;
    let given: Value = from_json(py, "capabilities", json)?;
    // A node's own: features that it does not declare it does not have.
    if let Ok(declared) = Capabilities::deserialize(&given) {
        return Ok(declared);
    }
    if let (Some(all), Value::Object(given)) = (all.as_object_mut(), given) {
        all.extend(given);
    }
    serde_json::from_value(all)
        .map_err(|error| codec_error(py, &format!("capabilities: {error}"), "capabilities"))
}

/// The JSON schema of the parameters of a template.
#[pyfunction]
fn template_schema(py: Python<'_>, name: &str) -> PyResult<String> {
    match templates::schema(name) {
        Some(schema) => to_json(py, &schema),
        None => Err(template_error(py, &InvalidTemplate::UnknownName { name: name.to_owned() })),
    }
}

/// The pipeline of a template with parameters.
#[pyfunction]
fn pipeline(py: Python<'_>, template: &str, parameters: &str) -> PyResult<String> {
    let made = Template::parse(template, from_json(py, "parameters", parameters)?)
        .and_then(|template| template.pipeline().map_err(InvalidTemplate::from));
    to_json(py, &made.map_err(|error| template_error(py, &error))?)
}

/// The pipeline after a transaction's change, checked as a whole; for a bearer whose safe pipeline is
/// the one it had before any control.
#[pyfunction(name = "candidate")]
fn changed(
    py: Python<'_>,
    current: &str,
    safe: &str,
    change: &str,
    capabilities: &str,
) -> PyResult<String> {
    let current: Pipeline = from_json(py, "current", current)?;
    let safe: Pipeline = from_json(py, "safe", safe)?;
    let change: PipelineChange = from_json(py, "change", change)?;
    let capabilities = capabilities_from_json(py, capabilities)?;
    let after = candidate(&current, &safe, &safe, &change, &capabilities)
        .and_then(|after| limits::check(&after, &capabilities).map(|()| after));
    to_json(py, &after.map_err(|error| pipeline_error(py, &error))?)
}

/// Checks a pipeline against a node's capabilities.
#[pyfunction]
fn check_pipeline(py: Python<'_>, pipeline: &str, capabilities: &str) -> PyResult<()> {
    let pipeline: Pipeline = from_json(py, "pipeline", pipeline)?;
    let capabilities = capabilities_from_json(py, capabilities)?;
    limits::check(&pipeline, &capabilities).map_err(|error| pipeline_error(py, &error))
}

/// Whether each flow of a bearer is greedy, of rates in kbit/s and backlogs in bytes.
#[pyfunction]
#[pyo3(signature = (loads, /, *, fair_share_ratio, min_rate_kbps, min_backlog_bytes))]
fn greedy_flows(
    loads: Vec<(u64, u64)>,
    fair_share_ratio: f64,
    min_rate_kbps: u64,
    min_backlog_bytes: u64,
) -> Vec<bool> {
    let load = |(rate_kbps, backlog_bytes)| FlowLoad { rate_kbps, backlog_bytes };
    let flows: Vec<FlowLoad> = loads.into_iter().map(load).collect();
    GreedyFlows { fair_share_ratio, min_rate_kbps, min_backlog_bytes }.among(&flows)
}

/// Bounds of `greedy_flows` unless a policy has others: part of the fair share, kbit/s, bytes.
#[pyfunction]
fn greedy_defaults() -> (f64, u64, u64) {
    let GreedyFlows { fair_share_ratio, min_rate_kbps, min_backlog_bytes } = GreedyFlows::default();
    (fair_share_ratio, min_rate_kbps, min_backlog_bytes)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TemplateError", module.py().get_type::<TemplateError>())?;
    module.add("PipelineError", module.py().get_type::<PipelineError>())?;
    module.add("TEMPLATES", templates::NAMES.to_vec())?;
    module.add("FORMER_TEMPLATES", HashMap::from(templates::FORMER_NAMES))?;
    module.add_function(wrap_pyfunction!(template_schema, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline, module)?)?;
    module.add_function(wrap_pyfunction!(changed, module)?)?;
    module.add_function(wrap_pyfunction!(check_pipeline, module)?)?;
    module.add_function(wrap_pyfunction!(greedy_flows, module)?)?;
    module.add_function(wrap_pyfunction!(greedy_defaults, module)?)
}
