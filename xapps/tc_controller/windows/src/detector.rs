//! Violations of sojourn objectives.
//!
//! A bearer violates its objective when the sojourn *now* is above the bound and one of these confirms that it
//! is not a short burst:
//!
//! - it has been above without a break for the confirm time,
//! - the RLC's mean over 100 ms is above as well,
//! - so many samples of the window are above that the percentile cannot be met any more: with W samples, "the
//!   p-th percentile is within the bound" allows ⌊(1 − p)·W⌋ of them above it. Counting needs no sorting and
//!   detects this before the window is full.
//!
//! Nothing begins while what a packet waited outside pauses of the radio is within the bound.
//!
//! The violation ends when the sojourn stayed below a share of the bound for the clear time (hysteresis), so
//! that a queue that hovers at the bound makes one violation, not hundreds.
//!
//! While no bearer is above its bound, was so within its window or violates, a report changes no counter.

/// What the packets of a bearer are promised, and what confirms or ends a violation.
#[derive(Debug, Clone, Copy)]
pub struct Objective {
    /// Bound on the sojourn, ms.
    pub bound_ms: f64,
    /// Share of the samples of a window that must be within the bound, percent.
    pub percentile: f64,
    /// Window of the percentile, ms.
    pub window_ms: u32,
    /// See the module, ms.
    pub confirm_ms: u32,
    /// Share of the bound below which a violation ends.
    pub clear_ratio: f64,
    /// Time for which it stays below, ms.
    pub clear_ms: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    clear_us: f32,
    window: usize,
    tolerated: i64,
    confirm: u64,
    clear: u64,
    over_count: i64,
    over_run: u64,
    clear_run: u64,
    violating: bool,
}

impl Default for Watched {
    fn default() -> Self {
        Self {
            clear_us: f32::INFINITY,
            window: 1,
            tolerated: 0,
            confirm: 1,
            clear: 1,
            over_count: 0,
            over_run: 0,
            clear_run: 0,
            violating: false,
        }
    }
}

/// The newest state of a slot, and its sojourns by age in reports, the newest 0.
pub(crate) struct Newest<'a> {
    pub(crate) sojourn_us: &'a [f32],
    pub(crate) mean_us: &'a [f32],
    pub(crate) pipeline_us: &'a [f32],
}

#[derive(Debug, Default)]
pub(crate) struct Detector {
    period_us: u32,
    /// Bounds of the slots; no sojourn exceeds an infinite one.
    bound_us: Vec<f32>,
    slots: Vec<Watched>,
    /// Samples above, of all bearers.
    over_total: i64,
    any_violating: bool,
}

impl Detector {
    pub(crate) fn new(period_us: u32) -> Self {
        Self { period_us: period_us.max(1), ..Self::default() }
    }

    pub(crate) fn grow(&mut self, capacity: usize) {
        self.bound_us.resize(capacity, f32::INFINITY);
        self.slots.resize(capacity, Watched::default());
    }

    fn samples(&self, span_ms: u32) -> u64 {
        let samples = f64::from(span_ms) * 1000.0 / f64::from(self.period_us);
        (samples.round_ties_even() as u64).max(1)
    }

    /// Sets the objective of a slot's bearer; `None` stops watching it. `before` has the sojourn in judged
    /// reports by age.
    pub(crate) fn watch(
        &mut self,
        slot: usize,
        objective: Option<&Objective>,
        depth: usize,
        before: impl Fn(usize) -> f32,
    ) {
        let (mut watched, mut bound) = (Watched::default(), f32::INFINITY);
        if let Some(objective) = objective {
            let bound_us = objective.bound_ms * 1000.0;
            watched.window = (self.samples(objective.window_ms) as usize).min(depth - 1).max(1);
            bound = bound_us as f32;
            watched.clear_us = (bound_us * objective.clear_ratio) as f32;
            let tolerated = (1.0 - objective.percentile / 100.0) * watched.window as f64;
            watched.tolerated = (tolerated + 1e-9) as i64;
            watched.confirm = self.samples(objective.confirm_ms);
            watched.clear = self.samples(objective.clear_ms);
        }
        let over = (0..watched.window).filter(|age| before(*age) > bound);
        watched.over_count = over.count() as i64;
        self.bound_us[slot] = bound;
        self.slots[slot] = watched;
        self.sum_up();
    }

    /// Whether nothing can begin or end with these sojourns.
    pub(crate) fn is_quiet(&self, sojourn_us: &[f32]) -> bool {
        self.over_total == 0
            && !self.any_violating
            && self.bound_us.iter().zip(sojourn_us).filter(|(bound, now)| now > bound).count() == 0
    }

    /// Judges the newest report; returns the slots where a violation began and where one ended. `queued_us` has
    /// the sojourn without pauses of the radio, `evicted` the sojourn of a slot by age.
    pub(crate) fn judge(
        &mut self,
        newest: &Newest<'_>,
        queued_us: impl Fn(usize) -> f32,
        evicted: impl Fn(usize, usize) -> f32,
    ) -> (Vec<usize>, Vec<usize>) {
        let (mut began, mut ended) = (Vec::new(), Vec::new());
        if self.is_quiet(newest.sojourn_us) {
            return (began, ended);
        }
        for (slot, watched) in self.slots.iter_mut().enumerate() {
            let (now, bound_us) = (newest.sojourn_us[slot], self.bound_us[slot]);
            let over = now > bound_us;
            watched.over_count += i64::from(over);
            watched.over_count -= i64::from(evicted(slot, watched.window) > bound_us);
            watched.over_run = if over { watched.over_run + 1 } else { 0 };
            watched.clear_run = if now <= watched.clear_us { watched.clear_run + 1 } else { 0 };
            let confirmed = watched.over_run >= watched.confirm
                || watched.over_count > watched.tolerated
                || newest.mean_us[slot] + newest.pipeline_us[slot] > bound_us;
            if watched.violating {
                if watched.clear_run >= watched.clear {
                    watched.violating = false;
                    ended.push(slot);
                }
            } else if over && confirmed && queued_us(slot) > bound_us {
                watched.violating = true;
                began.push(slot);
            }
        }
        self.sum_up();
        (began, ended)
    }

    fn sum_up(&mut self) {
        self.over_total = self.slots.iter().map(|watched| watched.over_count).sum();
        self.any_violating = self.slots.iter().any(|watched| watched.violating);
    }

    /// Slots whose bearer violates its objective.
    pub(crate) fn violating(&self) -> impl Iterator<Item = usize> + '_ {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(slot, watched)| watched.violating.then_some(slot))
    }

    pub(crate) fn violates(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|watched| watched.violating)
    }

    pub(crate) fn any_violating(&self) -> bool {
        self.any_violating
    }

    pub(crate) fn over_for_us(&self, slot: usize) -> u64 {
        self.slots.get(slot).map_or(0, |watched| watched.over_run * u64::from(self.period_us))
    }
}
