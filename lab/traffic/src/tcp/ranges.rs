//! A set of byte ranges: out-of-order data at the receiver, SACKed data at the sender.

use std::collections::VecDeque;

/// Disjoint, non-adjacent half-open ranges in ascending order.
///
/// Lookup is a binary search. Insertion at either end, the usual case, is amortised constant; in the
/// middle it moves the shorter side.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
    covered: u64,
}

impl RangeSet {
    /// Adds `[start, end)`; calls `new` with each part that is new, ascending.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // First range that touches or overlaps, and one past the last.
        let first = self.ranges.partition_point(|&(_, e)| e < start);
        let (mut merged_start, mut merged_end, mut cursor, mut last) = (start, end, start, first);
        while let Some(&(s, e)) = self.ranges.get(last).filter(|&&(s, _)| s <= end) {
            if cursor < s {
                new(cursor, s);
                self.covered += s - cursor;
            }
            cursor = cursor.max(e);
            merged_start = merged_start.min(s);
            merged_end = merged_end.max(e);
            last += 1;
        }
        if cursor < end {
            new(cursor, end);
            self.covered += end - cursor;
        }
        if last == first {
            self.ranges.insert(first, (start, end));
            return;
        }
        if let Some(slot) = self.ranges.get_mut(first) {
            *slot = (merged_start, merged_end);
        }
        if last > first + 1 {
            self.ranges.drain(first + 1..last);
        }
    }

    /// The range that contains `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|&(_, e)| e <= offset);
        self.ranges.get(index).copied().filter(|&(s, _)| s <= offset)
    }

    /// Whether all of `[start, end)` is in the set.
    pub(crate) fn contains(&self, start: u64, end: u64) -> bool {
        self.containing(start).is_some_and(|(_, e)| end <= e)
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        while let Some(front) = self.ranges.front_mut() {
            if front.0 >= offset {
                break;
            }
            if front.1 > offset {
                self.covered -= offset - front.0;
                front.0 = offset;
                break;
            }
            self.covered -= front.1 - front.0;
            self.ranges.pop_front();
        }
    }

    /// The ranges, highest first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().copied()
    }

    /// Bytes in the set.
    pub(crate) fn covered_bytes(&self) -> u64 {
        self.covered
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_set_of_bytes(
            operations in prop::collection::vec((0_u64..120, 0_u64..20, any::<u8>()), 1..80)
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len, kind) in operations {
                if kind % 5 == 0 {
                    set.remove_below(start);
                    model = model.split_off(&start);
                } else {
                    let mut reported = Vec::new();
                    set.insert(start, start + len, |s, e| reported.extend(s..e));
                    let fresh: Vec<u64> =
                        (start..start + len).filter(|&byte| model.insert(byte)).collect();
                    prop_assert_eq!(reported, fresh);
                }
                prop_assert_eq!(set.covered_bytes(), model.len() as u64);
                prop_assert_eq!(set.is_empty(), model.is_empty());
                for byte in 0..150 {
                    prop_assert_eq!(set.containing(byte).is_some(), model.contains(&byte));
                }
                prop_assert!(set.ranges.iter().zip(set.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
