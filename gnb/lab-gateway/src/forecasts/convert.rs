//! The door's forecasts in the words of the service model.

use e2sm_tc::v1::{BearerForecast, BearerId, UeId};

use super::proto;

/// Most points that are of use; E2SM-TC has no more and pacers keep no more.
const MAX_POINTS: usize = 64;
/// DRB identities (38.331, `DRB-Identity`).
const DRBS: std::ops::RangeInclusive<u32> = 1..=32;

/// The forecasts of a batch that make sense, and how many do not.
pub(crate) fn bearer_forecasts(batch: &proto::ForecastBatch) -> (Vec<BearerForecast>, u64) {
    let median = median(&batch.quantiles);
    let made = batch.forecasts.iter().map(|forecast| {
        let (quantile, quantiles) = median?;
        bearer_forecast(forecast, quantile, quantiles)
    });
    let good: Vec<BearerForecast> = made.flatten().collect();
    let malformed = batch.forecasts.len() - good.len();
    (good, malformed as u64)
}

/// Column of the quantile next to the median, and how many columns there are.
fn median(quantiles: &[f32]) -> Option<(usize, usize)> {
    let off = |quantile: &f32| (quantile - 0.5).abs();
    let nearest = quantiles.iter().map(off).enumerate().filter(|(_, off)| off.is_finite());
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

/// One quantile of a series of whole rows; none where a value is no number of bytes.
fn points(values: &[f32], quantile: usize, quantiles: usize) -> Option<Vec<u32>> {
    if !values.len().is_multiple_of(quantiles) {
        return None;
    }
    let column = values.chunks_exact(quantiles).map(|row| row[quantile]).take(MAX_POINTS);
    column.map(bytes).collect()
}

// What is beyond 4 GiB is 4 GiB: a cast saturates.
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

    fn good() -> proto::Forecast {
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
        let mut forecast = good();
        change(&mut forecast);
        bearer_forecasts(&proto::ForecastBatch {
            quantiles: quantiles.to_vec(),
            forecasts: vec![forecast],
            ..proto::ForecastBatch::default()
        })
    }

    #[test]
    fn a_forecast_is_in_whole_bytes() {
        let (made, malformed) = converted(&[0.5], |_| {});
        assert_eq!(malformed, 0);
        assert_eq!(made[0].bearer, BearerId { ue: UeId::Rnti(17), drb: 1 });
        assert_eq!(made[0].occupancy_bytes, [10, 21]);
        assert_eq!(made[0].drain_bytes, [u32::MAX, 0], "more than can be said is the most");
        assert_eq!(made[0].limit_bytes, [0; 0]);
    }

    #[test]
    fn of_several_quantiles_the_one_next_to_the_median_counts() {
        let (made, _) = converted(&[0.1, 0.6, 0.9], |forecast| {
            let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            forecast.series = vec![series(Quantity::OccupancyBytes, &rows)];
        });
        assert_eq!(made[0].occupancy_bytes, [2, 5]);
    }

    #[test]
    fn more_points_than_a_pacer_keeps_are_cut_off() {
        let (made, _) = converted(&[0.5], |forecast| {
            forecast.series = vec![series(Quantity::OccupancyBytes, &[7.0; 400])];
        });
        assert_eq!(made[0].occupancy_bytes.len(), MAX_POINTS);
    }

    #[test]
    fn what_makes_no_sense_is_counted_and_left() {
        type Change = fn(&mut proto::Forecast);
        let spoilt: [Change; 12] = [
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
        for (index, change) in spoilt.into_iter().enumerate() {
            let (made, malformed) = converted(&[0.5], change);
            assert_eq!((made.len(), malformed), (0, 1), "change {index}");
        }
        for quantiles in [&[][..], &[f32::NAN], &[0.1, 0.5, 0.9]] {
            let (made, malformed) = converted(quantiles, |_| {});
            assert_eq!((made.len(), malformed), (0, 1), "two values, quantiles {quantiles:?}");
        }
    }
}
