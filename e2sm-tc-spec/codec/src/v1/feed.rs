//! Forecasts at points of any distance as a forecast feed, whose points are uniform (§8).

use super::model::{BearerForecast, BearerId, CumulatedDrain};
use super::validate::Validate as _;

/// Quantile of occupancy and limit that pacers are fed: the median.
pub const LEVEL_QUANTILE: f32 = 0.5;
/// Points of a forecast feed at most.
const MAX_POINTS: u32 = 64;

/// Quantile of the drain that pacers are fed by default.
///
/// An RLC that runs empty loses a transport block for good; one that holds more delays packets. A pacer
/// that may lose a share `p` of the radio needs the quantile `1 - p` of what drains until its packets
/// arrive (newsvendor). Forecasts have quantiles of each point; their sum is that of the sum only if the
/// errors of all points go together, and a higher one the more they cancel out. So a lower quantile of
/// the points does: by this one a CU loses on average less than 2 % of recorded radios 10 ms from its DU
/// and less than 5 % 40 ms from it (docs/reproduction/stolidis2024.md has others).
pub const DRAIN_QUANTILE: f32 = 0.7;

/// The value at one probability, from a forecast's quantiles: linear between the nearest two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileColumn {
    /// Column of the lower quantile; the upper one is the next.
    lower: usize,
    /// Weight of the upper one.
    share: f32,
    columns: usize,
}

impl QuantileColumn {
    /// Makes one for quantiles in order of the columns; `None` unless they increase and `wanted` is within them:
    /// of what is beyond the outermost nothing is known.
    #[must_use]
    pub fn at(levels: &[f32], wanted: f32) -> Option<Self> {
        let columns = levels.len();
        let is_increasing = levels.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_increasing || !(*levels.first()?..=*levels.last()?).contains(&wanted) {
            return None;
        }
        let after = levels.partition_point(|level| *level <= wanted);
        let (lower, share) = match (after.checked_sub(1), levels.get(after)) {
            (None, _) => (0, 0.0),
            (Some(last), None) => (last, 0.0),
            (Some(below), Some(above)) => {
                (below, (wanted - levels[below]) / (above - levels[below]))
            }
        };
        Some(Self { lower, share, columns })
    }

    /// The values of a series of points × quantiles, row-major; `None` if rows are incomplete or a value
    /// is no number of bytes.
    #[must_use]
    pub fn of(&self, values: &[f32]) -> Option<Vec<f32>> {
        if !values.len().is_multiple_of(self.columns) {
            return None;
        }
        let rows = values.chunks_exact(self.columns).map(|row| {
            let upper = row.get(self.lower + 1).copied().unwrap_or_default();
            match self.share {
                0.0 => row[self.lower],
                share => row[self.lower] + share * (upper - row[self.lower]),
            }
        });
        rows.map(|value| (value.is_finite() && value >= 0.0).then_some(value)).collect()
    }
}

/// The cumulated drain of a forecast as a feed carries it: `points_us` after its origin × `levels`, row by
/// row, in bytes. `None` if there are too many, not one for each, or they are not in order.
#[must_use]
pub fn cumulated_drain(
    points_us: &[u32],
    levels: &[f32],
    values: &[f32],
) -> Option<CumulatedDrain> {
    let is_bytes = |value: &f32| value.is_finite() && *value >= 0.0;
    if !values.iter().all(is_bytes) || levels.iter().any(|level| !(0.0..1.0).contains(level)) {
        return None;
    }
    let drain = CumulatedDrain {
        points_us: points_us.to_vec(),
        levels_milli: levels.iter().map(|level| bytes((level * 1e3).into()) as u16).collect(),
        bytes: values.iter().map(|value| bytes((*value).into())).collect(),
    };
    drain.validate().is_ok().then_some(drain)
}

/// Uniform points that stand for those of a forecast, which may be farther apart further out.
///
/// The distance is the smallest of the forecast's, or the least multiple of it by which no more than 64
/// points reach its last: uniform points stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedGrid {
    /// Points of the forecast, µs after its origin; increasing.
    points_us: Vec<u32>,
    /// Between points of the feed.
    step_us: u32,
    /// Points of the feed.
    count: u32,
}

