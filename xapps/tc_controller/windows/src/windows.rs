//! Rings of the newest reports, one row per report and one column per slot.

use std::collections::{HashMap, HashSet};

use crate::detector::{Detector, Newest, Objective};
use crate::history::History;
use crate::pauses::Pauses;
use crate::report::{BearerCode, Fields, FrameError, Rows, code_of};

const FIRST_CAPACITY: usize = 4;

/// What became of a report.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// Taken and judged: no bearer came or went, none is above its bound or was lately.
    Quiet,
    /// Taken and judged; bearers are above their bounds, or were.
    Judged(Violations),
    /// Taken. [`Windows::judge`] must be called once these bearers are known or forgotten.
    Changed(Changes),
    /// Not newer than the last one: it changes nothing.
    Late,
}

/// Bearers that came and went with a report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Slots of new bearers.
    pub new: Vec<usize>,
    /// Bearers that were missing for long; their slots are freed by [`Windows::forget`].
    pub gone: Vec<BearerCode>,
}

/// Slots where a violation began and where one ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Violations {
    /// Began.
    pub began: Vec<usize>,
    /// Ended.
    pub ended: Vec<usize>,
}

/// Recent RLC state of the bearers of one node.
#[derive(Debug)]
pub struct Windows {
    depth: usize,
    gone_after: u64,
    fields: Fields,
    capacity: usize,
    /// Bearer of each slot; `None` where the slot is free.
    codes: Vec<Option<BearerCode>>,
    slots: HashMap<BearerCode, usize>,
    /// Slots in use, in the order in which they came.
    order: Vec<usize>,
    free: Vec<usize>,
    /// C-RNTIs and DRBs of the newest report as it has them; `None`: not all name a bearer, once each.
    names: Option<Vec<(u32, u8)>>,
    /// Slots of the rows of the newest report that name a bearer, and those rows.
    present: Vec<usize>,
    kept: Vec<usize>,
    row: usize,
    reports: u64,
    newest_us: i64,
    at_us: Vec<i64>,
    sojourn_ring: Vec<f32>,
    drained_ring: Vec<i64>,
    hol_us: Vec<f32>,
    mean_us: Vec<f32>,
    pipeline_us: Vec<f32>,
    occupancy_bytes: Vec<u32>,
    drained_bytes: Vec<i64>,
    counter: Vec<u32>,
    /// Report that named the bearer last; not kept for those of the newest.
    seen: Vec<u64>,
    born: Vec<u64>,
    unaddressable: u64,
    judged: u64,
    detector: Detector,
    history: History,
    pauses: Pauses,
    /// What the sojourns in the pipelines are without pauses.
    pipeline_queued_us: Vec<f32>,
}

impl Windows {
    /// Windows of `depth` reports, at least 2, that come each `period_us`; a bearer is gone that `gone_after`
    /// reports in a row lack. Every requested window must be shorter.
    pub fn new(depth: usize, period_us: u32, gone_after: u64, fields: Fields) -> Self {
        let depth = depth.max(2);
        Self {
            depth,
            gone_after,
            fields,
            capacity: 0,
            codes: Vec::new(),
            slots: HashMap::new(),
            order: Vec::new(),
            free: Vec::new(),
            names: None,
            present: Vec::new(),
            kept: Vec::new(),
            row: depth - 1,
            reports: 0,
            newest_us: 0,
            at_us: vec![0; depth],
            sojourn_ring: Vec::new(),
            drained_ring: Vec::new(),
            hol_us: Vec::new(),
            mean_us: Vec::new(),
            pipeline_us: Vec::new(),
            occupancy_bytes: Vec::new(),
            drained_bytes: Vec::new(),
            counter: Vec::new(),
            seen: Vec::new(),
            born: Vec::new(),
            unaddressable: 0,
            judged: 0,
            detector: Detector::new(period_us),
            history: History::new(),
            pauses: Pauses::new(period_us),
            pipeline_queued_us: Vec::new(),
        }
    }

    // ------------------------------------------------------------------ updating

