//! The MAC report of one UE: FlexRIC's fields with OAI's meaning.

use serde::Serialize;

use super::harq::MAX_TRANSMISSIONS;
use crate::rlc::report::count;

/// OAI filters the BLER over windows of ten frames.
const BLER_WINDOW_US: u64 = 100_000;

/// One UE's record of FlexRIC's MAC service model. `tbs` fields are bytes, as in OAI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct MacReport {
    /// Bytes of all downlink transport blocks, without retransmissions.
    pub dl_aggr_tbs: u64,
    /// Bytes of all uplink transport blocks.
    pub ul_aggr_tbs: u64,
    /// Bytes of MAC SDUs in downlink transport blocks.
    pub dl_aggr_bytes_sdus: u64,
    /// Bytes of MAC SDUs in uplink transport blocks.
    pub ul_aggr_bytes_sdus: u64,
    /// Bytes of the downlink transport block of the last slot; 0 without one.
    pub dl_curr_tbs: u64,
    /// Bytes of the last uplink transport block.
    pub ul_curr_tbs: u64,
    /// PRBs of this UE in the last slot.
    pub dl_sched_rb: u64,
    /// PRBs of the last slot's uplink block.
    pub ul_sched_rb: u64,
    /// Not modelled: 0.
    pub pusch_snr: f32,
    /// Not modelled: 0.
    pub pucch_snr: f32,
    /// Error rate of first transmissions, filtered over windows of 100 ms.
    pub dl_bler: f32,
    /// Error rate of first uplink transmissions, filtered likewise.
    pub ul_bler: f32,
    /// Transport blocks sent in HARQ round 0 to 3; the fifth counts blocks that failed in all.
    pub dl_harq: [u32; 5],
    /// The same of the uplink.
    pub ul_harq: [u32; 5],
    /// HARQ rounds in `dl_harq`.
    pub dl_num_harq: u32,
    /// HARQ rounds in `ul_harq`.
    pub ul_num_harq: u32,
    /// C-RNTI.
    pub rnti: u32,
    /// PRBs of all first downlink transmissions.
    pub dl_aggr_prb: u32,
    /// PRBs of all first uplink transmissions.
    pub ul_aggr_prb: u32,
    /// MAC SDUs in downlink transport blocks.
    pub dl_aggr_sdus: u32,
    /// MAC SDUs in uplink transport blocks.
    pub ul_aggr_sdus: u32,
    /// PRBs of all downlink retransmissions.
    pub dl_aggr_retx_prb: u32,
    /// PRBs of all uplink retransmissions.
    pub ul_aggr_retx_prb: u32,
    /// Bytes that the UE's queue held when it last sent a block.
    pub bsr: u32,
    /// System frame number, 0 to 1023.
    pub frame: u16,
    /// Slot in the frame.
    pub slot: u16,
    /// Wideband CQI that fits the MCS.
    pub wb_cqi: u8,
    /// MCS of the downlink.
    pub dl_mcs1: u8,
    /// MCS of the last uplink block.
    pub ul_mcs1: u8,
    /// No second codeword: 0.
    pub dl_mcs2: u8,
    /// No second codeword: 0.
    pub ul_mcs2: u8,
    /// Not modelled: 0.
    pub phr: i8,
}

/// MAC counters of one UE.
#[derive(Debug, Clone, Default)]
pub(crate) struct MacCounters {
    /// Cumulative fields, and those of the last uplink transport block.
    pub(crate) report: MacReport,
    pub(crate) aggr_prb: u64,
    pub(crate) aggr_retx_prb: u64,
    /// Transport block and PRBs of the slot `last_slot`.
    pub(crate) last_slot: u64,
    pub(crate) last_tbs: u64,
    pub(crate) last_prb: u64,
    /// PRBs of first and of further uplink transmissions.
    pub(crate) uplink_prb: u64,
    pub(crate) uplink_retx_prb: u64,
    /// Slot of the last uplink block, its bytes and PRBs.
    pub(crate) last_uplink: (u64, u64, u64),
    downlink_bler: FilteredBler,
    uplink_bler: FilteredBler,
}

