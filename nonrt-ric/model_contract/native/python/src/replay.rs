//! What back-tests ask for: many samples of a bearer in one call, which releases the GIL.

use numpy::{
    PyArray1, PyArray2, PyArray3, PyArray4, PyArrayDyn, PyArrayMethods, PyReadonlyArray1,
    PyReadonlyArray2, PyReadonlyArray3, PyReadonlyArray4, PyReadonlyArray5, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rlc_native::{
    Axes, Checks, Judged, JudgedWindow, Labels, Newest, Offsets, Replay, Replayed, Steps, Stretch,
    Tracks,
};

use crate::learn::{flat, refused, shaped, writable};
use crate::mix::Mix;

/// `rows`, `last`, `origins`, `points`, `actual`.
type ChecksIn<'py> = (
    PyReadonlyArray1<'py, isize>,
    PyReadonlyArray1<'py, bool>,
    PyReadonlyArray1<'py, isize>,
    PyReadonlyArray1<'py, isize>,
    PyReadonlyArray2<'py, f32>,
);

fn of_checks<'a>(checks: &'a ChecksIn<'_>, quantities: usize) -> PyResult<Checks<'a>> {
    let (rows, last, origins, points, actual) = checks;
    shaped("actual", actual.shape(), &[rows.len(), quantities])?;
    Ok(Checks {
        rows: rows.as_slice()?,
        last: last.as_slice()?,
        origins: origins.as_slice()?,
        points: points.as_slice()?,
        actual: actual.as_slice()?,
    })
}

type Served<'py> = (Bound<'py, PyArray4<f32>>, Bound<'py, PyArray4<f32>>);

#[pyfunction]
#[pyo3(signature = (mix, slot, ticks, features, fresh, limited, model, *, warm_up, begin, wanted, checks))]
#[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
pub(crate) fn replay<'py>(
    py: Python<'py>,
    mut mix: PyRefMut<'py, Mix>,
    slot: usize,
    ticks: PyReadonlyArray1<'py, i64>,
    features: PyReadonlyArray2<'py, f32>,
    fresh: PyReadonlyArray1<'py, bool>,
    limited: PyReadonlyArray1<'py, bool>,
    model: Option<PyReadonlyArray4<'py, f32>>,
    warm_up: usize,
    begin: usize,
    wanted: PyReadonlyArray1<'py, isize>,
    checks: ChecksIn<'py>,
) -> PyResult<Served<'py>> {
    let Axes { quantities, points, quantiles } = mix.0.axes();
    let shape = [wanted.len(), quantities, points, quantiles];
    if let Some(model) = &model {
        shaped("model", model.shape(), &[ticks.len(), quantities, points, quantiles])?;
    }
    let (served, simple) = (PyArray4::zeros(py, shape, false), PyArray4::zeros(py, shape, false));
    {
        let features = (flat(&features), features.shape()[1]);
        let (fresh, limited) = (flat(&fresh), flat(&limited));
        let model = model.as_ref().map(flat).unwrap_or_default();
        let of = Replay {
            ticks: ticks.as_slice()?,
            newest: Newest {
                features: &features.0,
                width: features.1,
                fresh: &fresh,
                limited: &limited,
            },
            model: &model,
            warm_up,
            begin,
            wanted: wanted.as_slice()?,
            checks: of_checks(&checks, quantities)?,
        };
        let (mut served, mut simple) = (served.readwrite(), simple.readwrite());
        let mut out = Replayed { served: served.as_slice_mut()?, simple: simple.as_slice_mut()? };
        let mix = &mut mix.0;
        py.detach(|| mix.replay(slot, &of, &mut out)).map_err(refused)?;
    }
    Ok((served, simple))
}

#[pyfunction]
#[pyo3(signature = (slot, plain, *, begin, wanted, checks, levels, theta, size, offset, begun))]
#[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
pub(crate) fn calibrate<'py>(
    py: Python<'py>,
    slot: usize,
    plain: PyReadonlyArray4<'py, f32>,
    begin: usize,
    wanted: PyReadonlyArray1<'py, isize>,
    checks: ChecksIn<'py>,
    levels: PyReadonlyArray1<'py, f32>,
    theta: &Bound<'py, PyArray4<f32>>,
    size: &Bound<'py, PyArray3<f32>>,
    offset: &Bound<'py, PyArray4<f32>>,
    begun: &Bound<'py, PyArray3<bool>>,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    let &[capacity, quantities, points, quantiles] = theta.shape() else {
        return Err(PyValueError::new_err("theta: expected four axes"));
    };
    shaped("levels", levels.shape(), &[quantiles])?;
    shaped("size", size.shape(), &[capacity, quantities, points])?;
    shaped("offset", offset.shape(), theta.shape())?;
    shaped("begun", begun.shape(), size.shape())?;
    let rows = plain.shape()[0];
    let width = if plain.shape()[3] == 1 { 1 } else { quantiles };
    shaped("plain", plain.shape(), &[rows, quantities, points, width])?;
    let out = PyArray4::zeros(py, [wanted.len(), quantities, points, quantiles], false);
    {
        let plain = flat(&plain);
        let of = Stretch {
            plain: &plain,
            rows,
            begin,
            wanted: wanted.as_slice()?,
            checks: of_checks(&checks, quantities)?,
        };
        let levels = flat(&levels);
        let (mut theta, mut size) = (writable("theta", theta)?, writable("size", size)?);
        let (mut offset, mut begun) = (writable("offset", offset)?, writable("begun", begun)?);
        let mut offsets = Offsets {
            axes: Axes { quantities, points, quantiles },
            levels: &levels,
            theta: theta.as_slice_mut()?,
            size: size.as_slice_mut()?,
            offset: offset.as_slice_mut()?,
            begun: begun.as_slice_mut()?,
        };
        let mut written = out.readwrite();
        let written = written.as_slice_mut()?;
        py.detach(|| offsets.calibrate(slot, &of, written)).map_err(refused)?;
    }
    Ok(out)
}

