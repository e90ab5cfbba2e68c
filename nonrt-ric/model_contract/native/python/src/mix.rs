//! The mix of experts: state in Rust, forecasts and outcomes as NumPy arrays.

use numpy::{
    PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyReadonlyArray4, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rlc_native::{
    Axes, Checked, EXPERTS, Losses, ModelOutput, Newest, Outcomes, PointTimes, Quantities, SIMPLE,
};

use crate::in_row_order;
use crate::learn::{Indices, flat, refused, shaped};

/// See [`rlc_native::Mix`].
#[pyclass(module = "rlc_native")]
pub(crate) struct Mix(pub(crate) rlc_native::Mix);

type Simple<'py> = (Bound<'py, PyArray4<f32>>, Bound<'py, PyArray2<usize>>);
type Served<'py> = (Bound<'py, PyArray4<f32>>, Bound<'py, PyArray4<f32>>, bool);

#[pymethods]
impl Mix {
    #[new]
    #[pyo3(signature = (columns, levels, ahead, spans, *, rate, limit, late))]
    fn new(
        columns: Vec<usize>,
        levels: PyReadonlyArray1<'_, f32>,
        ahead: PyReadonlyArray1<'_, i64>,
        spans: PyReadonlyArray1<'_, i64>,
        rate: Option<usize>,
        limit: Option<usize>,
        late: usize,
    ) -> PyResult<Self> {
        let quantities = Quantities { columns, rate, limit };
        let points =
            PointTimes { ahead: flat(&ahead).into_owned(), spans: flat(&spans).into_owned() };
        let mix = rlc_native::Mix::new(quantities, flat(&levels).into_owned(), points, late);
        mix.map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn with_new_model(&self) -> Self {
        Self(self.0.with_new_model())
    }

    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    fn grow(&mut self, slots: usize) {
        self.0.grow(slots);
    }

    fn reset(&mut self, slots: PyReadonlyArray1<'_, isize>) {
        for slot in flat(&slots).iter().filter_map(|slot| usize::try_from(*slot).ok()) {
            self.0.reset(slot);
        }
    }

    #[pyo3(signature = (slots, tick, features, fresh=None, limited=None))]
    fn add(
        &mut self,
        slots: &Bound<'_, PyAny>,
        tick: i64,
        features: PyReadonlyArray2<'_, f32>,
        fresh: Option<PyReadonlyArray1<'_, bool>>,
        limited: Option<PyReadonlyArray1<'_, bool>>,
    ) -> PyResult<()> {
        let (rows, width) = (features.shape()[0], features.shape()[1]);
        let (slots, features) = (Indices::of("slots", slots)?, flat(&features));
        let fresh = fresh.as_ref().map(flat).unwrap_or_default();
        let limited = limited.as_ref().map(flat).unwrap_or_default();
        let newest = Newest { features: &features, width, fresh: &fresh, limited: &limited };
        self.0.add(slots.index("slots", rows)?, rows, tick, &newest).map_err(refused)
    }

    #[pyo3(signature = (slots, tick, features, fresh, limited, values, scale, span, base))]
    #[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
    fn forecasts<'py>(
        &mut self,
        py: Python<'py>,
        slots: &Bound<'_, PyAny>,
        tick: i64,
        features: PyReadonlyArray2<'py, f32>,
        fresh: Option<PyReadonlyArray1<'py, bool>>,
        limited: Option<PyReadonlyArray1<'py, bool>>,
        values: PyReadonlyArray4<'py, f32>,
        scale: PyReadonlyArray3<'py, f32>,
        span: PyReadonlyArray1<'py, f32>,
        base: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Served<'py>> {
        in_row_order("values", &values)?;
        in_row_order("scale", &scale)?;
        in_row_order("base", &base)?;
        let (slots, shape) = (Indices::of("slots", slots)?, values.dims());
        let output = ModelOutput {
            values: values.as_slice()?,
            scale: scale.as_slice()?,
            span: span.as_slice()?,
            base: base.as_slice()?,
        };
        let (rows, width) = (features.shape()[0], features.shape()[1]);
        let features = flat(&features);
        let fresh = fresh.as_ref().map(flat).unwrap_or_default();
        let limited = limited.as_ref().map(flat).unwrap_or_default();
        let newest = Newest { features: &features, width, fresh: &fresh, limited: &limited };
        let found = self
            .0
            .forecasts(slots.index("slots", rows)?, tick, &newest, &output)
            .map_err(refused)?;
        let plain = PyArray1::from_vec(py, found.plain).reshape(shape)?;
        Ok((plain, PyArray1::from_vec(py, found.served).reshape(shape)?, found.finite))
    }

    fn naive_forecasts<'py>(
        &mut self,
        py: Python<'py>,
        slots: &Bound<'_, PyAny>,
        tick: i64,
    ) -> PyResult<Bound<'py, PyArray4<f32>>> {
        let slots = Indices::of("slots", slots)?;
        let rows = slots.rows();
        let Axes { quantities, points, quantiles } = self.0.axes();
        let served =
            self.0.naive_forecasts(slots.index("slots", rows)?, rows, tick).map_err(refused)?;
        PyArray1::from_vec(py, served).reshape([rows, quantities, points, quantiles])
    }

    #[pyo3(signature = (slots, points, actual, tick, model=None, warm=None))]
    #[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
    fn learn<'py>(
        &mut self,
        py: Python<'py>,
        slots: &Bound<'_, PyAny>,
        points: &Bound<'_, PyAny>,
        actual: PyReadonlyArray2<'py, f32>,
        tick: i64,
        model: Option<PyReadonlyArray3<'py, f32>>,
        warm: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let (rows, axes) = (actual.shape()[0], self.0.axes());
        shaped("actual", actual.shape(), &[rows, axes.quantities])?;
        if let Some(model) = &model {
            shaped("model", model.shape(), &[rows, axes.quantities, axes.quantiles])?;
        }
        let (slots, points) = (Indices::of("slots", slots)?, Indices::of("point", points)?);
        let actual = flat(&actual);
        let model = model.as_ref().map(flat).unwrap_or_default();
        let warm = warm.as_ref().map(flat).unwrap_or_default();
        let losses = self
            .0
            .learn(
                slots.index("slots", rows)?,
                points.index("point", rows)?,
                &Outcomes { rows, actual: &actual, counts: &[] },
                tick,
                &Checked { model: &model, warm: &warm },
            )
            .map_err(refused)?;
        let losses: Vec<f32> = losses.iter().flat_map(Losses::all).collect();
        PyArray1::from_vec(py, losses).reshape([rows, axes.quantities, Losses::COUNT])
    }

    fn simple_forecasts<'py>(
        &self,
        py: Python<'py>,
        slot: usize,
        tick: i64,
    ) -> PyResult<Simple<'py>> {
        let Axes { quantities, points, quantiles } = self.0.axes();
        let (all, best) = self.0.simple_forecasts(slot, tick).map_err(refused)?;
        let all = PyArray1::from_vec(py, all).reshape([SIMPLE, quantities, points, quantiles])?;
        Ok((all, PyArray1::from_vec(py, best).reshape([quantities, points])?))
    }

    fn weights<'py>(&self, py: Python<'py>, slot: usize) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let (weights, points) = (self.0.weights(slot).into_flattened(), self.0.axes().points);
        let quantities = weights.len().checked_div(points * EXPERTS).unwrap_or(0);
        PyArray1::from_vec(py, weights).reshape([quantities, points, EXPERTS])
    }
}
