//! The drain of the last report periods, of which an outcome is the mean.

use crate::{ArrayError, Index, LengthError, check};

/// The drain of S slots in the last report periods.
#[derive(Debug, Clone)]
pub struct RecentDrain {
    /// Column of the drain in the features.
    column: usize,
    slots: usize,
    /// `(longest, S)` by report period; NaN if unknown.
    values: Vec<Vec<f32>>,
    tick: i64,
}

impl RecentDrain {
    /// No slots; keeps what spans of up to `longest` reports need.
    ///
    /// # Errors
    /// [`LengthError`] of 0 reports.
    pub fn new(longest: usize, column: usize) -> Result<Self, LengthError> {
        if longest == 0 {
            return Err(LengthError { name: "longest", length: longest, rows: 1 });
        }
        Ok(Self { column, slots: 0, values: vec![Vec::new(); longest], tick: 0 })
    }

    /// Room for `slots` slots.
    pub fn grow(&mut self, slots: usize) {
        if slots > self.slots {
            self.slots = slots;
            self.values.iter_mut().for_each(|values| values.resize(slots, f32::NAN));
        }
    }

    fn at(&self, tick: i64) -> usize {
        tick.rem_euclid(self.values.len() as i64) as usize
    }

    /// Adds the drain of a report, `(N, width)` features; unknown where not `fresh`. Report periods without a
    /// report are unknown, and with an earlier `tick` than the last everything before it.
    ///
    /// # Errors
    /// [`ArrayError`] when slices do not match; the state is then unchanged.
    pub fn add(
        &mut self,
        slots: Index<'_>,
        tick: i64,
        features: &[f32],
        width: usize,
        fresh: &[bool],
    ) -> Result<(), ArrayError> {
        let rows = fresh.len();
        check("features", features.len(), rows.saturating_mul(width), rows)?;
        if width <= self.column {
            return Err(LengthError { name: "features", length: width, rows }.into());
        }
        slots.check("slots", rows, self.slots)?;
        let elapsed = tick.saturating_sub(self.tick);
        let longest = self.values.len() as i64;
        let unknown = if (1..longest).contains(&elapsed) { elapsed } else { longest };
        for before in 0..unknown {
            let at = self.at(tick.wrapping_sub(before));
            self.values[at].fill(f32::NAN);
        }
        self.tick = tick;
        let at = self.at(tick);
        let values = &mut self.values[at];
        let drained = features.iter().skip(self.column).step_by(width);
        for (row, (fresh, drained)) in fresh.iter().zip(drained).enumerate() {
            values[slots.at(row)] = if *fresh { *drained } else { f32::NAN };
        }
        Ok(())
    }

    /// `(N,)` means of the newest `reports`; NaN if one is unknown.
    ///
    /// # Errors
    /// [`ArrayError`] of an unknown slot, or of more reports than are kept.
    pub fn means(
        &self,
        slots: Index<'_>,
        rows: usize,
        reports: usize,
    ) -> Result<Vec<f32>, ArrayError> {
        slots.check("slots", rows, self.slots)?;
        if !(1..=self.values.len()).contains(&reports) {
            return Err(LengthError { name: "reports", length: reports, rows }.into());
        }
        let mut sums = vec![0.0_f64; rows];
        for before in (0..reports).rev() {
            let values = &self.values[self.at(self.tick.wrapping_sub(before as i64))];
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum += f64::from(values[slots.at(row)]);
            }
        }
        Ok(sums.iter().map(|sum| (sum / reports as f64) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_match_is_named() {
        let mut recent = RecentDrain::new(2, 1).unwrap();
        recent.grow(4);
        let mut refused = |width, features: &[f32]| {
            recent.add(Index::From(0), 5, features, width, &[true]).unwrap_err().to_string()
        };
        assert_eq!(refused(1, &[0.0]), "features has length 1, for 1 rows");
        assert_eq!(refused(2, &[0.0]), "features has length 1, for 1 rows");
        assert_eq!(
            RecentDrain::new(0, 0).unwrap_err().to_string(),
            "longest has length 0, for 1 rows"
        );
        recent.add(Index::Each(&[3]), 5, &[0.0, 8.0], 2, &[true]).unwrap();
        assert_eq!(recent.means(Index::From(3), 1, 1), Ok(vec![8.0]));
        for (slot, reports, problem) in [
            (4, 1, "slots of row 0 is 4, of 4"),
            (3, 3, "reports has length 3, for 1 rows"),
            (3, 0, "reports has length 0, for 1 rows"),
        ] {
            let error = recent.means(Index::From(slot), 1, reports).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
    }
}