/// `theta`, `size`, `offset`, `begun` of one slot.
type OffsetsIn<'py> = (
    Bound<'py, PyArray4<f32>>,
    Bound<'py, PyArray3<f32>>,
    Bound<'py, PyArray4<f32>>,
    Bound<'py, PyArray3<bool>>,
);
/// `rows`, `known`, `ended`, `columns`.
type LabelsIn<'py> = (
    PyReadonlyArray2<'py, isize>,
    PyReadonlyArray2<'py, bool>,
    PyReadonlyArray2<'py, f32>,
    PyReadonlyArray2<'py, isize>,
);
/// Pinball losses of each forecaster; counts below and up to, and of known values; whether the model's
/// forecasts are finite.
type Judgement<'py> = (
    Vec<Bound<'py, PyArray3<f64>>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray2<f64>>,
    bool,
);

#[pyfunction]
#[pyo3(signature = (mix, slot, ticks, features, fresh, limited, model, held, *, warm_up, begin, wanted, checks, labels, ends, same, levels, tracks))]
#[expect(clippy::too_many_arguments, reason = "the signature of the Python function")]
pub(crate) fn judge<'py>(
    py: Python<'py>,
    mut mix: PyRefMut<'py, Mix>,
    slot: usize,
    ticks: PyReadonlyArray1<'py, i64>,
    features: PyReadonlyArray2<'py, f32>,
    fresh: PyReadonlyArray1<'py, bool>,
    limited: PyReadonlyArray1<'py, bool>,
    model: PyReadonlyArray4<'py, f32>,
    held: PyReadonlyArray3<'py, f32>,
    warm_up: usize,
    begin: usize,
    wanted: PyReadonlyArray1<'py, isize>,
    checks: ChecksIn<'py>,
    labels: LabelsIn<'py>,
    ends: PyReadonlyArray1<'py, isize>,
    same: f32,
    levels: PyReadonlyArray1<'py, f32>,
    tracks: [OffsetsIn<'py>; 2],
) -> PyResult<Judgement<'py>> {
    let axes = mix.0.axes();
    let Axes { quantities, points, quantiles } = axes;
    let rows = ticks.len();
    shaped("model", model.shape(), &[rows, quantities, points, quantiles])?;
    shaped("held", held.shape(), &[rows, quantities, points])?;
    shaped("levels", levels.shape(), &[quantiles])?;
    let (label_rows, known, ended, columns) = &labels;
    shaped("labels", label_rows.shape(), &[rows, points])?;
    shaped("known", known.shape(), &[rows, points])?;
    shaped("columns", columns.shape(), &[quantities, points])?;
    let (width, kinds) = (features.shape()[1], ended.shape()[1]);
    let (features, fresh, limited) = (flat(&features), flat(&fresh), flat(&limited));
    let (model, held, levels) = (flat(&model), flat(&held), flat(&levels));
    let (label_rows, known) = (flat(label_rows), flat(known));
    let (ended, columns) = (flat(ended), flat(columns));
    let window = JudgedWindow {
        replay: Replay {
            ticks: ticks.as_slice()?,
            newest: Newest { features: &features, width, fresh: &fresh, limited: &limited },
            model: &model,
            warm_up,
            begin,
            wanted: wanted.as_slice()?,
            checks: of_checks(&checks, quantities)?,
        },
        held: &held,
        labels: Labels {
            rows: &label_rows,
            known: &known,
            ended: &ended,
            kinds,
            columns: &columns,
        },
        ends: ends.as_slice()?,
        same,
    };
    let mut arrays = Vec::new();
    for (theta, size, offset, begun) in &tracks {
        shaped("theta", theta.shape(), &[1, quantities, points, quantiles])?;
        shaped("size", size.shape(), &[1, quantities, points])?;
        shaped("offset", offset.shape(), theta.shape())?;
        shaped("begun", begun.shape(), size.shape())?;
        let (theta, size) = (writable("theta", theta)?, writable("size", size)?);
        arrays.push((theta, size, writable("offset", offset)?, writable("begun", begun)?));
    }
    let mut offsets = Vec::new();
    for (theta, size, offset, begun) in &mut arrays {
        offsets.push(Offsets {
            axes,
            levels: &levels,
            theta: theta.as_slice_mut()?,
            size: size.as_slice_mut()?,
            offset: offset.as_slice_mut()?,
            begun: begun.as_slice_mut()?,
        });
    }
    let [model, adaptive] = <[Offsets<'_>; 2]>::try_from(offsets)
        .map_err(|_| PyValueError::new_err("tracks: expected two"))?;
    let mut tracks = Tracks { model, adaptive };
    let mix = &mut mix.0;
    let losses = py.detach(|| mix.judge_window(slot, &window, &mut tracks)).map_err(refused)?;
    let blocks = window.ends.len();
    let of_blocks = |sums| PyArray1::from_vec(py, sums).reshape([blocks, quantities, points]);
    let of_quantiles = |sums| PyArray1::from_vec(py, sums).reshape([quantities, points, quantiles]);
    Ok((
        losses.pinball.into_iter().map(of_blocks).collect::<PyResult<_>>()?,
        of_quantiles(losses.below)?,
        of_quantiles(losses.up_to)?,
        PyArray1::from_vec(py, losses.count).reshape([quantities, points])?,
        losses.finite,
    ))
}

