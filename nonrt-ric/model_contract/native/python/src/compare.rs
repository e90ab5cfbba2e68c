//! Past forecasts compared with outcomes: NumPy arrays in, all that learns updated.

use numpy::{
    PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray4, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rlc_native::{Coverage, Due, Outcomes, Past};

use crate::in_row_order;
use crate::learn::{Indices, flat, refused, shaped, writable};
use crate::mix::Mix;
use crate::skill::{Skill, Update};

/// Point, rows of then, and what was forecast: served, of the model, whether that was warm.
type DueArrays<'py> = (
    usize,
    Bound<'py, PyAny>,
    PyReadonlyArray4<'py, f32>,
    Option<PyReadonlyArray4<'py, f32>>,
    PyReadonlyArray1<'py, bool>,
);

#[pyfunction]
#[pyo3(signature = (mix, skill, slots, actual, due, tick, at_us, *, checked, covered))]
#[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
pub(crate) fn compare(
    mut mix: PyRefMut<'_, Mix>,
    mut skill: PyRefMut<'_, Skill>,
    slots: &Bound<'_, PyAny>,
    actual: PyReadonlyArray2<'_, f32>,
    due: Vec<DueArrays<'_>>,
    tick: i64,
    at_us: i64,
    checked: &Bound<'_, PyArray2<i64>>,
    covered: &Bound<'_, PyArray2<i64>>,
) -> PyResult<Update> {
    let axes = mix.0.axes();
    let rows = actual.shape()[0];
    shaped("actual", actual.shape(), &[rows, axes.quantities])?;
    shaped("checked", checked.shape(), &[axes.quantities, axes.points])?;
    shaped("covered", covered.shape(), checked.shape())?;
    let mut then = Vec::with_capacity(due.len());
    for (_, rows, served, model, warm) in &due {
        let shape = [warm.len(), axes.quantities, axes.points, axes.quantiles];
        shaped("served", served.shape(), &shape)?;
        in_row_order("served", served)?;
        if let Some(model) = model {
            shaped("model", model.shape(), &shape)?;
            in_row_order("model", model)?;
        }
        then.push(Indices::of("then", rows)?);
    }
    let all = due.iter().zip(&then).map(|((point, _, served, model, warm), then)| {
        let past = Past {
            served: served.as_slice()?,
            model: model.as_ref().map_or(Ok(&[][..]), |model| model.as_slice())?,
            warm: warm.as_slice()?,
        };
        let rows = then.rows();
        Ok(Due { point: *point, rows, then: then.index("then", rows)?, past })
    });
    let all: Vec<Due<'_>> = all.collect::<PyResult<_>>()?;
    let (slots, actual) = (Indices::of("slots", slots)?, flat(&actual));
    let (mut checked, mut covered) = (writable("checked", checked)?, writable("covered", covered)?);
    let mut coverage = Coverage {
        points: axes.points,
        checked: checked.as_slice_mut()?,
        covered: covered.as_slice_mut()?,
    };
    let outcomes = Outcomes { rows, actual: &actual, counts: &[] };
    let learners = (&mut mix.0, &mut skill.skill, &mut coverage);
    let slots = slots.index("slots", rows)?;
    let update = rlc_native::compare(learners, slots, &outcomes, &all, tick, at_us);
    update.map(Skill::update).map_err(refused)
}

/// See [`rlc_native::RecentDrain`].
#[pyclass(module = "rlc_native")]
pub(crate) struct RecentDrain(rlc_native::RecentDrain);

#[pymethods]
impl RecentDrain {
    #[new]
    fn new(longest: usize, column: usize) -> PyResult<Self> {
        let recent = rlc_native::RecentDrain::new(longest, column);
        recent.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn grow(&mut self, slots: usize) {
        self.0.grow(slots);
    }

    fn add(
        &mut self,
        slots: &Bound<'_, PyAny>,
        tick: i64,
        features: PyReadonlyArray2<'_, f32>,
        fresh: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<()> {
        let (rows, width) = (features.shape()[0], features.shape()[1]);
        let (slots, features, fresh) =
            (Indices::of("slots", slots)?, flat(&features), flat(&fresh));
        self.0.add(slots.index("slots", rows)?, tick, &features, width, &fresh).map_err(refused)
    }

    fn mean<'py>(
        &self,
        py: Python<'py>,
        slots: &Bound<'py, PyAny>,
        reports: usize,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let slots = Indices::of("slots", slots)?;
        let rows = slots.rows();
        let means = self.0.means(slots.index("slots", rows)?, rows, reports).map_err(refused)?;
        Ok(PyArray1::from_vec(py, means))
    }
}
