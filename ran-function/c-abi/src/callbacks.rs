//! The callbacks of the gNB.

use std::ffi::c_void;

use e2sm_tc::v1::EventKind;
use tc_rf::{DropReason, EventSink};

use crate::packet::CPacket;
use crate::types::{TcRfBearer, TcRfDrop, TcRfEvent};

/// Functions of the gNB. They are called from within calls with the handle, on that thread, while the
/// bearer is locked: for different bearers at the same time, where different threads serve them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TcRfCallbacks {
    /// First argument of each callback; never dereferenced.
    pub context: *mut c_void,
    /// Hand this packet to PDCP now. Must be set.
    pub forward: Option<extern "C" fn(context: *mut c_void, bearer: TcRfBearer, sdu: *mut c_void)>,
    /// This packet is dropped; free it. Must be set.
    pub dropped: Option<
        extern "C" fn(
            context: *mut c_void,
            bearer: TcRfBearer,
            sdu: *mut c_void,
            reason: TcRfDrop,
            now_us: u64,
        ),
    >,
    /// This packet was marked CE; it is still queued. May be null.
    pub marked: Option<extern "C" fn(context: *mut c_void, bearer: TcRfBearer, sdu: *mut c_void)>,
    /// An event of a pipeline. May be null.
    pub event: Option<extern "C" fn(context: *mut c_void, bearer: TcRfBearer, event: TcRfEvent)>,
}

/// The callbacks for the packets of one bearer.
pub(crate) struct Sink<'a> {
    pub(crate) callbacks: &'a TcRfCallbacks,
    pub(crate) bearer: TcRfBearer,
}

impl Sink<'_> {
    pub(crate) fn forward(&self, packet: &CPacket) {
        if let Some(forward) = self.callbacks.forward {
            forward(self.callbacks.context, self.bearer, packet.sdu());
        }
    }

    pub(crate) fn drop_for(&self, packet: &CPacket, reason: TcRfDrop, now_us: u64) {
        if let Some(dropped) = self.callbacks.dropped {
            dropped(self.callbacks.context, self.bearer, packet.sdu(), reason, now_us);
        }
    }

    pub(crate) fn event(&self, event: TcRfEvent) {
        if let Some(event_callback) = self.callbacks.event {
            event_callback(self.callbacks.context, self.bearer, event);
        }
    }
}

impl EventSink<CPacket> for Sink<'_> {
    fn dropped(&mut self, packet: CPacket, reason: DropReason, now_us: u64) {
        let reason = match reason {
            DropReason::Policer => TcRfDrop::Policer,
            DropReason::QueueLimit => TcRfDrop::QueueLimit,
            DropReason::BufferLimit => TcRfDrop::BufferLimit,
            DropReason::Discipline(_) | DropReason::Takeover => TcRfDrop::Aqm,
        };
        self.drop_for(&packet, reason, now_us);
    }

    fn marked(&mut self, packet: &CPacket, _now_us: u64) {
        if let Some(marked) = self.callbacks.marked {
            marked(self.callbacks.context, self.bearer, packet.sdu());
        }
    }

    fn pipeline(&mut self, kind: EventKind) {
        self.event(match kind {
            EventKind::PipelineChanged { .. } => TcRfEvent::PipelineChanged,
            EventKind::LeaseExpired { .. } => TcRfEvent::LeaseExpired,
            EventKind::PacingChanged { by_forecast: true } => TcRfEvent::PacedByForecast,
            EventKind::PacingChanged { by_forecast: false } => TcRfEvent::PacedByOwnMeasure,
            _ => TcRfEvent::Other,
        });
    }
}
