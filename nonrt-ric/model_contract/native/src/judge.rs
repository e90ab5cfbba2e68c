//! A bearer judged: the losses of what is forecast for it, over many samples in one call.
//!
//! The forecasts of a sample are compared with what became of it as soon as they are made and not kept: those
//! of four forecasters take three kilobytes a sample.

use crate::checks::in_order;
use crate::forecast::all_finite;
use crate::losses::{Compared, Counts};
use crate::{ArrayError, Axes, Index, Mix, Offsets, Replay, Stretch, check};

/// Forecasters of which there are losses: the model, adaptive persistence, what is served, and the best simple
/// forecaster.
pub const JUDGED: usize = 4;

/// Samples that all forecasters take before the next: their forecasts of the model stay in the cache.
const PART: usize = 100;

/// What became of N samples.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// `(N, M)` samples at the points; their number is that of `ended`.
    pub rows: &'a [isize],
    /// `(N, M)` whether there is a sample.
    pub known: &'a [bool],
    /// `(_, C)` outcomes that end at each sample; NaN if unknown.
    pub ended: &'a [f32],
    /// C.
    pub kinds: usize,
    /// `(K, M)` columns of `ended`.
    pub columns: &'a [isize],
}

/// Samples to judge, which follow each other.
#[derive(Debug, Clone, Copy)]
pub struct JudgedWindow<'a> {
    /// All samples and the model's forecasts; those wanted are judged.
    pub replay: Replay<'a>,
    /// `(T, K, M)` what persistence forecasts.
    pub held: &'a [f32],
    /// What became of the T samples.
    pub labels: Labels<'a>,
    /// `(B,)` where each block of the judged samples ends, counted among these.
    pub ends: &'a [isize],
    /// Values closer than this are ties.
    pub same: f32,
}

/// Offsets of the model and of adaptive persistence, of one slot each.
#[derive(Debug)]
pub struct Tracks<'a> {
    /// Those of the model.
    pub model: Offsets<'a>,
    /// Those of adaptive persistence.
    pub adaptive: Offsets<'a>,
}

/// Losses by block.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowLosses {
    /// `(B, K, M)` sums of pinball losses of each forecaster, as in [`crate::LossSums`].
    pub pinball: [Vec<f64>; JUDGED],
    /// `(K, M, Q)` values of all blocks below each quantile of the model, and at or below.
    pub below: Vec<f64>,
    /// See `below`.
    pub up_to: Vec<f64>,
    /// `(K, M)` known values of all blocks.
    pub count: Vec<f64>,
    /// Whether no forecast of the model is NaN or infinite.
    pub finite: bool,
}

impl Mix {
    /// Judges samples of a slot as [`Mix::replay`] and [`Offsets::calibrate`] make forecasts from them.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match or an index is out of range.
    pub fn judge_window(
        &mut self,
        slot: usize,
        of: &JudgedWindow<'_>,
        tracks: &mut Tracks<'_>,
    ) -> Result<WindowLosses, ArrayError> {
        let Axes { quantities, points, quantiles } = self.axes();
        let cells = quantities * points;
        of.check(cells, points)?;
        self.check_replay(slot, &of.replay)?;
        let blocks = of.ends.len();
        let mut losses = WindowLosses {
            pinball: std::array::from_fn(|_| vec![0.0; blocks * cells]),
            below: vec![0.0; cells * quantiles],
            up_to: vec![0.0; cells * quantiles],
            count: vec![0.0; cells],
            finite: true,
        };
        let mut one = Compared::new(&self.levels, cells);
        let mut counts = Counts::new(cells, quantiles);
        let mut actual = Vec::new();
        let (mut first, mut begin) = (0, of.replay.begin);
        for (block, end) in of.parts() {
            let part = of.part(begin, first, end);
            (first, begin) = (end, part.ticks.len());
            actual.clear();
            part.wanted.iter().for_each(|row| of.labels.write(*row as usize, points, &mut actual));
            let actual = |number: usize| &actual[number * cells..][..cells];
            let [model, adaptive, served, simple] =
                losses.pinball.each_mut().map(|sums| &mut sums[block * cells..][..cells]);
            let stretch = Stretch {
                plain: part.model,
                rows: part.ticks.len(),
                begin: part.begin,
                wanted: part.wanted,
                checks: part.checks,
            };
            tracks.model.calibrate_each(0, &stretch, |number, forecast| {
                losses.finite &= all_finite(forecast);
                one.compare(actual(number), forecast);
                one.add_pinball(model);
                counts.add(&one, of.same);
            })?;
            let stretch = Stretch { plain: &of.held[..part.ticks.len() * cells], ..stretch };
            tracks.adaptive.calibrate_each(0, &stretch, |number, forecast| {
                one.compare(actual(number), forecast);
                one.add_pinball(adaptive);
            })?;
            self.replay_each(slot, &part, |number, of_mix, of_simple| {
                one.compare(actual(number), of_mix);
                one.add_pinball(served);
                one.compare(actual(number), of_simple);
                one.add_pinball(simple);
            })?;
        }
        counts.add_to(&mut losses.below, &mut losses.up_to, &mut losses.count);
        Ok(losses)
    }
}

