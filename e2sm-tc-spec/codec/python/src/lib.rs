//! Python module `e2sm_tc._native`: the codec, with JSON in between. `py/e2sm_tc` is the public
//! face.

use e2sm_tc::json::{self, CodecError as Refusal};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

create_exception!(
    e2sm_tc,
    CodecError,
    PyValueError,
    "A message or value that does not fit the service model. `element` is the path of what does \
     not fit, empty for the whole."
);

fn refuse(py: Python<'_>, refusal: &Refusal) -> PyErr {
    let element = match refusal {
        Refusal::Decode(error) => error.element.as_str(),
        Refusal::Encode(error) => error.element.as_str(),
        Refusal::Json { path, .. } => path.as_str(),
        Refusal::NoSuchMessage { .. } | Refusal::UnknownName { .. } => "",
    };
    with_element(py, CodecError::new_err(refusal.to_string()), element)
}

fn with_element(py: Python<'_>, error: PyErr, element: &str) -> PyErr {
    match error.value(py).setattr("element", element) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

/// Encodes the message of a kind that JSON describes.
#[pyfunction]
fn encode<'py>(
    py: Python<'py>,
    encoding: &str,
    kind: &str,
    value: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = || json::encode(encoding.parse()?, kind.parse()?, value);
    encoded().map(|bytes| PyBytes::new(py, &bytes)).map_err(|refusal| refuse(py, &refusal))
}

/// Decodes a message of a kind to JSON.
#[pyfunction]
fn decode(py: Python<'_>, encoding: &str, kind: &str, data: &[u8]) -> PyResult<String> {
    let decoded = || json::decode(encoding.parse()?, kind.parse()?, data);
    decoded().map_err(|refusal| refuse(py, &refusal))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CodecError", module.py().get_type::<CodecError>())?;
    module.add("OID_V0", e2sm_tc::v0::OID)?;
    module.add("OID_V1", e2sm_tc::v1::OID)?;
    module.add_function(wrap_pyfunction!(encode, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)
}
