//! The simple forecasters, and the best of them: what a model and the mix are compared with.
//!
//! All learn from the bearer alone. The best is chosen for each quantity and point of a bearer by the
//! mean losses before the outcome that it is judged by, so that it is a forecaster itself and not a
//! minimum in hindsight.

mod best;

use crate::mix::Tracker;
use crate::naive::{Pasts, Span};
use crate::score::pinball_loss;
use crate::windows::{Origin, Version, WINDOWS, Windows};
use crate::{Axes, forecast};
pub(crate) use best::Windowed;

/// The simple forecasters: persistence, whose rate is a mean over at least `STEADY` reports;
/// quantiles of the last 100, 300 and 1000 reports; an exponential mean of a memory of 25 reports; the
/// ridge. All but the windows have online quantiles of their errors.
pub const SIMPLE: usize = 3 + WINDOWS;
/// Reports over which a rate is averaged at least: two of the longest TDD patterns (38.331
/// dl-UL-TransmissionPeriodicity, 10 ms), so that no forecaster wins by a persistence that sees one slot
/// of a pattern.
pub(crate) const STEADY: i64 = 20;
/// Weight of the newest outcome in the mean losses by which one is chosen: a memory of 200 outcomes.
const WEIGHT: f32 = 0.005;

const PERSISTENCE: usize = 0;
const FIRST_WINDOW: usize = 1;
const EWMA: usize = 1 + WINDOWS;
const RIDGE: usize = 2 + WINDOWS;

/// Mean losses of the simple forecasters at a point of a quantity of a slot.
#[derive(Debug, Clone, Copy)]
struct Means {
    losses: [f32; SIMPLE],
    outcomes: u16,
    /// The forecaster with the least: it is asked for more often than a loss is added.
    best: u8,
}

impl Means {
    const NEW: Self = Self { losses: [0.0; SIMPLE], outcomes: 0, best: PERSISTENCE as u8 };

    /// The forecaster with the least; persistence before the first outcome.
    #[inline]
    fn best(&self) -> usize {
        self.best.into()
    }

    fn add(&mut self, losses: &[f32; SIMPLE]) {
        self.outcomes = self.outcomes.saturating_add(1);
        let weight = (1.0 / f32::from(self.outcomes)).max(WEIGHT);
        for (mean, loss) in self.losses.iter_mut().zip(losses) {
            if loss.is_finite() {
                *mean += weight * (loss - *mean);
            }
        }
        let least = |best: usize, one: usize| {
            if self.losses[one] < self.losses[best] { one } else { best }
        };
        self.best = (0..SIMPLE).fold(PERSISTENCE, least) as u8;
    }
}

/// What other parts know of an origin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// The exponential mean.
    pub(crate) ewma: f32,
    /// Loss of the calibrated ridge.
    pub(crate) ridge_loss: f32,
}

/// The simple forecasters of S slots but the ridge, and the choice of the best.
#[derive(Debug, Clone)]
pub(crate) struct Simple {
    axes: Axes,
    windows: Windows,
    persistence: Tracker,
    ewma: Tracker,
    /// Spans of at least [`STEADY`] reports, one per point, of the quantity `rate`.
    steady: Vec<Span>,
    rate: Option<usize>,
    /// `(S, K, M)`.
    means: Vec<Means>,
    /// `(S, K, M, Q)` quantiles of the middle window when they were last renewed.
    newest: Vec<f32>,
    /// `(S, K)`.
    renewed: Vec<Renewed>,
    /// `(S, K)` what the window had then.
    versions: Vec<Version>,
}

/// Age of the kept quantiles of the mix's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewed {
    /// No value was known.
    Never,
    /// Taken some time ago: they have had no weight since.
    Before,
    /// Taken in the last turn of their slot.
    Lately,
}

/// The window that is an expert of the mix as well.
const MIXED_WINDOW: usize = 1;

impl Simple {
    /// No slots. Origins are at most `age` reports old; `spans` are those of the points of `rate`.
    pub(crate) fn new(axes: Axes, rate: Option<usize>, spans: &[i64], age: usize) -> Self {
        Self {
            axes,
            windows: Windows::new(axes.quantities, rate, spans, age),
            persistence: Tracker::default(),
            ewma: Tracker::default(),
            steady: spans.iter().map(|span| Span::new((*span).max(STEADY))).collect(),
            rate,
            means: Vec::new(),
            newest: Vec::new(),
            renewed: Vec::new(),
            versions: Vec::new(),
        }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        let cells = slots * self.axes.quantities * self.axes.points;
        self.windows.grow(slots);
        self.persistence.resize(cells, self.axes.quantiles);
        self.ewma.resize(cells, self.axes.quantiles);
        self.means.resize(cells, Means::NEW);
        self.newest.resize(cells * self.axes.quantiles, 0.0);
        self.renewed.resize(slots * self.axes.quantities, Renewed::Never);
        self.versions.resize(slots * self.axes.quantities, Version::default());
    }

