//! Naive forecasts of a bearer: last value, last season, line.

/// Seasons looked for, in reports: TDD patterns (38.331 dl-UL-TransmissionPeriodicity: 10 is a
/// multiple of all but 3 and 4 ms, 12 of these), voice frames of 20 ms, video of 30 and 25 frames a
/// second.
const SEASONS: [usize; 5] = [10, 12, 20, 33, 40];
/// Longest of them.
const LONGEST: usize = 40;
/// Weight of the newest difference to a season ago: a memory of 200 reports.
const SEASON_WEIGHT: f32 = 0.005;
/// Holt's linear method (Holt 1957): weight of the newest value in the level,
const LEVEL_WEIGHT: f32 = 0.2;
/// and of the newest change of the level in the trend.
const TREND_WEIGHT: f32 = 0.02;

/// What the naive forecasts of a quantity at an origin follow from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Origin {
    /// Last value.
    pub(crate) last: f32,
    /// Level of the line.
    pub(crate) level: f32,
    /// Its change per report.
    pub(crate) trend: f32,
    /// Season, in reports; 0 before the first known value.
    pub(crate) season: f32,
}

/// The recent past of one quantity of a bearer.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    values: Box<[f32]>,
    /// Sums of the values up to each report; empty if no means are asked for.
    sums: Box<[f64]>,
    origins: Box<[Origin]>,
    tick: i64,
    /// When a season was last chosen.
    chosen: i64,
    begun: bool,
    differences: [f32; SEASONS.len()],
    now: Origin,
}

impl Past {
    /// Room for seasons before origins that are up to `age` reports old, and means of `span` reports.
    #[must_use]
    pub(crate) fn new(age: usize, span: usize) -> Self {
        let length = (age + LONGEST + span + 1).next_power_of_two();
        Self {
            values: vec![0.0; length].into(),
            sums: vec![0.0; if span > 1 { length } else { 0 }].into(),
            origins: vec![Origin::default(); (age + 1).next_power_of_two()].into(),
            tick: 0,
            chosen: i64::MIN,
            begun: false,
            differences: [0.0; SEASONS.len()],
            now: Origin::default(),
        }
    }

    /// The length of `values` is a power of two.
    #[inline]
    fn index(&self, tick: i64) -> usize {
        tick as usize & (self.values.len() - 1)
    }

    #[inline]
    fn at(&self, tick: i64) -> f32 {
        self.values[self.index(tick)]
    }

    /// Mean of the values of the last reports at `tick`.
    #[inline]
    fn mean(&self, tick: i64, span: &Span) -> f32 {
        let sum = |tick| self.sums.get(self.index(tick)).copied().unwrap_or(0.0);
        ((sum(tick) - sum(tick.wrapping_sub(span.reports))) * span.share) as f32
    }

    /// Writes the means of the last reports at `tick`, one for each span.
    pub(crate) fn last_means(&self, tick: i64, spans: &[Span], out: &mut [f32]) {
        for (out, span) in out.iter_mut().zip(spans) {
            *out = self.mean(tick, span);
        }
    }

    /// What forecasts made at `tick` followed from, up to `age` reports ago.
    #[inline]
    pub(crate) fn origin(&self, tick: i64) -> &Origin {
        &self.origins[tick as usize & (self.origins.len() - 1)]
    }

    /// Adds the value of a report period. The last value stands for missing reports and for an unknown
    /// value, NaN.
    pub(crate) fn add(&mut self, tick: i64, value: f32) {
        if value.is_nan() {
            self.hold(tick);
        } else {
            self.add_known(tick, value);
        }
        let at = tick as usize & (self.origins.len() - 1);
        self.origins[at] = self.now;
    }

    #[inline]
    fn add_known(&mut self, tick: i64, value: f32) {
        let elapsed = tick.saturating_sub(self.tick);
        let length = self.values.len() as i64;
        if !self.begun || elapsed <= 0 || elapsed > length {
            self.values.fill(value);
            for (number, before) in (0..self.sums.len() as i64).rev().enumerate() {
                let at = self.index(tick.wrapping_sub(before));
                self.sums[at] = (number + 1) as f64 * in_sum(value);
            }
            self.differences.fill(0.0);
            self.now = Origin { last: value, level: value, trend: 0.0, season: SEASONS[0] as f32 };
            self.begun = true;
        } else {
            self.hold(tick - 1);
            self.update(elapsed as f32, value);
            self.put(tick, value);
        }
        self.tick = tick;
    }

