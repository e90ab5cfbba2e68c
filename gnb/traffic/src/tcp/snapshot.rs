//! Base of delivery-rate samples: draft-cheng-iccrg-delivery-rate-estimation-00.

/// Counters of the connection when a segment was last sent (§4.5.2.3.1.2, "P.").
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Snapshot {
    pub(super) delivered_bytes: u64,
    pub(super) delivered_us: u64,
    pub(super) first_sent_us: u64,
    pub(super) lost_bytes: u64,
    pub(super) ce_bytes: u64,
    pub(super) in_flight_bytes: u64,
    pub(super) is_app_limited: bool,
}

impl Snapshot {
    /// The application had run out of data.
    pub(super) fn is_app_limited(&self) -> bool {
        self.is_app_limited
    }
}
