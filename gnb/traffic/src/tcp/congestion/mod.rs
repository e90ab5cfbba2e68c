//! Congestion control: how much may be in flight.
//!
//! A controller decides the window and nothing else. Loss detection (`rack`), the pace of the
//! reduction (`prr`) and when a reduction turns out to have been for nothing are the sender's: it
//! keeps a copy of the controller from before the reduction and puts it back, which restores cwnd,
//! ssthresh, W_max, K and the epoch together (RFC 9438 §4.9.1).

mod cubic;
mod hystart;
mod reno;

use std::fmt;

pub use cubic::Cubic;
pub use reno::Reno;

use crate::config::{CongestionAlgorithm, TcpConfig};

/// Largest growth per acknowledgement in slow start, segments: the L of RFC 9406 §4.3 for a sender
/// that does not pace. An acknowledgement that covers more than that follows a loss of ACKs and
/// would otherwise release as large a burst.
const SLOW_START_LIMIT_SEGMENTS: u64 = 8;
/// RFC 5681 §3.1: ssthresh is never below two segments.
const MIN_SSTHRESH_SEGMENTS: u64 = 2;

/// What an acknowledgement brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckEvent {
    /// Now.
    pub now_us: u64,
    /// Bytes newly known to be delivered, cumulatively or by SACK.
    pub delivered_bytes: u64,
    /// RTT of the latest segment that it acknowledges, if that was sent once.
    pub rtt_us: Option<u64>,
    /// Smoothed RTT.
    pub srtt_us: u64,
    /// First byte not yet acknowledged, after this acknowledgement.
    pub una: u64,
    /// Next byte to be sent for the first time.
    pub next: u64,
}

/// What told of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A lost segment.
    Loss,
    /// An ECN-Echo.
    Ecn,
}

/// A congestion control algorithm.
pub trait CongestionController: fmt::Debug + Send + Sync {
    /// Data was acknowledged while the window was what limited the sender, outside of a reduction.
    fn on_ack(&mut self, ack: &AckEvent);

    /// Congestion, at most once per round trip: reduces window and ssthresh.
    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal);

    /// The retransmission timer expired: the window shrinks to the loss window, one segment.
    /// ssthresh was reduced before by [`CongestionController::on_congestion_event`], unless the
    /// time-out is part of a recovery under way.
    fn on_retransmission_timeout(&mut self, now_us: u64);

    /// Congestion window.
    fn window_bytes(&self) -> u64;

    /// Slow start threshold; `None` while it has never been set.
    fn ssthresh_bytes(&self) -> Option<u64>;

    /// Rate at which datagrams may leave, counted with headers. `None`: as fast as the window
    /// allows, as Linux sends Cubic and Reno without the fq scheduler.
    fn pacing_rate_bps(&self) -> Option<u64> {
        None
    }

    /// A copy, for a world that forks and for reductions that are taken back.
    fn clone_box(&self) -> Box<dyn CongestionController>;
}

impl Clone for Box<dyn CongestionController> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// The controller that `config` names.
pub fn build(config: &TcpConfig) -> Box<dyn CongestionController> {
    match config.congestion {
        CongestionAlgorithm::Cubic => Box::new(Cubic::new(config)),
        CongestionAlgorithm::Reno => Box::new(Reno::new(config)),
    }
}
