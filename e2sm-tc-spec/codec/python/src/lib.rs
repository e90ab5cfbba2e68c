//! Python module `e2sm_tc._native`: codec, templates and transactions, with values as JSON.
//! `py/e2sm_tc` is the public module.

mod feed;
mod owners;
mod pipelines;
mod reports;
mod statuses;
mod v0;

use e2sm_tc::json::{self, CodecError as JsonCodecError};
use e2sm_tc::v1::{self, Cause, IndicationMessage, UeId};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    e2sm_tc,
    CodecError,
    PyValueError,
    "Bytes or a value that the service model does not allow. `element` is the path of the \
     offending element, empty for the whole; `cause` is that of a RAN function's refusal, \
     `unsupported` for an element of a later version, which is well formed."
);

create_exception!(
    e2sm_tc,
    ValidationError,
    CodecError,
    "A value that has the shape of the message but is invalid."
);

fn to_py_err(py: Python<'_>, error: &JsonCodecError) -> PyErr {
    let message = error.to_string();
    let (element, cause) = match error {
        JsonCodecError::Decode(error) => (error.element.as_str(), error.cause()),
        JsonCodecError::Encode(error) => (error.element.as_str(), Cause::Malformed),
        JsonCodecError::Json { path, .. } => (path.as_str(), Cause::Malformed),
        JsonCodecError::Invalid(invalid) => {
            let error = ValidationError::new_err(message);
            return with_place(py, error, &invalid.element, invalid.cause);
        }
        JsonCodecError::NoSuchMessage { .. } | JsonCodecError::UnknownName { .. } => {
            ("", Cause::Malformed)
        }
    };
    with_place(py, CodecError::new_err(message), element, cause)
}

fn codec_error(py: Python<'_>, message: &str, element: &str) -> PyErr {
    with_place(py, CodecError::new_err(message.to_owned()), element, Cause::Malformed)
}

fn with_place(py: Python<'_>, error: PyErr, element: &str, cause: Cause) -> PyErr {
    let error = with_attribute(py, error, "cause", cause.kind());
    with_attribute(py, error, "element", element)
}

fn with_attribute(py: Python<'_>, error: PyErr, name: &str, value: &str) -> PyErr {
    match error.value(py).setattr(name, value) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

/// Encodes the message of a kind from JSON.
#[pyfunction]
fn encode<'py>(
    py: Python<'py>,
    encoding: &str,
    kind: &str,
    value: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = || json::encode(encoding.parse()?, kind.parse()?, value);
    encoded().map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| to_py_err(py, &error))
}

/// Decodes a message of a kind to JSON.
#[pyfunction]
fn decode(py: Python<'_>, encoding: &str, kind: &str, data: &[u8]) -> PyResult<String> {
    let decoded = || json::decode(encoding.parse()?, kind.parse()?, data);
    decoded().map_err(|error| to_py_err(py, &error))
}

/// Validates the message of a kind that JSON describes.
#[pyfunction]
fn validate(py: Python<'_>, kind: &str, value: &str) -> PyResult<()> {
    let validated = || json::validate(kind.parse()?, value);
    validated().map_err(|error| to_py_err(py, &error))
}

/// RNTI, DRB and limit of each bearer of a pipeline status whose pacer has one, as columns.
#[pyfunction]
fn pacer_limits(py: Python<'_>, data: &[u8]) -> PyResult<(Vec<u16>, Vec<u16>, Vec<u32>)> {
    let message: IndicationMessage =
        v1::decode(data).map_err(|error| to_py_err(py, &JsonCodecError::Decode(error)))?;
    let IndicationMessage::PipelineStatus(bearers) = message else {
        return Ok(Default::default());
    };
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for status in bearers {
        if let (UeId::Rnti(rnti), Some(limit_bytes)) = (status.bearer.ue, status.pacer.limit_bytes)
        {
            columns.0.push(rnti);
            columns.1.push(u16::from(status.bearer.drb));
            columns.2.push(limit_bytes);
        }
    }
    Ok(columns)
}

/// Creates a `CodecError` without raising it.
#[pyfunction(name = "codec_error")]
fn new_codec_error<'py>(py: Python<'py>, message: &str, element: &str) -> Bound<'py, PyAny> {
    codec_error(py, message, element).into_value(py).into_bound(py).into_any()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CodecError", module.py().get_type::<CodecError>())?;
    module.add("ValidationError", module.py().get_type::<ValidationError>())?;
    module.add("OID_V0", e2sm_tc::v0::OID)?;
    module.add("OID_V1", e2sm_tc::v1::OID)?;
    module.add_function(wrap_pyfunction!(encode, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(pacer_limits, module)?)?;
    module.add_function(wrap_pyfunction!(new_codec_error, module)?)?;
    feed::register(module)?;
    owners::register(module)?;
    pipelines::register(module)?;
    reports::register(module)?;
    statuses::register(module)?;
    v0::register(module)
}