    /// The last value for the reports up to `until`.
    fn hold(&mut self, until: i64) {
        if self.begun && until.saturating_sub(self.tick) <= self.values.len() as i64 {
            for missed in self.tick + 1..=until {
                self.put(missed, self.now.last);
            }
        }
    }

    #[inline]
    fn put(&mut self, tick: i64, value: f32) {
        let (before, at) = (self.index(tick.wrapping_sub(1)), self.index(tick));
        self.values[at] = value;
        if let Some(before) = self.sums.get(before) {
            self.sums[at] = before + in_sum(value);
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.values)
            + size_of_val(&*self.sums)
            + size_of_val(&*self.origins)
    }

    fn update(&mut self, elapsed: f32, value: f32) {
        let expected = self.now.level + elapsed * self.now.trend;
        let level = expected + LEVEL_WEIGHT * (value - expected);
        self.now.trend += TREND_WEIGHT * ((level - self.now.level) / elapsed - self.now.trend);
        (self.now.level, self.now.last) = (level, value);
    }

    /// Chooses the season by the newest value; not at each report, because it takes longer than the
    /// rest.
    pub(crate) fn choose_season(&mut self) {
        if self.chosen == self.tick {
            return;
        }
        self.chosen = self.tick;
        let mut least = f32::INFINITY;
        for (number, season) in SEASONS.iter().enumerate() {
            let off = (self.now.last - self.at(self.tick.wrapping_sub(*season as i64))).abs();
            let difference = &mut self.differences[number];
            *difference += SEASON_WEIGHT * (off - *difference);
            if *difference < least {
                (least, self.now.season) = (*difference, *season as f32);
            }
        }
    }

    /// Writes the values a whole number of seasons before points after an origin; with `spans`, the
    /// means of so many reports up to them. `first` is the first of the points.
    pub(crate) fn seasonal(
        &self,
        tick: i64,
        seasons: &Seasons,
        first: usize,
        spans: &[Span],
        out: &mut [f32],
    ) {
        let before = &seasons.before(self.origin(tick).season)[first..];
        if spans.is_empty() {
            for (out, before) in out.iter_mut().zip(before) {
                *out = self.at(tick.wrapping_sub(*before));
            }
        } else {
            for ((out, before), span) in out.iter_mut().zip(before).zip(spans) {
                *out = self.mean(tick.wrapping_sub(*before), span);
            }
        }
    }
}

/// Reports whose mean is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) reports: i64,
    /// One over `reports`.
    share: f64,
}

impl Span {
    /// `reports` is at least 1.
    pub(crate) fn new(reports: i64) -> Self {
        Self { reports, share: 1.0 / reports as f64 }
    }
}

/// Where each season has the value of each point.
#[derive(Debug, Clone)]
pub(crate) struct Seasons([Box<[i64]>; SEASONS.len()]);

impl Seasons {
    /// Of points that are so many reports after an origin.
    pub(crate) fn new(ahead: &[i64]) -> Self {
        // The newest value that is a whole number of seasons before the point.
        let before = |ahead: &i64, season: i64| ahead.wrapping_neg().rem_euclid(season);
        Self(SEASONS.map(|season| ahead.iter().map(|at| before(at, season as i64)).collect()))
    }

    /// Reports from the value of each point to the origin.
    #[inline]
    fn before(&self, season: f32) -> &[i64] {
        let number = SEASONS.iter().position(|one| *one as f32 == season).unwrap_or(0);
        &self.0[number]
    }
}

/// A value in a sum, which could not be finite again.
fn in_sum(value: f32) -> f64 {
    if value.is_finite() { value.into() } else { 0.0 }
}

