//! Naive forecasts of a bearer: last value, last season.

/// Seasons looked for, in reports: TDD patterns (38.331 dl-UL-TransmissionPeriodicity: 10 is a
/// multiple of all but 3 and 4 ms, 12 of these), voice frames of 20 ms, video of 30 and 25 frames a
/// second.
const SEASONS: [usize; 5] = [10, 12, 20, 33, 40];
/// Longest of them.
const LONGEST: usize = 40;
/// Weight of the newest difference to a season ago: a memory of 200 reports.
const SEASON_WEIGHT: f32 = 0.005;

/// What the naive forecasts of a quantity at an origin follow from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Origin {
    /// Last value.
    pub(crate) last: f32,
    /// Season, in reports; 0 before the first known value.
    pub(crate) season: f32,
}

/// Slots of a block; as floats they fill a cache line.
const LANES: usize = 16;

/// One value of each slot of a block.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Lanes<T>([T; LANES]);

/// The recent past of K quantities of S slots.
///
/// Rings of blocks of slots, not of each slot: bearers report together, so that a report touches one
/// cache line for all values of a block, and the lines of successive reports follow each other.
#[derive(Debug, Clone)]
pub(crate) struct Pasts {
    quantities: usize,
    /// The quantity of which means are asked for.
    summed: Option<usize>,
    /// Reports in `values` and `sums`, a power of two.
    length: usize,
    /// Reports in `origins`, a power of two.
    ages: usize,
    /// `(block, K, length)`.
    values: Vec<Lanes<f32>>,
    /// `(block, length)` sums of the values up to each report.
    sums: Vec<Lanes<f64>>,
    /// `(block, K, ages)`.
    origins: Vec<Lanes<Origin>>,
    /// `(S, K)`.
    now: Vec<Now>,
    /// `(S, K)`.
    choices: Vec<Choice>,
}

/// The newest of a series.
#[derive(Debug, Clone, Copy, Default)]
struct Now {
    /// Time of the last known value, in reports.
    tick: i64,
    origin: Origin,
}

/// What a season is chosen by.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// Time at which it was last chosen.
    tick: i64,
    differences: [f32; SEASONS.len()],
}

impl Choice {
    const NEW: Self = Self { tick: i64::MIN, differences: [0.0; SEASONS.len()] };
}

impl Pasts {
    /// Room for seasons and the `before` last reports before origins that are up to `age` reports old;
    /// of the quantity `summed`, for means of `span` reports as well.
    #[must_use]
    pub(crate) fn new(
        quantities: usize,
        summed: Option<usize>,
        age: usize,
        before: usize,
        span: usize,
    ) -> Self {
        Self {
            quantities,
            summed,
            length: (age + before.max(LONGEST) + span + 1).next_power_of_two(),
            ages: (age + 1).next_power_of_two(),
            values: Vec::new(),
            sums: Vec::new(),
            origins: Vec::new(),
            now: Vec::new(),
            choices: Vec::new(),
        }
    }

    /// Room for `slots` slots.
    pub(crate) fn grow(&mut self, slots: usize) {
        let blocks = slots.div_ceil(LANES);
        let series = slots * self.quantities;
        self.values.resize(blocks * self.quantities * self.length, Lanes([0.0; LANES]));
        if self.summed.is_some() {
            self.sums.resize(blocks * self.length, Lanes([0.0; LANES]));
        }
        let none = Lanes([Origin::default(); LANES]);
        self.origins.resize(blocks * self.quantities * self.ages, none);
        self.now.resize(series, Now::default());
        self.choices.resize(series, Choice::NEW);
    }

    /// Forgets the past of a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        for quantity in 0..self.quantities {
            let PastMut { lane, values, sums, origins, now, choice } = self.of_mut(slot, quantity);
            values.iter_mut().for_each(|of| of.0[lane] = 0.0);
            sums.iter_mut().for_each(|of| of.0[lane] = 0.0);
            origins.iter_mut().for_each(|of| of.0[lane] = Origin::default());
            (*now, *choice) = (Now::default(), Choice::NEW);
        }
    }

    /// Places at which the rings of a series begin in `values`, `sums` and `origins`, and the
    /// length of its sums.
    #[inline]
    fn rings(&self, slot: usize, quantity: usize) -> [usize; 4] {
        let block = slot / LANES;
        let series = block * self.quantities + quantity;
        let sums = if self.summed == Some(quantity) { self.length } else { 0 };
        [series * self.length, block * sums, series * self.ages, sums]
    }

    /// The past of a quantity of a slot.
    #[inline]
    pub(crate) fn of(&self, slot: usize, quantity: usize) -> Past<'_> {
        let [values, sums, origins, summed] = self.rings(slot, quantity);
        Past {
            lane: slot % LANES,
            values: &self.values[values..][..self.length],
            sums: &self.sums[sums..][..summed],
            origins: &self.origins[origins..][..self.ages],
        }
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn of_mut(&mut self, slot: usize, quantity: usize) -> PastMut<'_> {
        let [values, sums, origins, summed] = self.rings(slot, quantity);
        let series = slot * self.quantities + quantity;
        PastMut {
            lane: slot % LANES,
            values: &mut self.values[values..][..self.length],
            sums: &mut self.sums[sums..][..summed],
            origins: &mut self.origins[origins..][..self.ages],
            now: &mut self.now[series],
            choice: &mut self.choices[series],
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.values)
            + size_of_val(&*self.sums)
            + size_of_val(&*self.origins)
            + size_of_val(&*self.now)
            + size_of_val(&*self.choices)
    }
}

