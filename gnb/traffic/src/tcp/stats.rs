//! Counters of a sender.

use serde::Serialize;

/// State and counters of a TCP sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TcpStats {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Bytes sent, headers and retransmissions included.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Segments taken for lost, less those that proved not to be.
    pub lost_packets: u64,
    /// Segments that the receiver reported twice, or whose loss was taken back.
    pub spurious_packets: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Reductions because of an ECN-Echo.
    pub ecn_reductions: u64,
    /// Reductions taken back because what was retransmitted had not been lost.
    pub undone_reductions: u64,
    /// Bytes acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Bytes believed to be in the network.
    pub in_flight_bytes: u64,
    /// Congestion window in force.
    pub cwnd_bytes: u64,
    /// Slow start threshold, once it was set.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT, once there was a sample.
    pub srtt_us: Option<u64>,
    /// Smallest RTT.
    pub min_rtt_us: Option<u64>,
    /// Retransmission time-out with its back-off.
    pub rto_us: u64,
    /// Rate of pacing, bit/s with headers; `None` without pacing.
    pub pacing_rate_bps: Option<u64>,
    /// Packets that AccECN reported as marked.
    pub ce_packets: u64,
    /// State of a model-based congestion control, such as `PROBE_BW`; empty for others.
    pub congestion_state: &'static str,
}

/// The running counts behind [`TcpStats`].
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) retransmitted_packets: u64,
    pub(super) marked_lost_packets: u64,
    pub(super) spurious_packets: u64,
    pub(super) fast_recoveries: u64,
    pub(super) timeouts: u64,
    pub(super) tail_loss_probes: u64,
    pub(super) ecn_reductions: u64,
    pub(super) undone_reductions: u64,
    pub(super) ce_packets: u64,
}
