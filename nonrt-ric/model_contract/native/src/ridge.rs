//! Ridge regression of each bearer on its own recent past, learned while it reports.
//!
//! One Gram matrix serves all quantities and points of a bearer, because all have the same regressors:
//! of each quantity its last value and how far moving averages are from it. A target is the change of a
//! quantity until a point. Sums forget exponentially (recursive least squares with forgetting; Haykin,
//! Adaptive Filter Theory, §9), and coefficients follow from them now and then, not after each report.
//! Changes are forecast within those learned from: coefficients of a queue that stands still say nothing
//! of one that bursts.

/// Weights of the newest value in the moving averages: memories of some 5, 25 and 125 reports.
const AVERAGES: [f32; 3] = [0.2, 0.04, 0.008];
/// Place of the average of 25 reports among the regressors of a quantity.
const MIDDLE: usize = 2;
/// Regressors of a quantity.
const OF_QUANTITY: usize = AVERAGES.len() + 1;
/// Reports from one learned origin to the next: coprime to TDD patterns and voice frames, so that all
/// of their slots are seen, and neighbours say nearly the same.
const STRIDE: i64 = 7;
/// What remains of a sum at the next origin: a memory of 10 s of reports each millisecond.
const KEPT: f32 = 1.0 - STRIDE as f32 / 10_000.0;
/// Origins before the first coefficients, and between later ones.
const FIRST: u32 = 48;
const LATER: u32 = 64;
/// The usual number of points: with a constant their sums stay in registers.
pub(crate) const USUAL_POINTS: usize = 20;
/// Part of a regressor's mean square that is added to it: shrinks towards the last value.
const RIDGE: f64 = 0.02;

/// Regressions of S slots with K quantities and M points.
#[derive(Debug, Clone)]
pub(crate) struct Ridges {
    quantities: usize,
    /// The quantity that is a rate.
    rate: Option<usize>,
    points: usize,
    /// Regressors of a slot.
    width: usize,
    /// Reports in `past`, a power of two.
    ages: usize,
    /// `(M,)` reports ahead.
    ahead: Box<[i64]>,
    /// `(S, K, averages)`.
    averages: Vec<[f32; AVERAGES.len()]>,
    /// `(S, ages, width)` regressors of the last reports.
    past: Vec<f32>,
    /// `(S, width · (width + 1) / 2)` lower triangles of the Gram matrices.
    gram: Vec<f32>,
    /// `(S, K, width, M)` products of regressors and targets.
    products: Vec<f32>,
    /// `(S, K, width, M)`.
    coefficients: Vec<f32>,
    /// `(S, K, M)` least and greatest changes learned, at most and at least 0; forgotten as the sums are.
    least: Vec<f32>,
    greatest: Vec<f32>,
    slots: Vec<Slot>,
    /// `(M,)` what a quantity changed by from the origin that is learned.
    changes: Box<[f32]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// Time of the last report.
    tick: i64,
    /// Reports in a row, up to the length of the past.
    reports: i64,
    /// Origins since the last coefficients.
    origins: u32,
    fitted: bool,
}

impl Ridges {
    /// No slots. `age` is that of the oldest origin that is asked for.
    pub(crate) fn new(quantities: usize, rate: Option<usize>, ahead: &[i64], age: usize) -> Self {
        Self {
            quantities,
            rate,
            points: ahead.len(),
            width: 1 + quantities * OF_QUANTITY,
            ages: (age + 1).next_power_of_two(),
            ahead: ahead.into(),
            averages: Vec::new(),
            past: Vec::new(),
            gram: Vec::new(),
            products: Vec::new(),
            coefficients: Vec::new(),
            least: Vec::new(),
            greatest: Vec::new(),
            slots: Vec::new(),
            changes: vec![0.0; ahead.len()].into(),
        }
    }

    pub(crate) fn grow(&mut self, slots: usize) {
        let (width, series) = (self.width, self.of_series());
        self.averages.resize(slots * self.quantities, [0.0; AVERAGES.len()]);
        self.past.resize(slots * self.ages * width, 0.0);
        self.gram.resize(slots * triangle(width), 0.0);
        self.products.resize(slots * self.quantities * series, 0.0);
        self.coefficients.resize(slots * self.quantities * series, 0.0);
        self.least.resize(slots * self.quantities * self.points, 0.0);
        self.greatest.resize(slots * self.quantities * self.points, 0.0);
        self.slots.resize(slots, Slot::default());
    }

