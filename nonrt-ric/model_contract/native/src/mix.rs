//! What is served: a mix of the model's forecast and four others, weighted by their losses.

mod best;
mod blend;
mod learn;
mod serve;
mod tracker;

use crate::naive::{Pasts, Seasons, Span};
use crate::ridge::Ridges;
use crate::score::MAX_QUANTILES;
use crate::simple::{STEADY, Simple};
use crate::weights::{EXPERTS, PRIOR, Point, Rate, Weights};
use crate::windows::Windows;
use crate::{ArrayError, Axes, Index, LengthError, check};
use blend::Uses;
pub use learn::Losses;
pub use serve::Forecasts;
pub(crate) use serve::Row;
pub(crate) use tracker::Tracker;

/// Number of the model among the experts; persistence, seasonal, ridge and window follow.
const MODEL: usize = 0;
const RIDGE: usize = 3;
/// Quantiles of the last 300 reports: of a drain that comes in bursts, offsets from one value do not
/// have the distribution.
const WINDOW: usize = 4;

/// The experts of S slots: offsets of each, weights, and the past of each bearer.
///
/// A forecast is the mean of the experts' quantiles level by level (Vincentisation), sorted and
/// clipped at 0. The pinball loss is convex, so that it is at most the mean of theirs.
#[derive(Debug, Clone)]
pub struct Mix {
    axes: Axes,
    quantities: Quantities,
    pub(crate) levels: Vec<f32>,
    ahead: Vec<i64>,
    /// Reports whose mean the rate of a point is; empty if all are single ones.
    spans: Vec<Span>,
    seasons: Seasons,
    /// Learning rate of the weights that points have in common.
    rate: Rate,
    pasts: Pasts,
    ridges: Ridges,
    pub(crate) simple: Simple,
    /// The row with which the next outcomes that the best simple forecaster is judged by begin.
    judged_from: usize,
    /// `(S, K)`.
    common: Vec<Weights>,
    /// `(S, K)` whether `weights` and `mixed` do not yet follow from the last outcomes.
    stale: Vec<bool>,
    /// `(S, K)` the same of `naive_weights` and `naive_mixed`.
    naive_stale: Vec<bool>,
    /// `(S, K)` what the mix needs to compute, with the model and without.
    uses: Vec<[Uses; 2]>,
    /// `(S, K, M)`.
    points: Vec<Point>,
    /// `(S, K, expert, M)`.
    weights: Vec<f32>,
    /// `(S, K, M, Q)` weighted sum of the experts' offsets.
    mixed: Vec<f32>,
    /// Weights as `weights`, without the model; `naive_mixed` as `mixed`.
    naive_weights: Vec<f32>,
    naive_mixed: Vec<f32>,
    experts: [Tracker; EXPERTS],
    pools: [Tracker; EXPERTS],
}

/// Most reports in a span: a second of them each millisecond, where forecasts end.
const MAX_SPAN: i64 = 1_000;

/// Times of M points, in reports.
#[derive(Debug, Clone)]
pub struct PointTimes {
    /// `(M,)` after an origin.
    pub ahead: Vec<i64>,
    /// `(M,)` reports in the span that ends at the point, 1 to 1000.
    pub spans: Vec<i64>,
}

/// The quantities of a mix.
#[derive(Debug, Clone, Default)]
pub struct Quantities {
    /// Their columns in the features.
    pub columns: Vec<usize>,
    /// The quantity that is a rate: the mean over a point's span, and unknown in the first report of a
    /// counter.
    pub rate: Option<usize>,
    /// The quantity that is the queue limit: unknown without a pacer's report.
    pub limit: Option<usize>,
}

/// The newest values of N bearers.
#[derive(Debug, Clone, Copy)]
pub struct Newest<'a> {
    /// `(N, F)`, of which the columns of the quantities count; NaN if unknown.
    pub features: &'a [f32],
    /// F.
    pub width: usize,
    /// `(N,)` whether rates are known; empty if NaN alone says so.
    pub fresh: &'a [bool],
    /// `(N,)` whether the queue limit is known; empty if NaN alone says so.
    pub limited: &'a [bool],
}

