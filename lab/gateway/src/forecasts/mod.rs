//! Forecasts for the CU's pacers: the CU subscribes to the forecast stream of `rlc-forecaster` and passes
//! each forecast to its bearer's pacer, like a forecast feed of E2SM-TC (style 3) without RIC control.
//! If the stream stalls or ends, pacers use their own measurements one step after the last point, and
//! [`stream`] reconnects.

mod forecaster;
mod stream;

use e2sm_tc::v1::{BearerForecast, BearerId, FeedSeries, UeId, cumulated_drain};

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

/// Time between the RLC reports that a forecaster subscribes to, where a single point does not
/// tell.
const REPORT_US: u32 = 1_000;
/// DRB identities (38.331, `DRB-Identity`).
const DRBS: std::ops::RangeInclusive<u32> = 1..=32;

/// The valid forecasts of a batch, their drain at `drain_quantile`, and the number of malformed ones.
pub(crate) fn bearer_forecasts(
    batch: &proto::ForecastBatch,
    drain_quantile: f32,
) -> (Vec<BearerForecast>, u64) {
    let series = FeedSeries::over(&batch.points_us, REPORT_US, &batch.quantiles, drain_quantile);
    let converted =
        batch.forecasts.iter().map(|forecast| of_bearer(batch, series.as_ref()?, forecast));
    let valid: Vec<BearerForecast> = converted.flatten().collect();
    let malformed = batch.forecasts.len() - valid.len();
    (valid, malformed as u64)
}

fn of_bearer(
    batch: &proto::ForecastBatch,
    series: &FeedSeries,
    forecast: &proto::Forecast,
) -> Option<BearerForecast> {
    let bearer = forecast.bearer?;
    let rnti = u16::try_from(bearer.rnti).ok()?;
    let drb = u8::try_from(bearer.drb).ok().filter(|_| DRBS.contains(&bearer.drb))?;
    let values = |quantity| {
        let series = forecast.series.iter().find(|series| series.quantity() == quantity);
        series.map(|series| series.values.as_slice())
    };
    let points = series.forecast(
        BearerId { ue: UeId::Rnti(rnti), drb },
        forecast.origin_us,
        values(proto::Quantity::OccupancyBytes)?,
        values(proto::Quantity::LimitBytes),
        values(proto::Quantity::DrainBytes),
    )?;
    let sums = match forecast.cumulated_drain_bytes.as_slice() {
        [] => None,
        sums => Some(cumulated_drain(&batch.points_us, &batch.cumulated_quantiles, sums)?),
    };
    Some(BearerForecast { cumulated_drain: sums, ..points })
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
            series: vec![
                series(Quantity::OccupancyBytes, &[10.4, 20.6]),
                series(Quantity::DrainBytes, &[1e20, 0.0]),
            ],
            ..proto::Forecast::default()
        }
    }

    fn converted_at(
        points_us: &[u32],
        quantiles: &[f32],
        forecast: proto::Forecast,
    ) -> (Vec<BearerForecast>, u64) {
        let batch = proto::ForecastBatch {
            quantiles: quantiles.to_vec(),
            points_us: points_us.to_vec(),
            forecasts: vec![forecast],
            ..proto::ForecastBatch::default()
        };
        let drain = if let [only] = quantiles { *only } else { 0.8 };
        bearer_forecasts(&batch, drain)
    }

    fn converted(
        quantiles: &[f32],
        change: impl FnOnce(&mut proto::Forecast),
    ) -> (Vec<BearerForecast>, u64) {
        let mut forecast = valid();
        change(&mut forecast);
        converted_at(&[11_000, 12_000], quantiles, forecast)
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
    fn occupancy_is_fed_at_its_median_and_drain_at_the_quantile_asked_for() {
        let two_columns = |forecast: &mut proto::Forecast| {
            let rows = [1.0, 5.0, 4.0, 8.0];
            forecast.series = vec![
                series(Quantity::OccupancyBytes, &rows),
                series(Quantity::LimitBytes, &rows),
                series(Quantity::DrainBytes, &rows),
            ];
        };
        let (made, _) = converted(&[0.5, 0.9], two_columns);
        assert_eq!(made[0].occupancy_bytes, [1, 4]);
        assert_eq!(made[0].limit_bytes, [1, 4]);
        assert_eq!(made[0].drain_bytes, [4, 7], "three quarters of the way to the upper quantile");
        let (made, malformed) = converted(&[0.5, 0.7], two_columns);
        assert_eq!((made.len(), malformed), (0, 1), "nothing is known of a higher one");
    }

    #[test]
    fn points_of_any_distance_become_those_of_a_feed() {
        let mut forecast = valid();
        forecast.series = vec![
            series(Quantity::OccupancyBytes, &[0.0, 100.0, 400.0]),
            series(Quantity::DrainBytes, &[100.0, 100.0, 900.0]),
        ];
        let (made, _) = converted_at(&[10_000, 11_000, 14_000], &[0.5], forecast);
        assert_eq!((made[0].horizon_start_us, made[0].step_us), (10_000, 1_000));
        assert_eq!(made[0].occupancy_bytes, [0, 100, 200, 300, 400]);
        assert_eq!(made[0].drain_bytes, [100, 100, 300, 300, 300], "3 ms at the same rate");
    }

    #[test]
    fn sums_of_the_drain_are_fed_at_the_points_and_levels_of_the_stream() {
        let mut batch = proto::ForecastBatch {
            quantiles: vec![0.5],
            points_us: vec![11_000, 12_000],
            cumulated_quantiles: vec![0.5, 0.98],
            forecasts: vec![valid()],
            ..proto::ForecastBatch::default()
        };
        let made = |batch: &proto::ForecastBatch| bearer_forecasts(batch, 0.5);
        assert_eq!(made(&batch).0[0].cumulated_drain, None, "the forecaster was not asked for it");
        batch.forecasts[0].cumulated_drain_bytes = vec![10.2, 30.0, 11.0, 33.0];
        let sums = made(&batch).0[0].cumulated_drain.clone().unwrap();
        assert_eq!((sums.points_us, sums.levels_milli), (vec![11_000, 12_000], vec![500, 980]));
        assert_eq!(sums.bytes, [10, 30, 11, 33]);
        batch.forecasts[0].cumulated_drain_bytes.pop();
        assert_eq!(made(&batch), (vec![], 1), "three of four");
    }

    #[test]
    fn malformed_forecasts_are_counted_and_dropped() {
        type Change = fn(&mut proto::Forecast);
        let changes: [Change; 11] = [
            |f| f.bearer = None,
            |f| f.bearer = Some(proto::Bearer { rnti: 65_536, drb: 1 }),
            |f| f.bearer = Some(proto::Bearer { rnti: 1, drb: 0 }),
            |f| f.bearer = Some(proto::Bearer { rnti: 1, drb: 33 }),
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
        for points_us in [&[][..], &[11_000], &[11_000, 11_000], &[12_000, 11_000]] {
            let (made, malformed) = converted_at(points_us, &[0.5], valid());
            assert_eq!((made.len(), malformed), (0, 1), "two values, points {points_us:?}");
        }
        for quantiles in [&[][..], &[f32::NAN], &[0.1, 0.5, 0.9]] {
            let (made, malformed) = converted(quantiles, |_| {});
            assert_eq!((made.len(), malformed), (0, 1), "two values, quantiles {quantiles:?}");
        }
    }
}
