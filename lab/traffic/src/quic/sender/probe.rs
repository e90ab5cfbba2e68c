//! The timer of loss detection, RFC 9002 §6.2 and A.8 to A.9.

use super::{Chunk, QuicPacket, QuicSender};
use crate::packet::Packet;

/// RFC 9002 §6.2.4: packets of a probe time-out.
const PROBE_PACKETS: u32 = 2;
/// Doublings of the probe time-out, so that its sum with a time cannot overflow.
const MAX_BACKOFF: u32 = 16;

impl QuicSender {
    /// The delay of acknowledgements that the receiver may add: the longer of its own and the requested
    /// one until the request is acknowledged.
    pub(super) fn peer_max_ack_delay_us(&self) -> u64 {
        match self.request {
            Some(request) if request.is_acked => request.frame.max_ack_delay_us,
            Some(request) => request.frame.max_ack_delay_us.max(self.max_ack_delay_us),
            None => self.max_ack_delay_us,
        }
    }

    /// Probe time-out with back-off, §6.2.1.
    pub(super) fn pto_us(&self) -> u64 {
        let base_us = self.rtt.pto_us(self.peer_max_ack_delay_us());
        base_us << self.pto_count.min(MAX_BACKOFF)
    }

    /// A.8, SetLossDetectionTimer: the time at which a packet becomes late, else the probe time-out; also
    /// that at which a sender stopped by flow control says so again.
    pub(super) fn timer_us(&self) -> Option<u64> {
        let waits = self.sent.is_in_flight() || self.is_blocked();
        let probe_us = waits.then(|| self.last_sent_us + self.pto_us());
        self.loss_us.or(probe_us)
    }

    /// A.9, OnLossDetectionTimeout.
    pub(super) fn on_timer(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        if self.timer_us().is_none_or(|at_us| at_us > now_us) {
            return;
        }
        self.update_app_limited(now_us);
        if self.loss_us.is_some() {
            self.detect_losses(now_us);
            return;
        }
        if !self.sent.is_in_flight() {
            return;
        }
        self.pto_count += 1;
        let mut repeated = None;
        for _ in 0..PROBE_PACKETS {
            repeated = self.probe(repeated, now_us, out);
        }
    }

    /// §6.2.4: new data, else the earliest in flight again (after what was `repeated`), else a PING; the
    /// window does not hold it back. With the extension it asks to be acknowledged at once.
    fn probe(
        &mut self,
        repeated: Option<Chunk>,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> Option<Chunk> {
        let packet =
            QuicPacket { immediate_ack: self.request.is_some(), ..self.control_frames(now_us) };
        self.counters.tail_loss_probes += 1;
        if self.has_data(now_us) {
            self.send(packet, None, now_us, out);
            return repeated;
        }
        let Self { sent, stream, .. } = self;
        let chunk = sent.earliest_chunk(|chunk| {
            !stream.is_delivered(chunk) && repeated.is_none_or(|it| it.offset < chunk.offset)
        });
        let packet = QuicPacket { ping: chunk.is_none(), ..packet };
        self.send(packet, chunk, now_us, out);
        chunk.or(repeated)
    }
}
