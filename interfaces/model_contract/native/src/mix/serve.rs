//! Forecasts from the experts.

use super::{EXPERTS, Mix, Newest, Uses};
use crate::forecast::{order, order_groups};
use crate::{ArrayError, Axes, Index, ModelOutput, all_finite, check};

impl Mix {
    /// Adds the values of a report, then writes its forecasts from a model's output: the model's
    /// without offsets to `plain`, the mix to `served`. Both have the length of the output.
    ///
    /// Returns whether all values of `plain` are finite.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn forecasts(
        &mut self,
        slots: Index<'_>,
        tick: i64,
        newest: &Newest<'_>,
        output: &ModelOutput<'_>,
        plain: &mut [f32],
        served: &mut [f32],
    ) -> Result<bool, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let rows = newest.features.len().checked_div(newest.width).unwrap_or(0);
        check("span", output.span.len(), quantities, rows)?;
        let (series, each) = (rows.saturating_mul(quantities), points * quantiles);
        check("base", output.base.len(), series, rows)?;
        check("scale", output.scale.len(), series, rows)?;
        let values = series.saturating_mul(each);
        check("values", output.values.len(), values, rows)?;
        check("plain", plain.len(), values, rows)?;
        check("served", served.len(), values, rows)?;
        self.add(slots, rows, tick, newest)?;
        let (mut naive, mut season) = (vec![0.0; points], vec![0.0; points]);
        for row in 0..rows {
            for quantity in 0..quantities {
                let at = row * quantities + quantity;
                let series = slots.at(row) * quantities + quantity;
                let factor = output.scale[at] * output.span[quantity];
                let base = output.base[at];
                let values = &output.values[at * each..][..each];
                let mixed = &self.mixed[series * each..][..each];
                let (plain, served) =
                    (&mut plain[at * each..][..each], &mut served[at * each..][..each]);
                let [uses, _] = self.uses[series];
                if !uses.naive {
                    // Mostly the model has all weight.
                    for ((plain, served), (value, mixed)) in
                        plain.iter_mut().zip(served.iter_mut()).zip(values.iter().zip(mixed))
                    {
                        *plain = value * factor + base;
                        *served = *plain + mixed;
                    }
                    order_groups(served, quantiles);
                    continue;
                }
                let (weights, last) =
                    self.naive_part(series, tick, uses, &self.weights, &mut naive, &mut season);
                let units = Units { factor, base, last, weights, naive: &naive };
                if quantiles == 3 {
                    // The usual number as a constant: half the time.
                    units.mix_three(values, mixed, plain, served);
                } else {
                    units.mix(quantiles, values, mixed, plain, served);
                }
            }
        }
        Ok(all_finite(plain))
    }

    /// Weights of the model, and the last value; `(M,)` of the naive experts into `mix`.
    fn naive_part<'a>(
        &self,
        series: usize,
        tick: i64,
        uses: Uses,
        weights: &'a [f32],
        mix: &mut [f32],
        season: &mut [f32],
    ) -> (&'a [f32], f32) {
        let points = self.axes.points;
        let past = &self.past[series];
        let origin = past.origin(tick);
        let weights = &weights[series * points * EXPERTS..][..points * EXPERTS];
        let [of_model, _, seasonal, linear]: [&[f32]; EXPERTS] =
            std::array::from_fn(|expert| &weights[expert * points..][..points]);
        // Distances to the last value: the weights' sum is 1 within rounding only.
        let last = origin.last;
        if uses.seasonal {
            past.seasonal(tick, &self.ahead, season);
        }
        let season = &season[..points];
        let line = mix[..points].iter_mut().zip(&self.reports[..points]);
        match (uses.seasonal, uses.linear) {
            (false, false) => mix.fill(last),
            (true, false) => {
                for ((mix, season), weight) in mix.iter_mut().zip(season).zip(seasonal) {
                    *mix = last + weight * (season - last);
                }
            }
            (false, true) => {
                for ((mix, ahead), weight) in line.zip(linear) {
                    *mix = last + weight * (origin.linear(*ahead) - last);
                }
            }
            (true, true) => {
                let of_season = season.iter().zip(seasonal);
                for (((mix, ahead), weight), (season, of_season)) in line.zip(linear).zip(of_season)
                {
                    *mix = last
                        + weight * (origin.linear(*ahead) - last)
                        + of_season * (season - last);
                }
            }
        }
        (of_model, last)
    }

    /// Writes forecasts of N rows without a model, from the report added at `tick`, to `served`.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match.
    pub fn naive_forecasts(
        &self,
        slots: Index<'_>,
        rows: usize,
        tick: i64,
        served: &mut [f32],
    ) -> Result<(), ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let each = points * quantiles;
        slots.check("slots", rows, self.slots())?;
        check("served", served.len(), rows.saturating_mul(quantities).saturating_mul(each), rows)?;
        let (mut naive, mut season) = (vec![0.0; points], vec![0.0; points]);
        for row in 0..rows {
            for quantity in 0..quantities {
                let series = slots.at(row) * quantities + quantity;
                let [_, uses] = self.uses[series];
                self.naive_part(series, tick, uses, &self.naive_weights, &mut naive, &mut season);
                let served = &mut served[(row * quantities + quantity) * each..][..each];
                let mixed = &self.naive_mixed[series * each..][..each];
                if quantiles == 3 {
                    let groups =
                        served.as_chunks_mut::<3>().0.iter_mut().zip(mixed.as_chunks::<3>().0);
                    groups.zip(&naive).for_each(|((served, mixed), naive)| {
                        *served = mixed.map(|mixed| naive + mixed);
                    });
                } else {
                    let groups =
                        served.chunks_exact_mut(quantiles).zip(mixed.chunks_exact(quantiles));
                    for ((served, mixed), naive) in groups.zip(&naive) {
                        served.iter_mut().zip(mixed).for_each(|(out, mixed)| *out = naive + mixed);
                    }
                }
                order_groups(served, quantiles);
            }
        }
        Ok(())
    }

    /// What the naive experts forecast at `tick`, without offsets; 0 for the model.
    pub(super) fn naive_points(&self, series: usize, point: usize, tick: i64) -> [f32; EXPERTS] {
        let past = &self.past[series];
        let (origin, ahead) = (past.origin(tick), &self.ahead[point..=point]);
        let mut seasonal = [origin.last];
        past.seasonal(tick, ahead, &mut seasonal);
        [0.0, origin.last, seasonal[0], origin.linear(ahead[0] as f32)]
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
        for (q, out) in out.iter_mut().enumerate() {
            let value = model.get(q).copied().unwrap_or(plain);
            *out = value + self.experts[expert].offset(cell, q, self.axes.quantiles);
        }
        order(out);
    }
}

