//! Forecasts from the experts.

use super::{EXPERTS, Mix, Newest, RIDGE, Uses};
use crate::forecast::{order, order_groups, order_threes, sort, sort_groups, sort_threes};
use crate::ridge::USUAL_POINTS;
use crate::simple::SIMPLE;
use crate::windows::Origin;
use crate::{ArrayError, Axes, Index, ModelOutput, all_finite, check};

/// Forecasts in units, `(N, K, M, Q)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasts {
    /// Quantiles of the model, without offsets; sorted. Offsets of crossed ones would be learned
    /// until each covers its share, and sorted the outer ones would then cover more.
    pub plain: Vec<f32>,
    /// The mix; quantiles sorted and clipped at 0.
    pub served: Vec<f32>,
    /// Whether no value of `plain` is NaN or infinite.
    pub finite: bool,
}

impl Mix {
    /// Adds the values of a report, then returns its forecasts from a model's output.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn forecasts(
        &mut self,
        slots: Index<'_>,
        tick: i64,
        newest: &Newest<'_>,
        output: &ModelOutput<'_>,
    ) -> Result<Forecasts, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let rows = newest.features.len().checked_div(newest.width).unwrap_or(0);
        check("span", output.span.len(), quantities, rows)?;
        let (series, each) = (rows.saturating_mul(quantities), points * quantiles);
        check("base", output.base.len(), series, rows)?;
        check("scale", output.scale.len(), series.saturating_mul(points), rows)?;
        let values = series.saturating_mul(each);
        check("values", output.values.len(), values, rows)?;
        self.add(slots, rows, tick, newest)?;
        let mut plain = Vec::with_capacity(values);
        let mut served = Vec::with_capacity(values);
        let mut finite = true;
        // Row by row, so that the values just written are still in the cache.
        let mut one = Row::new(self.axes);
        for row in 0..rows {
            self.serve(slots.at(row), tick, &output.row(row, self.axes), &mut one);
            finite &= all_finite(&one.plain);
            plain.extend_from_slice(&one.plain);
            served.extend_from_slice(&one.served);
        }
        Ok(Forecasts { plain, served, finite })
    }

    /// Forecasts of a slot from a model's output for it, from the report added at `tick`.
    pub(crate) fn serve(
        &mut self,
        slot: usize,
        tick: i64,
        output: &ModelOutput<'_>,
        out: &mut Row,
    ) {
        let Axes { quantities, points, quantiles } = self.axes;
        let each = points * quantiles;
        let Row { plain, served, buffers } = out;
        for quantity in 0..quantities {
            let series = slot * quantities + quantity;
            let scale = &output.scale[quantity * points..][..points];
            let (span, base) = (output.span[quantity], output.base[quantity]);
            let here = quantity * each;
            let values = &output.values[here..][..each];
            let (plain, served) = (&mut plain[here..][..each], &mut served[here..][..each]);
            if self.stale[series] {
                self.refresh(series);
            }
            let mixed = &self.mixed[series * each..][..each];
            let [uses, _] = self.uses[series];
            if !uses.naive {
                // Mostly the model has all weight.
                in_units(values, scale, span, base, plain, quantiles);
                sort_groups(plain, quantiles);
                for (served, (plain, mixed)) in served.iter_mut().zip(plain.iter().zip(mixed)) {
                    *served = plain + mixed;
                }
                order_groups(served, quantiles);
                continue;
            }
            let (weights, last) = self.naive_part(series, tick, uses, &self.weights, buffers);
            let naive = &buffers.naive;
            let units = Units { scale, span, base, last, weights, naive };
            if quantiles == 3 {
                // The usual number as a constant: half the time.
                units.mix_three(values, mixed, plain, served);
            } else {
                units.mix(quantiles, values, mixed, plain, served);
            }
        }
    }

    /// Weights of the model, and the last value; that of the other experts into `buffers`.
    fn naive_part<'a>(
        &self,
        series: usize,
        tick: i64,
        uses: Uses,
        weights: &'a [f32],
        buffers: &mut Buffers,
    ) -> (&'a [f32], f32) {
        let Buffers { naive: mix, season, means, ridge } = buffers;
        let (slot, quantity) = (series / self.axes.quantities, series % self.axes.quantities);
        let points = self.axes.points;
        let past = self.pasts.of(slot, quantity);
        let origin = past.origin(tick);
        let weights = &weights[series * points * EXPERTS..][..points * EXPERTS];
        let [of_model, persistence, seasonal, of_ridge, of_window]: [&[f32]; EXPERTS] =
            std::array::from_fn(|expert| &weights[expert * points..][..points]);
        let last = origin.last;
        let spans = self.spans(series);
        let mut experts: [Option<Weighted<'_>>; 3] = [None; 3];
        if uses.seasonal {
            past.seasonal(tick, &self.seasons, 0, spans, season);
            experts[0] = Some((season, seasonal));
        }
        if uses.ridge {
            self.ridges.forecast(slot, quantity, tick, ridge);
            experts[1] = Some((ridge, of_ridge));
        }
        // Of a value persistence is the last one, at no distance.
        if uses.persistence && !spans.is_empty() {
            past.last_means(tick, spans, means);
            experts[2] = Some((means, persistence));
        }
        add_distances(mix, last, experts, uses.window.then_some(of_window));
        (of_model, last)
    }

    /// Forecasts of N rows without a model, from the report added at `tick`.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match.
    pub fn naive_forecasts(
        &mut self,
        slots: Index<'_>,
        rows: usize,
        tick: i64,
    ) -> Result<Vec<f32>, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let each = points * quantiles;
        slots.check("slots", rows, self.slots())?;
        let mut served = Vec::with_capacity(rows * quantities * each);
        let mut one = Row::new(self.axes);
        for row in 0..rows {
            self.serve_naive(slots.at(row), tick, &mut one);
            served.extend_from_slice(&one.served);
        }
        Ok(served)
    }

    /// Forecasts of a slot without a model, from the report added at `tick`.
    pub(crate) fn serve_naive(&mut self, slot: usize, tick: i64, out: &mut Row) {
        let Axes { quantities, points, quantiles } = self.axes;
        let each = points * quantiles;
        let Row { served, buffers, .. } = out;
        for (quantity, one) in served.chunks_exact_mut(each.max(1)).enumerate() {
            let series = slot * quantities + quantity;
            if self.naive_stale[series] {
                self.refresh_naive(series);
            }
            let [_, uses] = self.uses[series];
            self.naive_part(series, tick, uses, &self.naive_weights, buffers);
            let naive = &buffers.naive;
            let mixed = &self.naive_mixed[series * each..][..each];
            if quantiles == 3 {
                let groups = one.as_chunks_mut::<3>().0.iter_mut().zip(mixed.as_chunks::<3>().0);
                groups.zip(naive).for_each(|((one, mixed), naive)| {
                    *one = mixed.map(|mixed| naive + mixed);
                });
            } else {
                let groups = one.chunks_exact_mut(quantiles).zip(mixed.chunks_exact(quantiles));
                for ((one, mixed), naive) in groups.zip(naive) {
                    one.iter_mut().zip(mixed).for_each(|(out, mixed)| *out = naive + mixed);
                }
            }
            order_groups(one, quantiles);
        }
    }

    /// `(SIMPLE, K, M, Q)` forecasts of the simple forecasters for a slot from the report added at `tick`,
    /// calibrated, and `(K, M)` numbers of the best by the losses until now.
    ///
    /// # Errors
    /// [`ArrayError`] of an unknown slot.
    pub fn simple_forecasts(
        &self,
        slot: usize,
        tick: i64,
    ) -> Result<(Vec<f32>, Vec<usize>), ArrayError> {
        Index::From(slot).check("slot", 1, self.slots())?;
        let Axes { quantities, points, quantiles } = self.axes;
        let cells = quantities * points;
        let (mut all, mut best) = (vec![0.0; SIMPLE * cells * quantiles], vec![0; cells]);
        let (mut one, mut ridge) = (vec![0.0; SIMPLE * quantiles], vec![0.0; quantiles]);
        for quantity in 0..quantities {
            for point in 0..points {
                let of = Origin { slot, quantity, point, tick };
                let cell = self.axes.cell(slot, quantity, point);
                let plain = self.ridges.at_point(slot, quantity, point, tick);
                self.alone(RIDGE, cell, &[], plain, &mut ridge);
                let ewma = self.ridges.average(slot, quantity, tick);
                self.simple.all(of, &self.pasts, ewma, &ridge, &self.levels, &mut one);
                let at = quantity * points + point;
                best[at] = self.simple.best(cell);
                for (number, one) in one.chunks_exact(quantiles).enumerate() {
                    all[(number * cells + at) * quantiles..][..quantiles].copy_from_slice(one);
                }
            }
        }
        Ok((all, best))
    }

    /// What the experts but model and window forecast at `tick`, without offsets; 0 for these.
    pub(super) fn naive_points(&self, series: usize, point: usize, tick: i64) -> [f32; EXPERTS] {
        let (slot, quantity) = (series / self.axes.quantities, series % self.axes.quantities);
        let past = self.pasts.of(slot, quantity);
        let origin = past.origin(tick);
        let spans = self.spans(series).get(point..=point).unwrap_or_default();
        let (mut last, mut seasonal) = ([origin.last], [origin.last]);
        past.last_means(tick, spans, &mut last);
        past.seasonal(tick, &self.seasons, point, spans, &mut seasonal);
        let ridge = self.ridges.at_point(slot, quantity, point, tick);
        [0.0, last[0], seasonal[0], ridge, 0.0]
    }

    /// The calibrated forecast of one expert; `model` has that of the model, `plain` any other's.
    pub(super) fn alone(
        &self,
        expert: usize,
        cell: usize,
        model: &[f32],
        plain: f32,
        out: &mut [f32],
    ) {
        let tracker = &self.experts[expert];
        if model.is_empty() {
            tracker.shift(cell, plain, out);
        } else {
            out.copy_from_slice(model);
            tracker.add_to(cell, out);
        }
        order(out);
    }
}

