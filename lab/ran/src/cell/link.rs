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
    /// Transport block sizes of an MCS, index 0 for no PRB, and the PRBs of a group that are granted
    /// together. From two PRBs on no size is smaller than one of fewer.
    Table { sizes: &'a [u32], rbg_prb: u16 },
    /// This many bytes, spread evenly over all `n_prb` PRBs.
    Even { bytes: u32, n_prb: u16 },
}

impl Link<'_> {
    pub(super) fn bytes(self, n_prb: u16) -> u32 {
        match self {
            Self::Table { sizes, .. } => sizes.get(usize::from(n_prb)).copied().unwrap_or(0),
            Self::Even { bytes, n_prb: all } => {
                (u64::from(bytes) * u64::from(n_prb) / u64::from(all.max(1))) as u32
            }
        }
    }

    /// The fewest of `most_prb` PRBs that carry `bytes`, as do the whole groups that hold them; those
    /// that carry most if none do.
    pub(super) fn prb_for(self, bytes: u64, most_prb: u16) -> u16 {
        match self {
            Self::Table { sizes, rbg_prb } => {
                if bytes == 0 {
                    return 0;
                }
                // One PRB of I_TBS 6 carries more than two or three (36.213 table 7.1.7.2.1-1).
                let granted = most_prb.min(rbg_prb);
                let alone = if granted > 0 { self.bytes(1).min(self.bytes(granted)) } else { 0 };
                let all = self.bytes(most_prb);
                if u64::from(alone) >= bytes || alone > all {
                    return 1;
                }
                // Common case: the backlog exceeds the slot.
                if u64::from(all) < bytes {
                    return most_prb;
                }
                2 + sizes[2..].partition_point(|size| u64::from(*size) < bytes) as u16
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
        let prb = self.prb_for(bytes, most_prb);
        (u64::from(self.bytes(prb)) >= bytes).then_some(prb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;
    use crate::tbs::TbsConfig;
    use crate::tbs::nr::{McsTable, NrOverhead};

    #[test]
    fn the_fewest_prbs_that_carry_it() {
        let sizes = &[0, 10, 20, 31, 40];
        for link in [Link::Table { sizes, rbg_prb: 1 }, Link::Even { bytes: 40, n_prb: 4 }] {
            assert_eq!(link.prb_that_carry(20, 4), Some(2));
            assert_eq!(link.prb_that_carry(40, 4), Some(4));
            assert_eq!(link.prb_that_carry(41, 4), None);
            assert_eq!(link.prb_that_carry(40, 3), None);
            assert_eq!(link.prb_that_carry(0, 4), Some(0));
        }
        assert_eq!(Link::Even { bytes: 0, n_prb: 4 }.prb_that_carry(1, 4), None);
    }

    /// 36.213 table 7.1.7.2.1-1, I_TBS 6: 328, 176, 256 and 392 bits.
    #[test]
    fn one_prb_that_carries_more_than_two_or_three_is_found_where_it_can_be_granted_alone() {
        let tables = CellConfig::lte_5mhz().tbs_tables();
        let sizes = tables.row(SlotKind::Down, 6);
        assert_eq!(sizes[..5], [0, 41, 22, 32, 49]);
        let of = |rbg_prb| Link::Table { sizes, rbg_prb };
        assert_eq!(of(1).prb_that_carry(33, 4), Some(1));
        assert_eq!(of(1).prb_that_carry(33, 2), Some(1));
        assert_eq!(of(1).prb_for(100, 3), 1, "more than with all three");
        assert_eq!(of(2).prb_that_carry(22, 4), Some(1), "two are granted and carry it");
        assert_eq!(of(2).prb_that_carry(30, 4), Some(3), "the group of one has two");
        assert_eq!(of(2).prb_that_carry(33, 3), None);
        assert_eq!(of(2).prb_that_carry(33, 1), Some(1), "the last group has one");
    }

    /// The definition: no fewer PRBs carry it, alone or in whole groups.
    fn fewest(sizes: &[u32], bytes: u64, most_prb: u16, rbg_prb: u16) -> Option<u16> {
        (0..=most_prb).find(|prb| {
            let granted = prb.next_multiple_of(rbg_prb).min(most_prb);
            [*prb, granted].iter().all(|n| u64::from(sizes[usize::from(*n)]) >= bytes)
        })
    }

    #[test]
    fn the_fewest_prbs_are_found_for_every_mcs_and_size() {
        let lte = CellConfig::lte_5mhz();
        let mut cells = vec![(lte, [1, 2, 3, 4], 1)];
        for mcs_table in
            [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe, McsTable::Qam1024]
        {
            for layers in 1..=4 {
                let mut nr = CellConfig::nr_n78_106prb();
                nr.n_prb = 275;
                nr.tbs = TbsConfig::Nr { mcs_table, layers, overhead: NrOverhead::default() };
                cells.push((nr, [1, 4, 8, 16], 7));
            }
        }
        for (cell, groups, step) in cells {
            let tables = cell.tbs_tables();
            for (kind, mcs) in [SlotKind::Down, SlotKind::Mixed]
                .iter()
                .flat_map(|kind| (0..=cell.tbs.max_mcs()).map(move |mcs| (*kind, mcs)))
            {
                let sizes = tables.row(kind, mcs);
                assert!(sizes[2..].is_sorted(), "{:?} {kind:?} MCS {mcs}", cell.tbs);
                for (rbg_prb, most_prb) in groups
                    .iter()
                    .flat_map(|rbg| (1..=cell.n_prb).step_by(step).map(move |most| (*rbg, most)))
                {
                    let link = Link::Table { sizes, rbg_prb };
                    for near in sizes[..=usize::from(most_prb)].iter().step_by(step) {
                        for bytes in [near.saturating_sub(1), *near, near + 1].map(u64::from) {
                            let expected = fewest(sizes, bytes, most_prb, rbg_prb);
                            assert_eq!(
                                link.prb_that_carry(bytes, most_prb),
                                expected,
                                "{:?} {kind:?} MCS {mcs}: {bytes} bytes, {most_prb} PRBs by {rbg_prb}",
                                cell.tbs
                            );
                        }
                    }
                }
            }
        }
    }
}
