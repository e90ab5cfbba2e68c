//! What an RLC entity counts. Kept in 64 bits; the report cuts to 32, which is how it wraps.

/// Cumulative counts of one bearer, both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RlcCounters {
    /// PDUs handed to the MAC.
    pub txpdu_pkts: u64,
    /// Their bytes, RLC headers included.
    pub txpdu_bytes: u64,
    /// SDUs cut to fit a grant, each cut counted.
    pub txpdu_segmented: u64,
    /// PDUs from the UE.
    pub rxpdu_pkts: u64,
    /// Their bytes, RLC headers included.
    pub rxpdu_bytes: u64,
    /// SDUs of the UE given to PDCP.
    pub txsdu_pkts: u64,
    /// Their bytes.
    pub txsdu_bytes: u64,
    /// SDUs that came from PDCP, dropped ones included.
    pub rxsdu_pkts: u64,
    /// Their bytes.
    pub rxsdu_bytes: u64,
    /// SDUs from PDCP that found the buffer full.
    pub rxsdu_dd_pkts: u64,
    /// Their bytes.
    pub rxsdu_dd_bytes: u64,
}