/// The values of one quantity of a row times scale and span, plus the base.
#[inline]
fn in_units(
    values: &[f32],
    scale: &[f32],
    span: f32,
    base: f32,
    out: &mut [f32],
    quantiles: usize,
) {
    if quantiles == 3 {
        // The usual number as a constant, as in `order_groups`.
        let groups = out.as_chunks_mut::<3>().0.iter_mut().zip(values.as_chunks::<3>().0);
        for ((out, values), scale) in groups.zip(scale) {
            let factor = scale * span;
            *out = values.map(|value| value * factor + base);
        }
    } else {
        let groups = out.chunks_exact_mut(quantiles).zip(values.chunks_exact(quantiles));
        for ((out, values), scale) in groups.zip(scale) {
            let factor = scale * span;
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value * factor + base);
        }
    }
}

/// The forecasts of one row, and what they take: room that is used again.
pub(crate) struct Row {
    /// `(K, M, Q)` as in [`Forecasts`].
    pub(crate) plain: Vec<f32>,
    pub(crate) served: Vec<f32>,
    buffers: Buffers,
}

impl Row {
    pub(crate) fn new(axes: Axes) -> Self {
        let values = axes.quantities * axes.points * axes.quantiles;
        let (plain, served) = (vec![0.0; values], vec![0.0; values]);
        Self { plain, served, buffers: Buffers::new(axes.points) }
    }
}