/// An error rate of first transmissions, filtered as OAI does.
#[derive(Debug, Clone, Copy, Default)]
struct FilteredBler {
    rate: f64,
    window_end_us: u64,
    sent: u32,
    failed: u32,
}

impl FilteredBler {
    fn count(&mut self, failed: bool, now_us: u64) {
        if now_us >= self.window_end_us {
            if self.sent > 0 {
                let rate = f64::from(self.failed) / f64::from(self.sent);
                self.rate = 0.9 * self.rate + 0.1 * rate;
            }
            self.window_end_us = now_us + BLER_WINDOW_US;
            (self.sent, self.failed) = (0, 0);
        }
        self.sent += 1;
        self.failed += u32::from(failed);
    }
}

/// Counts a transmission in HARQ round `round`.
fn count_round(
    rounds: &mut [u32; 5],
    bler: &mut FilteredBler,
    round: u8,
    failed: bool,
    now_us: u64,
) {
    if let Some(counter) = rounds.get_mut(usize::from(round)) {
        count(counter, 1u32);
    }
    if round == 0 {
        bler.count(failed, now_us);
    }
}

impl MacCounters {
    /// Counts a downlink transmission in HARQ round `round` at `now_us`.
    pub(crate) fn count_round(&mut self, round: u8, failed: bool, now_us: u64) {
        let Self { report, downlink_bler, .. } = self;
        count_round(&mut report.dl_harq, downlink_bler, round, failed, now_us);
    }

    /// Counts an uplink transmission likewise.
    pub(crate) fn count_uplink_round(&mut self, round: u8, failed: bool, now_us: u64) {
        let Self { report, uplink_bler, .. } = self;
        count_round(&mut report.ul_harq, uplink_bler, round, failed, now_us);
    }

    /// Counts an uplink block that failed in all transmissions.
    pub(crate) fn count_uplink_failure(&mut self) {
        count(&mut self.report.ul_harq[4], 1u32);
    }

    /// Counts `sdus` MAC SDUs of `bytes` in `tbs_bytes` of uplink transport blocks.
    pub(crate) fn count_uplink(&mut self, tbs_bytes: u64, bytes: u64, sdus: u64) {
        self.report.ul_aggr_tbs += tbs_bytes;
        self.report.ul_curr_tbs = tbs_bytes;
        self.report.ul_aggr_bytes_sdus += bytes;
        count(&mut self.report.ul_aggr_sdus, sdus);
    }

    /// Counts MAC SDUs in downlink transport blocks.
    pub(crate) fn count_downlink(&mut self, bytes: u64, sdus: u64) {
        self.report.dl_aggr_bytes_sdus += bytes;
        count(&mut self.report.dl_aggr_sdus, sdus);
    }

    /// The report; `last_slot` is the number of the slot before now.
    pub(crate) fn report(&self, rnti: u16, last_slot: u64) -> MacReport {
        let current = self.last_slot == last_slot;
        MacReport {
            dl_curr_tbs: if current { self.last_tbs } else { 0 },
            dl_sched_rb: if current { self.last_prb } else { 0 },
            ul_sched_rb: if self.last_uplink.0 == last_slot { self.last_uplink.2 } else { 0 },
            dl_bler: self.downlink_bler.rate as f32,
            ul_bler: self.uplink_bler.rate as f32,
            dl_num_harq: u32::from(MAX_TRANSMISSIONS),
            ul_num_harq: u32::from(MAX_TRANSMISSIONS),
            rnti: u32::from(rnti),
            // `as` keeps the low 32 bits: the counter wraps as on the wire.
            dl_aggr_prb: self.aggr_prb as u32,
            dl_aggr_retx_prb: self.aggr_retx_prb as u32,
            ul_aggr_prb: self.uplink_prb as u32,
            ul_aggr_retx_prb: self.uplink_retx_prb as u32,
            ..self.report
        }
    }
}
