//! What a TCP or QUIC sender reports of itself.

use serde::Serialize;

/// State and counters of a TCP sender, or of a QUIC sender in the same terms
/// ([`QuicSender::stats`](crate::quic::QuicSender::stats)).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TcpStats {
    /// Segments sent, retransmissions included.
    pub sent_packets: u64,
    /// Bytes sent, headers and retransmissions included.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Segments marked lost, less the spurious ones.
    pub lost_packets: u64,
    /// Segments reported as duplicates, and undone losses.
    pub spurious_packets: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes.
    pub tail_loss_probes: u64,
    /// Reductions because of an ECN-Echo.
    pub ecn_reductions: u64,
    /// Reductions undone because the retransmissions were spurious.
    pub undone_reductions: u64,
    /// Bytes acknowledged cumulatively.
    pub acked_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Congestion window in force.
    pub cwnd_bytes: u64,
    /// Slow start threshold; `None` before the first reduction.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt_us: Option<u64>,
    /// Smallest RTT.
    pub min_rtt_us: Option<u64>,
    /// Retransmission time-out with back-off.
    pub rto_us: u64,
    /// Pacing rate, bit/s with headers; `None` without pacing.
    pub pacing_rate_bps: Option<u64>,
    /// Packets reported as CE-marked by AccECN.
    pub ce_packets: u64,
    /// State of a model-based congestion control, such as `PROBE_BW`; otherwise empty.
    pub congestion_state: &'static str,
}
