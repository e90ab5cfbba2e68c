//! Quantiles of the summed drain: state in Rust.

use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rlc_native::Drained;

use crate::learn::{Indices, flat, refused};

/// See [`rlc_native::Cumulated`].
#[pyclass(module = "rlc_native")]
pub(crate) struct Cumulated(rlc_native::Cumulated);

#[pymethods]
impl Cumulated {
    #[new]
    fn new(levels: PyReadonlyArray1<'_, f32>, ahead: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let (levels, ahead) = (flat(&levels).into_owned(), flat(&ahead).into_owned());
        rlc_native::Cumulated::new(levels, ahead)
            .map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn grow(&mut self, slots: usize) {
        self.0.grow(slots);
    }

    fn reset(&mut self, slots: PyReadonlyArray1<'_, isize>) {
        for slot in flat(&slots).iter().filter_map(|slot| usize::try_from(*slot).ok()) {
            self.0.reset(slot);
        }
    }

    fn add(
        &mut self,
        slots: &Bound<'_, PyAny>,
        tick: i64,
        drain: PyReadonlyArray1<'_, f32>,
        occupancy: PyReadonlyArray1<'_, f32>,
    ) -> PyResult<()> {
        let slots = Indices::of("slots", slots)?;
        let (rows, drain, occupancy) = (drain.len(), flat(&drain), flat(&occupancy));
        let newest = Drained { drain: &drain, occupancy: &occupancy };
        self.0.add(slots.index("slots", rows)?, tick, &newest).map_err(refused)
    }

    fn forecasts<'py>(
        &self,
        py: Python<'py>,
        slots: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let slots = Indices::of("slots", slots)?;
        let (rows, [points, levels]) = (slots.rows(), self.0.shape());
        let found = self.0.forecasts(slots.index("slots", rows)?, rows).map_err(refused)?;
        PyArray1::from_vec(py, found).reshape([rows, points, levels])
    }
}
