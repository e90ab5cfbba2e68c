//! NR transport block sizes, 38.214 §5.1.3.

use super::tables::{MCS_QAM64, MCS_QAM64_LOW_SE, MCS_QAM256, MCS_QAM1024, NR_TBS_UP_TO_3824};
use crate::error::{ConfigError, ensure};
use crate::numerology::SYMBOLS_PER_SLOT;

pub use super::tables::McsEntry;

/// MCS table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McsTable {
    /// 38.214 table 5.1.3.1-1.
    Qam64,
    /// 38.214 table 5.1.3.1-2.
    Qam256,
    /// 38.214 table 5.1.3.1-3: 64QAM with low spectral efficiency.
    Qam64LowSe,
    /// 38.214 table 5.1.3.1-4.
    Qam1024,
}

impl McsTable {
    fn entries(self) -> &'static [McsEntry] {
        match self {
            Self::Qam64 => &MCS_QAM64,
            Self::Qam256 => &MCS_QAM256,
            Self::Qam64LowSe => &MCS_QAM64_LOW_SE,
            Self::Qam1024 => &MCS_QAM1024,
        }
    }

    /// The highest index that is not reserved.
    pub fn max_index(self) -> u8 {
        (self.entries().len() - 1) as u8
    }

    /// The entry of `index`; `None` for reserved ones.
    pub fn entry(self, index: u8) -> Option<McsEntry> {
        self.entries().get(usize::from(index)).copied()
    }
}

/// Resource elements of a slot that carry no user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NrOverhead {
    /// Symbols before the PDSCH, for PDCCH.
    pub pdcch_symbols: u8,
    /// DMRS symbols of a PDSCH over a full slot.
    pub dmrs_symbols: u8,
    /// DMRS symbols of a PDSCH in a mixed slot.
    pub mixed_dmrs_symbols: u8,
    /// Resource elements of a PRB without data in a DMRS symbol: 12 with two CDM groups without data
    /// (configuration type 1), 6 with one.
    pub dmrs_re: u8,
    /// `xOverhead` of PDSCH-ServingCellConfig: 0, 6, 12 or 18 resource elements per PRB.
    pub x_overhead: u8,
}

impl Default for NrOverhead {
    fn default() -> Self {
        Self {
            pdcch_symbols: 1,
            dmrs_symbols: 1,
            mixed_dmrs_symbols: 1,
            dmrs_re: 12,
            x_overhead: 0,
        }
    }
}

impl NrOverhead {
    pub(super) fn validate(self) -> Result<(), ConfigError> {
        let Self { pdcch_symbols, dmrs_symbols, mixed_dmrs_symbols, dmrs_re, x_overhead } = self;
        for (field, value, range, expected) in [
            ("pdcch_symbols", pdcch_symbols, &[0u8, 1, 2, 3][..], "0 to 3"),
            ("dmrs_symbols", dmrs_symbols, &[1, 2, 3, 4], "1 to 4"),
            ("mixed_dmrs_symbols", mixed_dmrs_symbols, &[1, 2, 3, 4], "1 to 4"),
            ("dmrs_re", dmrs_re, &[6, 12], "6 or 12"),
            ("x_overhead", x_overhead, &[0, 6, 12, 18], "0, 6, 12 or 18"),
        ] {
            ensure(range.contains(&value), format!("tbs.overhead.{field}"), value, expected)?;
        }
        Ok(())
    }

    /// N'_RE of a PRB when the first `dl_symbols` of the slot are downlink.
    pub fn data_re_per_prb(self, dl_symbols: u8) -> u32 {
        let full = dl_symbols >= SYMBOLS_PER_SLOT;
        let dmrs = if full { self.dmrs_symbols } else { self.mixed_dmrs_symbols };
        let symbols = u32::from(dl_symbols.saturating_sub(self.pdcch_symbols));
        (12 * symbols)
            .saturating_sub(u32::from(dmrs) * u32::from(self.dmrs_re))
            .saturating_sub(u32::from(self.x_overhead))
    }
}