/// What turns the values of one quantity of a row into forecasts.
struct Units<'a> {
    factor: f32,
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
        let points = self.weights.iter().zip(self.naive);
        let inputs = values.chunks_exact(quantiles).zip(mixed.chunks_exact(quantiles));
        let outputs = plain.chunks_exact_mut(quantiles).zip(served.chunks_exact_mut(quantiles));
        for (((weight, naive), (values, mixed)), (plain, served)) in points.zip(inputs).zip(outputs)
        {
            for (q, (plain, served)) in plain.iter_mut().zip(served.iter_mut()).enumerate() {
                *plain = values[q] * self.factor + self.base;
                *served = (*plain - self.last) * weight + naive + mixed[q];
            }
            order(served);
        }
    }

    /// As `mix`, with the usual number as a constant.
    fn mix_three(&self, values: &[f32], mixed: &[f32], plain: &mut [f32], served: &mut [f32]) {
        for (plain, value) in plain.iter_mut().zip(values) {
            *plain = value * self.factor + self.base;
        }
        let (mixed, plain) = (mixed.as_chunks::<3>().0, plain.as_chunks::<3>().0);
        let points = self.weights.iter().zip(self.naive).zip(mixed.iter().zip(plain));
        let served = served.as_chunks_mut::<3>().0;
        for (served, ((weight, naive), (mixed, plain))) in served.iter_mut().zip(points) {
            let [a, b, c] =
                std::array::from_fn(|q| (plain[q] - self.last) * weight + naive + mixed[q]);
            let (a, b) = if b < a { (b, a) } else { (a, b) };
            let (b, c) = if c < b { (c, b) } else { (b, c) };
            let (a, b) = if b < a { (b, a) } else { (a, b) };
            *served = [a, b, c].map(|value| if value < 0.0 { 0.0 } else { value });
        }
    }
}
