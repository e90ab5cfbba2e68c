//! Status of bearers and totals of a cell.

use serde::Serialize;

/// The RLC queue of a bearer at the DU, right after the MAC pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BearerStatus {
    /// Bytes of SDUs waiting for the MAC, PDCP and SDAP headers included; in AM with those to be
    /// sent again, without those that wait for a status report.
    pub occupancy_bytes: u32,
    /// SDUs waiting, one that is partly sent included.
    pub occupancy_packets: u32,
    /// In AM, bytes of SDUs that have left and wait for a status report; they stay in the buffer
    /// and count for its limits. 0 in UM.
    pub unacknowledged_bytes: u32,
    /// Those SDUs.
    pub unacknowledged_packets: u32,
    /// In AM, when the last status report came.
    pub status_pdu_at_us: Option<u64>,
    /// When the SDU at the head came; `None` when the queue is empty.
    pub head_of_line_us: Option<u64>,
    /// Bytes of a transport block over the whole carrier at the present MCS; on a trace, what the
    /// last downlink slot offered.
    pub capacity_bytes_per_tti: u32,
    /// Length of a slot.
    pub tti_us: u32,
    /// Whether the last slot could carry downlink to this UE: it had downlink symbols, and on a
    /// trace an opportunity.
    pub dl_opportunity: bool,
}

/// Downlink PRBs of a cell since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CellTotals {
    /// PRBs given to UEs, retransmissions included.
    pub used_prb: u64,
    /// PRBs that could have been given: reserved ones do not count, nor do slots in which the
    /// channels of all UEs offered nothing.
    pub available_prb: u64,
    /// Of the used ones, those for retransmissions.
    pub retx_prb: u64,
    /// Slots of any kind.
    pub slots: u64,
    /// SDUs lost because a transport block was given up or a reassembly never finished.
    pub lost_sdus: u64,
    /// AM entities that sent an SDU maxRetxThreshold times and were re-established.
    pub radio_link_failures: u64,
}

impl CellTotals {
    /// Used PRBs per cent; 0 before there were any.
    pub fn used_prb_pct(&self) -> f64 {
        if self.available_prb == 0 {
            return 0.0;
        }
        100.0 * self.used_prb as f64 / self.available_prb as f64
    }
}