type Sums<'py> = (
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray4<f64>>,
    Bound<'py, PyArray4<f64>>,
    Bound<'py, PyArray3<f64>>,
);

#[pyfunction]
pub(crate) fn loss_sums<'py>(
    py: Python<'py>,
    actual: PyReadonlyArray3<'py, f32>,
    forecast: PyReadonlyArray4<'py, f32>,
    blocks: PyReadonlyArray1<'py, isize>,
    levels: PyReadonlyArray1<'py, f32>,
    same: f32,
) -> PyResult<Sums<'py>> {
    let &[rows, quantities, points] = actual.shape() else {
        return Err(PyValueError::new_err("actual: expected three axes"));
    };
    let quantiles = levels.len();
    shaped("forecast", forecast.shape(), &[rows, quantities, points, quantiles])?;
    shaped("blocks", blocks.shape(), &[rows])?;
    let (actual, forecast, levels) = (flat(&actual), flat(&forecast), flat(&levels));
    let blocks = blocks.as_slice()?;
    let judged = Judged {
        axes: Axes { quantities, points, quantiles },
        levels: &levels,
        actual: &actual,
        forecast: &forecast,
        blocks,
        same,
    };
    let count = blocks.last().map_or(0, |last| usize::try_from(*last).unwrap_or(0) + 1);
    let sums = py.detach(|| judged.sums(count)).map_err(refused)?;
    let three = |sums| PyArray1::from_vec(py, sums).reshape([count, quantities, points]);
    let four = |sums| PyArray1::from_vec(py, sums).reshape([count, quantities, points, quantiles]);
    Ok((
        three(sums.pinball)?,
        three(sums.absolute)?,
        four(sums.below)?,
        four(sums.up_to)?,
        three(sums.count)?,
    ))
}

#[pyfunction]
#[pyo3(signature = (values, scale, span, base, out, *, bearer))]
pub(crate) fn in_units(
    py: Python<'_>,
    values: PyReadonlyArray5<'_, f32>,
    scale: Option<PyReadonlyArray4<'_, f32>>,
    span: PyReadonlyArray1<'_, f32>,
    base: PyReadonlyArray2<'_, f32>,
    out: &Bound<'_, PyArray4<f32>>,
    bearer: usize,
) -> PyResult<()> {
    let &[rows, bearers, quantities, points, quantiles] = values.shape() else {
        return Err(PyValueError::new_err("values: expected five axes"));
    };
    shaped("span", span.shape(), &[quantities])?;
    shaped("base", base.shape(), &[rows, quantities])?;
    shaped("out", out.shape(), &[rows, quantities, points, quantiles])?;
    if let Some(scale) = &scale {
        shaped("scale", scale.shape(), &[rows, bearers, quantities, points])?;
    }
    let scale = scale.as_ref().map(flat).unwrap_or_default();
    let (values, span, base) = (flat(&values), flat(&span), flat(&base));
    let axes = Axes { quantities, points, quantiles };
    let steps =
        Steps { axes, values: &values, scale: &scale, bearers, bearer, span: &span, base: &base };
    let mut out = writable("out", out)?;
    let out = out.as_slice_mut()?;
    py.detach(|| steps.in_units(out)).map_err(refused)
}

#[pyfunction]
pub(crate) fn sort_last(py: Python<'_>, values: &Bound<'_, PyArrayDyn<f32>>) -> PyResult<()> {
    let width = values.shape().last().copied().unwrap_or(0);
    let mut values = writable("values", values)?;
    let values = values.as_slice_mut()?;
    py.detach(|| rlc_native::sort_groups(values, width));
    Ok(())
}
