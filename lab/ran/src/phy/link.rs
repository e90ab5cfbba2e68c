//! What SNR each MCS and CQI of a cell needs.

use super::bler::Code;
use super::cqi::{self, MAX_CQI};
use super::subband::{Levels, Subbands};
use crate::mac::rbg::GroupSet;
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
    /// Capacity at each of these, as by [`capacity`].
    cqi_capacity: [f64; MAX_CQI as usize],
    /// Sub-bands and groups, if the gNB schedules by them.
    subbands: Option<Subbands>,
}

/// Capacity at an SNR in dB, nats for each symbol.
pub(crate) fn capacity(snr_db: f64) -> f64 {
    libm::log1p(libm::exp10(snr_db / 10.0))
}

/// SNR in dB of a flat channel with the mean capacity of a selective one.
pub(crate) fn snr_db_of_capacity(capacity: f64) -> f64 {
    10.0 * libm::log10(libm::expm1(capacity).max(LOWEST_SNR))
}

/// Floor of an SNR, -120 dB.
pub(crate) const LOWEST_SNR: f64 = 1e-12;

impl LinkTables {
    /// Tables for a carrier of `n_prb` PRBs and a target error rate of first transmissions.
    pub(crate) fn new(
        tbs: &TbsConfig,
        n_prb: u16,
        target_bler: f64,
        subbands: Option<Subbands>,
    ) -> Self {
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
        let cqi_db = cqi::snr_thresholds_db(tbs, n_prb);
        Self { codes, mcs_db, cqi_db, cqi_capacity: cqi_db.map(capacity), subbands }
    }

    /// Sub-bands and groups, if the gNB schedules by them.
    pub(crate) fn subbands(&self) -> Option<Subbands> {
        self.subbands
    }

    /// SNR in dB over `groups`, at least as a report of `wideband` CQI and `levels` says.
    pub(crate) fn lowest_snr_over_db(
        &self,
        (wideband, levels): (u8, Levels),
        groups: GroupSet,
    ) -> f64 {
        let Some(subbands) = self.subbands.filter(|_| !groups.is_empty()) else {
            return self.lowest_snr_db(wideband);
        };
        let of = |subband| {
            let cqi = levels.cqi(subband, wideband);
            self.cqi_capacity[usize::from(cqi.clamp(1, MAX_CQI)) - 1]
        };
        snr_db_of_capacity(subbands.mean_by_subband(groups, of))
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
            let tables = LinkTables::new(&cell.tbs, cell.n_prb, 0.1, None);
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
