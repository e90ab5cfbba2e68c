//! Transport block sizes by MCS and PRBs.

pub mod lte;
pub mod nr;
mod tables;

use std::sync::Arc;

use crate::error::{ConfigError, ensure};
use crate::numerology::{Duplexing, Numerology, SYMBOLS_PER_SLOT, SlotKind};
use nr::{McsTable, NrOverhead};

/// Which standard's transport block sizes the cell uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TbsConfig {
    /// 36.213 table 7.1.7.2.1-1, for carriers of up to 25 PRB, FDD.
    Lte,
    /// 38.214 §5.1.3.2.
    Nr {
        /// Modulation and coding table.
        mcs_table: McsTable,
        /// Spatial layers, 1 to 4.
        layers: u8,
        /// Resource elements that carry no data.
        overhead: NrOverhead,
    },
}

impl TbsConfig {
    /// Checks every field for a carrier of `n_prb` PRBs.
    pub(crate) fn validate(
        &self,
        n_prb: u16,
        numerology: Numerology,
        duplexing: &Duplexing,
    ) -> Result<(), ConfigError> {
        match self {
            Self::Lte => {
                let expected = "at most 25 PRB for LTE transport block sizes";
                ensure(usize::from(n_prb) <= lte::MAX_N_PRB, "n_prb", n_prb, expected)?;
                let is_fdd = *duplexing == Duplexing::Fdd;
                ensure(is_fdd, "duplexing", "tdd", "fdd for an LTE cell")?;
                let mu = numerology.mu();
                ensure(mu == 0, "numerology", mu, "µ = 0 for an LTE cell")
            }
            Self::Nr { layers, overhead, .. } => {
                ensure((1..=4).contains(layers), "tbs.layers", layers, "1 to 4")?;
                overhead.validate()
            }
        }
    }

    /// The highest MCS index that has a code rate.
    pub fn max_mcs(&self) -> u8 {
        match self {
            Self::Lte => lte::MAX_MCS,
            Self::Nr { mcs_table, .. } => mcs_table.max_index(),
        }
    }

    /// Information bits per resource element at `mcs`; `None` above the table.
    pub fn efficiency(&self, mcs: u8) -> Option<f64> {
        match self {
            Self::Lte => lte::efficiency(mcs),
            Self::Nr { mcs_table, .. } => mcs_table.entry(mcs).map(|e| e.efficiency()),
        }
    }

    /// Modulation order and information bits per coded bit of `mcs`; `None` above the table.
    pub fn modulation(&self, mcs: u8) -> Option<(u8, f64)> {
        match self {
            Self::Lte => lte::modulation(mcs),
            Self::Nr { mcs_table, .. } => {
                let entry = mcs_table.entry(mcs)?;
                Some((entry.modulation_order, f64::from(entry.rate_x2048) / 2048.0))
            }
        }
    }

    /// Resource elements for data in a full slot of `n_prb` PRBs, of all layers.
    pub fn data_re(&self, n_prb: u16) -> u32 {
        let per_prb = match self {
            Self::Lte => lte::DATA_RE_PER_PRB,
            Self::Nr { layers, overhead, .. } => {
                u32::from(*layers) * overhead.data_re_per_prb(SYMBOLS_PER_SLOT)
            }
        };
        per_prb * u32::from(n_prb)
    }

    /// Bits of an uplink block: one layer over all symbols of a slot, of which DMRS takes some (38.214
    /// §6.1.4.2). The PUSCH uses the MCS table of the PDSCH here.
    fn uplink_bits(&self, mcs: u8, n_prb: u16) -> u32 {
        match self {
            Self::Lte => self.bits(mcs, n_prb, SYMBOLS_PER_SLOT),
            Self::Nr { mcs_table, overhead, .. } => {
                let overhead = NrOverhead { pdcch_symbols: 0, ..*overhead };
                let re = overhead.data_re_per_prb(SYMBOLS_PER_SLOT);
                mcs_table.entry(mcs).map_or(0, |entry| nr::tbs_bits(entry, 1, n_prb, re))
            }
        }
    }

    fn bits(&self, mcs: u8, n_prb: u16, dl_symbols: u8) -> u32 {
        match self {
            Self::Lte => lte::tbs_bits(mcs, n_prb).unwrap_or(0),
            Self::Nr { mcs_table, layers, overhead } => {
                let entry = mcs_table.entry(mcs);
                let re = overhead.data_re_per_prb(dl_symbols);
                entry.map_or(0, |e| nr::tbs_bits(e, *layers, n_prb, re))
            }
        }
    }
}

/// Precomputed transport block sizes of a cell in bytes: `[downlink, mixed, uplink][MCS][PRBs]`.
#[derive(Debug, Clone)]
pub struct TbsTables {
    // Shared between clones of a cell, so that a fork does not copy it.
    bytes: Arc<[u32]>,
    n_prb: usize,
    n_mcs: usize,
    max_mcs: u8,
}