impl FeedGrid {
    /// The grid of a forecast with these points, µs after its origin, and `single_us` between
    /// points if there is one alone; `None` unless they increase, are at least one, and `single_us`
    /// is not 0.
    #[must_use]
    pub fn over(points_us: &[u32], single_us: u32) -> Option<Self> {
        let (first_us, last_us) = (*points_us.first()?, *points_us.last()?);
        let distances = points_us.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
        let least_us = distances.min().unwrap_or(single_us);
        if least_us == 0 {
            return None;
        }
        let length_us = last_us - first_us;
        let steps = length_us.div_ceil(least_us).max(1);
        let step_us = least_us.checked_mul(steps.div_ceil(MAX_POINTS - 1))?;
        let count = length_us.div_ceil(step_us) + 1;
        Some(Self { points_us: points_us.to_vec(), step_us, count })
    }

    /// Time from the origin to the first point, µs.
    #[must_use]
    pub fn start_us(&self) -> u32 {
        self.points_us[0]
    }

    /// Between points, µs.
    #[must_use]
    pub fn step_us(&self) -> u32 {
        self.step_us
    }

    /// Number of points, 1 to 64.
    #[must_use]
    pub fn points(&self) -> u32 {
        self.count
    }

    fn times_us(&self) -> impl Iterator<Item = f64> + use<> {
        let (start_us, step_us) = (f64::from(self.start_us()), f64::from(self.step_us));
        (0..self.count).map(move |point| start_us + f64::from(point) * step_us)
    }

    /// Values of an instant, such as occupancy and limit: linear between the forecast's points, the last
    /// one after it. `None` unless there is one per point.
    #[must_use]
    pub fn levels(&self, values: &[f32]) -> Option<Vec<u32>> {
        let knots = self.points_us.iter().zip(values).map(|(us, value)| ((*us).into(), *value));
        let line = Line(knots.map(|(us, value)| (us, value.into())).collect());
        self.fits(values).then(|| self.times_us().map(|us| bytes(line.within(us))).collect())
    }

    /// Bytes drained in the step that ends at each point, from those drained between the forecast's
    /// points: their sum is linear between points, and goes on at the nearest rate. `None` unless there
    /// is one per point.
    #[must_use]
    pub fn drain(&self, values: &[f32]) -> Option<Vec<u32>> {
        let begin_us = f64::from(self.start_us()) - f64::from(self.first_span_us());
        let mut sum = 0.0;
        let mut knots = vec![(begin_us, sum)];
        for (us, value) in self.points_us.iter().zip(values) {
            sum += f64::from(*value);
            knots.push((f64::from(*us), sum));
        }
        let (sums, step_us) = (Line(knots), f64::from(self.step_us));
        let drained = |us| bytes(sums.at(us) - sums.at(us - step_us));
        self.fits(values).then(|| self.times_us().map(drained).collect())
    }

    /// The time whose drain the first point tells: as long as from it to the second.
    fn first_span_us(&self) -> u32 {
        self.points_us.get(1).map_or(self.step_us, |second_us| second_us - self.points_us[0])
    }

    fn fits(&self, values: &[f32]) -> bool {
        values.len() == self.points_us.len()
    }
}

/// How forecasts of one layout, with quantiles of each point, become those of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedSeries {
    grid: FeedGrid,
    level: QuantileColumn,
    drain: QuantileColumn,
}

impl FeedSeries {
    /// Makes one for forecasts at these points, µs after their origin, with `single_us` between points if there is
    /// one alone, and these quantiles; `None` as [`FeedGrid::over`] and [`QuantileColumn::at`], of which the
    /// drain's is `drain_quantile` and the others' the median.
    #[must_use]
    pub fn over(
        points_us: &[u32],
        single_us: u32,
        quantiles: &[f32],
        drain_quantile: f32,
    ) -> Option<Self> {
        Some(Self {
            grid: FeedGrid::over(points_us, single_us)?,
            level: QuantileColumn::at(quantiles, LEVEL_QUANTILE)?,
            drain: QuantileColumn::at(quantiles, drain_quantile)?,
        })
    }

