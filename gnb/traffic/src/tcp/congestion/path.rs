//! Arithmetic that the model-based controllers share.

use crate::tcp::config::TcpConfig;
use crate::tcp::segment::HEADER_BYTES;

/// Bytes that `rate_bps` delivers in `time_us`.
pub(super) fn bytes_in(rate_bps: u64, time_us: u64) -> u64 {
    u64::try_from(u128::from(rate_bps) * u128::from(time_us) / 8_000_000).unwrap_or(u64::MAX)
}

/// Rate of `bytes` in `time_us`, bit/s.
pub(super) fn rate_bps(bytes: u64, time_us: u64) -> u64 {
    let rate = u128::from(bytes) * 8_000_000 / u128::from(time_us.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// A quantity times a gain.
pub(super) fn scaled(quantity: u64, gain: f64) -> u64 {
    (quantity as f64 * gain) as u64
}

/// Constant sizes of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Payload of a full segment: SMSS.
    pub(super) mss_bytes: u64,
    /// InitialCwnd.
    pub(super) initial_window_bytes: u64,
}

impl Sizes {
    pub(super) fn new(config: &TcpConfig) -> Self {
        let mss_bytes = u64::from(config.mss_bytes());
        Self {
            mss_bytes,
            initial_window_bytes: mss_bytes * u64::from(config.initial_window_segments),
        }
    }

    /// The rate with headers that carries `payload_bps`. Delivery is measured in payload, pacing
    /// counts whole datagrams; taking one for the other would pace below the bottleneck.
    pub(super) fn on_the_wire(&self, payload_bps: u64) -> u64 {
        let datagram = u128::from(self.mss_bytes + u64::from(HEADER_BYTES));
        let rate = u128::from(payload_bps) * datagram / u128::from(self.mss_bytes.max(1));
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}
