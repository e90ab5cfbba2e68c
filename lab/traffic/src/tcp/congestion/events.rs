//! Events reported to a congestion control.

/// An acknowledgement of new data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckEvent {
    /// Now.
    pub now_us: u64,
    /// Bytes newly known to be delivered, cumulatively or by SACK.
    pub delivered_bytes: u64,
    /// RTT of the latest acknowledged segment that was sent once.
    pub rtt_us: Option<u64>,
    /// Smoothed RTT.
    pub srtt_us: u64,
    /// First byte not yet acknowledged, after this acknowledgement.
    pub una: u64,
    /// Next byte to be sent for the first time.
    pub next: u64,
}

/// Kind of a congestion event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A lost segment.
    Loss,
    /// An ECN-Echo, or marks reported by AccECN.
    Ecn,
}

/// State of the sender, in Linux's terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SenderPhase {
    /// No loss known; there may be SACKed data below the reordering threshold.
    #[default]
    Open,
    /// Reducing after a congestion mark, without known loss.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// State after a time-out.
    Loss,
}

impl SenderPhase {
    /// Fast recovery or after a time-out.
    pub(super) fn is_loss_recovery(self) -> bool {
        matches!(self, Self::Recovery | Self::Loss)
    }
}

/// Delivery rate over the flight that an acknowledgement ends
/// (draft-ietf-ccwg-bbr-02 §4.5.2.3.1.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Payload delivered per time, bit/s; `None` if the interval is shorter than the minimum RTT.
    pub delivery_rate_bps: Option<u64>,
    /// Bytes delivered over the interval: rs.delivered.
    pub delivered_bytes: u64,
    /// Bytes that had been delivered when the segment was sent: rs.prior_delivered.
    pub prior_delivered_bytes: u64,
    /// Bytes in flight when the segment was sent, itself included: rs.tx_in_flight.
    pub in_flight_at_send_bytes: u64,
    /// Bytes marked lost since the segment was sent: rs.lost.
    pub lost_bytes: u64,
    /// Bytes reported as CE-marked since the segment was sent.
    pub ce_bytes: u64,
    /// The application had run out of data.
    pub is_app_limited: bool,
}

/// An acknowledgement that delivers data or reports losses or marks, and the connection after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryEvent {
    /// Now.
    pub now_us: u64,
    /// Bytes newly known to be delivered: rs.newly_acked.
    pub newly_delivered_bytes: u64,
    /// Bytes newly marked lost: rs.newly_lost.
    pub newly_lost_bytes: u64,
    /// Bytes newly reported as CE-marked.
    pub newly_ce_bytes: u64,
    /// Bytes delivered since the connection began: C.delivered.
    pub total_delivered_bytes: u64,
    /// Bytes in flight before the acknowledgement.
    pub prior_in_flight_bytes: u64,
    /// Bytes in flight: C.pipe.
    pub in_flight_bytes: u64,
    /// RTT of the latest acknowledged segment that was sent once.
    pub rtt_us: Option<u64>,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt_us: u64,
    /// Rate sample, if data was delivered.
    pub rate: Option<RateSample>,
    /// The window limited the sender.
    pub is_window_limited: bool,
    /// State of the sender.
    pub phase: SenderPhase,
    /// First byte not yet acknowledged.
    pub una: u64,
    /// Next byte to be sent for the first time.
    pub next: u64,
}

/// A segment that was marked lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LossEvent {
    /// Now.
    pub now_us: u64,
    /// First byte.
    pub seq: u64,
    /// Length, bytes.
    pub len_bytes: u64,
    /// Bytes in flight when it was sent, itself included.
    pub in_flight_at_send_bytes: u64,
    /// Bytes marked lost since it was sent, itself included.
    pub lost_since_send_bytes: u64,
    /// The application had run out of data when it was sent.
    pub is_app_limited: bool,
    /// Bytes delivered since the connection began.
    pub total_delivered_bytes: u64,
}

/// Sending resumes with nothing outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RestartEvent {
    /// Now.
    pub now_us: u64,
    /// Time since the latest transmission.
    pub idle_us: u64,
    /// Retransmission time-out.
    pub rto_us: u64,
    /// The application had nothing to send.
    pub is_app_limited: bool,
}