/// Forecasts of the model to compare with outcomes, of N rows.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    /// `(N, K, Q)` without offsets; empty without a model.
    pub model: &'a [f32],
    /// `(N,)` whether the model was warmed up.
    pub warm: &'a [bool],
}

impl Mix {
    /// No slots.
    ///
    /// `levels` are the quantiles; outcomes are reported up to `late` reports late.
    ///
    /// # Errors
    /// [`LengthError`] with no level or more than 32, or lists of different lengths.
    pub fn new(
        quantities: Quantities,
        levels: Vec<f32>,
        points: PointTimes,
        late: usize,
    ) -> Result<Self, LengthError> {
        if !(1..=MAX_QUANTILES).contains(&levels.len()) {
            return Err(LengthError { name: "levels", length: levels.len(), rows: MAX_QUANTILES });
        }
        let PointTimes { ahead, spans } = points;
        check("spans", spans.len(), ahead.len(), ahead.len())?;
        let count = quantities.columns.len();
        let axes = Axes { quantities: count, points: ahead.len(), quantiles: levels.len() };
        let farthest = ahead.iter().copied().max().unwrap_or(0).max(0) as usize;
        let spans: Vec<i64> = spans.iter().map(|span| (*span).clamp(1, MAX_SPAN)).collect();
        let pool = Tracker::new(axes.quantities * axes.points, axes.quantiles);
        let age = farthest.saturating_add(late);
        let longest = spans.iter().copied().max().unwrap_or(1).max(STEADY) as usize;
        let oldest = age.saturating_add(longest);
        Ok(Self {
            pasts: Pasts::new(count, quantities.rate, oldest, Windows::past(), longest),
            simple: Simple::new(axes, quantities.rate, &spans, age),
            judged_from: 0,
            ridges: Ridges::new(count, quantities.rate, &ahead, age),
            axes,
            quantities,
            levels,
            rate: Rate::of_common(ahead.len()),
            seasons: Seasons::new(&ahead),
            ahead,
            spans: if spans.iter().any(|span| *span > 1) {
                spans.into_iter().map(Span::new).collect()
            } else {
                Vec::new()
            },
            common: Vec::new(),
            stale: Vec::new(),
            naive_stale: Vec::new(),
            uses: Vec::new(),
            points: Vec::new(),
            weights: Vec::new(),
            mixed: Vec::new(),
            naive_weights: Vec::new(),
            naive_mixed: Vec::new(),
            experts: std::array::from_fn(|_| Tracker::default()),
            pools: std::array::from_fn(|_| pool.clone()),
        })
    }

    /// A mix for another model of the same axes: what was learned about naive forecasts stays.
    #[must_use]
    pub fn with_new_model(&self) -> Self {
        let mut other = self.clone();
        let quantiles = self.axes.quantiles;
        other.experts[MODEL] = Tracker::new(self.points.len(), quantiles);
        other.pools[MODEL] = Tracker::new(self.axes.quantities * self.axes.points, quantiles);
        (0..other.slots()).for_each(|slot| other.pasts.reset(slot));
        (0..other.slots()).for_each(|slot| other.ridges.begin(slot));
        (0..other.slots()).for_each(|slot| other.simple.begin(slot));
        other.common.fill(PRIOR);
        other.points.fill(Point::NEW);
        (0..other.common.len()).for_each(|series| other.refresh(series));
        other.naive_stale.fill(true);
        other
    }

    /// K, M and Q.
    #[must_use]
    pub fn axes(&self) -> Axes {
        self.axes
    }

