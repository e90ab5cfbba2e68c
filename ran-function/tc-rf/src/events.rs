//! Events of the pipeline, for a sink of the caller. The pipeline never logs.

use e2sm_tc::v1::EventKind;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Sent above the rate of its queue's policer.
    Policer,
    /// The queue's own limit in packets or bytes.
    QueueLimit,
    /// The bound on all queues together.
    BufferLimit,
    /// Late when the queue's discipline took over a backlog.
    Takeover,
    /// The queue discipline, by the name of its control law: `codel` (also in COBALT), `blue` (in
    /// COBALT), `pie`, `red`, `bode`, `dual_pi2`.
    Discipline(&'static str),
}

impl DropReason {
    /// Name for logs and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policer => "policer",
            Self::QueueLimit => "queue_limit",
            Self::BufferLimit => "buffer_limit",
            Self::Takeover => "takeover",
            Self::Discipline(name) => name,
        }
    }
}

/// Receives what happens to packets and pipelines. Every method has an empty default.
pub trait EventSink<P> {
    /// A packet was dropped; the sink owns it.
    fn dropped(&mut self, packet: P, reason: DropReason, now_us: u64) {
        let _ = (packet, reason, now_us);
    }
    /// A packet's ECN codepoint was set to CE. At most once for a packet.
    fn marked(&mut self, packet: &P, now_us: u64) {
        let _ = (packet, now_us);
    }
    /// The pipeline changed, its lease ended, or its pacer starts or stops using a forecast.
    fn pipeline(&mut self, kind: EventKind) {
        let _ = kind;
    }
}

/// A sink that ignores all events.
impl<P> EventSink<P> for () {}

impl<P, S: EventSink<P> + ?Sized> EventSink<P> for &mut S {
    fn dropped(&mut self, packet: P, reason: DropReason, now_us: u64) {
        (**self).dropped(packet, reason, now_us);
    }
    fn marked(&mut self, packet: &P, now_us: u64) {
        (**self).marked(packet, now_us);
    }
    fn pipeline(&mut self, kind: EventKind) {
        (**self).pipeline(kind);
    }
}
