//! Congestion control: how much may be in flight, and how fast it may leave.
//!
//! A controller decides only that. Loss detection (`rack`), the pace of a reduction (`prr`) and the
//! detection of spurious reductions belong to the sender: it keeps a copy of a window-based
//! controller from before the reduction and restores it, and with it cwnd, ssthresh, W_max, K and
//! the epoch (RFC 9438 §4.9.1).
//!
//! Window-based: [`Cubic`], [`Reno`], [`Westwood`], [`Vegas`], [`C2Tcp`]. Model-based: [`Bbr`],
//! [`Bbr3`]. Scalable: [`Prague`].

mod aggregation;
mod bbr;
mod bbr3;
mod c2tcp;
mod cubic;
mod events;
mod filter;
mod hystart;
mod path;
mod prague;
mod reno;
mod vegas;
mod westwood;

use std::fmt;

pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use c2tcp::C2Tcp;
pub use cubic::Cubic;
pub use events::{
    AckEvent, CongestionSignal, DeliveryEvent, LossEvent, RateSample, RestartEvent, SenderPhase,
};
pub use prague::Prague;
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;

use crate::tcp::config::{CongestionControl, TcpConfig};

/// RFC 5681 §3.1: ssthresh is never below two segments.
const MIN_SSTHRESH_SEGMENTS: u64 = 2;

/// Largest growth per acknowledgement in slow start, segments: the L of RFC 9406 §4.3, 8 for a
/// sender that does not pace. An acknowledgement that covers more than that follows a loss of ACKs
/// and would otherwise release as large a burst; pacing spreads it.
const fn slow_start_limit_segments(config: &TcpConfig) -> u64 {
    if config.pacing { 1 << 32 } else { 8 }
}

/// A congestion control algorithm.
pub trait CongestionController: fmt::Debug + Send + Sync {
    /// Data was acknowledged while the window was what limited the sender, outside of a reduction.
    fn on_ack(&mut self, ack: &AckEvent);

    /// An acknowledgement brought new information, in any phase; called before
    /// [`CongestionController::on_ack`] and after the losses and the reduction that it caused.
    fn on_delivery(&mut self, _event: &DeliveryEvent) {}

    /// A segment was marked lost; comes before the reduction that this leads to.
    fn on_loss(&mut self, _event: &LossEvent) {}

    /// Congestion, at most once per round trip: reduces window and ssthresh.
    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal);

    /// The retransmission timer expired: the window shrinks to the loss window, one segment.
    /// ssthresh was reduced before by [`CongestionController::on_congestion_event`], unless the
    /// time-out is part of a recovery under way.
    fn on_retransmission_timeout(&mut self, now_us: u64);

    /// An acknowledgement came while less was in flight than the window allows.
    fn on_underuse(&mut self, _now_us: u64) {}

    /// Sending starts again with nothing outstanding.
    fn on_restart(&mut self, _event: &RestartEvent) {}

    /// Takes the window down to `bytes` if it is larger, because more than that is not in use and
    /// would leave as one burst; the way back up is slow start (RFC 6582 §3.2 step 3, RFC 4015 §3,
    /// RFC 7661 §4.4.1).
    fn limit_window(&mut self, _bytes: u64) {}

    /// Congestion window.
    fn window_bytes(&self) -> u64;

    /// Slow start threshold; `None` while it has never been set, or where there is no such thing.
    fn ssthresh_bytes(&self) -> Option<u64>;

    /// Rate at which datagrams may leave, counted with headers. `None`: as fast as the window
    /// allows.
    fn pacing_rate_bps(&self) -> Option<u64> {
        None
    }

    /// The window holds in recovery as it is: there is no rate reduction by the sender, and a model
    /// of the path is not put back when a recovery proves spurious.
    fn owns_window(&self) -> bool {
        false
    }

    /// It answers congestion marks by itself, by their number, in
    /// [`CongestionController::on_delivery`]; otherwise marks are a congestion event once per round
    /// trip.
    fn answers_marks(&self) -> bool {
        false
    }

    /// It sends less than the path would take, on purpose, so that rate samples are to count as
    /// limited by the application (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5).
    fn restrains_itself(&self) -> bool {
        false
    }

    /// State of its machine, for reports; empty where it has none.
    fn state_name(&self) -> &'static str {
        ""
    }

    /// A copy, for forks of the world and for undoing reductions.
    fn clone_box(&self) -> Box<dyn CongestionController>;
}

impl Clone for Box<dyn CongestionController> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// The controller that `config` names. `seed` is for controllers with random choices.
pub fn build(config: &TcpConfig, seed: u64) -> Box<dyn CongestionController> {
    match config.congestion_control {
        CongestionControl::Cubic => Box::new(Cubic::new(config)),
        CongestionControl::Reno => Box::new(Reno::new(config)),
        CongestionControl::Westwood => Box::new(Westwood::new(config)),
        CongestionControl::Vegas => Box::new(Vegas::new(config)),
        CongestionControl::Bbr => Box::new(Bbr::new(config, seed)),
        CongestionControl::Bbr3 => Box::new(Bbr3::new(config, seed)),
        CongestionControl::Prague => Box::new(Prague::new(config)),
        CongestionControl::C2tcp => Box::new(C2Tcp::new(config)),
    }
}