    /// Adds one report.
    ///
    /// # Errors
    /// The length of the message does not match its count; nothing has changed.
    pub fn take(&mut self, at_us: i64, message: &[u8]) -> Result<Taken, FrameError> {
        let rows = Rows::of(message, self.fields)?;
        if self.reports > 0 && at_us <= self.newest_us {
            return Ok(Taken::Late);
        }
        let new = self.locate(rows);
        self.row = (self.row + 1) % self.depth;
        self.reports += 1;
        self.newest_us = at_us;
        self.at_us[self.row] = at_us;
        if self.absent() && !rows.are_full() {
            self.hol_us.fill(0.0);
        }
        self.store(rows);
        let at = self.row * self.capacity;
        let newest = at..at + self.capacity;
        for (sojourn, (hol, pipeline)) in self.sojourn_ring[newest.clone()]
            .iter_mut()
            .zip(self.hol_us.iter().zip(&self.pipeline_us))
        {
            *sojourn = hol + pipeline;
        }
        self.drained_ring[newest].copy_from_slice(&self.drained_bytes);
        if self.reports > 1 {
            // Before the bearer existed its counter did not move.
            for slot in &new {
                self.fill_drained(*slot);
            }
        }
        let gone = self.expired();
        if !new.is_empty() || !gone.is_empty() {
            return Ok(Taken::Changed(Changes { new, gone }));
        }
        let at = self.row * self.capacity;
        if self.detector.is_quiet(&self.sojourn_ring[at..at + self.capacity]) {
            self.judged = self.reports;
            self.step_history();
            return Ok(Taken::Quiet);
        }
        Ok(Taken::Judged(self.judge()))
    }

    /// Judges the newest report.
    pub fn judge(&mut self) -> Violations {
        self.judged = self.reports;
        self.step_history();
        let at = self.row * self.capacity;
        let newest = Newest {
            sojourn_us: &self.sojourn_ring[at..at + self.capacity],
            mean_us: &self.mean_us,
            pipeline_us: &self.pipeline_us,
        };
        let (pauses, now_us) = (&self.pauses, self.newest_us);
        let queued_us = |slot: usize| {
            pauses.queued_us(slot, self.hol_us[slot], now_us) + self.pipeline_queued_us[slot]
        };
        let (row, depth, capacity) = (self.row, self.depth, self.capacity);
        let ring = &self.sojourn_ring;
        let evicted =
            |slot: usize, age: usize| ring[(row + depth - age % depth) % depth * capacity + slot];
        let (began, ended) = self.detector.judge(&newest, queued_us, evicted);
        Violations { began, ended }
    }

    fn step_history(&mut self) {
        let (pauses, now_us) = (&self.pauses, self.newest_us);
        let newest = self.occupancy_bytes.iter().zip(&self.drained_bytes);
        self.history.step(now_us, newest, |slot| pauses.paused_us(slot, now_us));
    }

    fn store(&mut self, rows: Rows<'_>) {
        let mut kept = self.kept.iter().zip(&self.present).peekable();
        for (index, row) in rows.values().enumerate() {
            let Some((_, slot)) = kept.next_if(|(position, _)| **position == index) else {
                continue;
            };
            let slot = *slot;
            self.hol_us[slot] = row.hol_us;
            self.mean_us[slot] = row.mean_us;
            self.occupancy_bytes[slot] = row.occupancy_bytes;
            // It wraps at 2³². A difference of 2³¹ and more is a restart of the counter, not traffic: at 1 ms it
            // would be 17 Tbit/s.
            let step = row.pdu_bytes.wrapping_sub(self.counter[slot]).cast_signed().max(0);
            self.counter[slot] = row.pdu_bytes;
            if self.born[slot] == self.reports {
                self.pauses.born(slot, self.newest_us);
            } else if step > 0 {
                self.drained_bytes[slot] += i64::from(step);
                self.pauses.served(slot, self.newest_us);
            }
        }
    }

    fn fill_drained(&mut self, slot: usize) {
        for row in 0..self.depth {
            self.drained_ring[row * self.capacity + slot] = self.drained_bytes[slot];
        }
    }

