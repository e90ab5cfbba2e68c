//! Python module `sojourn_serving._native`: the guard and the servers of a program. `py/sojourn_serving` is
//! the public module.
//!
//! The servers run on threads of a Tokio runtime that never take the interpreter's lock: what concerns Python
//! waits in a mailbox ([`mailbox`]), which the event loop empties; answers come by plain method calls.

mod caller;
mod calls;
mod codec;
mod families;
mod grpc;
mod guard;
mod http;
mod limits;
mod log;
mod mailbox;
mod outgoing;

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    sojourn_serving,
    SetupError,
    PyValueError,
    "A file, certificate or address that cannot be used: `place: what; expected …`."
);

/// The error of a setting.
fn setup_error(error: impl std::fmt::Display) -> PyErr {
    SetupError::new_err(error.to_string())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SetupError", module.py().get_type::<SetupError>())?;
    limits::register(module)?;
    caller::register(module)?;
    guard::register(module)?;
    grpc::register(module)?;
    http::register(module)
}