/// Index of a tick in a ring, whose length is a power of two.
#[inline]
fn index<T>(ring: &[Lanes<T>], tick: i64) -> usize {
    tick as usize & (ring.len() - 1)
}

/// The recent past of one quantity of a bearer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past<'a> {
    lane: usize,
    values: &'a [Lanes<f32>],
    /// Empty if no means are asked for.
    sums: &'a [Lanes<f64>],
    origins: &'a [Lanes<Origin>],
}

impl Past<'_> {
    #[inline]
    fn at(&self, tick: i64) -> f32 {
        self.values[index(self.values, tick)].0[self.lane]
    }

    #[inline]
    fn sum(&self, tick: i64) -> f64 {
        if self.sums.is_empty() { 0.0 } else { self.sums[index(self.sums, tick)].0[self.lane] }
    }

    /// Mean of the values of the last reports at `tick`.
    #[inline]
    fn mean(&self, tick: i64, span: &Span) -> f32 {
        ((self.sum(tick) - self.sum(tick.wrapping_sub(span.reports))) * span.share) as f32
    }

    /// The value at `tick`, or the mean of the last reports.
    #[inline]
    pub(crate) fn value_at(&self, tick: i64, span: Option<&Span>) -> f32 {
        span.map_or_else(|| self.at(tick), |span| self.mean(tick, span))
    }

    /// Writes the means of the last reports at `tick`, one for each span; equal ones follow each other.
    pub(crate) fn last_means(&self, tick: i64, spans: &[Span], out: &mut [f32]) {
        let (mut reports, mut mean) = (0, 0.0);
        for (out, span) in out.iter_mut().zip(spans) {
            if span.reports != reports {
                (reports, mean) = (span.reports, self.mean(tick, span));
            }
            *out = mean;
        }
    }

    /// Writes the values at points after an origin; with `spans`, the means of so many reports up to them.
    pub(crate) fn at_points(&self, tick: i64, ahead: &[i64], spans: &[Span], out: &mut [f32]) {
        self.values_at(ahead.iter().map(|ahead| tick.wrapping_add(*ahead)), spans, out);
    }

    #[inline]
    fn values_at(&self, ticks: impl Iterator<Item = i64>, spans: &[Span], out: &mut [f32]) {
        if spans.is_empty() {
            out.iter_mut().zip(ticks).for_each(|(out, tick)| *out = self.at(tick));
            return;
        }
        // A span mostly begins where the one before it ends.
        let (mut known_at, mut known) = (0, self.sum(0));
        for ((out, span), tick) in out.iter_mut().zip(spans).zip(ticks) {
            let begin = tick.wrapping_sub(span.reports);
            let before = if begin == known_at { known } else { self.sum(begin) };
            (known_at, known) = (tick, self.sum(tick));
            *out = ((known - before) * span.share) as f32;
        }
    }

    /// What forecasts made at `tick` followed from, up to `age` reports ago.
    #[inline]
    pub(crate) fn origin(&self, tick: i64) -> Origin {
        self.origins[index(self.origins, tick)].0[self.lane]
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
        self.values_at(before.iter().map(|before| tick.wrapping_sub(*before)), spans, out);
    }
}

/// A past that is added to.
#[derive(Debug)]
pub(crate) struct PastMut<'a> {
    lane: usize,
    values: &'a mut [Lanes<f32>],
    /// Empty if no means are asked for.
    sums: &'a mut [Lanes<f64>],
    origins: &'a mut [Lanes<Origin>],
    now: &'a mut Now,
    choice: &'a mut Choice,
}

