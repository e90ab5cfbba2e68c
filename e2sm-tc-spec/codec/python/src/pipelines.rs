//! Templates, changes and limits: `tc_pipelines` with JSON in between.

use e2sm_tc::v1::{Capabilities, Pipeline, PipelineChange};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tc_pipelines::templates::{self, Template, TemplateError as Unmade};
use tc_pipelines::{PipelineError as Refused, candidate, limits};

use crate::{codec_error, with_attribute};

create_exception!(
    e2sm_tc,
    TemplateError,
    PyValueError,
    "No template of that name, or none with these parameters. `parameter` is the path of what it \
     does not take, `detail` says what was expected."
);

create_exception!(
    e2sm_tc,
    PipelineError,
    PyValueError,
    "A pipeline, or a change to one, that a node does not accept. `cause` is what a RAN function \
     refuses it with, `element` the path of what is at fault, `detail` says what was expected."
);

fn unmade(py: Python<'_>, error: &Unmade) -> PyErr {
    let (parameter, detail) = match error {
        Unmade::UnknownName { .. } => ("template", error.to_string()),
        Unmade::Parameter(of) => (of.parameter.as_str(), of.detail.clone()),
    };
    let detail = detail.strip_prefix("template: ").unwrap_or(&detail);
    let raised = TemplateError::new_err(error.to_string());
    let raised = with_attribute(py, raised, "parameter", parameter);
    with_attribute(py, raised, "detail", detail)
}

fn refused(py: Python<'_>, error: &Refused) -> PyErr {
    describe(py, PipelineError::new_err(error.to_string()), error)
}

/// Sets the attributes of a `PipelineError`.
pub(crate) fn describe(py: Python<'_>, raised: PyErr, error: &Refused) -> PyErr {
    let raised = with_attribute(py, raised, "cause", error.cause.kind());
    let raised = with_attribute(py, raised, "element", &error.element);
    with_attribute(py, raised, "detail", &error.detail)
}

pub(crate) fn read<T: DeserializeOwned>(py: Python<'_>, what: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| codec_error(py, &format!("{what}: {error}"), what))
}

pub(crate) fn written<T: Serialize>(py: Python<'_>, value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| codec_error(py, &error.to_string(), ""))
}

/// What a node declares; nothing is known to be missing of what it leaves out.
fn declared(py: Python<'_>, json: &str) -> PyResult<Capabilities> {
    let mut all = serde_json::to_value(limits::everything())
        .map_err(|error| codec_error(py, &error.to_string(), "capabilities"))?;
    let given: Value = read(py, "capabilities", json)?;
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
        Some(schema) => written(py, &schema),
        None => Err(unmade(py, &Unmade::UnknownName { name: name.to_owned() })),
    }
}

/// The pipeline of a template with parameters.
#[pyfunction]
fn pipeline(py: Python<'_>, template: &str, parameters: &str) -> PyResult<String> {
    let made = Template::parse(template, read(py, "parameters", parameters)?)
        .and_then(|template| template.pipeline().map_err(Unmade::from));
    written(py, &made.map_err(|error| unmade(py, &error))?)
}

/// The pipeline after a transaction's change, checked as a whole.
#[pyfunction(name = "candidate")]
fn changed(
    py: Python<'_>,
    current: &str,
    safe: &str,
    change: &str,
    capabilities: &str,
) -> PyResult<String> {
    let current: Pipeline = read(py, "current", current)?;
    let safe: Pipeline = read(py, "safe", safe)?;
    let change: PipelineChange = read(py, "change", change)?;
    let capabilities = declared(py, capabilities)?;
    let after = candidate(&current, &safe, &change, &capabilities)
        .and_then(|after| limits::check(&after, &capabilities).map(|()| after));
    written(py, &after.map_err(|error| refused(py, &error))?)
}

/// Whether a node of these capabilities takes a pipeline.
#[pyfunction]
fn check_pipeline(py: Python<'_>, pipeline: &str, capabilities: &str) -> PyResult<()> {
    let pipeline: Pipeline = read(py, "pipeline", pipeline)?;
    let capabilities = declared(py, capabilities)?;
    limits::check(&pipeline, &capabilities).map_err(|error| refused(py, &error))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("TemplateError", module.py().get_type::<TemplateError>())?;
    module.add("PipelineError", module.py().get_type::<PipelineError>())?;
    module.add("TEMPLATES", templates::NAMES.to_vec())?;
    module.add_function(wrap_pyfunction!(template_schema, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline, module)?)?;
    module.add_function(wrap_pyfunction!(changed, module)?)?;
    module.add_function(wrap_pyfunction!(check_pipeline, module)?)
}
