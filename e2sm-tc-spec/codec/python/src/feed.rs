//! Forecasts as the control message of a forecast feed.

use e2sm_tc::v1::{self, BearerId, ControlMessage, DRAIN_QUANTILE, FeedSeries, ForecastFeed, UeId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::codec_error;

/// RNTI, DRB identity, and series of points × quantiles, row-major: occupancy, limit, drain.
type Row = (u16, u8, Vec<f32>, Option<Vec<f32>>, Option<Vec<f32>>);

/// The control message of a forecast feed of bearers, which all have the same points and quantiles.
#[pyfunction]
fn forecast_feed<'py>(
    py: Python<'py>,
    origin_us: u64,
    points_us: Vec<u32>,
    single_us: u32,
    quantiles: Vec<f32>,
    rows: Vec<Row>,
) -> PyResult<Bound<'py, PyBytes>> {
    let series =
        FeedSeries::over(&points_us, single_us, &quantiles, DRAIN_QUANTILE).ok_or_else(|| {
            let expected = "expected increasing points, and quantiles with the median in them";
            let reason = format!("{expected}, and {DRAIN_QUANTILE} between them");
            PyValueError::new_err(format!(
                "points {points_us:?}, quantiles {quantiles:?}; {reason}"
            ))
        })?;
    let bearers: Option<Vec<_>> = rows
        .iter()
        .map(|(rnti, drb, occupancy, limit, drain)| {
            let bearer = BearerId { ue: UeId::Rnti(*rnti), drb: *drb };
            series.forecast(bearer, origin_us, occupancy, limit.as_deref(), drain.as_deref())
        })
        .collect();
    let bearers = bearers.ok_or_else(|| {
        let text = "a series does not have points × quantiles numbers of bytes";
        PyValueError::new_err(text)
    })?;
    let message = ControlMessage::ForecastFeed(ForecastFeed { bearers });
    let encoded = v1::encode(&message);
    let encoded = encoded.map_err(|error| codec_error(py, &error.to_string(), "forecast_feed"))?;
    Ok(PyBytes::new(py, &encoded))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(forecast_feed, module)?)
}