impl PastMut<'_> {
    /// What was reported until now.
    #[inline]
    pub(crate) fn read(&self) -> Past<'_> {
        Past { lane: self.lane, values: self.values, sums: self.sums, origins: self.origins }
    }

    /// Adds the value of a report period; whether the past begins with it, so that earlier values have
    /// changed. The last value stands for missing reports and for an unknown value, NaN.
    #[inline]
    pub(crate) fn add(&mut self, tick: i64, value: f32) -> bool {
        let begins = if value.is_nan() {
            self.hold(tick);
            false
        } else {
            self.add_known(tick, value)
        };
        let at = index(self.origins, tick);
        self.origins[at].0[self.lane] = self.now.origin;
        begins
    }

    #[inline]
    fn add_known(&mut self, tick: i64, value: f32) -> bool {
        let elapsed = tick.saturating_sub(self.now.tick);
        let is_known = self.now.origin.is_known();
        let begins = !is_known || elapsed <= 0 || elapsed > self.values.len() as i64;
        if begins {
            self.begin(tick, value);
        } else {
            self.hold(tick - 1);
            self.now.origin.last = value;
            self.put(tick, value);
        }
        self.now.tick = tick;
        begins
    }

    /// Begins as if there had always been this value.
    #[cold]
    fn begin(&mut self, tick: i64, value: f32) {
        self.values.iter_mut().for_each(|of| of.0[self.lane] = value);
        for (number, before) in (0..self.sums.len() as i64).rev().enumerate() {
            let at = index(self.sums, tick.wrapping_sub(before));
            self.sums[at].0[self.lane] = (number + 1) as f64 * in_sum(value);
        }
        self.choice.differences.fill(0.0);
        self.now.origin = Origin { last: value, season: SEASONS[0] as f32 };
    }

    /// The last value for the reports up to `until`.
    #[inline]
    fn hold(&mut self, until: i64) {
        let Now { tick, origin } = *self.now;
        if origin.is_known() && until.saturating_sub(tick) <= self.values.len() as i64 {
            for missed in tick + 1..=until {
                self.put(missed, origin.last);
            }
        }
    }

    #[inline]
    fn put(&mut self, tick: i64, value: f32) {
        let at = index(self.values, tick);
        self.values[at].0[self.lane] = value;
        if !self.sums.is_empty() {
            let before = index(self.sums, tick.wrapping_sub(1));
            self.sums[at].0[self.lane] = self.sums[before].0[self.lane] + in_sum(value);
        }
    }

    /// Chooses the season by the newest value; not at each report, because it takes longer than the
    /// rest.
    pub(crate) fn choose_season(&mut self) {
        let Now { tick, origin } = *self.now;
        if self.choice.tick == tick {
            return;
        }
        self.choice.tick = tick;
        let mut least = f32::INFINITY;
        for (number, season) in SEASONS.iter().enumerate() {
            let off = (origin.last - self.read().at(tick.wrapping_sub(*season as i64))).abs();
            let difference = &mut self.choice.differences[number];
            *difference += SEASON_WEIGHT * (off - *difference);
            if *difference < least {
                (least, self.now.origin.season) = (*difference, *season as f32);
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

/// Places at which each season has the value of each point.
#[derive(Debug, Clone)]
pub(crate) struct Seasons([Box<[i64]>; SEASONS.len()]);

impl Seasons {
    /// Places of the values of points that are so many reports after an origin.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One quantity of a slot that is neither the first nor the last of its block.
    struct One(Pasts);

    impl One {
        const SLOT: usize = LANES + 2;

        fn new(age: usize, span: usize) -> Self {
            let mut pasts = Pasts::new(2, (span > 1).then_some(1), age, 0, span);
            pasts.grow(Self::SLOT + 2);
            Self(pasts)
        }

        fn now(&self) -> Past<'_> {
            self.0.of(Self::SLOT, 1)
        }

        fn add(&mut self, tick: i64, value: f32) {
            self.0.of_mut(Self::SLOT, 1).add(tick, value);
            // The neighbours have other values.
            for (slot, quantity) in [(Self::SLOT - 1, 1), (Self::SLOT + 1, 1), (Self::SLOT, 0)] {
                self.0.of_mut(slot, quantity).add(tick, 7.0 - value);
            }
        }

        fn choose_season(&mut self) {
            self.0.of_mut(Self::SLOT, 1).choose_season();
        }
    }

    #[test]
    fn a_slot_keeps_its_past_when_others_come_and_go() {
        let mut pasts = Pasts::new(2, Some(1), 60, 0, 5);
        pasts.grow(3);
        let value = |slot: usize, tick: i64| (100 * slot as i64 + tick) as f32;
        for tick in 0..200 {
            if tick == 150 {
                pasts.grow(LANES + 3);
                pasts.reset(1);
            }
            for slot in [0, 1, 2].into_iter().filter(|slot| *slot != 1 || tick < 150) {
                for of in 0..2 {
                    pasts.of_mut(slot, of).add(tick, value(slot, tick));
                }
            }
        }
        let span = [Span::new(5)];
        for (slot, mean) in [(0, 197.0), (1, 0.0), (2, 397.0), (LANES + 2, 0.0)] {
            let (past, mut means) = (pasts.of(slot, 1), [f32::NAN]);
            past.last_means(199, &span, &mut means);
            assert_eq!(means, [mean], "slot {slot}");
            let known = mean > 0.0;
            assert_eq!(past.origin(199).is_known(), known, "slot {slot}");
            assert_eq!(past.origin(140).is_known(), known, "slot {slot}");
            assert_eq!(past.at(198), if known { value(slot, 198) } else { 0.0 }, "slot {slot}");
        }
    }

    #[test]
    fn a_period_is_found_and_continued() {
        let wave = |tick: i64| if tick % 12 < 5 { 100.0 } else { (tick % 12) as f32 };
        let mut past = One::new(60, 1);
        for tick in 0..600 {
            past.add(tick, wave(tick));
            past.choose_season();
        }
        assert_eq!(past.now().origin(599).season, 12.0);
        let ahead: Vec<i64> = (11..31).chain([40, 65]).collect();
        let mut found = vec![0.0; ahead.len()];
        past.now().seasonal(599, &Seasons::new(&ahead), 0, &[], &mut found);
        assert_eq!(found, ahead.iter().map(|ahead| wave(599 + ahead)).collect::<Vec<_>>());
        past.now().seasonal(599, &Seasons::new(&ahead), 20, &[], &mut found[..2]);
        assert_eq!(found[..2], [wave(639), wave(664)]);
    }

    #[test]
    fn the_drain_of_a_point_is_the_mean_of_its_span() {
        // A TDD pattern of five slots: 1000 bytes in the first.
        let slot = |tick: i64| if tick % 5 == 0 { 1_000.0 } else { 0.0 };
        let mut past = One::new(60, 10);
        for tick in 0..600 {
            past.add(tick, slot(tick));
            past.choose_season();
        }
        let (ahead, reports) = ([20, 25, 30, 33, 43], [5, 5, 5, 3, 10]);
        let spans = reports.map(Span::new);
        let mut found = [0.0; 5];
        past.now().seasonal(599, &Seasons::new(&ahead), 0, &spans, &mut found);
        let mean = |at: i64, span: i64| (at - span + 1..=at).map(slot).sum::<f32>() / span as f32;
        let expected: Vec<f32> =
            ahead.iter().zip(&reports).map(|(ahead, span)| mean(599 + ahead, *span)).collect();
        assert_eq!(found[..], expected);
        past.now().last_means(599, &spans, &mut found);
        assert_eq!(found[..], reports.map(|span| mean(599, span)));
        assert_eq!(found[0], 200.0, "instants show 0");
        // The last value stands for an unknown one and for one without a report.
        past.add(603, f32::NAN);
        past.add(605, 700.0);
        past.now().last_means(605, &[1, 5, 10].map(Span::new), &mut found[..3]);
        assert_eq!(found[..3], [700.0, 140.0, 70.0]);
    }

    #[test]
    fn the_last_value_stands_for_unknown_ones() {
        let (mut reported, mut missed) = (One::new(60, 1), One::new(60, 1));
        reported.add(1, f32::NAN);
        assert!(!reported.now().origin(1).is_known());
        for tick in 2..199 {
            let (value, unknown) = (50.0 * tick as f32, tick % 7 == 3);
            reported.add(tick, if unknown { f32::NAN } else { value });
            if !unknown {
                missed.add(tick, value);
                assert!(reported.now().origin(tick).is_known());
                assert_eq!(reported.now().origin(tick), missed.now().origin(tick));
            }
        }
        let ([mut one], [mut other]) = ([[0.0; 20]; 1], [[0.0; 20]; 1]);
        let ahead: Vec<i64> = (11..31).collect();
        let seasons = Seasons::new(&ahead);
        reported.now().seasonal(198, &seasons, 0, &[], &mut one);
        missed.now().seasonal(198, &seasons, 0, &[], &mut other);
        assert_eq!(one, other);
    }

    #[test]
    fn the_first_value_stands_for_everything_before_it() {
        let mut past = One::new(60, 1);
        for tick in [7, 5, i64::MAX] {
            past.add(tick, 9.0);
            let (now, mut seasonal) = (past.now().origin(tick), [0.0]);
            past.now().seasonal(tick, &Seasons::new(&[30]), 0, &[], &mut seasonal);
            assert_eq!((now.last, seasonal), (9.0, [9.0]));
        }
    }
}
