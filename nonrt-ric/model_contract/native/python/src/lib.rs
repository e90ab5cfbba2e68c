//! Python module `rlc_native`. Documented in `rlc_native.pyi`.

// The stub documents what Python sees.
#![allow(missing_docs)]

mod compare;
mod cumulated;
mod learn;
mod mix;
mod replay;
mod skill;

use numpy::{
    PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rlc_native::{COLUMNS, LengthError, Previous};

/// Byte offsets of the fields within a record.
#[pyclass(frozen, module = "rlc_native")]
struct Fields(rlc_native::Fields);

#[pymethods]
impl Fields {
    #[new]
    #[pyo3(signature = (*, record, occupancy_bytes, occupancy_packets, pdu_bytes, mean_sojourn, head_of_line_age))]
    fn new(
        record: usize,
        occupancy_bytes: usize,
        occupancy_packets: usize,
        pdu_bytes: usize,
        mean_sojourn: usize,
        head_of_line_age: usize,
    ) -> Self {
        Self(rlc_native::Fields {
            record,
            occupancy_bytes,
            occupancy_packets,
            pdu_bytes,
            mean_sojourn,
            head_of_line_age,
        })
    }
}

type Sampled<'py> =
    (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<i64>>, Bound<'py, PyArray1<bool>>);

#[pyfunction]
#[pyo3(signature = (report, fields, before, elapsed_ms, seen, context=None))]
fn samples<'py>(
    py: Python<'py>,
    report: PyReadonlyArray1<'py, u8>,
    fields: &Bound<'py, Fields>,
    before: PyReadonlyArray2<'py, i64>,
    elapsed_ms: &Bound<'py, PyAny>,
    seen: Option<PyReadonlyArray1<'py, bool>>,
    context: Option<PyReadonlyArray2<'py, f32>>,
) -> PyResult<Sampled<'py>> {
    in_row_order("before", &before)?;
    let rows = before.len() / 2;
    let (levels, spare) = before.as_slice()?.as_chunks::<2>();
    if !spare.is_empty() {
        return Err(PyValueError::new_err("before: expected two columns"));
    }
    let each;
    let one;
    let elapsed_ms = if let Ok(value) = elapsed_ms.cast::<pyo3::types::PyFloat>() {
        one = [value.extract::<f64>()?];
        &one[..]
    } else {
        each = elapsed_ms.extract::<PyReadonlyArray1<'py, f64>>()?;
        each.as_slice()?
    };
    let seen = match &seen {
        Some(seen) => seen.as_slice()?,
        None => &[],
    };
    let out = PyArray2::zeros(py, [rows, COLUMNS], false);
    let next = PyArray2::zeros(py, [rows, 2], false);
    let fresh = PyArray1::zeros(py, [rows], false);
    let context = match &context {
        Some(context) => {
            in_row_order("context", context)?;
            context.as_slice()?
        }
        None => &[],
    };
    rlc_native::samples(
        report.as_slice()?,
        &fields.get().0,
        &Previous { levels, elapsed_ms, seen },
        context,
        out.readwrite().as_slice_mut()?.as_chunks_mut().0,
        next.readwrite().as_slice_mut()?.as_chunks_mut().0,
        fresh.readwrite().as_slice_mut()?,
    )
    .map_err(refused)?;
    Ok((out, next, fresh))
}

#[pyfunction]
fn scale(
    values: PyReadonlyArray2<'_, f32>,
    minimum: PyReadonlyArray1<'_, f32>,
    span: PyReadonlyArray1<'_, f32>,
    out: &Bound<'_, PyArray2<f32>>,
) -> PyResult<()> {
    learn::shaped("out", out.shape(), values.shape())?;
    let values = learn::flat(&values);
    let (minimum, span) = (learn::flat(&minimum), learn::flat(&span));
    let mut out = learn::writable("out", out)?;
    rlc_native::scale(&values, &minimum, &span, out.as_slice_mut()?).map_err(refused)
}

#[pyfunction]
fn all_finite(values: PyReadonlyArrayDyn<'_, f32>) -> PyResult<bool> {
    Ok(rlc_native::all_finite(values.as_slice()?))
}

/// Refuses arrays in column order, whose slices would be misread.
fn in_row_order<T, D>(name: &str, array: &Bound<'_, PyArray<T, D>>) -> PyResult<()> {
    if array.is_c_contiguous() {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name}: expected C-contiguous")))
}

fn refused(error: LengthError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymodule(gil_used = true, name = "rlc_native")]
fn rlc_native_module(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("MAX_RATE_BYTES_PER_MS", rlc_native::MAX_RATE_BYTES_PER_MS)?;
    module.add_class::<Fields>()?;
    module.add_class::<cumulated::Cumulated>()?;
    module.add_class::<compare::RecentDrain>()?;
    module.add_class::<mix::Mix>()?;
    module.add_class::<skill::Skill>()?;
    module.add_function(wrap_pyfunction!(learn::track, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(learn::update_outside_ratio, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay::calibrate, module)?)?;
    module.add_function(wrap_pyfunction!(replay::judge, module)?)?;
    module.add_function(wrap_pyfunction!(replay::loss_sums, module)?)?;
    module.add_function(wrap_pyfunction!(replay::in_units, module)?)?;
    module.add_function(wrap_pyfunction!(replay::sort_last, module)?)?;
    module.add_function(wrap_pyfunction!(samples, module)?)?;
    module.add_function(wrap_pyfunction!(scale, module)?)?;
    module.add_function(wrap_pyfunction!(all_finite, module)?)
}