    /// Forgets a slot.
    pub(crate) fn reset(&mut self, slot: usize) {
        let (triangle, all) = (triangle(self.width), self.quantities * self.of_series());
        self.gram[slot * triangle..][..triangle].fill(0.0);
        self.products[slot * all..][..all].fill(0.0);
        self.coefficients[slot * all..][..all].fill(0.0);
        let cells = self.quantities * self.points;
        self.least[slot * cells..][..cells].fill(0.0);
        self.greatest[slot * cells..][..cells].fill(0.0);
        self.slots[slot] = Slot::default();
    }

    /// Begins the past of a slot anew; what was learned stays.
    pub(crate) fn begin(&mut self, slot: usize) {
        self.slots[slot].reports = 0;
    }

    /// Takes in the values of the K quantities at a report, the last known ones where it had none.
    /// `target` writes what forecasts of a quantity for all points from an origin are of.
    pub(crate) fn add(
        &mut self,
        slot: usize,
        tick: i64,
        values: impl Iterator<Item = f32>,
        target: impl Fn(usize, i64, &mut [f32]),
    ) {
        let of = &mut self.slots[slot];
        let elapsed = tick.saturating_sub(of.tick);
        let continues = of.reports > 0 && elapsed > 0 && elapsed < self.ages as i64;
        // Regressors of a report that is missing are those of the report before it.
        let missed = if continues { elapsed - 1 } else { 0 };
        of.reports = if continues { (of.reports + elapsed).min(self.ages as i64) } else { 1 };
        let before = of.tick;
        of.tick = tick;
        let base = slot * self.ages * self.width;
        for number in 1..=missed {
            let from = self.at(before);
            let to = self.at(before + number);
            self.past.copy_within(base + from..base + from + self.width, base + to);
        }
        let at = base + self.at(tick);
        let regressors = &mut self.past[at..][..self.width];
        regressors[0] = 1.0;
        let averages = &mut self.averages[slot * self.quantities..][..self.quantities];
        for ((of, averages), value) in
            regressors[1..].chunks_exact_mut(OF_QUANTITY).zip(averages).zip(values)
        {
            let value = if value.is_finite() { value } else { 0.0 };
            of[0] = value;
            for ((out, average), weight) in of[1..].iter_mut().zip(averages).zip(AVERAGES) {
                *average = if continues { *average + weight * (value - *average) } else { value };
                *out = *average - value;
            }
        }
        self.learn(slot, tick, target);
    }

    /// Learns from an origin once all points after it are known: matrix and products are then of the
    /// same origins, also while a queue begins to grow. Slots take turns.
    fn learn(&mut self, slot: usize, tick: i64, target: impl Fn(usize, i64, &mut [f32])) {
        let (width, quantities, of_series) = (self.width, self.quantities, self.of_series());
        let farthest = self.ahead.iter().max().copied().unwrap_or(0);
        let origin = tick.wrapping_sub(farthest);
        let turn = origin.wrapping_add(slot as i64).rem_euclid(STRIDE) == 0;
        if !turn || farthest >= self.slots[slot].reports {
            return;
        }
        let at = slot * self.ages * width + self.at(origin);
        let regressors = &self.past[at..][..width];
        let mut gram = &mut self.gram[slot * triangle(width)..][..triangle(width)];
        for (row, one) in regressors.iter().enumerate() {
            let (cells, below) = gram.split_at_mut(row + 1);
            gram = below;
            for (cell, other) in cells.iter_mut().zip(&regressors[..=row]) {
                *cell = KEPT * *cell + one * other;
            }
        }
        let all = &mut self.products[slot * quantities * of_series..];
        let series = all.chunks_exact_mut(of_series.max(1)).take(quantities);
        for (quantity, products) in series.enumerate() {
            let last = regressors[1 + quantity * OF_QUANTITY];
            target(quantity, origin, &mut self.changes);
            self.changes.iter_mut().for_each(|change| *change -= last);
            add_products(products, &self.changes, regressors);
            let first = (slot * quantities + quantity) * self.points;
            widen(
                &mut self.least[first..][..self.points],
                &mut self.greatest[first..][..self.points],
                &self.changes,
            );
        }
        let of = &mut self.slots[slot];
        of.origins += 1;
        if of.origins >= if of.fitted { LATER } else { FIRST } {
            (of.origins, of.fitted) = (0, true);
            self.fit(slot);
        }
    }