/// `(M,)` each.
struct Buffers {
    /// Mix of all experts but the model.
    naive: Vec<f32>,
    season: Vec<f32>,
    /// Means of the last reports.
    means: Vec<f32>,
    ridge: Vec<f32>,
}

impl Buffers {
    fn new(points: usize) -> Self {
        let [naive, season, means, ridge] = std::array::from_fn(|_| vec![0.0; points]);
        Self { naive, season, means, ridge }
    }
}

/// Values and weights of one expert, `(M,)` each.
type Weighted<'a> = (&'a [f32], &'a [f32]);

/// Sets each of M values to the last one plus the experts' weighted distances to it, because the sum of
/// weights is 1 within rounding only, and without the last value of the window's weight: its quantiles are
/// among the offsets. An expert without weight is left out.
#[inline]
fn add_distances(
    out: &mut [f32],
    last: f32,
    experts: [Option<Weighted<'_>>; 3],
    of_window: Option<&[f32]>,
) {
    let add = |sums: &mut [f32], values: &[f32], weights: &[f32]| {
        for ((sum, value), weight) in sums.iter_mut().zip(values).zip(weights) {
            *sum += weight * (value - last);
        }
    };
    if let Ok(usual) = <&mut [f32; USUAL_POINTS]>::try_from(&mut *out) {
        // With a constant the sums stay in registers.
        let mut sums = [last; USUAL_POINTS];
        for (values, weights) in experts.into_iter().flatten() {
            if let (Some(values), Some(weights)) = (values.first_chunk(), weights.first_chunk()) {
                let (values, weights): (&[f32; USUAL_POINTS], &[f32; USUAL_POINTS]) =
                    (values, weights);
                add(&mut sums, values, weights);
            }
        }
        if let Some(of_window) = of_window.and_then(|of| of.first_chunk::<USUAL_POINTS>()) {
            sums.iter_mut().zip(of_window).for_each(|(sum, weight)| *sum -= weight * last);
        }
        *usual = sums;
    } else {
        out.fill(last);
        let experts = experts.into_iter().flatten();
        experts.for_each(|(values, weights)| add(out, values, weights));
        if let Some(of_window) = of_window {
            out.iter_mut().zip(of_window).for_each(|(sum, weight)| *sum -= weight * last);
        }
    }
}

/// The mix of four points of three quantiles, sorted and clipped at 0.
#[inline(always)]
fn four_points(
    plain: &[f32; 12],
    last: f32,
    weights: &[f32; 4],
    naive: &[f32; 4],
    mixed: &[f32; 12],
) -> [f32; 12] {
    let mut all: [f32; 12] =
        std::array::from_fn(|at| (plain[at] - last) * weights[at / 3] + naive[at / 3] + mixed[at]);
    order_threes(&mut all);
    all
}

/// What turns the values of one quantity of a row into forecasts.
struct Units<'a> {
    /// `(M,)`.
    scale: &'a [f32],
    span: f32,
    base: f32,
    last: f32,
    /// `(M,)` of the model.
    weights: &'a [f32],
    /// `(M,)` mix without the model and offsets.
    naive: &'a [f32],
}

