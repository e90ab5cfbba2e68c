//! The mix over many samples of a bearer: what a back-test asks of it, in one call.

use crate::checks::{Checks, Group, in_order};
use crate::mix::Row;
use crate::{ArrayError, Axes, Checked, Index, Mix, ModelOutput, Newest, Outcomes, check};

/// T consecutive samples of one bearer.
#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    /// `(T,)` number of the report period of each sample.
    pub ticks: &'a [i64],
    /// `(T, F)` their values.
    pub newest: Newest<'a>,
    /// `(T, K, M, Q)` forecasts of the model in the quantities' units, without offsets; empty without a
    /// model.
    pub model: &'a [f32],
    /// Samples before the first with a forecast of the model.
    pub warm_up: usize,
    /// The first sample that the mix does not have.
    pub begin: usize,
    /// `(N,)` samples whose forecasts are wanted, none twice; increasing.
    pub wanted: &'a [isize],
    /// Outcomes that become known at the samples.
    pub checks: Checks<'a>,
}

/// Forecasts of the wanted samples, `(N, K, M, Q)`; those of samples that the mix has stay as they are.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// Forecasts of the mix.
    pub served: &'a mut [f32],
    /// Forecasts of the best simple forecasters.
    pub simple: &'a mut [f32],
}

impl Mix {
    /// Takes in samples of a slot in order of time: of each first the forecasts, then what is learned.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match or an index is out of range; the state is then unchanged.
    pub fn replay(
        &mut self,
        slot: usize,
        of: &Replay<'_>,
        out: &mut Replayed<'_>,
    ) -> Result<(), ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes();
        let each = quantities.saturating_mul(points).saturating_mul(quantiles);
        let wanted = of.wanted.len();
        check("served", out.served.len(), wanted.saturating_mul(each), wanted)?;
        check("simple", out.simple.len(), wanted.saturating_mul(each), wanted)?;
        self.replay_each(slot, of, |number, served, simple| {
            out.served[number * each..][..each].copy_from_slice(served);
            out.simple[number * each..][..each].copy_from_slice(simple);
        })
    }

    /// Replays as [`Self::replay`], with a call for each wanted sample: its number, what is served and
    /// the best simple forecasts, `(K, M, Q)`.
    pub(crate) fn replay_each(
        &mut self,
        slot: usize,
        of: &Replay<'_>,
        mut wanted: impl FnMut(usize, &[f32], &[f32]),
    ) -> Result<(), ArrayError> {
        self.check_replay(slot, of)?;
        self.simple.keep_windows(slot, &self.levels);
        let mut one = OneSample::new(self.axes());
        let mut groups = of.checks.groups();
        let mut number = of.wanted.partition_point(|wanted| *wanted < of.begin as isize);
        for (row, tick) in of.ticks.iter().enumerate().skip(of.begin) {
            // Weights follow from outcomes when a forecast asks for them: as in service at each sample.
            one.forecast(self, slot, row, of);
            if of.wanted.get(number) == Some(&(row as isize)) {
                self.best_simple_forecasts(slot, *tick, &mut one.simple)?;
                wanted(number, &one.row.served, &one.simple);
                number += 1;
            }
            while let Some(group) = groups.next_at(row) {
                one.learn(self, slot, row, of, group)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check_replay(&self, slot: usize, of: &Replay<'_>) -> Result<(), ArrayError> {
        let (rows, wanted) = (of.ticks.len(), of.wanted.len());
        let Axes { quantities, points, quantiles } = self.axes();
        let each = quantities.saturating_mul(points).saturating_mul(quantiles);
        Index::From(slot).check("slot", 1, self.slots())?;
        self.check(rows, &of.newest)?;
        check("fresh", of.newest.fresh.len(), rows, rows)?;
        check("limited", of.newest.limited.len(), rows, rows)?;
        if !of.model.is_empty() {
            check("model", of.model.len(), rows.saturating_mul(each), rows)?;
        }
        Index::Each(of.wanted).check("wanted", wanted, rows)?;
        in_order("wanted", of.wanted)?;
        of.checks.check(quantities, points, rows)
    }
}

/// What the calls of one sample take.
struct OneSample {
    axes: Axes,
    /// The model's forecasts come in units: scale and span 1, base 0.
    ones: Vec<f32>,
    zeros: Vec<f32>,
    row: Row,
    /// `(K, M, Q)` best simple forecasts.
    simple: Vec<f32>,
    /// `(E, K, Q)` forecasts of the model that a group of outcomes is compared with.
    checked: Vec<f32>,
    warm: Vec<bool>,
}

impl OneSample {
    fn new(axes: Axes) -> Self {
        let cells = axes.quantities * axes.points;
        Self {
            axes,
            ones: vec![1.0; cells.max(axes.quantities)],
            zeros: vec![0.0; axes.quantities],
            row: Row::new(axes),
            simple: vec![0.0; cells * axes.quantiles],
            checked: Vec::new(),
            warm: Vec::new(),
        }
    }

    /// Adds a sample and finds what is served from it.
    fn forecast(&mut self, mix: &mut Mix, slot: usize, row: usize, of: &Replay<'_>) {
        let Axes { quantities, points, .. } = self.axes;
        let tick = of.ticks[row];
        mix.add_row(slot, row, tick, &of.newest);
        if of.model.is_empty() || row < of.warm_up {
            mix.serve_naive(slot, tick, &mut self.row);
            return;
        }
        let each = self.row.served.len();
        let output = ModelOutput {
            values: &of.model[row * each..][..each],
            scale: &self.ones[..quantities * points],
            span: &self.ones[..quantities],
            base: &self.zeros,
        };
        mix.serve(slot, tick, &output, &mut self.row);
    }

    /// Learns from a group of outcomes.
    fn learn(
        &mut self,
        mix: &mut Mix,
        slot: usize,
        row: usize,
        of: &Replay<'_>,
        Group { first, end }: Group,
    ) -> Result<(), ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes;
        let Checks { origins, points: at, actual, .. } = of.checks;
        self.checked.clear();
        self.warm.clear();
        if !of.model.is_empty() {
            for outcome in first..end {
                let (origin, point) = (origins[outcome] as usize, at[outcome] as usize);
                for quantity in 0..quantities {
                    let cell = (origin * quantities + quantity) * points + point;
                    let model = &of.model[cell * quantiles..][..quantiles];
                    self.checked.extend_from_slice(model);
                }
                self.warm.push(origin >= of.warm_up);
            }
        }
        let outcomes = Outcomes {
            rows: end - first,
            actual: &actual[first * quantities..end * quantities],
            counts: &[],
        };
        let checked = Checked { model: &self.checked, warm: &self.warm };
        let points = Index::Each(&at[first..end]);
        mix.learn(Index::One(slot as isize), points, &outcomes, of.ticks[row], &checked)?;
        Ok(())
    }
}
