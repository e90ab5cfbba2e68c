//! Indices of slots and horizon points, and outcomes.

use std::fmt;

use crate::LengthError;

/// An index per row.
#[derive(Debug, Clone, Copy)]
pub enum Index<'a> {
    /// The same for all rows.
    One(isize),
    /// Consecutive, starting here.
    From(usize),
    /// One per row.
    Each(&'a [isize]),
}

impl Index<'_> {
    /// Checks that each of `rows` rows has an index below `count`.
    pub(crate) fn check(
        &self,
        name: &'static str,
        rows: usize,
        count: usize,
    ) -> Result<(), ArrayError> {
        let within = |index: isize| usize::try_from(index).is_ok_and(|index| index < count);
        let wrong = |row, index| ArrayError::Index { name, row, index, count };
        match *self {
            Self::One(index) if !within(index) => Err(wrong(0, index)),
            Self::From(first) if first.saturating_add(rows) > count => {
                let row = count.saturating_sub(first);
                Err(wrong(row, isize::try_from(first.saturating_add(row)).unwrap_or(isize::MAX)))
            }
            Self::Each(each) if each.len() != rows => {
                Err(LengthError { name, length: each.len(), rows }.into())
            }
            Self::Each(each) => match each.iter().position(|index| !within(*index)) {
                Some(row) => Err(wrong(row, each[row])),
                None => Ok(()),
            },
            Self::One(_) | Self::From(_) => Ok(()),
        }
    }

    /// The index of a row; requires a successful [`Index::check`].
    #[inline]
    pub(crate) fn at(&self, row: usize) -> usize {
        match *self {
            Self::One(index) => index as usize,
            Self::From(first) => first + row,
            Self::Each(each) => each[row] as usize,
        }
    }
}

/// Outcomes of N bearers.
#[derive(Debug, Clone, Copy)]
pub struct Outcomes<'a> {
    /// N.
    pub rows: usize,
    /// `(N, K)` values of K quantities; NaN if unknown.
    pub actual: &'a [f32],
    /// `(N,)` rows to include; empty for all.
    pub counts: &'a [bool],
}

impl Outcomes<'_> {
    /// Checks the lengths for `quantities` quantities.
    pub(crate) fn check(&self, quantities: usize) -> Result<(), LengthError> {
        let rows = self.rows;
        crate::check("actual", self.actual.len(), rows.saturating_mul(quantities), rows)?;
        if self.counts.is_empty() {
            Ok(())
        } else {
            crate::check("counts", self.counts.len(), rows, rows)
        }
    }

    /// The rows to include.
    pub(crate) fn counting(&self) -> impl Iterator<Item = usize> {
        (0..self.rows).filter(|row| self.counts.get(*row).copied().unwrap_or(true))
    }
}

/// Arrays that do not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArrayError {
    /// Mismatched lengths.
    Length(LengthError),
    /// An index out of range.
    Index {
        /// The array of indices.
        name: &'static str,
        /// The row.
        row: usize,
        /// The index.
        index: isize,
        /// The number of valid indices.
        count: usize,
    },
    /// A row that is to come before the one before it.
    Order {
        /// The array of rows.
        name: &'static str,
        /// The row.
        row: usize,
    },
}

impl From<LengthError> for ArrayError {
    fn from(error: LengthError) -> Self {
        Self::Length(error)
    }
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(error) => error.fmt(f),
            Self::Index { name, row, index, count } => {
                write!(f, "{name} of row {row} is {index}, of {count}")
            }
            Self::Order { name, row } => write!(f, "{name} of row {row} is out of order"),
        }
    }
}

impl std::error::Error for ArrayError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_out_of_range_is_named() {
        let refused =
            |index: Index<'_>, rows| index.check("slots", rows, 3).unwrap_err().to_string();
        assert_eq!(refused(Index::One(-1), 1), "slots of row 0 is -1, of 3");
        assert_eq!(refused(Index::From(1), 3), "slots of row 2 is 3, of 3");
        assert_eq!(
            refused(Index::From(usize::MAX), 1),
            format!("slots of row 0 is {}, of 3", isize::MAX)
        );
        assert_eq!(refused(Index::Each(&[0, 3]), 2), "slots of row 1 is 3, of 3");
        assert_eq!(refused(Index::Each(&[0]), 2), "slots has length 1, for 2 rows");
        assert_eq!(Index::Each(&[2, 0]).check("slots", 2, 3), Ok(()));
        assert_eq!(Index::From(1).check("slots", 2, 3), Ok(()));
    }
}
