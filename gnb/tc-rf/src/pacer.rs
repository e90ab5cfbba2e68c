//! Stage 6.

/// State of the bearer's RLC buffer as the DU took it, right after the MAC pulled for a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcStatus {
    /// When the DU took it.
    pub at_us: u64,
    /// Bytes left in the RLC buffer.
    pub occupancy_bytes: u32,
    /// SDUs left in the RLC buffer.
    pub occupancy_packets: u32,
    /// What the MAC could pull per TTI at the present MCS; 0 when unknown.
    pub capacity_bytes_per_tti: u32,
    /// Length of a TTI (slot).
    pub tti_us: u32,
    /// Whether this TTI carried downlink for the cell.
    pub dl_opportunity: bool,
}
