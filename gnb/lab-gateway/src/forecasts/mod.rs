//! Forecasts for the CU's pacers: the CU subscribes to the forecast stream of `rlc-forecaster` and passes
//! each forecast to its bearer's pacer, like a forecast feed of E2SM-TC (style 3) without RIC control.
//! If the stream stalls or ends, pacers use their own measurements one step after the last point, and
//! [`stream`] reconnects.

mod forecaster;
mod stream;

use e2sm_tc::v1::{BearerForecast, BearerId, UeId};

pub(super) use forecaster::Forecaster;
pub(super) use stream::ForecastStream;

/// Generated from `interfaces/proto/forecast.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all)]
pub(crate) mod proto {
    include!(concat!(env!("OUT_DIR"), "/sojourn.forecast.v1.rs"));
}

/// Outcome of a bearer's forecast; a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ForecastOutcome {
    /// Passed to its pacer.
    Taken,
    /// Non-finite values, mismatched lengths, or an impossible bearer.
    Malformed,
    /// No such node.
    UnknownNode,
    /// No such bearer, or its UE is not attached.
    UnknownBearer,
    /// The pipeline refused it: its origin is in the future.
    Refused,
    /// The node's command queue was full.
    Dropped,
}

impl ForecastOutcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Malformed => "malformed",
            Self::UnknownNode => "unknown_node",
            Self::UnknownBearer => "unknown_bearer",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}

/// Maximum points of a forecast; more do not fit E2SM-TC, and pacers store no more.
const MAX_POINTS: usize = 64;
/// DRB identities (38.331, `DRB-Identity`).
const DRBS: std::ops::RangeInclusive<u32> = 1..=32;

/// The valid forecasts of a batch, and the number of malformed ones.
pub(crate) fn bearer_forecasts(batch: &proto::ForecastBatch) -> (Vec<BearerForecast>, u64) {
    let median = median(&batch.quantiles);
    let converted = batch.forecasts.iter().map(|forecast| {
        let (quantile, quantiles) = median?;
        bearer_forecast(forecast, quantile, quantiles)
    });
    let valid: Vec<BearerForecast> = converted.flatten().collect();
    let malformed = batch.forecasts.len() - valid.len();
    (valid, malformed as u64)
}

/// Column of the quantile closest to the median, and the number of columns.
fn median(quantiles: &[f32]) -> Option<(usize, usize)> {
    let distance = |quantile: &f32| (quantile - 0.5).abs();
    let nearest = quantiles.iter().map(distance).enumerate().filter(|(_, it)| it.is_finite());
    let (column, _) = nearest.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some((column, quantiles.len()))
}

fn bearer_forecast(
    forecast: &proto::Forecast,
    quantile: usize,
    quantiles: usize,
) -> Option<BearerForecast> {
    let bearer = forecast.bearer?;
    let rnti = u16::try_from(bearer.rnti).ok()?;
    let drb = u8::try_from(bearer.drb).ok().filter(|_| DRBS.contains(&bearer.drb))?;
    let points = |quantity| {
        let series = forecast.series.iter().find(|series| series.quantity() == quantity);
        series.map_or(Some(Vec::new()), |series| points(&series.values, quantile, quantiles))
    };
    let occupancy_bytes = points(proto::Quantity::OccupancyBytes)?;
    let limit_bytes = points(proto::Quantity::LimitBytes)?;
    let drain_bytes = points(proto::Quantity::DrainBytes)?;
    let fits = |list: &Vec<u32>| list.is_empty() || list.len() == occupancy_bytes.len();
    if occupancy_bytes.is_empty() || !fits(&limit_bytes) || !fits(&drain_bytes) {
        return None;
    }
    Some(BearerForecast {
        bearer: BearerId { ue: UeId::Rnti(rnti), drb },
        origin_us: forecast.origin_us,
        horizon_start_us: forecast.horizon_start_us,
        step_us: (forecast.step_us > 0).then_some(forecast.step_us)?,
        occupancy_bytes,
        limit_bytes,
        drain_bytes,
    })
}

