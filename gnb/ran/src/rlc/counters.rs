//! What an RLC entity counts. Kept in 64 bits; the report cuts to 32, which is how it wraps.

/// Cumulative counts of one bearer, both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RlcCounters {
    /// PDUs handed to the MAC.
    pub txpdu_pkts: u64,
    /// Their bytes, RLC headers included.
    pub txpdu_bytes: u64,
    /// Of these, PDUs sent again; 0 in UM.
    pub txpdu_retx_pkts: u64,
    /// Their bytes.
    pub txpdu_retx_bytes: u64,
    /// SDUs cut to fit a grant, each cut counted.
    pub txpdu_segmented: u64,
    /// PDUs from the UE.
    pub rxpdu_pkts: u64,
    /// Their bytes, RLC headers included.
    pub rxpdu_bytes: u64,
    /// Of these, status reports; 0 in UM.
    pub rxpdu_status_pkts: u64,
    /// Their bytes.
    pub rxpdu_status_bytes: u64,
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

/// Delays of SDUs in the RLC buffer: "the difference between the time of removal of the SDU from
/// the buffer and the time of its arrival" (kumar2018 §III). In AM an SDU is removed when a status
/// report acknowledges it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SduDelays {
    /// SDUs removed.
    pub count: u32,
    /// Sum of their delays.
    pub sum_us: u64,
    /// Shortest delay; without meaning when there was none.
    pub min_us: u64,
    /// Longest delay.
    pub max_us: u64,
}

impl SduDelays {
    /// Takes in one SDU.
    pub fn add(&mut self, delay_us: u64) {
        self.min_us = if self.count == 0 { delay_us } else { self.min_us.min(delay_us) };
        self.max_us = self.max_us.max(delay_us);
        self.count = self.count.saturating_add(1);
        self.sum_us = self.sum_us.saturating_add(delay_us);
    }
}
