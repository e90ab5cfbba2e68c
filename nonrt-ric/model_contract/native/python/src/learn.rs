//! Learning from outcomes: NumPy arrays in, updated in place.

use std::borrow::Cow;

use numpy::{
    Element, PyArray, PyArray1, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray,
    PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn, PyReadwriteArray,
    PyUntypedArrayMethods, ndarray::Dimension,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;
use rlc_native::{ArrayError, Axes, Index, LengthError, Offsets, Outcomes};

use crate::in_row_order;

#[pyfunction]
#[pyo3(signature = (slots, points, actual, plain, counts=None, *, levels, theta, size, offset, begun))]
#[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
pub(crate) fn track(
    slots: &Bound<'_, PyAny>,
    points: &Bound<'_, PyAny>,
    actual: PyReadonlyArray2<'_, f32>,
    plain: PyReadonlyArrayDyn<'_, f32>,
    counts: Option<PyReadonlyArray1<'_, bool>>,
    levels: PyReadonlyArray1<'_, f32>,
    theta: &Bound<'_, PyArray4<f32>>,
    size: &Bound<'_, PyArray3<f32>>,
    offset: &Bound<'_, PyArray4<f32>>,
    begun: &Bound<'_, PyArray3<bool>>,
) -> PyResult<()> {
    let &[capacity, quantities, of_points, quantiles] = theta.shape() else {
        return Err(PyValueError::new_err("theta: expected four axes"));
    };
    shaped("levels", levels.shape(), &[quantiles])?;
    shaped("size", size.shape(), &[capacity, quantities, of_points])?;
    shaped("offset", offset.shape(), theta.shape())?;
    shaped("begun", begun.shape(), size.shape())?;
    let (slots, points) = (Indices::of("slots", slots)?, Indices::of("point", points)?);
    let rows = actual.shape()[0];
    shaped("actual", actual.shape(), &[rows, quantities])?;
    let of_plain = [rows, quantities, quantiles];
    shaped("plain", plain.shape(), &of_plain[..if plain.ndim() == 2 { 2 } else { 3 }])?;
    let (actual, plain) = (flat(&actual), flat(&plain));
    let counts = counts.as_ref().map(flat).unwrap_or_default();
    let levels = flat(&levels);
    Offsets {
        axes: Axes { quantities, points: of_points, quantiles },
        levels: &levels,
        theta: writable("theta", theta)?.as_slice_mut()?,
        size: writable("size", size)?.as_slice_mut()?,
        offset: writable("offset", offset)?.as_slice_mut()?,
        begun: writable("begun", begun)?.as_slice_mut()?,
    }
    .learn(
        slots.index("slots", rows)?,
        points.index("point", rows)?,
        &Outcomes { rows, actual: &actual, counts: &counts },
        &plain,
    )
    .map_err(refused)
}

#[pyfunction]
pub(crate) fn update_outside_ratio(
    features: PyReadonlyArray2<'_, f32>,
    low: PyReadonlyArray1<'_, f32>,
    high: PyReadonlyArray1<'_, f32>,
    weight: f64,
    outside: &Bound<'_, PyArray1<f64>>,
) -> PyResult<()> {
    shaped("features", features.shape(), &[features.shape()[0], outside.len()])?;
    let (features, low, high) = (flat(&features), flat(&low), flat(&high));
    let mut outside = writable("outside", outside)?;
    rlc_native::update_outside_ratio(&features, &low, &high, weight, outside.as_slice_mut()?)
        .map_err(|error| refused(error.into()))
}

/// Slots or points: an int, a slice or an array.
pub(crate) enum Indices<'py> {
    One(isize),
    Run { first: isize, count: usize },
    Each(PyReadonlyArray1<'py, isize>),
}

impl<'py> Indices<'py> {
    pub(crate) fn of(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(slice) = value.cast::<PySlice>() {
            let indices = slice.indices(isize::MAX)?;
            if indices.step != 1 {
                return Err(PyValueError::new_err(format!("{name}: expected a slice of step 1")));
            }
            return Ok(Self::Run { first: indices.start, count: indices.slicelength });
        }
        if let Ok(each) = value.extract() {
            return Ok(Self::Each(each));
        }
        value.extract().map(Self::One).map_err(|_| {
            PyTypeError::new_err(format!("{name}: expected an int, a slice or an array of intp"))
        })
    }

    /// Number of slots or points; that of an int is 1.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Run { count, .. } => *count,
            Self::Each(each) => each.len(),
        }
    }

    pub(crate) fn index(&self, name: &'static str, rows: usize) -> PyResult<Index<'_>> {
        match self {
            Self::One(index) => Ok(Index::One(*index)),
            Self::Run { first, count } if *count == rows => Ok(Index::From(*first as usize)),
            Self::Run { count, .. } => {
                Err(refused(LengthError { name, length: *count, rows }.into()))
            }
            Self::Each(each) if each.is_c_contiguous() => Ok(Index::Each(each.as_slice()?)),
            Self::Each(_) => Err(PyValueError::new_err(format!("{name}: expected C-contiguous"))),
        }
    }
}

/// The values in row order, copied only if the array is not contiguous.
pub(crate) fn flat<'a, T: Element + Copy, D: Dimension>(
    array: &'a PyReadonlyArray<'_, T, D>,
) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(values) if array.is_c_contiguous() => Cow::Borrowed(values),
        _ => {
            let mut values = Vec::with_capacity(array.len());
            // With several axes `for_each` is faster than `next`.
            array.as_array().iter().for_each(|value| values.push(*value));
            Cow::Owned(values)
        }
    }
}

/// A writable view; refuses read-only, non-contiguous and already borrowed arrays.
pub(crate) fn writable<'py, T: Element, D: Dimension>(
    name: &str,
    array: &Bound<'py, PyArray<T, D>>,
) -> PyResult<PyReadwriteArray<'py, T, D>> {
    in_row_order(name, array)?;
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

pub(crate) fn shaped(name: &str, found: &[usize], expected: &[usize]) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    let message = format!("{name} has shape {found:?}, expected {expected:?}");
    Err(PyValueError::new_err(message))
}

pub(crate) fn refused(error: ArrayError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