    /// The forecast of a bearer from series of points × quantiles, row-major, in bytes: occupancy, and limit
    /// and drain where they are forecast, without cumulated drain. `None` if a series does not fit or a value is no number of bytes.
    #[must_use]
    pub fn forecast(
        &self,
        bearer: BearerId,
        origin_us: u64,
        occupancy: &[f32],
        limit: Option<&[f32]>,
        drain: Option<&[f32]>,
    ) -> Option<BearerForecast> {
        let Self { grid, level, drain: column } = self;
        let levels = |values| grid.levels(&level.of(values)?);
        Some(BearerForecast {
            bearer,
            origin_us,
            horizon_start_us: grid.start_us(),
            step_us: grid.step_us(),
            occupancy_bytes: levels(occupancy)?,
            limit_bytes: limit.map_or(Some(Vec::new()), levels)?,
            drain_bytes: match drain {
                Some(values) => grid.drain(&column.of(values)?)?,
                None => Vec::new(),
            },
            cumulated_drain: None,
        })
    }
}

/// Straight lines between points in order of time, at least one.
struct Line(Vec<(f64, f64)>);

impl Line {
    /// The value at a time; that of the nearest point before the first and after the last.
    fn within(&self, us: f64) -> f64 {
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return 0.0 };
        self.at(us.clamp(first.0, last.0))
    }

    /// The value at a time; the first and the last line go on.
    fn at(&self, us: f64) -> f64 {
        let later = self.0.partition_point(|(knot_us, _)| *knot_us <= us);
        let before = later.clamp(1, self.0.len().saturating_sub(1).max(1)) - 1;
        let (Some(from), to) = (self.0.get(before), self.0.get(before + 1)) else { return 0.0 };
        to.map_or(from.1, |to| from.1 + (to.1 - from.1) * (us - from.0) / (to.0 - from.0))
    }
}

