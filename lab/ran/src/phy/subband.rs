//! Sub-bands of a carrier: reports of CQI by sub-band (38.214 §5.2.1.4, §5.2.2.1), and resource block groups
//! that the gNB grants by them.

use super::cqi::MAX_CQI;
use crate::error::{ConfigError, ensure};
use crate::mac::rbg::{self, GroupSet, MOST_GROUPS};

/// PRBs of which one frequency stands for all, at most: 1.44 MHz at 30 kHz, less than the coherence bandwidth
/// of 100 ns of delay spread.
const MOST_PIECE_PRB: u16 = 4;

/// Sizes of a sub-band by the carrier, of which `subbandSize` of 38.331 chooses the first or the second
/// (38.214 table 5.2.1.4-2); `None` below 24 PRBs, where there are no sub-bands, and above 275.
pub fn subband_sizes_prb(n_prb: u16) -> Option<[u16; 2]> {
    match n_prb {
        24..=72 => Some([4, 8]),
        73..=144 => Some([8, 16]),
        145..=275 => Some([16, 32]),
        _ => None,
    }
}

/// Differences of the CQI of sub-bands to that of the carrier, two bits each as they are reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Levels(u64);

impl Levels {
    /// Adds the level of `subband`, of which the UE measures `cqi`, where the carrier has `wideband` (38.214
    /// table 5.2.2.1-1): equal, 1 more, 2 or more, 1 or less.
    pub(crate) fn with(self, subband: u16, cqi: u8, wideband: u8) -> Self {
        let level: u64 = match i16::from(cqi) - i16::from(wideband) {
            ..=-1 => 3,
            0 => 0,
            1 => 1,
            _ => 2,
        };
        Self(self.0 | level << (2 * subband))
    }

    /// The CQI that a gNB takes `subband` to have, from 1 on: the nearest that its level says.
    pub(crate) fn cqi(self, subband: u16, wideband: u8) -> u8 {
        let cqi = match self.0 >> (2 * subband) & 3 {
            0 => wideband,
            1 => wideband + 1,
            2 => wideband + 2,
            _ => wideband.saturating_sub(1),
        };
        cqi.clamp(1, MAX_CQI)
    }
}

/// How a carrier divides into resource block groups, sub-bands and the pieces of which the channel is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subbands {
    n_prb: u16,
    rbg_prb: u16,
    subband_prb: u16,
}

impl Subbands {
    /// A division of a carrier of `n_prb`.
    ///
    /// # Errors
    /// [`ConfigError`] for sizes that are no powers of two, and for more than 32 groups or sub-bands.
    pub(crate) fn new(n_prb: u16, rbg_prb: u16, subband_prb: u16) -> Result<Self, ConfigError> {
        for (path, size_prb) in [("adaptation.subband_prb", subband_prb), ("rbg_size_prb", rbg_prb)]
        {
            let is_possible =
                size_prb.is_power_of_two() && rbg::groups(n_prb, size_prb) <= MOST_GROUPS;
            let expected = format!("a power of two of which 32 or fewer make {n_prb} PRB");
            ensure(is_possible, path, size_prb, expected)?;
        }
        Ok(Self { n_prb, rbg_prb, subband_prb })
    }

    /// Sub-bands.
    pub(crate) fn subbands(self) -> u16 {
        rbg::groups(self.n_prb, self.subband_prb)
    }

    /// Groups of which every PRB is among the first `prb`.
    pub(crate) fn groups_within(self, prb: u16) -> GroupSet {
        let whole =
            if prb >= self.n_prb { rbg::groups(prb, self.rbg_prb) } else { prb / self.rbg_prb };
        GroupSet::first(whole)
    }

    /// PRBs of some groups.
    pub(crate) fn prb_of(self, groups: GroupSet) -> u16 {
        groups.iter().map(|group| self.width(group, self.rbg_prb)).sum()
    }

    /// PRBs of a part of the carrier of `size_prb` each; the last may be smaller.
    fn width(self, number: u16, size_prb: u16) -> u16 {
        size_prb.min(self.n_prb.saturating_sub(number * size_prb))
    }

    fn piece_prb(self) -> u16 {
        self.rbg_prb.min(self.subband_prb).min(MOST_PIECE_PRB)
    }

    /// Middles of the pieces, of the carrier's width from its middle.
    pub(crate) fn pieces(self) -> Vec<f64> {
        let piece_prb = self.piece_prb();
        let middle = |number: u16| {
            let prb =
                f64::from(number * piece_prb) + f64::from(self.width(number, piece_prb)) / 2.0;
            prb / f64::from(self.n_prb) - 0.5
        };
        (0..rbg::groups(self.n_prb, piece_prb)).map(middle).collect()
    }

    /// Mean over the PRBs of a part of the carrier, number `number` of those with `size_prb`, of the values
    /// `of` its pieces.
    fn mean(self, number: u16, size_prb: u16, of: &[f64]) -> f64 {
        let piece_prb = self.piece_prb();
        let from = number * (size_prb / piece_prb);
        let until = (from + size_prb / piece_prb).min(of.len() as u16);
        let sum: f64 = (from..until)
            .map(|piece| f64::from(self.width(piece, piece_prb)) * of[usize::from(piece)])
            .sum();
        sum / f64::from(self.width(number, size_prb))
    }