impl<'a> JudgedWindow<'a> {
    fn check(&self, cells: usize, points: usize) -> Result<(), ArrayError> {
        let Labels { rows, known, ended, kinds, columns } = self.labels;
        let (samples, wanted) = (self.replay.ticks.len(), self.replay.wanted.len());
        let labels = samples.saturating_mul(points);
        check("held", self.held.len(), samples.saturating_mul(cells), samples)?;
        check("known", known.len(), labels, samples)?;
        let outcomes = ended.len().checked_div(kinds).unwrap_or(0);
        check("ended", ended.len(), outcomes * kinds, outcomes)?;
        Index::Each(rows).check("labels", labels, outcomes)?;
        Index::Each(columns).check("columns", cells, kinds)?;
        Index::Each(self.replay.wanted).check("wanted", wanted, samples)?;
        in_order("wanted", self.replay.wanted)?;
        Index::Each(self.ends).check("ends", self.ends.len(), wanted.saturating_add(1))?;
        in_order("ends", self.ends)?;
        // Those of a block follow from its last sample.
        check("ends", self.ends.last().map_or(0, |end| *end as usize), wanted, wanted)?;
        Ok(())
    }

    /// The blocks in parts: numbers of blocks, and ends among the judged samples.
    fn parts(&self) -> impl Iterator<Item = (usize, usize)> {
        let begins = std::iter::once(&0).chain(self.ends);
        begins.zip(self.ends).enumerate().flat_map(|(block, (begin, end))| {
            let (begin, end) = (*begin as usize, *end as usize);
            let ends = (begin + PART..end).step_by(PART).chain((begin < end).then_some(end));
            ends.map(move |end| (block, end))
        })
    }

    /// The samples from `begin` up to the last one of a part, of which it has those wanted.
    fn part(&self, begin: usize, first: usize, end: usize) -> Replay<'a> {
        let Replay { ticks, mut newest, model, warm_up, wanted, checks, .. } = self.replay;
        let wanted = &wanted[first..end];
        let stop = wanted.last().map_or(begin, |last| *last as usize + 1);
        let of = |length: usize| length.checked_div(ticks.len()).unwrap_or(0) * stop;
        newest.features = &newest.features[..of(newest.features.len())];
        newest.fresh = &newest.fresh[..of(newest.fresh.len())];
        newest.limited = &newest.limited[..of(newest.limited.len())];
        let checks = checks.between(begin, stop);
        Replay {
            ticks: &ticks[..stop],
            newest,
            model: &model[..of(model.len())],
            warm_up,
            begin,
            wanted,
            checks,
        }
    }
}

impl Labels<'_> {
    /// Appends `(K, M)` values of a sample.
    #[inline]
    fn write(&self, row: usize, points: usize, out: &mut Vec<f32>) {
        let (rows, known) = (&self.rows[row * points..], &self.known[row * points..]);
        for columns in self.columns.chunks_exact(points.max(1)) {
            out.extend(columns.iter().zip(rows.iter().zip(known)).map(|(column, (row, known))| {
                if *known {
                    self.ended[*row as usize * self.kinds + *column as usize]
                } else {
                    f32::NAN
                }
            }));
        }
    }
}