// The cast saturates at 4 GiB and takes NaN for 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bytes(value: f64) -> u32 {
    value.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(points: impl IntoIterator<Item = u32>) -> Vec<u32> {
        points.into_iter().map(|ms| ms * 1_000).collect()
    }

    #[test]
    fn uniform_points_stay_as_they_are() {
        let grid = FeedGrid::over(&ms(11..31), 1_000).unwrap();
        assert_eq!((grid.start_us(), grid.step_us(), grid.points()), (11_000, 1_000, 20));
        let values: Vec<f32> = (0..20_u16).map(|value| f32::from(value) * 77.4).collect();
        let rounded: Vec<u32> = values.iter().map(|value| value.round() as u32).collect();
        assert_eq!(grid.levels(&values), Some(rounded.clone()));
        assert_eq!(grid.drain(&values), Some(rounded));
    }

    #[test]
    fn a_long_forecast_takes_a_multiple_of_its_least_distance() {
        let points = ms((11..17).chain([18, 20, 22, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100]));
        let grid = FeedGrid::over(&points, 1_000).unwrap();
        assert_eq!((grid.start_us(), grid.step_us(), grid.points()), (11_000, 2_000, 46));
        // 1000 bytes a ms: in steps of 2 ms 2000 bytes, whatever the points.
        let spans = [1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10_u16];
        let drain: Vec<f32> = spans.iter().map(|span| 1e3 * f32::from(*span)).collect();
        assert_eq!(grid.drain(&drain), Some(vec![2_000; 46]));
    }

    #[test]
    fn the_sum_of_the_drain_is_linear_between_points() {
        // 100 in (9, 10] ms, 100 in (10, 11], 900 in (11, 14].
        let grid = FeedGrid::over(&ms([10, 11, 14]), 1_000).unwrap();
        assert_eq!(grid.drain(&[100.0, 100.0, 900.0]), Some(vec![100, 100, 300, 300, 300]));
        assert_eq!(grid.levels(&[0.0, 100.0, 400.0]), Some(vec![0, 100, 200, 300, 400]));
        assert_eq!(grid.levels(&[0.0, 100.0]), None);
        assert_eq!(grid.drain(&[]), None);
    }

    #[test]
    fn a_single_point_has_the_step_that_it_is_told() {
        let grid = FeedGrid::over(&[5_000], 500).unwrap();
        assert_eq!((grid.start_us(), grid.step_us(), grid.points()), (5_000, 500, 1));
        assert_eq!((grid.drain(&[7.0]), grid.levels(&[8.0])), (Some(vec![7]), Some(vec![8])));
    }

    #[test]
    fn a_quantile_is_linear_between_those_given_and_unknown_beyond_the_outermost() {
        let rows = [10.0, 20.0, 60.0, 1.0, 1.0, 3.0];
        let at = |wanted| QuantileColumn::at(&[0.1, 0.5, 0.9], wanted).unwrap().of(&rows).unwrap();
        assert_eq!(at(0.5), [20.0, 1.0]);
        assert_eq!(at(0.9), [60.0, 3.0]);
        let between = at(0.7);
        assert!((between[0] - 40.0).abs() < 1e-4 && (between[1] - 2.0).abs() < 1e-5, "{between:?}");
        assert_eq!(at(0.1), [10.0, 1.0]);
        for beyond in [0.01, 0.099, 0.901, 0.98, f32::INFINITY] {
            assert_eq!(QuantileColumn::at(&[0.1, 0.5, 0.9], beyond), None, "{beyond}");
        }
        let only = QuantileColumn::at(&[0.5], 0.5).unwrap();
        assert_eq!(only.of(&rows), Some(rows.to_vec()));
        assert_eq!(QuantileColumn::at(&[0.5], 0.7), None);
    }

    #[test]
    fn quantiles_without_order_and_incomplete_rows_have_no_value() {
        for levels in [&[][..], &[0.5, 0.5], &[0.9, 0.1], &[f32::NAN], &[0.1, f32::NAN]] {
            assert_eq!(QuantileColumn::at(levels, 0.5), None, "{levels:?}");
        }
        assert_eq!(QuantileColumn::at(&[0.1], f32::NAN), None);
        let column = QuantileColumn::at(&[0.1, 0.9], 0.5).unwrap();
        for values in [&[1.0][..], &[1.0, f32::NAN], &[-1.0, -1.0], &[0.0, f32::INFINITY]] {
            assert_eq!(column.of(values), None, "{values:?}");
        }
        assert_eq!(column.of(&[]), Some(vec![]));
    }

    #[test]
    fn sums_are_rounded_to_bytes_and_refused_out_of_order() {
        let sums = |values: &[f32]| cumulated_drain(&[1_000, 3_000], &[0.5, 0.98], values);
        let drain = sums(&[1.4, 2.6, 1.4, 1e20]).unwrap();
        assert_eq!((drain.levels_milli, drain.bytes), (vec![500, 980], vec![1, 3, 1, u32::MAX]));
        for values in [&[1.0, 2.0, 3.0][..], &[2.0, 1.0, 3.0, 3.0], &[1.0, 2.0, 1.0, 1.4]] {
            assert_eq!(sums(values), None, "{values:?}");
        }
        for value in [f32::NAN, -1.0, f32::INFINITY] {
            assert_eq!(sums(&[0.0, 0.0, 0.0, value]), None, "{value}");
        }
        for level in [0.0, 0.0004, 1.0, f32::NAN] {
            assert_eq!(cumulated_drain(&[1], &[level], &[1.0]), None, "{level}");
        }
        assert_eq!(cumulated_drain(&[1; 65], &[0.5], &[1.0; 65]), None);
    }

    #[test]
    fn points_that_do_not_increase_are_refused() {
        for points_us in [&[][..], &[2_000, 2_000], &[3_000, 1_000, 9_000]] {
            assert_eq!(FeedGrid::over(points_us, 1_000), None, "{points_us:?}");
        }
        assert_eq!(FeedGrid::over(&[1_000], 0), None);
    }

    proptest! {
        #[test]
        fn any_points_fit_into_a_feed_that_reaches_them(
            points_us in prop::collection::btree_set(any::<u32>(), 1..80),
            single_us in 1_u32..,
        ) {
            let points_us: Vec<u32> = points_us.into_iter().collect();
            let Some(grid) = FeedGrid::over(&points_us, single_us) else { return Ok(()) };
            prop_assert!((1..=64).contains(&grid.points()));
            let end_us = u64::from(grid.start_us())
                + u64::from(grid.step_us()) * u64::from(grid.points() - 1);
            prop_assert!(end_us >= u64::from(points_us[points_us.len() - 1]));
            let values = vec![9.0; points_us.len()];
            let found = grid.levels(&values);
            prop_assert_eq!(found, Some(vec![9; grid.points() as usize]));
        }
    }
}
