//! Status of bearers and totals of a cell.

use serde::Serialize;

/// The RLC queue of a bearer at the DU, right after the MAC pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BearerStatus {
    /// Bytes waiting for the MAC, with PDCP and SDAP headers; in AM with retransmissions, without
    /// SDUs that only wait for a status report.
    pub occupancy_bytes: u32,
    /// SDUs waiting, one sent in part included.
    pub occupancy_packets: u32,
    /// Bytes of SDUs sent that wait for a status report, in AM; they stay in the buffer and count
    /// for its limits. 0 in UM.
    pub unacknowledged_bytes: u32,
    /// Their SDUs.
    pub unacknowledged_packets: u32,
    /// Time at which the last status report was received, in AM.
    pub status_pdu_at_us: Option<u64>,
    /// Arrival time of the SDU at the head; `None` when the queue is empty.
    pub head_of_line_us: Option<u64>,
    /// Transport block bytes over the whole carrier at the current MCS; on a trace, those of the last
    /// downlink slot.
    pub capacity_bytes_per_tti: u32,
    /// Length of a slot.
    pub tti_us: u32,
    /// Whether the last slot could carry data to this UE: it had downlink symbols, the UE monitored its
    /// PDCCH and, on a trace, there was an opportunity.
    pub dl_opportunity: bool,
}

/// Totals of a cell since its first slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CellTotals {
    /// PRBs given to UEs, retransmissions included.
    pub used_prb: u64,
    /// PRBs available to UEs, without reserved ones and without slots in which no UE could receive.
    pub available_prb: u64,
    /// PRBs used for retransmissions.
    pub retx_prb: u64,
    /// Slots of any kind.
    pub slots: u64,
    /// SDUs lost because all transmissions of a block failed or reassembly timed out.
    pub lost_sdus: u64,
    /// First transmissions of downlink blocks, and those that failed.
    pub downlink_blocks: (u64, u64),
    /// The same of the uplink.
    pub uplink_blocks: (u64, u64),
    /// Re-establishments of AM entities after maxRetxThreshold retransmissions of an SDU.
    pub radio_link_failures: u64,
}

impl CellTotals {
    /// Adds the totals of another cell.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut (u64, u64), more: (u64, u64)| {
            *sum = (sum.0 + more.0, sum.1 + more.1);
        };
        self.used_prb += other.used_prb;
        self.available_prb += other.available_prb;
        self.retx_prb += other.retx_prb;
        self.slots += other.slots;
        self.lost_sdus += other.lost_sdus;
        add(&mut self.downlink_blocks, other.downlink_blocks);
        add(&mut self.uplink_blocks, other.uplink_blocks);
        self.radio_link_failures += other.radio_link_failures;
    }

    /// Counts the first transmission of a block.
    pub(super) fn count_block((sent, failed): &mut (u64, u64), has_failed: bool) {
        *sent += 1;
        *failed += u64::from(has_failed);
    }

    /// First transmissions of downlink blocks that failed, percent; `None` without any.
    pub fn downlink_errors_pct(&self) -> Option<f64> {
        Self::errors_pct(self.downlink_blocks)
    }

    /// The same of the uplink.
    pub fn uplink_errors_pct(&self) -> Option<f64> {
        Self::errors_pct(self.uplink_blocks)
    }

    fn errors_pct((sent, failed): (u64, u64)) -> Option<f64> {
        (sent > 0).then(|| 100.0 * failed as f64 / sent as f64)
    }

    /// Used share of the available PRBs in per cent; 0 without any.
    pub fn used_prb_pct(&self) -> f64 {
        if self.available_prb == 0 {
            return 0.0;
        }
        100.0 * self.used_prb as f64 / self.available_prb as f64
    }
}
