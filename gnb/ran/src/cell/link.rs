//! A downlink slot, and the bytes that a UE receives in it by number of PRBs.

use crate::numerology::SlotKind;

/// A slot that carries downlink.
pub(super) struct Slot {
    pub(super) slot: u64,
    pub(super) kind: SlotKind,
    pub(super) available_prb: u16,
    pub(super) start_us: u64,
    pub(super) end_us: u64,
}

/// Bytes that a UE receives in one slot by number of PRBs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Link<'a> {
    /// Transport block sizes of an MCS, index 0 for no PRB.
    Table(&'a [u32]),
    /// This many bytes, spread evenly over all `n_prb` PRBs.
    Even { bytes: u32, n_prb: u16 },
}

impl Link<'_> {
    pub(super) fn bytes(self, n_prb: u16) -> u32 {
        match self {
            Self::Table(row) => row.get(usize::from(n_prb)).copied().unwrap_or(0),
            Self::Even { bytes, n_prb: all } => {
                (u64::from(bytes) * u64::from(n_prb) / u64::from(all.max(1))) as u32
            }
        }
    }

    /// The fewest of `most_prb` PRBs that carry `bytes`; `most_prb` if they do not.
    pub(super) fn prb_for(self, bytes: u64, most_prb: u16) -> u16 {
        match self {
            Self::Table(row) => {
                // Common case: the backlog exceeds the slot.
                if u64::from(self.bytes(most_prb)) <= bytes {
                    return most_prb;
                }
                row.partition_point(|b| u64::from(*b) < bytes) as u16
            }
            Self::Even { bytes: 0, .. } => 0,
            Self::Even { bytes: all, n_prb } => {
                let needed = (bytes * u64::from(n_prb)).div_ceil(u64::from(all));
                needed.min(u64::from(most_prb)) as u16
            }
        }
    }

    /// The fewest of `most_prb` PRBs that carry `bytes`; `None` if they do not.
    pub(super) fn prb_that_carry(self, bytes: u64, most_prb: u16) -> Option<u16> {
        (u64::from(self.bytes(most_prb)) >= bytes).then(|| self.prb_for(bytes, most_prb))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_prbs_that_carry_it() {
        let row = [0, 10, 20, 31, 40];
        for link in [Link::Table(&row), Link::Even { bytes: 40, n_prb: 4 }] {
            assert_eq!(link.prb_that_carry(20, 4), Some(2));
            assert_eq!(link.prb_that_carry(40, 4), Some(4));
            assert_eq!(link.prb_that_carry(41, 4), None);
            assert_eq!(link.prb_that_carry(40, 3), None);
            assert_eq!(link.prb_that_carry(0, 4), Some(0));
        }
        assert_eq!(Link::Even { bytes: 0, n_prb: 4 }.prb_that_carry(1, 4), None);
    }
}