    /// Solves the normal equations of a slot by Cholesky's decomposition.
    fn fit(&mut self, slot: usize) {
        let (width, points, of_series) = (self.width, self.points, self.of_series());
        let gram = &self.gram[slot * triangle(width)..][..triangle(width)];
        let mut factor: Vec<f64> = gram.iter().map(|cell| f64::from(*cell)).collect();
        for row in 0..width {
            let diagonal = triangle(row) + row;
            // A regressor that was always 0 gets the coefficient 0.
            factor[diagonal] = match factor[diagonal] {
                square if square > 0.0 => square * (1.0 + RIDGE),
                _ => 1.0,
            };
        }
        // The constant is not shrunk.
        factor[0] /= 1.0 + RIDGE;
        if !decompose(&mut factor, width) {
            return;
        }
        let mut solution = vec![0.0; of_series];
        for series in slot * self.quantities..(slot + 1) * self.quantities {
            let products = &self.products[series * of_series..][..of_series];
            solve(&factor, products, points, &mut solution);
            let coefficients = &mut self.coefficients[series * of_series..][..of_series];
            for (coefficient, one) in coefficients.iter_mut().zip(&solution) {
                *coefficient = *one as f32;
            }
            for point in 0..points {
                let of_point = || (point..of_series).step_by(points);
                if !of_point().all(|at| solution[at].is_finite()) {
                    of_point().for_each(|at| coefficients[at] = 0.0);
                }
            }
        }
    }

    /// Coefficients of a quantity of a slot.
    fn of_series(&self) -> usize {
        self.points * self.width
    }

    /// Place of a report's regressors in the past of a slot.
    fn at(&self, tick: i64) -> usize {
        (tick as usize & (self.ages - 1)) * self.width
    }

    /// Writes the forecasts of a quantity at all points from the report at `tick`, at least 0; the last
    /// value until something was learned.
    pub(crate) fn forecast(&self, slot: usize, quantity: usize, tick: i64, out: &mut [f32]) {
        let (width, points) = (self.width, self.points);
        let regressors = &self.past[slot * self.ages * width + self.at(tick)..][..width];
        let series = slot * self.quantities + quantity;
        let coefficients = &self.coefficients[series * self.of_series()..][..self.of_series()];
        let last = regressors[1 + quantity * OF_QUANTITY];
        let out = &mut out[..points];
        if let Ok(out) = <&mut [f32; USUAL_POINTS]>::try_from(&mut *out) {
            *out = at_all(coefficients, regressors);
        } else {
            out.fill(0.0);
            for (coefficients, regressor) in
                coefficients.chunks_exact(points.max(1)).zip(regressors)
            {
                add_multiple(out, coefficients, *regressor);
            }
        }
        let (low, high) = self.to_averages(regressors, quantity);
        let least = &self.least[series * points..][..points];
        let greatest = &self.greatest[series * points..][..points];
        for (out, (least, greatest)) in out.iter_mut().zip(least.iter().zip(greatest)) {
            *out = (last + out.min(greatest.max(high)).max(least.min(low))).max(0.0);
        }
    }

    /// The most negative and the most positive change of a rate from its last value to one of its
    /// averages, 0 if there is none. A report's rate may be a burst beyond all that was learned from,
    /// and the mean over a span is then far below it; a queue moves no further than it does.
    #[inline]
    fn to_averages(&self, regressors: &[f32], quantity: usize) -> (f32, f32) {
        if self.rate != Some(quantity) {
            return (0.0, 0.0);
        }
        let off = &regressors[2 + quantity * OF_QUANTITY..][..AVERAGES.len()];
        off.iter().fold((0.0, 0.0), |(low, high), off| (off.min(low), off.max(high)))
    }

    /// The exponential mean of a quantity at a report: a memory of 25 reports.
    pub(crate) fn average(&self, slot: usize, quantity: usize, tick: i64) -> f32 {
        let at = slot * self.ages * self.width + self.at(tick) + 1 + quantity * OF_QUANTITY;
        self.past[at] + self.past[at + MIDDLE]
    }

    /// Forecast of a quantity at one point; see [`Self::forecast`].
    pub(crate) fn at_point(&self, slot: usize, quantity: usize, point: usize, tick: i64) -> f32 {
        let width = self.width;
        let regressors = &self.past[slot * self.ages * width + self.at(tick)..][..width];
        let series = slot * self.quantities + quantity;
        let coefficients = &self.coefficients[series * self.of_series()..][point..];
        let coefficients = coefficients.iter().step_by(self.points).zip(regressors);
        let change: f32 = coefficients.map(|(one, other)| one * other).sum();
        let cell = series * self.points + point;
        let (low, high) = self.to_averages(regressors, quantity);
        let change = change.min(self.greatest[cell].max(high)).max(self.least[cell].min(low));
        (regressors[1 + quantity * OF_QUANTITY] + change).max(0.0)
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.averages)
            + size_of_val(&*self.past)
            + size_of_val(&*self.gram)
            + size_of_val(&*self.products)
            + size_of_val(&*self.coefficients)
            + size_of_val(&*self.least)
            + size_of_val(&*self.greatest)
            + size_of_val(&*self.slots)
    }
}