    /// S.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.common.len().checked_div(self.axes.quantities).unwrap_or(0)
    }

    /// Room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        let (before, axes) = (self.slots(), self.axes);
        if slots <= before {
            return;
        }
        let series = slots * axes.quantities;
        let cells = series * axes.points;
        self.pasts.grow(slots);
        self.ridges.grow(slots);
        self.simple.grow(slots);
        self.common.resize(series, PRIOR);
        self.stale.resize(series, false);
        self.naive_stale.resize(series, false);
        self.uses.resize(series, [Uses::default(); 2]);
        self.points.resize(cells, Point::NEW);
        self.weights.resize(cells * EXPERTS, 0.0);
        self.mixed.resize(cells * axes.quantiles, 0.0);
        self.naive_weights.resize(cells * EXPERTS, 0.0);
        self.naive_mixed.resize(cells * axes.quantiles, 0.0);
        self.experts.iter_mut().for_each(|expert| expert.resize(cells, axes.quantiles));
        (before..slots).for_each(|slot| self.reset(slot));
    }

    /// A new bearer in a slot: it starts with the mean offsets of the others. An unknown slot is
    /// ignored.
    pub fn reset(&mut self, slot: usize) {
        if slot >= self.slots() {
            return;
        }
        let Axes { quantities, points, quantiles } = self.axes;
        let series = slot * quantities..(slot + 1) * quantities;
        let cells = series.start * points..series.end * points;
        self.pasts.reset(slot);
        self.ridges.reset(slot);
        self.simple.reset(slot);
        self.common[series.clone()].fill(PRIOR);
        self.points[cells.clone()].fill(Point::NEW);
        for (expert, pool) in self.experts.iter_mut().zip(&self.pools) {
            expert.start(cells.start, pool, quantiles);
        }
        self.naive_stale[series.clone()].fill(true);
        series.for_each(|series| self.refresh(series));
    }

    /// Spans of the points of a series; empty if they are instants.
    fn spans(&self, series: usize) -> &[Span] {
        if self.quantities.rate == Some(series % self.axes.quantities) { &self.spans } else { &[] }
    }

    /// Adds the values of a report to the past of its bearers.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn add(
        &mut self,
        slots: Index<'_>,
        rows: usize,
        tick: i64,
        newest: &Newest<'_>,
    ) -> Result<(), ArrayError> {
        slots.check("slots", rows, self.slots())?;
        self.check(rows, newest)?;
        (0..rows).for_each(|row| self.add_row(slots.at(row), row, tick, newest));
        Ok(())
    }

    #[inline]
    pub(crate) fn add_row(&mut self, slot: usize, row: usize, tick: i64, newest: &Newest<'_>) {
        let Quantities { columns, rate, limit } = &self.quantities;
        let features = &newest.features[row * newest.width..][..newest.width];
        let fresh = newest.fresh.get(row).copied().unwrap_or(true);
        let limited = newest.limited.get(row).copied().unwrap_or(true);
        let mut anew = false;
        for (quantity, column) in columns.iter().enumerate() {
            let is = Some(quantity);
            let known = (fresh || is != *rate) && (limited || is != *limit);
            let value = if known { features[*column] } else { f32::NAN };
            anew |= self.pasts.of_mut(slot, quantity).add(tick, value);
        }
        let (pasts, ahead, summed) = (&self.pasts, &self.ahead, self.quantities.rate);
        let values = (0..columns.len()).map(|quantity| pasts.of(slot, quantity).origin(tick).last);
        self.ridges.add(slot, tick, values, |quantity, origin, out| {
            let spans: &[Span] = if summed == Some(quantity) { &self.spans } else { &[] };
            pasts.of(slot, quantity).at_points(origin, ahead, spans, out);
        });
        self.simple.add(slot, tick, &self.pasts, anew);
    }

    pub(crate) fn check(&self, rows: usize, newest: &Newest<'_>) -> Result<(), LengthError> {
        let widest = self.quantities.columns.iter().map(|column| column.saturating_add(1)).max();
        if widest.is_some_and(|widest| newest.width < widest) {
            return Err(LengthError { name: "features", length: newest.width, rows });
        }
        check("features", newest.features.len(), rows.saturating_mul(newest.width), rows)?;
        for (name, flags) in [("fresh", newest.fresh), ("limited", newest.limited)] {
            if !flags.is_empty() {
                check(name, flags.len(), rows, rows)?;
            }
        }
        Ok(())
    }

    /// `(K, M)` weights of the experts of a slot; empty for an unknown one.
    #[must_use]
    pub fn weights(&self, slot: usize) -> Vec<Weights> {
        let cells = self.axes.quantities * self.axes.points;
        let first = slot.saturating_mul(cells);
        let cells = first..first.saturating_add(cells).min(self.points.len());
        cells.map(|cell| self.weights_at(cell, true)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcomes;
    use std::mem::size_of;

    /// More bearers than are judged at one call, so that they take turns.
    #[test]
    fn a_window_without_weight_comes_back() {
        const SLOTS: usize = 30;
        let quantities = Quantities { columns: vec![0], rate: None, limit: None };
        let points = PointTimes { ahead: vec![3, 5], spans: vec![1, 1] };
        let mut mix = Mix::new(quantities, vec![0.1, 0.5, 0.9], points, 0).unwrap();
        mix.grow(SLOTS);
        let noise = |n: usize| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let mut run = |ticks: std::ops::Range<i64>, value: &dyn Fn(usize) -> f32| {
            for tick in ticks {
                let all: Vec<f32> = (0..SLOTS).map(|n| value(SLOTS * tick as usize + n)).collect();
                let newest = Newest { features: &all, width: 1, fresh: &[], limited: &[] };
                mix.add(Index::From(0), SLOTS, tick, &newest).unwrap();
                let outcomes = Outcomes { rows: SLOTS, actual: &all, counts: &[] };
                let (point, none) = (tick as isize % 2, Checked { model: &[], warm: &[] });
                mix.learn(Index::From(0), Index::One(point), &outcomes, tick, &none).unwrap();
            }
            let weight = |cell| mix.weights_at(cell, false)[WINDOW];
            let weights: Vec<f32> = (0..2 * SLOTS).map(weight).collect();
            (weights, mix.naive_forecasts(Index::From(0), SLOTS, 3_999).unwrap())
        };
        // What grows is never in a window.
        let (weights, _) = run(0..1_500, &|n| 40.0 * n as f32);
        assert!(weights.iter().all(|weight| *weight == 0.0), "{weights:?}");
        // A burst in one of four reports.
        let burst = |n| if noise(n) < 256 { 2_000.0 + noise(n + 7) as f32 } else { 0.0 };
        let (weights, served) = run(1_500..4_000, &burst);
        assert!(weights.iter().all(|weight| *weight > 0.0), "{weights:?}");
        for of in served.as_chunks::<3>().0 {
            assert!(of[0] < 500.0 && of[2] > 1_500.0, "quantiles of what came lately: {of:?}");
        }
    }

    /// What a bearer adds; the forecaster's documentation has this number.
    #[test]
    fn a_bearer_of_three_quantities_takes_at_most_46_kb() {
        let bytes = |slots| {
            let quantities = Quantities { columns: vec![0, 1, 2], rate: Some(1), limit: None };
            let spans = vec![1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 5, 5, 5, 5, 5, 10, 10, 10, 10, 10];
            let ahead = spans.iter().scan(10, |at, span| {
                *at += span;
                Some(*at)
            });
            let points = PointTimes { ahead: ahead.collect(), spans };
            let mut mix = Mix::new(quantities, vec![0.1, 0.5, 0.9], points, 4).unwrap();
            mix.grow(slots);
            let experts: usize = mix.experts.iter().map(Tracker::bytes).sum();
            experts
                + mix.pasts.bytes()
                + mix.ridges.bytes()
                + mix.simple.bytes()
                + mix.common.len() * (size_of::<Weights>() + 1 + size_of::<[Uses; 2]>())
                + mix.points.len() * size_of::<Point>()
                + 2 * (mix.weights.len() + mix.mixed.len()) * size_of::<f32>()
        };
        // Pasts are in blocks of 16 slots.
        let bearer = (bytes(32) - bytes(16)) / 16;
        assert!((45_000..46_000).contains(&bearer), "{bearer}");
    }
}