/// Transport block size in bits for `n_prb` PRBs of `re_per_prb` data resource elements (N'_RE).
pub fn tbs_bits(mcs: McsEntry, layers: u8, n_prb: u16, re_per_prb: u32) -> u32 {
    // Step 1: N_RE = min(156, N'_RE) · n_PRB.
    let n_re = u64::from(re_per_prb.min(156)) * u64::from(n_prb);
    // Step 2: N_info = N_RE · R · Q_m · υ, kept exact as a fraction of 2048.
    let n_info_x2048 =
        n_re * u64::from(mcs.rate_x2048) * u64::from(mcs.modulation_order) * u64::from(layers);
    if n_info_x2048 == 0 {
        return 0;
    }
    if n_info_x2048 <= 3824 * 2048 {
        small_tbs(n_info_x2048)
    } else {
        large_tbs(n_info_x2048, mcs.rate_x2048)
    }
}

/// Step 3: quantise down, then the next size of table 5.1.3.2-1.
fn small_tbs(n_info_x2048: u64) -> u32 {
    let n_info = (n_info_x2048 / 2048) as u32;
    let n = n_info.max(1).ilog2().saturating_sub(6).max(3);
    let quantised = ((n_info >> n) << n).max(24);
    let at = NR_TBS_UP_TO_3824.partition_point(|tbs| u32::from(*tbs) < quantised);
    NR_TBS_UP_TO_3824.get(at).map_or(3824, |tbs| u32::from(*tbs))
}

