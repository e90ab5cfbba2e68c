//! The RLC report of one bearer: FlexRIC's fields with OAI's meaning.

use serde::Serialize;

/// One bearer's record of FlexRIC's RLC service model.
///
/// OAI's names are relative to the entity: an SDU is *received* (`rxsdu`) from PDCP in downlink and
/// *transmitted* (`txsdu`) to PDCP in uplink; a PDU is transmitted to the MAC (`txpdu`, downlink) and
/// received from it (`rxpdu`, uplink). Counters of 32 bits are cumulative and wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct RlcReport {
    /// Downlink PDUs handed to the MAC.
    pub txpdu_pkts: u32,
    /// Their bytes, RLC headers included.
    pub txpdu_bytes: u32,
    /// 0: never set by OAI.
    pub txpdu_wt_ms: u32,
    /// PDUs discarded before transmission; 0 in UM.
    pub txpdu_dd_pkts: u32,
    /// Their bytes; 0 in UM.
    pub txpdu_dd_bytes: u32,
    /// Retransmitted PDUs; 0 in UM.
    pub txpdu_retx_pkts: u32,
    /// Their bytes; 0 in UM.
    pub txpdu_retx_bytes: u32,
    /// Segmentations of an SDU to fit a grant.
    pub txpdu_segmented: u32,
    /// Status PDUs sent; 0, since the uplink is modelled without loss.
    pub txpdu_status_pkts: u32,
    /// Their bytes; 0.
    pub txpdu_status_bytes: u32,
    /// Gauge: bytes of SDUs waiting for the MAC, AM's retransmissions included, SDUs that wait for
    /// an acknowledgement excluded.
    pub txbuf_occ_bytes: u32,
    /// Gauge: SDUs waiting for the MAC.
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
    /// Mean sojourn of downlink SDUs in µs, from arrival until the first byte leaves, over the last
    /// 100 ms; 0 without any.
    pub txsdu_avg_time_to_tx: f64,
    /// Age of the downlink SDU at the head of the queue in µs; 0 when the queue is empty.
    pub txsdu_wt_us: u32,
    /// Downlink SDUs from PDCP, dropped ones included.
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

/// Adds to a 32-bit counter, which wraps as on the wire.
pub(crate) fn count(counter: &mut u32, n: impl Into<u64>) {
    *counter = counter.wrapping_add(n.into() as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_at_32_bits() {
        let mut counter = u32::MAX - 2;
        count(&mut counter, 10u32);
        assert_eq!(counter, 7);
        count(&mut counter, (1u64 << 32) + 1);
        assert_eq!(counter, 8);
    }
}