/// One quantile of a series; `None` if rows are incomplete or a value is not a number of bytes.
fn points(values: &[f32], quantile: usize, quantiles: usize) -> Option<Vec<u32>> {
    if !values.len().is_multiple_of(quantiles) {
        return None;
    }
    let column = values.chunks_exact(quantiles).map(|row| row[quantile]).take(MAX_POINTS);
    column.map(bytes).collect()
}

// The cast saturates at 4 GiB.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bytes(value: f32) -> Option<u32> {
    (value.is_finite() && value >= 0.0).then(|| value.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::Quantity;

    fn series(quantity: Quantity, values: &[f32]) -> proto::Series {
        proto::Series { quantity: quantity.into(), values: values.to_vec() }
    }

    fn valid() -> proto::Forecast {
        proto::Forecast {
            bearer: Some(proto::Bearer { rnti: 17, drb: 1 }),
            origin_us: 1_000_000,
            horizon_start_us: 11_000,
            step_us: 1_000,
            series: vec![
                series(Quantity::OccupancyBytes, &[10.4, 20.6]),
                series(Quantity::DrainBytes, &[1e20, 0.0]),
            ],
            ..proto::Forecast::default()
        }
    }

    fn converted(
        quantiles: &[f32],
        change: impl FnOnce(&mut proto::Forecast),
    ) -> (Vec<BearerForecast>, u64) {
        let mut forecast = valid();
        change(&mut forecast);
        bearer_forecasts(&proto::ForecastBatch {
            quantiles: quantiles.to_vec(),
            forecasts: vec![forecast],
            ..proto::ForecastBatch::default()
        })
    }

    #[test]
    fn values_are_rounded_to_bytes() {
        let (made, malformed) = converted(&[0.5], |_| {});
        assert_eq!(malformed, 0);
        assert_eq!(made[0].bearer, BearerId { ue: UeId::Rnti(17), drb: 1 });
        assert_eq!(made[0].occupancy_bytes, [10, 21]);
        assert_eq!(made[0].drain_bytes, [u32::MAX, 0], "saturated");
        assert_eq!(made[0].limit_bytes, [0; 0]);
    }

    #[test]
    fn the_quantile_closest_to_the_median_is_used() {
        let (made, _) = converted(&[0.1, 0.6, 0.9], |forecast| {
            let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            forecast.series = vec![series(Quantity::OccupancyBytes, &rows)];
        });
        assert_eq!(made[0].occupancy_bytes, [2, 5]);
    }

    #[test]
    fn points_beyond_the_maximum_are_dropped() {
        let (made, _) = converted(&[0.5], |forecast| {
            forecast.series = vec![series(Quantity::OccupancyBytes, &[7.0; 400])];
        });
        assert_eq!(made[0].occupancy_bytes.len(), MAX_POINTS);
    }

    #[test]
    fn malformed_forecasts_are_counted_and_dropped() {
        type Change = fn(&mut proto::Forecast);
        let changes: [Change; 12] = [
            |f| f.bearer = None,
            |f| f.bearer = Some(proto::Bearer { rnti: 65_536, drb: 1 }),
            |f| f.bearer = Some(proto::Bearer { rnti: 1, drb: 0 }),
            |f| f.bearer = Some(proto::Bearer { rnti: 1, drb: 33 }),
            |f| f.step_us = 0,
            |f| f.series.clear(),
            |f| f.series[0].values.clear(),
            |f| f.series[0].values[1] = f32::NAN,
            |f| f.series[0].values[0] = f32::INFINITY,
            |f| f.series[1].values[0] = -1.0,
            |f| f.series[1].values.push(1.0),
            |f| f.series[0].quantity = 77,
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let (made, malformed) = converted(&[0.5], change);
            assert_eq!((made.len(), malformed), (0, 1), "change {index}");
        }
        for quantiles in [&[][..], &[f32::NAN], &[0.1, 0.5, 0.9]] {
            let (made, malformed) = converted(quantiles, |_| {});
            assert_eq!((made.len(), malformed), (0, 1), "two values, quantiles {quantiles:?}");
        }
    }
}
