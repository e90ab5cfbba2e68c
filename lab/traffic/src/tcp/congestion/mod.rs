//! Congestion control: the window of data in flight and the pacing rate.
//!
//! Loss detection (`rack`), the course of a reduction (`prr`) and the detection of spurious reductions
//! belong to the sender. It copies a window-based controller before a reduction and restores the copy,
//! and with it cwnd, ssthresh, W_max, K and the epoch (RFC 9438 §4.9.1), if that was spurious.
//!
//! Window-based: [`Cubic`], [`Reno`], [`Westwood`], [`Vegas`], [`C2Tcp`]. Model-based: [`Bbr`],
//! [`Bbr3`]. Scalable: [`Prague`].

mod bbr;
mod bbr3;
mod c2tcp;
mod cubic;
mod events;
mod form;
mod hystart;
mod keys;
mod linux_hystart;
mod path;
mod prague;
mod reno;
mod vegas;
mod westwood;

use std::fmt;

pub use bbr::Bbr;
pub use bbr3::{Bbr3, BbrVersion};
pub use c2tcp::{C2Tcp, C2TcpConfig};
pub use cubic::Cubic;
pub use events::{
    AckEvent, CongestionSignal, DeliveryEvent, LossEvent, RateSample, RestartEvent, SenderPhase,
};
pub use form::Form;
pub use keys::{CongestionControl, CongestionKeys};
pub use prague::Prague;
pub use reno::Reno;
pub use vegas::Vegas;
pub use westwood::Westwood;

/// Properties of a connection that its congestion control needs.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionConfig {
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Headers of the datagram that carries it.
    pub header_bytes: u32,
    /// Initial window, segments.
    pub initial_window_segments: u32,
    /// Leave slow start when the RTT grows.
    pub hystart: bool,
    /// The sender paces the window.
    pub pacing: bool,
    /// Marks are reported.
    pub ecn: bool,
}

#[cfg(test)]
impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            mss_bytes: 1448,
            header_bytes: 52,
            initial_window_segments: 10,
            hystart: true,
            pacing: false,
            ecn: false,
        }
    }
}

/// RFC 5681 §3.1: ssthresh is never below two segments.
const MIN_SSTHRESH_SEGMENTS: u64 = 2;

/// Largest growth per acknowledgement in slow start, segments: the L of RFC 9406 §4.3, 8 without
/// pacing. An acknowledgement of more follows lost ACKs and would release as large a burst. Linux has
/// no such limit (`tcp_slow_start`).
fn slow_start_limit_segments(form: Form, connection: &ConnectionConfig) -> u64 {
    if connection.pacing || form == Form::Linux { 1 << 32 } else { 8 }
}

/// RFC 7661: whether the window was used, of which `in_flight_bytes` were before an acknowledgement; an
/// unused one is not validated. Slow start doubles, so half of it suffices there.
pub(crate) fn uses_window(
    controller: &dyn CongestionController,
    in_flight_bytes: u64,
    mss_bytes: u64,
) -> bool {
    let window = controller.window_bytes();
    let slow_start = controller.ssthresh_bytes().is_none_or(|it| window < it);
    let used = in_flight_bytes + mss_bytes;
    used > window || (slow_start && 2 * used > window)
}

/// A congestion control algorithm.
pub trait CongestionController: CloneController + fmt::Debug + Send + Sync {
    /// New data was acknowledged while the window limited the sender, outside of a reduction.
    fn on_ack(&mut self, _ack: &AckEvent) {}

    /// An acknowledgement delivered data or reported losses or marks, in any phase. Called before
    /// [`CongestionController::on_ack`], after the losses and the reduction that it caused.
    fn on_delivery(&mut self, _event: &DeliveryEvent) {}

    /// A segment was marked lost. Called before the reduction that follows.
    fn on_loss(&mut self, _event: &LossEvent) {}