/// Step 4: quantise to nearest (ties up), then a multiple of 8 bits in equal code blocks.
fn large_tbs(n_info_x2048: u64, rate_x2048: u16) -> u32 {
    let above = n_info_x2048 - 24 * 2048;
    let n = (above / 2048).ilog2() - 5;
    let step_x2048 = 2048u64 << n;
    let rounded = ((above + step_x2048 / 2) / step_x2048) << n;
    let with_crc = (rounded.max(3840) + 24) as u32;
    // The LDPC base graph sets the code block: 3816 bits in graph 2, 8424 in graph 1.
    let quarter_rate = 2048 / 4;
    let code_blocks = if rate_x2048 <= quarter_rate {
        with_crc.div_ceil(3816)
    } else if with_crc - 24 > 8424 {
        with_crc.div_ceil(8424)
    } else {
        1
    };
    8 * code_blocks * with_crc.div_ceil(8 * code_blocks) - 24
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(table: McsTable, mcs: u8, layers: u8, n_prb: u16, re: u32) -> u32 {
        tbs_bits(table.entry(mcs).unwrap(), layers, n_prb, re)
    }

    /// 38.101-1 tables A.3.2.2-1 and A.3.2.2-2: QPSK, MCS 4, 12 symbols of which DMRS takes 36 RE.
    #[test]
    fn sizes_of_the_reference_channels_of_38_101() {
        for (n_prb, tbs) in [
            (25, 1672),
            (52, 3368),
            (79, 5120),
            (106, 6912),
            (133, 8712),
            (160, 10504),
            (216, 14088),
            (270, 17424),
        ] {
            assert_eq!(bits(McsTable::Qam64, 4, 1, n_prb, 144 - 36), tbs, "{n_prb} PRB");
        }
    }

    /// The largest transport block of FR1, four layers of 256QAM over 273 PRB without overhead.
    #[test]
    fn the_largest_transport_block_is_the_published_one() {
        assert_eq!(bits(McsTable::Qam256, 27, 4, 273, 156), 1_277_992);
        assert_eq!(bits(McsTable::Qam256, 27, 4, 273, 168), 1_277_992);
    }

    #[test]
    fn small_blocks_come_from_the_table() {
        assert_eq!(bits(McsTable::Qam64, 0, 1, 1, 6), 24);
        assert_eq!(bits(McsTable::Qam64, 0, 1, 0, 156), 0);
        assert_eq!(bits(McsTable::Qam64, 0, 1, 1, 0), 0);
        for table in [McsTable::Qam64, McsTable::Qam256, McsTable::Qam64LowSe, McsTable::Qam1024] {
            for mcs in 0..=table.max_index() {
                for n_prb in 1..=273 {
                    let tbs = bits(table, mcs, 1, n_prb, 132);
                    let info = table.entry(mcs).unwrap().efficiency() * 132.0 * f64::from(n_prb);
                    assert_eq!(tbs % 8, 0);
                    // Quantisation moves a size by at most one step of 1/32 and a CRC.
                    assert!((f64::from(tbs) - info).abs() <= info / 28.0 + 32.0, "{mcs} {n_prb}");
                }
            }
        }
    }

    /// Sizes computed independently from §5.1.3.2 with exact fractions, by table, MCS, layers, PRBs
    /// and N'_RE: rates up to and above 1/4, N_info on both sides of 3824 and 8424.
    #[test]
    fn sizes_are_those_of_an_independent_computation() {
        for (table, mcs, layers, n_prb, re, tbs) in [
            (McsTable::Qam64, 0, 1, 273, 156, 9984),
            (McsTable::Qam64, 3, 4, 273, 156, 84064),
            (McsTable::Qam64, 4, 2, 106, 144, 18432),
            (McsTable::Qam64, 10, 1, 24, 132, 4224),
            (McsTable::Qam64, 16, 2, 51, 132, 34816),
            (McsTable::Qam64, 17, 1, 106, 144, 38936),
            (McsTable::Qam64, 28, 4, 273, 156, 950984),
            (McsTable::Qam256, 10, 1, 106, 144, 38936),
            (McsTable::Qam256, 18, 1, 106, 144, 73776),
            (McsTable::Qam256, 27, 2, 273, 144, 590128),
            (McsTable::Qam256, 5, 1, 25, 120, 4352),
            (McsTable::Qam256, 20, 3, 217, 108, 376896),
            (McsTable::Qam256, 1, 1, 60, 150, 3496),
            (McsTable::Qam64, 9, 1, 22, 144, 4224),
            (McsTable::Qam64, 11, 1, 20, 132, 3904),
            (McsTable::Qam256, 27, 1, 1, 156, 1160),
            (McsTable::Qam64, 28, 1, 5, 120, 3368),
            (McsTable::Qam64, 2, 1, 80, 132, 3976),
            (McsTable::Qam64LowSe, 0, 1, 1, 156, 24),
            (McsTable::Qam64LowSe, 0, 1, 273, 156, 2472),
            (McsTable::Qam64LowSe, 5, 2, 106, 144, 5896),
            (McsTable::Qam64LowSe, 20, 1, 51, 132, 16136),
            (McsTable::Qam64LowSe, 28, 4, 273, 156, 770568),
            (McsTable::Qam1024, 26, 4, 273, 156, 1573768),
            (McsTable::Qam1024, 26, 1, 106, 144, 139376),
            (McsTable::Qam1024, 23, 2, 273, 144, 622760),
            (McsTable::Qam1024, 22, 1, 1, 156, 1160),
            (McsTable::Qam1024, 4, 1, 24, 132, 6016),
        ] {
            let got = bits(table, mcs, layers, n_prb, re);
            assert_eq!(got, tbs, "{table:?} MCS {mcs}, {layers} layers, {n_prb} PRB, {re} RE");
        }
    }

    #[test]
    fn overhead_is_taken_from_each_prb() {
        let overhead = NrOverhead { x_overhead: 6, ..NrOverhead::default() };
        assert_eq!(overhead.data_re_per_prb(14), 13 * 12 - 12 - 6);
        assert_eq!(overhead.data_re_per_prb(6), 5 * 12 - 12 - 6);
        assert_eq!(overhead.data_re_per_prb(1), 0);
    }

    #[test]
    fn invalid_overhead_names_its_field() {
        let bad = [
            (NrOverhead { pdcch_symbols: 4, ..NrOverhead::default() }, "pdcch_symbols: 4"),
            (NrOverhead { dmrs_symbols: 0, ..NrOverhead::default() }, "dmrs_symbols: 0"),
            (NrOverhead { dmrs_re: 7, ..NrOverhead::default() }, "dmrs_re: 7"),
            (NrOverhead { x_overhead: 5, ..NrOverhead::default() }, "x_overhead: 5"),
        ];
        for (overhead, part) in bad {
            let error = overhead.validate().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
