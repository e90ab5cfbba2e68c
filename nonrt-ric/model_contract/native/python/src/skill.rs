//! Skill of a model: state in Rust.

use numpy::{
    PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rlc_native::{Losses, SkillUpdate};

use crate::learn::{Indices, flat, refused, shaped};

/// See [`rlc_native::Skill`].
#[pyclass(module = "rlc_native")]
pub(crate) struct Skill {
    pub(crate) skill: rlc_native::Skill,
    quantities: usize,
    points: usize,
}

/// Outcomes, losses of the model and the best simple forecaster, worse, better.
pub(crate) type Update = (usize, f64, f64, usize, usize);

impl Skill {
    pub(crate) fn update(update: SkillUpdate) -> Update {
        let [model, simple] = update.loss;
        (update.outcomes, model, simple, update.worse, update.better)
    }
}

#[pymethods]
impl Skill {
    #[new]
    fn new(quantities: usize, points: usize) -> Self {
        Self { skill: rlc_native::Skill::new(quantities, points), quantities, points }
    }

    fn grow(&mut self, slots: usize) {
        self.skill.grow(slots);
    }

    fn reset(&mut self, slots: PyReadonlyArray1<'_, isize>) {
        for slot in flat(&slots).iter().filter_map(|slot| usize::try_from(*slot).ok()) {
            self.skill.reset(slot);
        }
    }

    fn learn(
        &mut self,
        slots: &Bound<'_, PyAny>,
        points: &Bound<'_, PyAny>,
        losses: PyReadonlyArray3<'_, f32>,
        at_us: i64,
    ) -> PyResult<Update> {
        let rows = losses.shape()[0];
        shaped("losses", losses.shape(), &[rows, self.quantities, Losses::COUNT])?;
        let (slots, points) = (Indices::of("slots", slots)?, Indices::of("point", points)?);
        let losses = flat(&losses);
        let (slots, points) = (slots.index("slots", rows)?, points.index("point", rows)?);
        let losses: Vec<Losses> =
            losses.as_chunks::<{ Losses::COUNT }>().0.iter().map(Losses::of).collect();
        let update = self.skill.learn(slots, points, rows, &losses, at_us);
        update.map(Self::update).map_err(refused)
    }

    fn worse<'py>(
        &self,
        py: Python<'py>,
        slots: PyReadonlyArray1<'py, isize>,
    ) -> Bound<'py, PyArray1<bool>> {
        let is_worse =
            |slot: &isize| usize::try_from(*slot).is_ok_and(|slot| self.skill.is_worse(slot));
        PyArray1::from_iter(py, flat(&slots).iter().map(is_worse))
    }

    fn by_point<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let losses = self.skill.by_point().as_flattened().to_vec();
        PyArray1::from_vec(py, losses).reshape([self.quantities, self.points, 2])
    }
}