impl Origin {
    /// Whether a value was known.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.season > 0.0
    }

    /// The line, `ahead` reports after the origin.
    #[inline]
    #[must_use]
    pub(crate) fn linear(&self, ahead: f32) -> f32 {
        let value = self.level + self.trend * ahead;
        if value > 0.0 { value } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_found_and_continued() {
        let wave = |tick: i64| if tick % 12 < 5 { 100.0 } else { (tick % 12) as f32 };
        let mut past = Past::new(60, 1);
        for tick in 0..600 {
            past.add(tick, wave(tick));
            past.choose_season();
        }
        assert_eq!(past.origin(599).season, 12.0);
        let ahead: Vec<i64> = (11..31).chain([40, 65]).collect();
        let mut found = vec![0.0; ahead.len()];
        past.seasonal(599, &Seasons::new(&ahead), 0, &[], &mut found);
        assert_eq!(found, ahead.iter().map(|ahead| wave(599 + ahead)).collect::<Vec<_>>());
        past.seasonal(599, &Seasons::new(&ahead), 20, &[], &mut found[..2]);
        assert_eq!(found[..2], [wave(639), wave(664)]);
    }

    #[test]
    fn the_drain_of_a_point_is_the_mean_of_its_span() {
        // A TDD pattern of five slots: 1000 bytes in the first.
        let slot = |tick: i64| if tick % 5 == 0 { 1_000.0 } else { 0.0 };
        let mut past = Past::new(60, 10);
        for tick in 0..600 {
            past.add(tick, slot(tick));
            past.choose_season();
        }
        let (ahead, reports) = ([20, 25, 30, 33, 43], [5, 5, 5, 3, 10]);
        let spans = reports.map(Span::new);
        let mut found = [0.0; 5];
        past.seasonal(599, &Seasons::new(&ahead), 0, &spans, &mut found);
        let mean = |at: i64, span: i64| (at - span + 1..=at).map(slot).sum::<f32>() / span as f32;
        let expected: Vec<f32> =
            ahead.iter().zip(&reports).map(|(ahead, span)| mean(599 + ahead, *span)).collect();
        assert_eq!(found[..], expected);
        past.last_means(599, &spans, &mut found);
        assert_eq!(found[..], reports.map(|span| mean(599, span)));
        assert_eq!(found[0], 200.0, "instants show 0");
        // The last value stands for an unknown one and for one without a report.
        past.add(603, f32::NAN);
        past.add(605, 700.0);
        past.last_means(605, &[1, 5, 10].map(Span::new), &mut found[..3]);
        assert_eq!(found[..3], [700.0, 140.0, 70.0]);
    }

    #[test]
    fn a_ramp_is_continued_over_missing_reports() {
        let mut past = Past::new(60, 1);
        for tick in (0..3_000).filter(|tick| tick % 7 != 3) {
            past.add(tick, 50.0 * tick as f32);
        }
        let now = past.origin(2_998);
        assert!((now.linear(20.0) - 50.0 * 3_018.0).abs() < 60.0, "{now:?}");
    }

    #[test]
    fn the_last_value_stands_for_unknown_ones() {
        let (mut told, mut missed) = (Past::new(60, 1), Past::new(60, 1));
        told.add(1, f32::NAN);
        assert!(!told.origin(1).is_known());
        for tick in 2..199 {
            let (value, unknown) = (50.0 * tick as f32, tick % 7 == 3);
            told.add(tick, if unknown { f32::NAN } else { value });
            if !unknown {
                missed.add(tick, value);
                assert!(told.origin(tick).is_known());
                assert_eq!(told.origin(tick), missed.origin(tick));
            }
        }
        let ([mut one], [mut other]) = ([[0.0; 20]; 1], [[0.0; 20]; 1]);
        let ahead: Vec<i64> = (11..31).collect();
        let seasons = Seasons::new(&ahead);
        told.seasonal(198, &seasons, 0, &[], &mut one);
        missed.seasonal(198, &seasons, 0, &[], &mut other);
        assert_eq!(one, other);
    }

    #[test]
    fn the_first_value_stands_for_everything_before_it() {
        let mut past = Past::new(60, 1);
        for tick in [7, 5, i64::MAX] {
            past.add(tick, 9.0);
            let (now, mut seasonal) = (past.origin(tick), [0.0]);
            past.seasonal(tick, &Seasons::new(&[30]), 0, &[], &mut seasonal);
            assert_eq!((now.last, now.linear(30.0), seasonal), (9.0, 9.0, [9.0]));
        }
    }
}