    /// Congestion, at most once per round trip: reduces window and ssthresh.
    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal);

    /// The retransmission timer expired: the window shrinks to the loss window, one segment.
    /// [`CongestionController::on_congestion_event`] has reduced ssthresh before, unless the time-out
    /// is part of a recovery under way.
    fn on_retransmission_timeout(&mut self, now_us: u64);

    /// New data was acknowledged while less was in flight than the window allows.
    fn on_underuse(&mut self, _now_us: u64) {}

    /// Sending resumes with nothing outstanding.
    fn on_restart(&mut self, _event: &RestartEvent) {}

    /// Reduces the window to at most `bytes`: the unused rest would leave as one burst. It grows
    /// back by slow start (RFC 6582 §3.2 step 3, RFC 4015 §3, RFC 7661 §4.4.1).
    fn limit_window(&mut self, _bytes: u64) {}

    /// Congestion window.
    fn window_bytes(&self) -> u64;

    /// Slow start threshold; `None` before the first reduction and without slow start.
    fn ssthresh_bytes(&self) -> Option<u64> {
        None
    }

    /// Pacing rate of datagrams with headers. `None`: not paced.
    fn pacing_rate_bps(&self) -> Option<u64> {
        None
    }

    /// The window applies in recovery as well: no rate reduction (PRR) by the sender, and no
    /// restoring after a spurious recovery.
    fn owns_window(&self) -> bool {
        false
    }

    /// Responds to the number of marks in [`CongestionController::on_delivery`]. Otherwise marks are
    /// a congestion event once per round trip.
    fn handles_ecn(&self) -> bool {
        false
    }

    /// Sends less than the path allows, so that rate samples count as limited by the application
    /// (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5).
    fn limits_itself(&self) -> bool {
        false
    }

    /// State of the algorithm for reports; empty without one.
    fn state_name(&self) -> &'static str {
        ""
    }
}

/// Copies of a controller, for forks of the world and for undoing reductions.
pub trait CloneController {
    /// A copy.
    fn clone_box(&self) -> Box<dyn CongestionController>;
}

impl<T: CongestionController + Clone + 'static> CloneController for T {
    fn clone_box(&self) -> Box<dyn CongestionController> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn CongestionController> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A congestion control with its options: the factory of its controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionConfig {
    /// [`Cubic`].
    Cubic(Form),
    /// [`Reno`].
    Reno(Form),
    /// [`Westwood`].
    Westwood(Form),
    /// [`Vegas`].
    Vegas,
    /// [`Bbr`].
    Bbr(Form),
    /// [`Bbr3`] in its version 2.
    Bbr2,
    /// [`Bbr3`].
    Bbr3,
    /// [`Prague`].
    Prague,
    /// [`C2Tcp`].
    C2tcp(C2TcpConfig),
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Cubic(Form::default())
    }
}

impl CongestionConfig {
    /// A controller of a connection. `seed` serves controllers with random choices.
    pub fn build(self, connection: &ConnectionConfig, seed: u64) -> Box<dyn CongestionController> {
        match self {
            Self::Cubic(form) => Box::new(Cubic::new(form, connection)),
            Self::Reno(form) => Box::new(Reno::new(form, connection)),
            Self::Westwood(form) => Box::new(Westwood::new(form, connection)),
            Self::Vegas => Box::new(Vegas::new(connection)),
            Self::Bbr(form) => Box::new(Bbr::new(form, connection, seed)),
            Self::Bbr2 => Box::new(Bbr3::new(BbrVersion::Two, connection, seed)),
            Self::Bbr3 => Box::new(Bbr3::new(BbrVersion::Three, connection, seed)),
            Self::Prague => Box::new(Prague::new(connection)),
            Self::C2tcp(config) => Box::new(C2Tcp::new(config, connection)),
        }
    }

    /// Whether its response to marks is scalable (RFC 9331 §4.3): with ECN it sends ECT(1) and needs
    /// accurate feedback.
    pub(crate) fn is_scalable(self) -> bool {
        matches!(self, Self::Bbr2 | Self::Bbr3 | Self::Prague)
    }

    /// Whether it cannot do without ECN.
    pub(crate) fn requires_ecn(self) -> bool {
        matches!(self, Self::Prague)
    }
}