impl TbsTables {
    /// Sizes of a carrier of `n_prb` PRBs with a valid configuration.
    pub fn new(config: &TbsConfig, n_prb: u16, duplexing: &Duplexing) -> Self {
        let max_mcs = config.max_mcs();
        let mixed_symbols = match duplexing {
            Duplexing::Fdd => 0,
            Duplexing::Tdd(pattern) => pattern.mixed_dl_symbols(),
        };
        let mut bytes = Vec::new();
        for dl_symbols in [SYMBOLS_PER_SLOT, mixed_symbols] {
            for mcs in 0..=max_mcs {
                for n_prb in 0..=n_prb {
                    bytes.push(config.bits(mcs, n_prb, dl_symbols) / 8);
                }
            }
        }
        for mcs in 0..=max_mcs {
            bytes.extend((0..=n_prb).map(|n_prb| config.uplink_bits(mcs, n_prb) / 8));
        }
        let n_mcs = usize::from(max_mcs) + 1;
        Self { bytes: bytes.into(), n_prb: usize::from(n_prb) + 1, n_mcs, max_mcs }
    }

    /// Bytes of a transport block by number of PRBs at `mcs`, limited to the highest of the table.
    pub fn row(&self, kind: SlotKind, mcs: u8) -> &[u32] {
        let block = usize::from(kind == SlotKind::Mixed);
        self.row_of(block, mcs)
    }

    /// Bytes of an uplink block by number of PRBs at `mcs`, limited to the highest of the table.
    pub fn uplink_row(&self, mcs: u8) -> &[u32] {
        self.row_of(2, mcs)
    }

    fn row_of(&self, block: usize, mcs: u8) -> &[u32] {
        let row = block * self.n_mcs + usize::from(mcs.min(self.max_mcs));
        &self.bytes[row * self.n_prb..(row + 1) * self.n_prb]
    }

    /// Bytes of a transport block over the whole carrier.
    pub fn full(&self, kind: SlotKind, mcs: u8) -> u32 {
        self.row(kind, mcs).last().copied().unwrap_or(0)
    }

    /// The highest MCS whose transport block over the whole carrier is at most `bytes`.
    pub fn mcs_of_bytes(&self, kind: SlotKind, bytes: u32) -> u8 {
        (0..=self.max_mcs).rev().find(|mcs| self.full(kind, *mcs) <= bytes).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;

    #[test]
    fn the_papers_lte_cell_pulls_2289_or_1569_bytes() {
        let config = CellConfig::lte_5mhz();
        let tables = config.tbs_tables();
        let row = tables.row(SlotKind::Down, 28);
        let reserved = config.reserved.unwrap();
        let mac_header = 3;
        let pulled = |slot| row[usize::from(25 - reserved.in_slot(slot))] - mac_header;
        assert_eq!((0..10).map(pulled).collect::<Vec<_>>()[..2], [1569, 2289]);
        assert_eq!(pulled(5), 1569);
        // Bytes for TCP in 60 s, after VoIP (200 B / 20 ms) and 2 B of PDCP and about 5 B of RLC
        // and MAC a TTI; irazabal2021 reports 16.58 Mbit/s of payload.
        let per_tti = (0..10).map(pulled).sum::<u32>() as f64 / 10.0 - 10.0 - 8.0;
        let goodput_mbps = per_tti * 8.0 * 1460.0 / 1500.0 / 1000.0;
        assert!((goodput_mbps - 16.58).abs() < 0.05, "{goodput_mbps}");
    }

    #[test]
    fn the_papers_nr_cell_carries_9000_bytes_at_mcs_18_and_40_mbps_at_mcs_10() {
        let config = CellConfig::nr_n78_106prb();
        let tables = config.tbs_tables();
        assert_eq!(tables.full(SlotKind::Down, 18), 9222);
        let reserved = config.reserved.clone().unwrap();
        let per_period: u32 = (0..10)
            .filter(|slot| reserved.in_slot(*slot) == 0)
            .map(|slot| match config.duplexing.kind(slot) {
                SlotKind::Up => 0,
                kind => tables.full(kind, 10),
            })
            .sum();
        let mbps = f64::from(per_period) * 8.0 / 5000.0;
        assert!((41.0..42.5).contains(&mbps), "{mbps}");
    }

    /// But for one PRB of I_TBS 6 in 36.213.
    #[test]
    fn sizes_never_decrease_with_prbs() {
        for config in [CellConfig::lte_5mhz(), CellConfig::nr_n78_106prb()] {
            let tables = config.tbs_tables();
            for kind in [SlotKind::Down, SlotKind::Mixed] {
                for mcs in 0..=config.tbs.max_mcs() {
                    let from = if config.tbs == TbsConfig::Lte && mcs == 6 { 2 } else { 0 };
                    let row = &tables.row(kind, mcs)[from..];
                    assert!(row.is_sorted(), "{kind:?} MCS {mcs}");
                }
            }
        }
    }

    #[test]
    fn an_equivalent_mcs_is_found_for_any_capacity() {
        let tables = CellConfig::lte_5mhz().tbs_tables();
        assert_eq!(tables.mcs_of_bytes(SlotKind::Down, 2292), 28);
        assert_eq!(tables.mcs_of_bytes(SlotKind::Down, 2291), 27);
        assert_eq!(tables.mcs_of_bytes(SlotKind::Down, 0), 0);
    }
}
