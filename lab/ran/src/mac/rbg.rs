//! Resource block groups: the units of resource allocation type 0.

/// RBG size configuration (38.331 `rbg-Size` in PDSCH-Config).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RbgConfiguration {
    /// Configuration 1: small groups.
    One,
    /// Configuration 2: groups twice as large, up to 16 PRBs.
    Two,
}

/// RBG size P of an LTE carrier of `n_prb` (36.213 table 7.1.6.1-1); `None` outside 1 to 110 PRBs.
pub fn lte_rbg_size_prb(n_prb: u16) -> Option<u16> {
    match n_prb {
        1..=10 => Some(1),
        11..=26 => Some(2),
        27..=63 => Some(3),
        64..=110 => Some(4),
        _ => None,
    }
}

/// Nominal RBG size P of an NR bandwidth part of `n_prb` (38.214 table 5.1.2.2.1-1); `None` outside
/// 1 to 275 PRBs.
pub fn nr_rbg_size_prb(n_prb: u16, configuration: RbgConfiguration) -> Option<u16> {
    let sizes = match n_prb {
        1..=36 => (2, 4),
        37..=72 => (4, 8),
        73..=144 => (8, 16),
        145..=275 => (16, 16),
        _ => return None,
    };
    Some(match configuration {
        RbgConfiguration::One => sizes.0,
        RbgConfiguration::Two => sizes.1,
    })
}

/// Groups of a bandwidth part that begins on a group boundary; the last may be smaller (38.214
/// §5.1.2.2.1).
pub fn groups(n_prb: u16, rbg_prb: u16) -> u16 {
    n_prb.div_ceil(rbg_prb.max(1))
}

/// PRBs of the whole groups that cover `want_prb`, of the `left_prb` at the end of the carrier; the
/// last group may be smaller.
pub fn take(left_prb: u16, want_prb: u16, rbg_prb: u16) -> u16 {
    let whole = u32::from(groups(want_prb, rbg_prb)) * u32::from(rbg_prb.max(1));
    whole.min(u32::from(left_prb)) as u16
}

/// Most groups of a [`GroupSet`]; two bits each for sub-bands of a report fit 64.
pub const MOST_GROUPS: u16 = 32;

/// Resource block groups of a carrier: the bitmap of allocation type 0 (38.214 §5.1.2.2.1), lowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupSet(u32);

impl GroupSet {
    /// The first `count` groups, at most 32.
    pub fn first(count: u16) -> Self {
        Self(u32::MAX.checked_shr(32 - u32::from(count.min(MOST_GROUPS))).unwrap_or(0))
    }

    /// This one and `group`.
    pub fn with(self, group: u16) -> Self {
        Self(self.0 | 1 << group)
    }

    /// This one without those of `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its groups, lowest first.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        (0..MOST_GROUPS).filter(move |group| self.0 & 1 << group != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lte_groups_are_those_of_36_213() {
        let sizes = [6, 10, 11, 15, 25, 26, 27, 50, 63, 64, 75, 100, 110].map(lte_rbg_size_prb);
        let printed = [1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4].map(Some);
        assert_eq!(sizes, printed);
        assert_eq!((lte_rbg_size_prb(0), lte_rbg_size_prb(111)), (None, None));
    }

    #[test]
    fn nr_groups_are_those_of_38_214() {
        let at = |n_prb| {
            let of = |configuration| nr_rbg_size_prb(n_prb, configuration);
            (of(RbgConfiguration::One), of(RbgConfiguration::Two))
        };
        for (range, one, two) in
            [(1..=36, 2, 4), (37..=72, 4, 8), (73..=144, 8, 16), (145..=275, 16, 16)]
        {
            for n_prb in range {
                assert_eq!(at(n_prb), (Some(one), Some(two)), "{n_prb}");
            }
        }
        assert_eq!((at(0), at(276)), ((None, None), (None, None)));
    }

    #[test]
    fn the_last_group_may_be_smaller() {
        assert_eq!(groups(25, 2), 13);
        assert_eq!((take(25, 3, 2), take(25, 25, 2), take(1, 1, 2), take(0, 5, 2)), (4, 25, 1, 0));
    }
}
