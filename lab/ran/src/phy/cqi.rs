//! CQI: from SNR to CQI, from CQI to MCS and back.

use super::bler::Code;
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

/// CQI of each modulation in order: QPSK, 16QAM, 64QAM, 256QAM, 1024QAM.
const fn modulations(tbs: &TbsConfig) -> [u8; 5] {
    match tbs {
        TbsConfig::Lte | TbsConfig::Nr { mcs_table: McsTable::Qam64, .. } => [6, 3, 6, 0, 0],
        TbsConfig::Nr { mcs_table: McsTable::Qam256, .. } => [3, 3, 5, 4, 0],
        TbsConfig::Nr { mcs_table: McsTable::Qam64LowSe, .. } => [8, 3, 4, 0, 0],
        TbsConfig::Nr { mcs_table: McsTable::Qam1024, .. } => [3, 2, 4, 4, 2],
    }
}

/// Error rate with which a UE could receive a block of the CQI that it reports (38.214 §5.2.2.1,
/// 36.213 §7.2.3).
fn reported_error_rate(tbs: &TbsConfig) -> f64 {
    match tbs {
        TbsConfig::Nr { mcs_table: McsTable::Qam64LowSe, .. } => 1e-5,
        TbsConfig::Lte | TbsConfig::Nr { .. } => 0.1,
    }
}

/// Lowest SNR in dB at which each CQI of 1 to 15 is reported by a UE of a carrier of `n_prb` PRBs:
/// that at which a transport block over the whole carrier (38.214 §5.2.2.5) fails as often as the
/// CQI allows.
pub fn snr_thresholds_db(tbs: &TbsConfig, n_prb: u16) -> [f64; MAX_CQI as usize] {
    let orders = modulations(tbs).into_iter().zip([2u8, 4, 6, 8, 10]);
    let mut orders = orders.flat_map(|(count, order)| (0..count).map(move |_| order));
    table(tbs).map(|efficiency| {
        let order = orders.next().unwrap_or(2);
        let code = Code::new(order, efficiency / f64::from(order));
        let bits = (efficiency * f64::from(tbs.data_re(n_prb))) as u32;
        code.curve(bits).snr_db_at(reported_error_rate(tbs))
    })
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
        let thresholds = snr_thresholds_db(&TbsConfig::Lte, 6);
        assert!(thresholds.is_sorted());
        // AWGN thresholds of turbo codes over six PRBs by the Vienna LTE simulator (Mehlführer et
        // al., "The Vienna LTE simulators", EURASIP J. Adv. Signal Process. 2011).
        let simulated = [
            -6.936, -5.147, -3.180, -1.253, 0.761, 2.699, 4.694, 6.525, 8.573, 10.366, 12.289,
            14.173, 15.888, 17.814, 19.829,
        ];
        for (ours, theirs) in thresholds.iter().zip(simulated) {
            assert!((ours - theirs).abs() < 0.75, "{ours} {theirs}");
        }
        let highest = snr_thresholds_db(&nr(McsTable::Qam256), 106)[14];
        assert!((24.5..26.0).contains(&highest), "{highest}");
    }
}