    /// Forgets a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        let Axes { quantities, points, quantiles } = self.axes;
        let (first, cells) = (slot * quantities * points, quantities * points);
        self.windows.reset(slot);
        self.persistence.clear(first..first + cells, quantiles);
        self.ewma.clear(first..first + cells, quantiles);
        self.means[first..][..cells].fill(Means::NEW);
        self.renewed[slot * quantities..][..quantities].fill(Renewed::Never);
    }

    /// Begins the past of a slot anew; what was learned stays.
    pub(crate) fn begin(&mut self, slot: usize) {
        let quantities = self.axes.quantities;
        self.windows.reset(slot);
        self.renewed[slot * quantities..][..quantities].fill(Renewed::Never);
    }

    /// Takes in the report at `tick`, which `pasts` has; `anew` if the past of a quantity began with it.
    pub(crate) fn add(&mut self, slot: usize, tick: i64, pasts: &Pasts, anew: bool) {
        self.windows.add(slot, tick, pasts, anew);
    }

    /// Keeps the windows of a slot, which is asked for them at each report.
    pub(crate) fn keep_windows(&mut self, slot: usize, levels: &[f32]) {
        self.windows.keep(slot, levels);
    }

    /// Renews the quantiles of the mix's window for a series `(slot, quantity)` with its newest report: not
    /// at each, because the window hardly changes, and only where they have weight.
    pub(crate) fn renew_window(&mut self, series: usize, pasts: &Pasts, levels: &[f32]) {
        let Axes { quantities, points, quantiles } = self.axes;
        let (slot, quantity) = (series / quantities, series % quantities);
        let Some(tick) = self.windows.newest(slot) else { return };
        let version = self.windows.version(MIXED_WINDOW, slot, tick);
        if self.renewed[series] != Renewed::Never && self.versions[series] == version {
            self.renewed[series] = Renewed::Lately;
            return;
        }
        self.versions[series] = version;
        let newest = &mut self.newest[series * points * quantiles..][..points * quantiles];
        for point in 0..points {
            let (before, here) = newest.split_at_mut(point * quantiles);
            let here = &mut here[..quantiles];
            if self.windows.are_those_before(quantity, point) {
                here.copy_from_slice(&before[(point - 1) * quantiles..]);
            } else {
                let of = Origin { slot, quantity, point, tick };
                self.windows.quantiles(MIXED_WINDOW, of, pasts, levels, here);
            }
        }
        let is_known = newest.iter().all(|value| !value.is_nan());
        self.renewed[series] = if is_known { Renewed::Lately } else { Renewed::Never };
    }

    /// Whether the mix's window has quantiles of a series.
    pub(crate) fn has_window(&self, series: usize) -> bool {
        self.renewed[series] != Renewed::Never
    }

    /// Notes whether the window has weight in a series, and renews its quantiles if they are missing.
    pub(crate) fn use_window(
        &mut self,
        series: usize,
        is_used: bool,
        pasts: &Pasts,
        levels: &[f32],
    ) {
        if is_used && self.renewed[series] == Renewed::Before {
            self.renew_window(series, pasts, levels);
        } else if !is_used && self.renewed[series] == Renewed::Lately {
            self.renewed[series] = Renewed::Before;
        }
    }

    /// `(M, Q)` quantiles of the mix's window, as they were last renewed.
    pub(crate) fn newest_window(&self, series: usize) -> &[f32] {
        let each = self.axes.points * self.axes.quantiles;
        &self.newest[series * each..][..each]
    }

    /// Number of the forecaster that is chosen at a cell.
    pub(crate) fn best(&self, cell: usize) -> usize {
        self.means[cell].best()
    }

    /// The last value, of a rate the mean over at least [`STEADY`] reports.
    fn last(&self, of: Origin, pasts: &Pasts) -> f32 {
        let past = pasts.of(of.slot, of.quantity);
        let span = if self.rate == Some(of.quantity) { self.steady.get(of.point) } else { None };
        past.value_at(of.tick, span)
    }

    /// Writes the forecasts at an origin, `(SIMPLE, Q)`, of all but windows and ridge.
    fn shifted(&self, of: Origin, pasts: &Pasts, ewma: f32, levels: &[f32], out: &mut [f32]) {
        let quantiles = levels.len();
        for number in [PERSISTENCE, EWMA] {
            self.shifted_one(number, of, pasts, ewma, &mut out[number * quantiles..][..quantiles]);
        }
    }

    /// Writes the forecast at an origin of [`PERSISTENCE`] or [`EWMA`], `(Q,)`.
    #[inline]
    fn shifted_one(&self, number: usize, of: Origin, pasts: &Pasts, ewma: f32, out: &mut [f32]) {
        let (value, tracker) = if number == PERSISTENCE {
            (self.last(of, pasts), &self.persistence)
        } else {
            (ewma, &self.ewma)
        };
        tracker.shift(self.axes.cell(of.slot, of.quantity, of.point), value, out);
        forecast::order(out);
    }

    /// Writes those of the windows into `(SIMPLE, Q)` forecasts; they are NaN without a known value.
    pub(crate) fn windows(&self, of: Origin, pasts: &Pasts, levels: &[f32], out: &mut [f32]) {
        let quantiles = levels.len();
        for window in 0..WINDOWS {
            let out = &mut out[(FIRST_WINDOW + window) * quantiles..][..quantiles];
            self.windows.quantiles(window, of, pasts, levels, out);
        }
    }

    /// The mix's window in `(SIMPLE, Q)` forecasts.
    pub(crate) fn mixed_window(all: &[f32], quantiles: usize) -> &[f32] {
        &all[(FIRST_WINDOW + MIXED_WINDOW) * quantiles..][..quantiles]
    }

    /// Writes the calibrated forecasts of all at an origin, `(SIMPLE, Q)`; `ridge` has that of the
    /// ridge, and `out` those of the point before.
    pub(crate) fn all(
        &self,
        of: Origin,
        pasts: &Pasts,
        ewma: f32,
        ridge: &[f32],
        levels: &[f32],
        out: &mut [f32],
    ) {
        self.shifted(of, pasts, ewma, levels, out);
        if !self.windows.are_those_before(of.quantity, of.point) {
            self.windows(of, pasts, levels, out);
        }
        out[RIDGE * levels.len()..][..levels.len()].copy_from_slice(ridge);
    }

    /// Losses of all at an outcome, and that of the one that was the best before it. `own` has the
    /// `(SIMPLE, Q)` forecasts of [`Self::windows`]; the others are written into it.
    pub(crate) fn judge(
        &mut self,
        of: Origin,
        pasts: &Pasts,
        known: Known,
        actual: f32,
        levels: &[f32],
        own: &mut [f32],
    ) -> ([f32; SIMPLE], f32) {
        let quantiles = levels.len();
        self.shifted(of, pasts, known.ewma, levels, own);
        let mut losses = [0.0; SIMPLE];
        for (loss, own) in losses.iter_mut().zip(own.chunks_exact(quantiles)) {
            *loss = pinball_loss(actual, own, levels);
        }
        losses[RIDGE] = known.ridge_loss;
        let means = &mut self.means[self.axes.cell(of.slot, of.quantity, of.point)];
        let best = losses[means.best()];
        means.add(&losses);
        (losses, best)
    }

    /// Updates offsets by an outcome; call it after [`Self::judge`].
    pub(crate) fn learn(
        &mut self,
        of: Origin,
        pasts: &Pasts,
        ewma: f32,
        actual: f32,
        levels: &[f32],
    ) {
        let (cell, quantiles) = (self.axes.cell(of.slot, of.quantity, of.point), levels.len());
        let last = self.last(of, pasts);
        self.persistence.at(cell, quantiles).learn(levels, actual, &[last]);
        self.ewma.at(cell, quantiles).learn(levels, actual, &[ewma]);
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.windows.bytes()
            + self.persistence.bytes()
            + self.ewma.bytes()
            + size_of_val(&*self.means)
            + size_of_val(&*self.newest)
            + size_of_val(&*self.renewed)
            + size_of_val(&*self.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_chosen_by_the_losses_before() {
        let mut means = Means::NEW;
        assert_eq!(means.best(), PERSISTENCE, "nothing is known yet");
        let mut losses = [2.0; SIMPLE];
        losses[EWMA] = 1.0;
        means.add(&losses);
        assert_eq!(means.best(), EWMA);
        losses[EWMA] = 9.0;
        losses[RIDGE] = f32::NAN;
        means.add(&losses);
        assert_eq!(means.best(), PERSISTENCE, "an unknown loss changes nothing: {means:?}");
        (0..2_000).for_each(|_| means.add(&[3.0, 3.0, 1.0, 3.0, 2.0, 3.0]));
        assert_eq!(means.best(), FIRST_WINDOW + 1);
    }
}
