//! What SNR each MCS and CQI of a cell needs.

use super::bler::Code;
use super::cqi::{self, MAX_CQI};
use crate::tbs::TbsConfig;

/// The MCS and CQI of a cell by SNR.
#[derive(Debug, Clone)]
pub(crate) struct LinkTables {
    codes: Vec<Code>,
    /// SNR in dB at which a block over the whole carrier has the target error rate, by MCS;
    /// increasing.
    mcs_db: Vec<f64>,
    /// Lowest SNR of each CQI, from 1.
    cqi_db: [f64; MAX_CQI as usize],
}

impl LinkTables {
    /// Tables for a carrier of `n_prb` PRBs and a target error rate of first transmissions.
    pub(crate) fn new(tbs: &TbsConfig, n_prb: u16, target_bler: f64) -> Self {
        let codes: Vec<Code> = (0..=tbs.max_mcs())
            .map_while(|mcs| tbs.modulation(mcs))
            .map(|(order, rate)| Code::new(order, rate))
            .collect();
        let data_re = f64::from(tbs.data_re(n_prb));
        let mut reached_db = f64::NEG_INFINITY;
        let thresholds = codes.iter().enumerate().map(|(mcs, code)| {
            let (order, rate) = tbs.modulation(mcs as u8).unwrap_or_default();
            let bits = (data_re * f64::from(order) * rate) as u32;
            // A higher order at nearly the same rate needs more SNR than the entry after it.
            reached_db = code.curve(bits).snr_db_at(target_bler).max(reached_db);
            reached_db
        });
        let mcs_db = thresholds.collect();
        Self { codes, mcs_db, cqi_db: cqi::snr_thresholds_db(tbs, n_prb) }
    }

    /// The highest MCS that `snr_db` allows, at least 0.
    pub(crate) fn mcs_at(&self, snr_db: f64) -> u8 {
        self.mcs_db.partition_point(|need| *need <= snr_db).saturating_sub(1) as u8
    }

    /// SNR in dB that the lowest MCS needs.
    pub(crate) fn lowest_mcs_db(&self) -> f64 {
        self.mcs_db.first().copied().unwrap_or(0.0)
    }

    /// The highest MCS.
    pub(crate) fn max_mcs(&self) -> u8 {
        (self.codes.len() - 1) as u8
    }

    /// The CQI that a UE reports at `snr_db`, 0 to 15.
    pub(crate) fn cqi_at(&self, snr_db: f64) -> u8 {
        self.cqi_db.partition_point(|need| *need <= snr_db) as u8
    }

    /// Lowest SNR of a CQI from 1 on.
    pub(crate) fn lowest_snr_db(&self, cqi: u8) -> f64 {
        self.cqi_db[usize::from(cqi.clamp(1, MAX_CQI)) - 1]
    }

    /// SNR in the middle of what a UE reports as `cqi`; minus infinity for 0.
    pub(crate) fn middle_snr_db(&self, cqi: u8) -> f64 {
        match usize::from(cqi.min(MAX_CQI)) {
            0 => f64::NEG_INFINITY,
            // The highest has no end: as wide as the one before it.
            15 => 1.5 * self.cqi_db[14] - 0.5 * self.cqi_db[13],
            cqi => 0.5 * (self.cqi_db[cqi - 1] + self.cqi_db[cqi]),
        }
    }

    /// Code of `mcs`.
    pub(crate) fn code(&self, mcs: u8) -> Code {
        self.codes[usize::from(mcs.min(self.max_mcs()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;

    #[test]
    fn thresholds_rise_and_meet_those_of_the_cqi() {
        for cell in [CellConfig::lte_5mhz(), CellConfig::nr_n78_106prb()] {
            let tables = LinkTables::new(&cell.tbs, cell.n_prb, 0.1);
            assert!(tables.mcs_db.is_sorted());
            for cqi in 1..=MAX_CQI {
                let mcs = cqi::mcs_of_cqi(&cell.tbs, cqi).unwrap();
                let at = tables.mcs_at(tables.lowest_snr_db(cqi) + 0.01);
                // LTE's CQI counts fewer resource elements in a PRB than carry data here.
                let is_near = match cell.tbs {
                    TbsConfig::Lte => (mcs..=mcs + 4).contains(&at),
                    TbsConfig::Nr { .. } => at.abs_diff(mcs) <= 1,
                };
                assert!(is_near, "{:?} CQI {cqi}: MCS {at} and {mcs}", cell.tbs);
                assert_eq!(tables.cqi_at(tables.middle_snr_db(cqi)), cqi);
            }
            assert_eq!(tables.cqi_at(tables.middle_snr_db(0)), 0);
            assert_eq!((tables.mcs_at(-60.0), tables.mcs_at(60.0)), (0, cell.tbs.max_mcs()));
        }
    }
}