    /// Mean of `of` the pieces over the carrier.
    pub(crate) fn mean_of_all(self, of: &[f64]) -> f64 {
        let piece_prb = self.piece_prb();
        let widths = (0..).map(|piece| f64::from(self.width(piece, piece_prb)));
        of.iter().zip(widths).map(|(value, width)| value * width).sum::<f64>()
            / f64::from(self.n_prb)
    }

    /// Mean of `of` the pieces over a sub-band.
    pub(crate) fn mean_of_subband(self, subband: u16, of: &[f64]) -> f64 {
        self.mean(subband, self.subband_prb, of)
    }

    /// Mean of `of` the pieces over some groups, at least one.
    pub(crate) fn mean_of_groups(self, groups: GroupSet, of: &[f64]) -> f64 {
        self.over_groups(groups, |group| self.mean(group, self.rbg_prb, of))
    }

    /// Mean of `of` the sub-bands over some groups, at least one.
    pub(crate) fn mean_by_subband(self, groups: GroupSet, of: impl Fn(u16) -> f64) -> f64 {
        self.over_groups(groups, |group| {
            let from = group * self.rbg_prb / self.subband_prb;
            // A group is within a sub-band, or has whole ones.
            let count = (self.rbg_prb / self.subband_prb).max(1);
            let subbands = from..(from + count).min(self.subbands());
            if count == 1 {
                return of(from);
            }
            let width = |subband| f64::from(self.width(subband, self.subband_prb));
            let sum: f64 = subbands.map(|subband| width(subband) * of(subband)).sum();
            sum / f64::from(self.width(group, self.rbg_prb))
        })
    }

    fn over_groups(self, groups: GroupSet, of: impl Fn(u16) -> f64) -> f64 {
        let width = |group| f64::from(self.width(group, self.rbg_prb));
        let (sum, prb) = groups.iter().fold((0.0, 0.0), |(sum, prb), group| {
            (sum + width(group) * of(group), prb + width(group))
        });
        sum / prb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_table_5_2_1_4_2() {
        let at = |n_prb| subband_sizes_prb(n_prb);
        assert_eq!([23, 24, 72].map(at), [None, Some([4, 8]), Some([4, 8])]);
        assert_eq!([73, 144].map(at), [Some([8, 16]); 2]);
        assert_eq!([145, 275, 276].map(at), [Some([16, 32]), Some([16, 32]), None]);
    }

    /// 38.214 table 5.2.2.1-1.
    #[test]
    fn a_level_says_the_difference_as_far_as_two_bits_can() {
        let heard = |cqi| Levels::default().with(3, cqi, 8).cqi(3, 8);
        assert_eq!([1, 6, 7, 8, 9, 10, 11, 15].map(heard), [7, 7, 7, 8, 9, 10, 10, 10]);
        let all =
            (0..32).fold(Levels::default(), |levels, at| levels.with(at, 8 + at as u8 % 4, 9));
        let heard: Vec<u8> = (0..4).map(|at| all.cqi(at, 9)).collect();
        assert_eq!(heard, [8, 9, 10, 11]);
        assert_eq!(all.cqi(31, 9), 11, "the last of 32");
        assert_eq!(
            Levels::default().with(0, 0, 1).cqi(0, 1),
            1,
            "CQI 1 is the lowest that is granted"
        );
        assert_eq!(Levels::default().with(0, 15, 14).cqi(0, 15), 15);
    }

    #[test]
    fn the_last_group_and_sub_band_may_be_smaller() {
        let carrier = Subbands::new(106, 8, 16).unwrap();
        assert_eq!(carrier.subbands(), 7);
        let all = carrier.groups_within(106);
        assert_eq!((all.iter().count(), carrier.prb_of(all)), (14, 106));
        assert_eq!(carrier.prb_of(GroupSet::default().with(13)), 2);
        assert_eq!(carrier.groups_within(105).iter().count(), 13, "the last is not whole");
        assert_eq!(all.without(GroupSet::first(13)), GroupSet::default().with(13));
    }

    #[test]
    fn means_weigh_each_prb_alike() {
        for (rbg_prb, subband_prb) in [(8, 8), (16, 8), (8, 16), (4, 16), (16, 4)] {
            let carrier = Subbands::new(106, rbg_prb, subband_prb).unwrap();
            let pieces = carrier.pieces();
            assert!(pieces.is_sorted() && pieces.iter().all(|at| at.abs() < 0.5));
            // A value that is linear in the frequency has the mean of its middle.
            let all = carrier.groups_within(106);
            assert!(carrier.mean_of_all(&pieces).abs() < 1e-12);
            assert!(carrier.mean_of_groups(all, &pieces).abs() < 1e-12);
            let by_subband = |subband| carrier.mean_of_subband(subband, &pieces);
            assert!(carrier.mean_of_subband(0, &pieces) < carrier.mean_of_subband(1, &pieces));
            if subband_prb <= rbg_prb {
                assert!(carrier.mean_by_subband(all, by_subband).abs() < 1e-12);
            }
            let one = GroupSet::default().with(1);
            let middle = f64::from(rbg_prb) * 1.5 / 106.0 - 0.5;
            assert!((carrier.mean_of_groups(one, &pieces) - middle).abs() < 1e-12);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let error = |rbg_prb, subband_prb| {
            Subbands::new(106, rbg_prb, subband_prb).unwrap_err().to_string()
        };
        let expected = "expected a power of two of which 32 or fewer make 106 PRB";
        assert_eq!(error(8, 12), format!("adaptation.subband_prb: 12; {expected}"));
        assert_eq!(error(2, 8), format!("rbg_size_prb: 2; {expected}"));
    }
}