/// Cells of a lower triangle.
const fn triangle(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// Replaces a matrix by its lower factor; false if it is not positive definite.
fn decompose(matrix: &mut [f64], rows: usize) -> bool {
    for row in 0..rows {
        for column in 0..=row {
            let (one, other) = (triangle(row), triangle(column));
            let dot: f64 = (0..column).map(|at| matrix[one + at] * matrix[other + at]).sum();
            let rest = matrix[one + column] - dot;
            if row > column {
                matrix[one + column] = rest / matrix[other + column];
            } else if rest > 0.0 {
                matrix[one + row] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Solves for `columns` right sides, which are the columns of `right`, forwards and backwards.
fn solve(factor: &[f64], right: &[f32], columns: usize, out: &mut [f64]) {
    let rows = right.len().checked_div(columns).unwrap_or(0);
    let mut dots = vec![0.0; columns];
    for row in 0..rows {
        let (before, now) = out.split_at_mut(row * columns);
        dots.fill(0.0);
        for (at, known) in before.chunks_exact(columns).enumerate() {
            add_to(&mut dots, factor[triangle(row) + at], known);
        }
        let diagonal = factor[triangle(row) + row];
        for ((out, right), dot) in now.iter_mut().zip(&right[row * columns..]).zip(&dots) {
            *out = (f64::from(*right) - dot) / diagonal;
        }
    }
    for row in (0..rows).rev() {
        let (now, after) = out[row * columns..].split_at_mut(columns);
        dots.fill(0.0);
        for (at, known) in (row + 1..rows).zip(after.chunks_exact(columns)) {
            add_to(&mut dots, factor[triangle(at) + row], known);
        }
        let diagonal = factor[triangle(row) + row];
        for (out, dot) in now.iter_mut().zip(&dots) {
            *out = (*out - dot) / diagonal;
        }
    }
}

/// Adds multiples of known values to dot products.
#[inline]
fn add_to(dots: &mut [f64], factor: f64, known: &[f64]) {
    for (dot, known) in dots.iter_mut().zip(known) {
        *dot += factor * known;
    }
}

/// Forgets a part of the `(width, M)` products and adds those of an origin.
#[inline]
fn add_products(products: &mut [f32], changes: &[f32], regressors: &[f32]) {
    if let Ok(changes) = <&[f32; USUAL_POINTS]>::try_from(changes) {
        let products = products.as_chunks_mut::<USUAL_POINTS>().0;
        for (products, regressor) in products.iter_mut().zip(regressors) {
            for (product, change) in products.iter_mut().zip(changes) {
                *product = KEPT * *product + change * regressor;
            }
        }
        return;
    }
    for (products, regressor) in products.chunks_exact_mut(changes.len().max(1)).zip(regressors) {
        for (product, change) in products.iter_mut().zip(changes) {
            *product = KEPT * *product + change * regressor;
        }
    }
}

/// Forecasts of the usual number of points from `(width, M)` coefficients.
#[inline]
fn at_all(coefficients: &[f32], regressors: &[f32]) -> [f32; USUAL_POINTS] {
    let mut sums = [0.0; USUAL_POINTS];
    for (coefficients, regressor) in coefficients.as_chunks().0.iter().zip(regressors) {
        let coefficients: &[f32; USUAL_POINTS] = coefficients;
        add_multiple(&mut sums, coefficients, *regressor);
    }
    sums
}

/// Lets bounds shrink towards 0 as sums forget, and takes the changes from an origin in.
#[inline]
fn widen(least: &mut [f32], greatest: &mut [f32], changes: &[f32]) {
    for ((least, greatest), change) in least.iter_mut().zip(greatest).zip(changes) {
        *least = change.min(KEPT * *least);
        *greatest = change.max(KEPT * *greatest);
    }
}

#[inline]
fn add_multiple(sums: &mut [f32], coefficients: &[f32], regressor: f32) {
    for (sum, coefficient) in sums.iter_mut().zip(coefficients) {
        *sum += coefficient * regressor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: [i64; 3] = [5, 11, 30];

    /// One quantity of a slot among others, with its past.
    struct One {
        ridges: Ridges,
        past: Vec<f32>,
    }

    impl One {
        const SLOT: usize = 1;

        fn new() -> Self {
            let mut ridges = Ridges::new(2, None, &AHEAD, 34);
            ridges.grow(3);
            Self { ridges, past: Vec::new() }
        }

        fn add(&mut self, value: f32) {
            let tick = self.past.len() as i64;
            self.past.push(value);
            let past = &self.past;
            let target = |quantity: usize, origin: i64, out: &mut [f32]| {
                let value =
                    |ahead| if quantity == 1 { past[(origin + ahead) as usize] } else { 0.0 };
                out.copy_from_slice(&AHEAD.map(value));
            };
            self.ridges.add(Self::SLOT, tick, [f32::NAN, value].into_iter(), target);
        }

        fn forecast(&self) -> [f32; 3] {
            let (tick, mut out) = (self.past.len() as i64 - 1, [0.0; 3]);
            self.ridges.forecast(Self::SLOT, 1, tick, &mut out);
            for (point, out) in out.iter().enumerate() {
                let one = self.ridges.at_point(Self::SLOT, 1, point, tick);
                assert!((one - out).abs() <= 1e-3 * (1.0 + out.abs()), "{one} {out}");
            }
            out
        }
    }

    /// Noise between -1 and 1.
    fn noise(n: usize) -> f32 {
        // The finaliser of SplitMix64.
        let mut bits = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    #[test]
    fn the_last_value_stands_until_something_was_learned() {
        let mut one = One::new();
        for value in [3.0, 500.0, 7.0] {
            one.add(value);
            assert_eq!(one.forecast(), [value; 3]);
        }
    }

    #[test]
    fn a_noisy_level_is_found_in_any_unit() {
        for unit in [1e-3, 1.0, 1e6] {
            let mut one = One::new();
            let (mut of_ridge, mut of_last) = (0.0, 0.0);
            for n in 0..4_000 {
                one.add(unit * (10.0 + noise(n)));
                if n > 2_000 {
                    let last = one.past[n];
                    of_ridge += (one.forecast()[1] / unit - 10.0).abs();
                    of_last += (last / unit - 10.0).abs();
                }
            }
            assert!(of_ridge < 0.3 * of_last, "{unit}: {of_ridge} of {of_last}");
        }
    }

    #[test]
    fn a_queue_that_begins_to_grow_leaves_forecasts_within_reach() {
        let mut one = One::new();
        for n in 0..3_000 {
            one.add(noise(n).abs());
        }
        for n in 0..2_000 {
            let value = 1_000.0 * n as f32;
            one.add(value);
            let [near, .., far] = one.forecast();
            assert!(near <= value + 5_001.0 && far <= value + 30_001.0, "{n}: {near} {far}");
        }
        let ([near, .., far], last) = (one.forecast(), one.past[4_999]);
        assert!((near - last - 5_000.0).abs() < 2_000.0, "{}", near - last);
        assert!((far - last - 30_000.0).abs() < 6_000.0, "{}", far - last);
    }

    #[test]
    fn back_from_a_burst_a_rate_is_forecast_at_its_mean() {
        let mut one = One::new();
        one.ridges.rate = Some(1);
        (0..3_000).for_each(|n| one.add(100.0 + noise(n)));
        one.add(50_000.0);
        let beyond = one.forecast().map(|value| (value - 100.0).abs());
        assert!(beyond.iter().all(|off| *off < 5_000.0), "{beyond:?}");
    }

    #[test]
    fn a_silence_begins_the_past_anew_and_keeps_what_was_learned() {
        let mut one = One::new();
        (0..3_000).for_each(|n| one.add(10.0 + noise(n)));
        let learned = one.ridges.coefficients.clone();
        one.past.resize(4_000, 10.0);
        one.add(10.5);
        assert_eq!(one.ridges.coefficients, learned);
        assert!(
            one.forecast().iter().all(|value| (9.0..11.5).contains(value)),
            "{:?}",
            one.forecast()
        );
        one.ridges.reset(One::SLOT);
        assert!(one.ridges.coefficients.iter().all(|one| *one == 0.0));
    }

    #[test]
    fn extreme_values_leave_numbers() {
        let mut one = One::new();
        for n in 0..1_000 {
            one.add([0.0, f32::MAX, 1e-30, f32::INFINITY, 3.0][n % 5]);
            assert!(one.forecast().iter().all(|value| !value.is_nan()), "{n}");
        }
    }
}
