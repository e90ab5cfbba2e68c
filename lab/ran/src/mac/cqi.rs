//! CQI: from SNR to CQI, from CQI to MCS and back.

use crate::tbs::TbsConfig;
use crate::tbs::nr::McsTable;

/// Bits per resource element of CQI 1 to 15 with up to 64QAM (38.214 table 5.2.2.1-2, 36.213
/// table 7.2.3-1).
const QAM64: [f64; 15] = [
    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
    4.5234, 5.1152, 5.5547,
];

/// Efficiencies with up to 256QAM (38.214 table 5.2.2.1-3).
const QAM256: [f64; 15] = [
    0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547,
    6.2266, 6.9141, 7.4063,
];

/// Efficiencies of the table for low spectral efficiency (38.214 table 5.2.2.1-4).
const QAM64_LOW_SE: [f64; 15] = [
    0.0586, 0.0977, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305,
    3.3223, 3.9023, 4.5234,
];

/// Efficiencies with up to 1024QAM (38.214 table 5.2.2.1-5).
const QAM1024: [f64; 15] = [
    0.1523, 0.3770, 0.8770, 1.4766, 2.4063, 3.3223, 3.9023, 4.5234, 5.1152, 5.5547, 6.2266, 6.9141,
    7.4063, 8.3301, 9.2578,
];

/// The highest CQI.
pub const MAX_CQI: u8 = 15;

/// Rounding of the tables, which print four decimals.
const ROUNDING: f64 = 0.0001;

fn table(tbs: &TbsConfig) -> &'static [f64; 15] {
    match tbs {
        TbsConfig::Lte => &QAM64,
        TbsConfig::Nr { mcs_table, .. } => match mcs_table {
            McsTable::Qam64 => &QAM64,
            McsTable::Qam256 => &QAM256,
            McsTable::Qam64LowSe => &QAM64_LOW_SE,
            McsTable::Qam1024 => &QAM1024,
        },
    }
}

/// The highest CQI whose efficiency `mcs` reaches, at least 1.
pub fn wideband_cqi(tbs: &TbsConfig, mcs: u8) -> u8 {
    let efficiency = tbs.efficiency(mcs).unwrap_or(0.0);
    let reached = table(tbs).partition_point(|cqi| *cqi <= efficiency + ROUNDING);
    reached.max(1) as u8
}

/// The MCS for a reported CQI: the highest whose efficiency the UE decodes with a block error rate
/// of 10 % (36.213 §7.2.3, 38.214 §5.2.2.1), at least 0. CQI 15 maps to the highest MCS, as in
/// irazabal2021 §V-C where a UE that always reports it has MCS 28. `None` for CQI 0 (out of range)
/// and above 15.
///
/// OAI's own table, which the paper uses, can be given to a
/// [`CqiSeries`](crate::channel::CqiSeries).
pub fn mcs_of_cqi(tbs: &TbsConfig, cqi: u8) -> Option<u8> {
    match cqi {
        1..MAX_CQI => {
            let most = table(tbs)[usize::from(cqi) - 1] + ROUNDING;
            let fits = |mcs: &u8| tbs.efficiency(*mcs).is_some_and(|need| need <= most);
            Some((0..=tbs.max_mcs()).rev().find(fits).unwrap_or(0))
        }
        MAX_CQI => Some(tbs.max_mcs()),
        _ => None,
    }
}

/// Fraction of Shannon's bound that a link reaches: `efficiency = 0.75 · log2(1 + SNR)`.
///
/// 36.942 §A.2 uses this model with 0.6. 0.75 puts CQI 15 of the 64QAM table at 22.3 dB; link
/// simulations of single-antenna LTE have 22.7 dB (Kawser et al., "Downlink SNR to CQI mapping for
/// different multiple antenna techniques in LTE", 2012).
const ATTENUATION: f64 = 0.75;

/// Lowest SNR in dB at which each CQI of 1 to 15 is reported.
pub fn snr_thresholds_db(tbs: &TbsConfig) -> [f64; 15] {
    table(tbs).map(|efficiency| 10.0 * libm::log10(libm::exp2(efficiency / ATTENUATION) - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;
    use crate::tbs::nr::NrOverhead;

    fn nr(mcs_table: McsTable) -> TbsConfig {
        TbsConfig::Nr { mcs_table, layers: 1, overhead: NrOverhead::default() }
    }

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

    /// Each modulation and code rate is that of an MCS from CQI 4 of table 5.2.2.1-2 and CQI 2 of
    /// table 5.2.2.1-3 on, and in the whole of tables 5.2.2.1-4 and 5.2.2.1-5 but for CQI 1 of the
    /// latter.
    #[test]
    fn in_nr_the_mcs_has_the_modulation_and_rate_of_the_cqi() {
        let of = |table| (1..=15).map(move |cqi| mcs_of_cqi(&nr(table), cqi).unwrap());
        let qam64 = [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28];
        assert!(of(McsTable::Qam64).eq(qam64));
        let qam256 = [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27];
        assert!(of(McsTable::Qam256).eq(qam256));
        let low_se = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];
        assert!(of(McsTable::Qam64LowSe).eq(low_se));
        let qam1024 = [0, 1, 2, 3, 5, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26];
        assert!(of(McsTable::Qam1024).eq(qam1024));
    }

    #[test]
    fn in_lte_the_mcs_rises_with_the_cqi_to_the_highest() {
        let lte = TbsConfig::Lte;
        let all: Vec<u8> = (1..=15).map(|cqi| mcs_of_cqi(&lte, cqi).unwrap()).collect();
        assert_eq!(all, [0, 0, 2, 4, 6, 8, 11, 13, 14, 18, 20, 22, 24, 26, 28]);
        assert_eq!((mcs_of_cqi(&lte, 0), mcs_of_cqi(&lte, 16)), (None, None));
        // No MCS needs more than the UE has reported.
        for cqi in 1..15 {
            assert!(wideband_cqi(&lte, all[usize::from(cqi) - 1]) <= cqi);
        }
    }

    #[test]
    fn thresholds_are_near_those_of_link_simulations() {
        let thresholds = snr_thresholds_db(&TbsConfig::Lte);
        assert!(thresholds.is_sorted());
        // Kawser et al. 2012, SISO.
        let simulated =
            [-6.7, -4.7, -2.3, 0.2, 2.4, 4.3, 5.9, 8.1, 10.3, 11.7, 14.1, 16.3, 18.7, 21.0, 22.7];
        for (ours, theirs) in thresholds.iter().zip(simulated) {
            assert!((ours - theirs).abs() < 1.6, "{ours} {theirs}");
        }
        let highest = snr_thresholds_db(&nr(McsTable::Qam256))[14];
        assert!((29.0..31.0).contains(&highest), "{highest}");
    }
}