impl Units<'_> {
    fn mix(
        &self,
        quantiles: usize,
        values: &[f32],
        mixed: &[f32],
        plain: &mut [f32],
        served: &mut [f32],
    ) {
        let points = self.scale.iter().zip(self.weights.iter().zip(self.naive));
        let inputs = values.chunks_exact(quantiles).zip(mixed.chunks_exact(quantiles));
        let outputs = plain.chunks_exact_mut(quantiles).zip(served.chunks_exact_mut(quantiles));
        for (((scale, (weight, naive)), (values, mixed)), (plain, served)) in
            points.zip(inputs).zip(outputs)
        {
            let factor = scale * self.span;
            for (plain, value) in plain.iter_mut().zip(values) {
                *plain = value * factor + self.base;
            }
            sort(plain);
            for (served, (plain, mixed)) in served.iter_mut().zip(plain.iter().zip(mixed)) {
                *served = (plain - self.last) * weight + naive + mixed;
            }
            order(served);
        }
    }

    /// Mixes as `mix` does, with the usual number as a constant: four points at a time.
    fn mix_three(&self, values: &[f32], mixed: &[f32], plain: &mut [f32], served: &mut [f32]) {
        if self.weights.len() == USUAL_POINTS {
            // With a constant there is no loop.
            const GROUPS: usize = USUAL_POINTS / 4;
            let (values, mixed) = (values.as_chunks().0, mixed.as_chunks().0);
            let (plain, served) = (plain.as_chunks_mut().0, served.as_chunks_mut().0);
            let (values, mixed) = (&values[..GROUPS], &mixed[..GROUPS]);
            self.mix_groups(values, mixed, &mut plain[..GROUPS], &mut served[..GROUPS]);
            return;
        }
        let whole = self.weights.len() / 4 * 4;
        let (values, other_values) = values.split_at(3 * whole);
        let (mixed, other_mixed) = mixed.split_at(3 * whole);
        let (plain, other_plain) = plain.split_at_mut(3 * whole);
        let (served, other_served) = served.split_at_mut(3 * whole);
        let (values, mixed) = (values.as_chunks().0, mixed.as_chunks().0);
        self.mix_groups(values, mixed, plain.as_chunks_mut().0, served.as_chunks_mut().0);
        if !other_values.is_empty() {
            let other = Self {
                scale: &self.scale[whole..],
                weights: &self.weights[whole..],
                naive: &self.naive[whole..],
                ..*self
            };
            other.mix(3, other_values, other_mixed, other_plain, other_served);
        }
    }

    #[inline(always)]
    fn mix_groups(
        &self,
        values: &[[f32; 12]],
        mixed: &[[f32; 12]],
        plain: &mut [[f32; 12]],
        served: &mut [[f32; 12]],
    ) {
        let points = self.weights.as_chunks().0.iter().zip(self.naive.as_chunks().0);
        let points = self.scale.as_chunks::<4>().0.iter().zip(points);
        let outputs = plain.iter_mut().zip(served);
        for (((scale, (weights, naive)), (values, mixed)), (plain, served)) in
            points.zip(values.iter().zip(mixed)).zip(outputs)
        {
            let factors = scale.map(|one| one * self.span);
            *plain = std::array::from_fn(|at| values[at] * factors[at / 3] + self.base);
            sort_threes(plain);
            *served = four_points(plain, self.last, weights, naive, mixed);
        }
    }
}
