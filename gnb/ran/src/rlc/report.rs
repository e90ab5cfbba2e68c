//! The RLC report of one bearer, field by field FlexRIC's with the meaning an OAI gNB gives them.

use serde::Serialize;

use super::counters::RlcCounters;

/// One bearer's record of FlexRIC's RLC service model.
///
/// OAI names things from the entity's point of view: an SDU is *received* (`rxsdu`) from PDCP, so
/// that is the downlink arriving, and *transmitted* (`txsdu`) to PDCP, so that is the uplink; a
/// PDU is transmitted to the MAC (`txpdu`, downlink) and received from it (`rxpdu`, uplink).
/// Counters of 32 bits are cumulative and wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RlcReport {
    /// Downlink PDUs handed to the MAC.
    pub txpdu_pkts: u32,
    /// Their bytes, RLC headers included.
    pub txpdu_bytes: u32,
    /// Never set by OAI; 0.
    pub txpdu_wt_ms: u32,
    /// PDUs discarded before transmission; 0 in UM.
    pub txpdu_dd_pkts: u32,
    /// Their bytes; 0 in UM.
    pub txpdu_dd_bytes: u32,
    /// Retransmitted PDUs; 0 in UM.
    pub txpdu_retx_pkts: u32,
    /// Their bytes; 0 in UM.
    pub txpdu_retx_bytes: u32,
    /// Cuts of an SDU to the grant.
    pub txpdu_segmented: u32,
    /// Status PDUs sent. The uplink loses nothing here, so there are none: 0.
    pub txpdu_status_pkts: u32,
    /// Their bytes; 0.
    pub txpdu_status_bytes: u32,
    /// Gauge: bytes of SDUs waiting for the MAC now, AM's retransmissions included; what waits for
    /// an acknowledgement is not.
    pub txbuf_occ_bytes: u32,
    /// Gauge: SDUs waiting for the MAC now.
    pub txbuf_occ_pkts: u32,
    /// Uplink PDUs received.
    pub rxpdu_pkts: u32,
    /// Their bytes, RLC headers included.
    pub rxpdu_bytes: u32,
    /// Duplicates received; 0 in UM.
    pub rxpdu_dup_pkts: u32,
    /// Their bytes; 0 in UM.
    pub rxpdu_dup_bytes: u32,
    /// Uplink PDUs discarded.
    pub rxpdu_dd_pkts: u32,
    /// Their bytes.
    pub rxpdu_dd_bytes: u32,
    /// Uplink PDUs outside the window.
    pub rxpdu_ow_pkts: u32,
    /// Their bytes.
    pub rxpdu_ow_bytes: u32,
    /// Status PDUs received; 0 in UM.
    pub rxpdu_status_pkts: u32,
    /// Their bytes; 0 in UM.
    pub rxpdu_status_bytes: u32,
    /// Gauge: uplink bytes waiting for reassembly.
    pub rxbuf_occ_bytes: u32,
    /// Gauge: uplink PDUs waiting for reassembly.
    pub rxbuf_occ_pkts: u32,
    /// Uplink SDUs given to PDCP.
    pub txsdu_pkts: u32,
    /// Their bytes.
    pub txsdu_bytes: u64,
    /// Mean sojourn of downlink SDUs in µs, from arrival until the first byte leaves, over what
    /// left in the last 100 ms; 0 when nothing did.
    pub txsdu_avg_time_to_tx: f64,
    /// Age of the downlink SDU at the head of the queue in µs, now; 0 when the queue is empty.
    pub txsdu_wt_us: u32,
    /// Downlink SDUs that came from PDCP, dropped ones included.
    pub rxsdu_pkts: u32,
    /// Their bytes.
    pub rxsdu_bytes: u64,
    /// Downlink SDUs dropped because the buffer was full.
    pub rxsdu_dd_pkts: u32,
    /// Their bytes.
    pub rxsdu_dd_bytes: u32,
    /// C-RNTI of the UE.
    pub rnti: u32,
    /// 0 AM, 1 UM, 2 TM.
    pub mode: u8,
    /// DRB identity.
    pub rbid: u8,
}

impl RlcReport {
    /// A report with the cumulative fields of `counters`; gauges and identity are 0.
    pub(crate) fn of_counters(counters: &RlcCounters) -> Self {
        // `as` keeps the low 32 bits: the counter wraps as the one on the wire does.
        Self {
            txpdu_pkts: counters.txpdu_pkts as u32,
            txpdu_bytes: counters.txpdu_bytes as u32,
            txpdu_segmented: counters.txpdu_segmented as u32,
            txpdu_retx_pkts: counters.txpdu_retx_pkts as u32,
            txpdu_retx_bytes: counters.txpdu_retx_bytes as u32,
            rxpdu_status_pkts: counters.rxpdu_status_pkts as u32,
            rxpdu_status_bytes: counters.rxpdu_status_bytes as u32,
            rxpdu_pkts: counters.rxpdu_pkts as u32,
            rxpdu_bytes: counters.rxpdu_bytes as u32,
            txsdu_pkts: counters.txsdu_pkts as u32,
            txsdu_bytes: counters.txsdu_bytes,
            rxsdu_pkts: counters.rxsdu_pkts as u32,
            rxsdu_bytes: counters.rxsdu_bytes,
            rxsdu_dd_pkts: counters.rxsdu_dd_pkts as u32,
            rxsdu_dd_bytes: counters.rxsdu_dd_bytes as u32,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_32_bits_where_the_wire_has_32() {
        let over = (1 << 32) + 7;
        let counters = RlcCounters {
            txpdu_bytes: over,
            rxsdu_bytes: over,
            txsdu_bytes: over,
            ..RlcCounters::default()
        };
        let report = RlcReport::of_counters(&counters);
        assert_eq!(report.txpdu_bytes, 7);
        assert_eq!((report.rxsdu_bytes, report.txsdu_bytes), (over, over));
    }
}
