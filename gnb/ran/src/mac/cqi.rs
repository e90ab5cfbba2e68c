//! The wideband CQI a UE would have reported for the MCS it gets.

use crate::tbs::TbsConfig;
use crate::tbs::nr::McsTable;

/// Bits per resource element of CQI 1 to 15 with up to 64QAM (38.214 table 5.2.2.1-2, 36.213
/// table 7.2.3-1).
const QAM64: [f64; 15] = [
    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
    4.5234, 5.1152, 5.5547,
];

/// The same with up to 256QAM (38.214 table 5.2.2.1-3).
const QAM256: [f64; 15] = [
    0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
    6.2266, 6.9141, 7.4063,
];

/// The highest CQI whose efficiency `mcs` reaches; 1 below that.
pub fn wideband_cqi(tbs: &TbsConfig, mcs: u8) -> u8 {
    let table = match tbs {
        TbsConfig::Nr { mcs_table: McsTable::Qam256, .. } => &QAM256,
        TbsConfig::Nr { mcs_table: McsTable::Qam64, .. } | TbsConfig::Lte => &QAM64,
    };
    let efficiency = tbs.efficiency(mcs).unwrap_or(0.0);
    // The tables print four decimals of the same code rates.
    let reached = table.partition_point(|cqi| *cqi <= efficiency + 0.0001);
    reached.max(1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;

    #[test]
    fn cqi_follows_the_mcs() {
        let nr = CellConfig::nr_n78_106prb().tbs;
        // Both tables have an entry of 16QAM 490/1024 and of 256QAM 948/1024.
        assert_eq!(wideband_cqi(&nr, 7), 5);
        assert_eq!(wideband_cqi(&nr, 27), 15);
        assert_eq!(wideband_cqi(&nr, 0), 1);
        let lte = CellConfig::lte_5mhz().tbs;
        let all: Vec<u8> = (0..=28).map(|mcs| wideband_cqi(&lte, mcs)).collect();
        assert!(all.is_sorted());
        assert_eq!((all[0], all[28]), (1, 15));
    }
}