    /// Sets `present` to the slots of the rows; reports name the same bearers in the same order nearly always.
    fn locate(&mut self, rows: Rows<'_>) -> Vec<usize> {
        if let Some(names) = &self.names
            && rows.names().eq(names.iter().copied())
        {
            return Vec::new();
        }
        for slot in &self.present {
            self.seen[*slot] = self.reports;
        }
        let (mut new, mut names) = (Vec::new(), Vec::new());
        self.present.clear();
        self.kept.clear();
        let mut given = HashSet::new();
        for (position, name) in rows.names().enumerate() {
            names.push(name);
            let Some(code) = code_of(name).filter(|code| given.insert(*code)) else { continue };
            let slot = match self.slots.get(&code) {
                Some(slot) => *slot,
                None => {
                    let slot = self.allocate(code);
                    new.push(slot);
                    slot
                }
            };
            self.kept.push(position);
            self.present.push(slot);
        }
        self.unaddressable += (names.len() - self.kept.len()) as u64;
        self.names = (names.len() == self.kept.len()).then_some(names);
        new
    }

    fn allocate(&mut self, code: BearerCode) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.slots.insert(code, slot);
        self.order.push(slot);
        self.codes[slot] = Some(code);
        self.born[slot] = self.reports + 1;
        self.history.born(slot);
        slot
    }

    /// Makes room; returns the first free slot.
    fn grow(&mut self) -> usize {
        let old = self.capacity;
        self.capacity = FIRST_CAPACITY.max(old * 2);
        self.free.extend((old + 1..self.capacity).rev());
        self.codes.resize(self.capacity, None);
        widen(&mut self.sojourn_ring, self.depth, old, self.capacity);
        widen(&mut self.drained_ring, self.depth, old, self.capacity);
        for column in [&mut self.hol_us, &mut self.mean_us, &mut self.pipeline_us] {
            column.resize(self.capacity, 0.0);
        }
        self.occupancy_bytes.resize(self.capacity, 0);
        self.drained_bytes.resize(self.capacity, 0);
        self.counter.resize(self.capacity, 0);
        self.seen.resize(self.capacity, 0);
        self.born.resize(self.capacity, 0);
        self.detector.grow(self.capacity);
        self.history.grow(self.capacity);
        self.pauses.grow(self.capacity);
        self.pipeline_queued_us.resize(self.capacity, 0.0);
        old
    }

    /// Frees the slot of a bearer that is gone, and stops watching it.
    pub fn forget(&mut self, code: BearerCode) {
        let Some(slot) = self.slots.remove(&code) else { return };
        self.order.retain(|used| *used != slot);
        self.codes[slot] = None;
        self.free.push(slot);
        self.names = None;
        for row in 0..self.depth {
            self.sojourn_ring[row * self.capacity + slot] = 0.0;
            self.drained_ring[row * self.capacity + slot] = 0;
        }
        self.hol_us[slot] = 0.0;
        self.mean_us[slot] = 0.0;
        self.pipeline_us[slot] = 0.0;
        self.pipeline_queued_us[slot] = 0.0;
        self.occupancy_bytes[slot] = 0;
        self.drained_bytes[slot] = 0;
        self.counter[slot] = 0;
        self.seen[slot] = 0;
        self.watch(slot, None);
    }

    /// Sets the objective of a slot's bearer; `None` stops watching it.
    pub fn watch(&mut self, slot: usize, objective: Option<&Objective>) {
        if slot >= self.capacity {
            return;
        }
        // A report taken but not judged yet is counted by the coming step.
        let pending = (self.reports - self.judged) as usize;
        let (row, depth, capacity) = (self.row, self.depth, self.capacity);
        let ring = &self.sojourn_ring;
        self.detector.watch(slot, objective, depth, |age| {
            ring[(row + 2 * depth - pending % depth - age % depth) % depth * capacity + slot]
        });
    }

    /// Sets what an ungreedy flow of a slot's bearer waits in the pipeline, µs; part of the coming sojourns.
    pub fn set_pipeline_us(&mut self, slot: usize, sojourn_us: f32) {
        if let Some(pipeline_us) = self.pipeline_us.get_mut(slot) {
            *pipeline_us = sojourn_us;
            self.pipeline_queued_us[slot] = self.pauses.queued_us(slot, sojourn_us, self.newest_us);
        }
    }

    /// Whether the newest report lacks bearers that are known.
    fn absent(&self) -> bool {
        self.slots.len() != self.present.len()
    }

    fn expired(&mut self) -> Vec<BearerCode> {
        if !self.absent() {
            return Vec::new();
        }
        for slot in &self.present {
            self.seen[*slot] = self.reports;
        }
        let missing =
            self.order.iter().filter(|slot| self.reports - self.seen[**slot] > self.gone_after);
        missing.filter_map(|slot| self.codes[*slot]).collect()
    }

    // ------------------------------------------------------------------- reading

    /// Bearers known now.
    pub fn bearers(&self) -> usize {
        self.slots.len()
    }

    /// Columns of the rings.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Reports taken.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Rows ignored: C-RNTI or DRB out of range, or the bearer given twice.
    pub fn unaddressable(&self) -> u64 {
        self.unaddressable
    }

    /// Column of a bearer.
    pub fn slot(&self, code: BearerCode) -> Option<usize> {
        self.slots.get(&code).copied()
    }

    /// Bearer of a slot.
    pub fn code(&self, slot: usize) -> Option<BearerCode> {
        self.codes.get(slot).copied().flatten()
    }

    /// Node time of the newest report, 0 before the first.
    pub fn newest_us(&self) -> i64 {
        self.newest_us
    }

    /// Whether a report of this node time is held.
    pub fn has(&self, at_us: i64) -> bool {
        (0..self.held()).any(|age| self.at_us[self.row_of(age)] == at_us)
    }

    /// Ages of the heads of line, µs, by slot; the same of the next four.
    pub fn hol_us(&self) -> &[f32] {
        &self.hol_us
    }

    /// Mean RLC sojourns over 100 ms, µs.
    pub fn mean_us(&self) -> &[f32] {
        &self.mean_us
    }

    /// RLC transmission buffers.
    pub fn occupancy_bytes(&self) -> &[u32] {
        &self.occupancy_bytes
    }

    /// Bytes that the MAC has taken since the bearer was first seen.
    pub fn drained_bytes(&self) -> &[i64] {
        &self.drained_bytes
    }

    /// Sojourns of the newest report, µs.
    pub fn sojourn_us(&self) -> &[f32] {
        let at = self.row * self.capacity;
        &self.sojourn_ring[at..at + self.capacity]
    }

    /// Slots whose bearer violates its objective.
    pub fn violating(&self) -> impl Iterator<Item = usize> + '_ {
        self.detector.violating()
    }

    /// Whether the bearer of a slot does.
    pub fn violates(&self, slot: usize) -> bool {
        self.detector.violates(slot)
    }

    /// Whether any does.
    pub fn any_violating(&self) -> bool {
        self.detector.any_violating()
    }

    /// How long the sojourn has been above the bound without a break, µs.
    pub fn over_for_us(&self, slot: usize) -> u64 {
        self.detector.over_for_us(slot)
    }

    /// Drain rate over the last seconds without pauses, kbit/s.
    pub fn serving_kbps(&self, slot: usize) -> Option<f64> {
        self.history.serving_kbps(slot)
    }

    /// Lowest drain rate under backlog over any such span of the last seconds, kbit/s.
    pub fn lowest_kbps(&self, slot: usize, span_us: i64) -> Option<f64> {
        self.history.lowest_kbps(slot, span_us)
    }

    /// Percentile (nearest rank) of the sojourn over the reports after `since_us`, µs.
    pub fn sojourn_percentile(&self, slot: usize, since_us: i64, percentile: f64) -> Option<f32> {
        let mut values: Vec<f32> =
            (0..self.since(since_us)).map(|age| self.sojourn(age, slot)).collect();
        let last = values.len().checked_sub(1)?;
        let rank = ((percentile / 100.0 * values.len() as f64).ceil() as usize).saturating_sub(1);
        Some(*values.select_nth_unstable_by(rank.min(last), f32::total_cmp).1)
    }

    /// Whether packets waited in all reports after `since_us`, and there is one.
    pub fn always_queued(&self, slot: usize, since_us: i64) -> bool {
        let reports = self.since(since_us);
        reports > 0 && (0..reports).all(|age| self.sojourn(age, slot) > 0.0)
    }

    /// How fast the sojourn grew after `since_us`, µs per µs; 0 if it did not.
    pub fn sojourn_growth(&self, slot: usize, since_us: i64) -> f64 {
        let reports = self.since(since_us);
        if reports < 2 {
            return 0.0;
        }
        let rise_us = f64::from(self.sojourn(0, slot) - self.sojourn(reports - 1, slot));
        (rise_us / self.span_us(reports) as f64).max(0.0)
    }

    /// Rate at which the MAC drained the bearer after `since_us`, kbit/s.
    pub fn drain_kbps(&self, slot: usize, since_us: i64) -> Option<f64> {
        let alive = (self.reports + 1).saturating_sub(*self.born.get(slot)?);
        let reports = self.since(since_us).min(usize::try_from(alive).unwrap_or(usize::MAX));
        if reports < 2 {
            return None;
        }
        let drained = self.drained(0, slot) - self.drained(reports - 1, slot);
        Some(drained as f64 * 8_000.0 / self.span_us(reports) as f64)
    }

    /// A bearer's part of what the MAC drained of all bearers after `since_us`; `None`: nothing.
    pub fn share_of_drain(&self, slot: usize, since_us: i64) -> Option<f64> {
        let reports = self.since(since_us);
        if reports < 2 || slot >= self.capacity {
            return None;
        }
        let drained = |slot| self.drained(0, slot) - self.drained(reports - 1, slot);
        let total: i64 = (0..self.capacity).map(drained).sum();
        (total != 0).then(|| drained(slot) as f64 / total as f64)
    }

    /// Samples of each `stride`-th report after the first `taken`, as far as they are held: slot and sojourn in
    /// µs of each bearer that had packets waiting or was drained since the report `stride` before. An empty bearer
    /// that sent nothing has no packet that could wait.
    pub fn samples(&self, taken: u64, stride: u64) -> Vec<(usize, f32)> {
        let stride = stride.max(1);
        let oldest = (taken + 1).max((self.reports + 1 + stride).saturating_sub(self.depth as u64));
        let mut found = Vec::new();
        for number in (oldest.next_multiple_of(stride)..=self.reports).step_by(stride as usize) {
            let age = (self.reports - number) as usize;
            for slot in 0..self.capacity {
                let sojourn_us = self.sojourn(age, slot);
                if sojourn_us > 0.0
                    || self.drained(age, slot) > self.drained(age + stride as usize, slot)
                {
                    found.push((slot, sojourn_us));
                }
            }
        }
        found
    }

    fn held(&self) -> usize {
        usize::try_from(self.reports).unwrap_or(usize::MAX).min(self.depth)
    }

    /// Reports after `since_us`, as far as they are held.
    fn since(&self, since_us: i64) -> usize {
        (0..self.held()).take_while(|age| self.at_us[self.row_of(*age)] > since_us).count()
    }

    /// Row of the report of this age, the newest 0.
    fn row_of(&self, age: usize) -> usize {
        (self.row + self.depth - age % self.depth) % self.depth
    }

    fn sojourn(&self, age: usize, slot: usize) -> f32 {
        self.sojourn_ring.get(self.row_of(age) * self.capacity + slot).copied().unwrap_or(0.0)
    }

    fn drained(&self, age: usize, slot: usize) -> i64 {
        self.drained_ring.get(self.row_of(age) * self.capacity + slot).copied().unwrap_or(0)
    }

    /// Node time between the newest report and the oldest of so many.
    fn span_us(&self, reports: usize) -> i64 {
        self.newest_us - self.at_us[self.row_of(reports - 1)]
    }
}

/// Rows of another width; new columns are zero.
fn widen<T: Copy + Default>(ring: &mut Vec<T>, rows: usize, old: usize, new: usize) {
    let mut wider = vec![T::default(); rows * new];
    for row in 0..rows {
        wider[row * new..row * new + old].copy_from_slice(&ring[row * old..(row + 1) * old]);
    }
    *ring = wider;
}
