//! Drained bytes per bearer over the last seconds, in segments: the capacity under backlog.

/// Span of a segment and number of them: five seconds.
const SEGMENT_US: i64 = 100_000;
const SEGMENTS: u64 = 50;
/// A drain that no other follows takes a slot.
const LEAST_US: i64 = 1000;

/// Drained bytes and least RLC occupancy of each segment.
#[derive(Debug)]
pub(crate) struct History {
    at_us: Vec<i64>,
    /// Segments of each slot; the least is 0 where the RLC was empty at some time of the segment.
    slots: Vec<Segments>,
    count: u64,
    newest_us: i64,
}

#[derive(Debug, Clone)]
struct Segments {
    drained: Vec<i64>,
    paused_us: Vec<i64>,
    least: Vec<u32>,
    running: u32,
    first: u64,
}

impl Default for Segments {
    fn default() -> Self {
        let segments = SEGMENTS as usize;
        Self {
            drained: vec![0; segments],
            paused_us: vec![0; segments],
            least: vec![0; segments],
            running: 0,
            first: 0,
        }
    }
}

impl History {
    pub(crate) fn new() -> Self {
        Self { at_us: vec![0; SEGMENTS as usize], slots: Vec::new(), count: 0, newest_us: 0 }
    }

    pub(crate) fn grow(&mut self, capacity: usize) {
        self.slots.resize_with(capacity, Segments::default);
    }

    /// The slot belongs to a new bearer.
    pub(crate) fn born(&mut self, slot: usize) {
        self.slots[slot].first = self.count;
        self.slots[slot].running = 0;
    }

    /// Adds the newest report: occupancy and drained bytes of each slot; `paused_us` has its pauses so far.
    pub(crate) fn step<'a>(
        &mut self,
        now_us: i64,
        newest: impl Iterator<Item = (&'a u32, &'a i64)> + Clone,
        paused_us: impl Fn(usize) -> i64,
    ) {
        for (segments, (occupancy, _)) in self.slots.iter_mut().zip(newest.clone()) {
            segments.running = segments.running.min(*occupancy);
        }
        if self.count > 0 && now_us - self.newest_us < SEGMENT_US {
            return;
        }
        self.newest_us = now_us;
        let at = (self.count % SEGMENTS) as usize;
        self.at_us[at] = now_us;
        for (slot, (segments, (occupancy, drained))) in
            self.slots.iter_mut().zip(newest).enumerate()
        {
            segments.drained[at] = *drained;
            segments.paused_us[at] = paused_us(slot);
            segments.least[at] = segments.running;
            segments.running = *occupancy;
        }
        self.count += 1;
    }

    /// Drain rate over the history without pauses, kbit/s: what the radio takes while it serves the bearer,
    /// and of a sparse one more than it brings.
    pub(crate) fn serving_kbps(&self, slot: usize) -> Option<f64> {
        let rows = self.rows(slot);
        let (first, last) = (*rows.first()?, *rows.last()?);
        let Segments { drained, paused_us, .. } = self.slots.get(slot)?;
        let served_us = self.at_us[last] - self.at_us[first] - (paused_us[last] - paused_us[first]);
        let bytes = drained[last] - drained[first];
        (first != last).then(|| bytes as f64 * 8_000.0 / served_us.max(LEAST_US) as f64)
    }

    /// The lowest drain rate over any `span_us` in which the RLC was never empty, kbit/s; `None` where it was
    /// never backlogged for so long. Under backlog, the drain rate is the capacity of the radio.
    pub(crate) fn lowest_kbps(&self, slot: usize, span_us: i64) -> Option<f64> {
        let rows = self.rows(slot);
        let steps = usize::try_from(span_us / SEGMENT_US).unwrap_or(0).max(1);
        let least = &self.slots.get(slot)?.least;
        let backlogged =
            rows.windows(steps + 1).filter(|span| span[1..].iter().all(|row| least[*row] != 0));
        let rates = backlogged.map(|span| self.rate(slot, span[0], span[steps]));
        rates.min_by(f64::total_cmp)
    }

    /// Rows of the segments of a slot's bearer, the oldest first.
    fn rows(&self, slot: usize) -> Vec<usize> {
        let Some(segments) = self.slots.get(slot) else { return Vec::new() };
        let oldest = segments.first.max(self.count.saturating_sub(SEGMENTS));
        (oldest..self.count).map(|number| (number % SEGMENTS) as usize).collect()
    }

    fn rate(&self, slot: usize, first: usize, last: usize) -> f64 {
        let drained = &self.slots[slot].drained;
        let span_us = self.at_us[last] - self.at_us[first];
        (drained[last] - drained[first]) as f64 * 8_000.0 / span_us as f64
    }
}
