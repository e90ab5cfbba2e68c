//! Outcomes of a back-test, in the order in which they are learned from.

use crate::{ArrayError, Index, check};

/// E outcomes, each of one forecast point of one sample, in groups that are learned from together.
#[derive(Debug, Clone, Copy)]
pub struct Checks<'a> {
    /// `(E,)` sample at which each becomes known; not decreasing.
    pub rows: &'a [isize],
    /// `(E,)` whether it is the last of its group; a group is of one sample.
    pub last: &'a [bool],
    /// `(E,)` sample of the forecast.
    pub origins: &'a [isize],
    /// `(E,)` its point.
    pub points: &'a [isize],
    /// `(E, K)` values of K quantities; NaN if unknown.
    pub actual: &'a [f32],
}

/// The outcomes `first..end`, which are learned from together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) first: usize,
    pub(crate) end: usize,
}

impl<'a> Checks<'a> {
    /// Checks lengths and indices: origins are of `samples` samples.
    pub(crate) fn check(
        &self,
        quantities: usize,
        points: usize,
        samples: usize,
    ) -> Result<(), ArrayError> {
        let rows = self.rows.len();
        check("last", self.last.len(), rows, rows)?;
        check("actual", self.actual.len(), rows.saturating_mul(quantities), rows)?;
        Index::Each(self.origins).check("origin", rows, samples)?;
        Index::Each(self.points).check("point", rows, points)?;
        in_order("rows", self.rows)?;
        // The last group has an end, and each is of one sample.
        let is_split = |row: usize| {
            !self.last[row] && self.rows.get(row + 1).is_none_or(|next| *next != self.rows[row])
        };
        match (0..rows).find(|row| is_split(*row)) {
            Some(row) => Err(ArrayError::Order { name: "last", row }),
            None => Ok(()),
        }
    }

    /// Those of the samples `[begin, stop)`, of checked ones.
    pub(crate) fn between(&self, begin: usize, stop: usize) -> Self {
        let before = |row: usize| self.rows.partition_point(|one| *one < row as isize);
        let (first, end) = (before(begin), before(stop).max(before(begin)));
        let quantities = self.actual.len().checked_div(self.rows.len()).unwrap_or(0);
        Self {
            rows: &self.rows[first..end],
            last: &self.last[first..end],
            origins: &self.origins[first..end],
            points: &self.points[first..end],
            actual: &self.actual[first * quantities..end * quantities],
        }
    }

    /// The groups, by the sample at which they are learned from.
    pub(crate) fn groups(&self) -> Groups<'a> {
        Groups { rows: self.rows, last: self.last, at: 0 }
    }
}

/// Checks that rows do not decrease.
pub(crate) fn in_order(name: &'static str, rows: &[isize]) -> Result<(), ArrayError> {
    match rows.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(before) => Err(ArrayError::Order { name, row: before + 1 }),
        None => Ok(()),
    }
}

/// The groups of [`Checks`] that are not learned from yet.
pub(crate) struct Groups<'a> {
    rows: &'a [isize],
    last: &'a [bool],
    at: usize,
}

impl Groups<'_> {
    /// The next group, if it is of this sample or an earlier one.
    pub(crate) fn next_at(&mut self, row: usize) -> Option<Group> {
        let first = self.at;
        if *self.rows.get(first)? > row as isize {
            return None;
        }
        let length = self.last[first..].iter().position(|last| *last)? + 1;
        self.at = first + length;
        Some(Group { first, end: self.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_met_at_their_samples() {
        let checks = Checks {
            rows: &[3, 3, 3, 5],
            last: &[true, false, true, true],
            origins: &[0, 1, 1, 2],
            points: &[0, 0, 1, 0],
            actual: &[1.0, 2.0, 3.0, 4.0],
        };
        assert_eq!(checks.check(1, 2, 3), Ok(()));
        let mut groups = checks.groups();
        let mut found = Vec::new();
        for row in 0..7 {
            while let Some(Group { first, end }) = groups.next_at(row) {
                found.push((row, first, end));
            }
        }
        assert_eq!(found, [(3, 0, 1), (3, 1, 3), (5, 3, 4)]);
    }

    #[test]
    fn rows_out_of_order_and_groups_without_an_end_are_named() {
        let fault = |rows: &[isize], last: &[bool]| {
            let zeros = &[0; 2][..rows.len()];
            let actual = &[0.0; 2][..rows.len()];
            let checks = Checks { rows, last, origins: zeros, points: zeros, actual };
            checks.check(1, 1, 1).unwrap_err().to_string()
        };
        assert_eq!(fault(&[2, 1], &[true; 2]), "rows of row 1 is out of order");
        assert_eq!(fault(&[1, 1], &[false; 2]), "last of row 1 is out of order");
        assert_eq!(fault(&[1, 2], &[false, true]), "last of row 0 is out of order");
        assert_eq!(fault(&[1], &[]), "last has length 0, for 1 rows");
    }
}
