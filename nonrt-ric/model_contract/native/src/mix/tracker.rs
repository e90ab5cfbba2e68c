//! Offsets of one expert.

use std::ops::Range;

use crate::track::Tracked;

/// Weight of the newest update in the offsets that a new slot starts with.
const POOL_WEIGHT: f32 = 0.02;

/// Offsets of one expert at cells: one per quantile, in mean errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tracker {
    theta: Vec<f32>,
    size: Vec<f32>,
    begun: Vec<bool>,
}

impl Tracker {
    pub(super) fn new(cells: usize, quantiles: usize) -> Self {
        let mut tracker = Self::default();
        tracker.resize(cells, quantiles);
        tracker
    }

    pub(crate) fn resize(&mut self, cells: usize, quantiles: usize) {
        self.theta.resize(cells * quantiles, 0.0);
        self.size.resize(cells, 0.0);
        self.begun.resize(cells, false);
    }

    /// `(cells, Q)` offsets of cells in mean errors, and these.
    pub(super) fn offsets(&self, cells: Range<usize>, quantiles: usize) -> (&[f32], &[f32]) {
        (&self.theta[cells.start * quantiles..cells.end * quantiles], &self.size[cells])
    }

    /// Writes a value with the offsets of a cell, `(Q,)`.
    #[inline]
    pub(crate) fn shift(&self, cell: usize, value: f32, out: &mut [f32]) {
        let (size, quantiles) = (self.size[cell], out.len());
        for (out, theta) in out.iter_mut().zip(&self.theta[cell * quantiles..][..quantiles]) {
            *out = value + theta * size;
        }
    }

    /// Adds the offsets of a cell to `(Q,)` values.
    #[inline]
    pub(crate) fn add_to(&self, cell: usize, out: &mut [f32]) {
        let (size, quantiles) = (self.size[cell], out.len());
        for (out, theta) in out.iter_mut().zip(&self.theta[cell * quantiles..][..quantiles]) {
            *out += theta * size;
        }
    }

    pub(crate) fn at(&mut self, cell: usize, quantiles: usize) -> Tracked<'_> {
        Tracked {
            theta: &mut self.theta[cell * quantiles..(cell + 1) * quantiles],
            size: &mut self.size[cell],
            begun: &mut self.begun[cell],
        }
    }

    /// Starts cells anew, without offsets.
    pub(crate) fn clear(&mut self, cells: Range<usize>, quantiles: usize) {
        self.theta[cells.start * quantiles..cells.end * quantiles].fill(0.0);
        self.size[cells.clone()].fill(0.0);
        self.begun[cells].fill(false);
    }

    /// Starts cells from those of a pool.
    pub(super) fn start(&mut self, first: usize, pool: &Self, quantiles: usize) {
        let values = first * quantiles..first * quantiles + pool.theta.len();
        let cells = first..first + pool.size.len();
        self.theta[values].copy_from_slice(&pool.theta);
        self.size[cells.clone()].copy_from_slice(&pool.size);
        self.begun[cells].fill(false);
    }

    /// Moves a cell of the pool toward that of a slot.
    pub(super) fn follow(&mut self, cell: usize, of: &Self, slot_cell: usize, quantiles: usize) {
        let weight = if self.begun[cell] { POOL_WEIGHT } else { 1.0 };
        self.begun[cell] = true;
        self.size[cell] += weight * (of.size[slot_cell] - self.size[cell]);
        let pool = &mut self.theta[cell * quantiles..(cell + 1) * quantiles];
        for (pool, theta) in pool.iter_mut().zip(&of.theta[slot_cell * quantiles..]) {
            *pool += weight * (theta - *pool);
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.theta.len() + self.size.len()) + self.begun.len()
    }
}
