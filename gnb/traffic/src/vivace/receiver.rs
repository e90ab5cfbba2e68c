//! The receiver: acknowledges each packet.

use crate::endpoint::{Endpoint, Measured};
use crate::ip::{Ecn, IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::packet::{Body, Packet, Stamp};
use crate::sequence::SequenceTracker;
use crate::stats::Arrivals;

/// Payload of an acknowledgement: a number, a time, a check.
const ACK_BYTES: u32 = 16;

/// Acknowledges each packet at once.
#[derive(Debug, Clone)]
pub struct VivaceReceiver {
    stamp: Stamp,
    arrivals: Arrivals,
    sequence: SequenceTracker,
    sent: (u64, u64),
}

impl VivaceReceiver {
    pub(crate) fn new(stamp: Stamp) -> Self {
        Self {
            stamp: Stamp { ecn: Ecn::NotEct, ..stamp },
            arrivals: Arrivals::default(),
            sequence: SequenceTracker::default(),
            sent: (0, 0),
        }
    }
}

impl Endpoint for VivaceReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::VivaceData { seq } = packet.body else { return };
        self.arrivals.on_packet(packet, now_us);
        if self.sequence.on_arrival(seq) {
            let payload = packet.len_bytes.saturating_sub(UDP_HEADER_BYTES + IP_HEADER_BYTES);
            self.arrivals.on_delivered(u64::from(payload), now_us);
        }
        let body = Body::VivaceAck { seq, data_sent_us: packet.sent_us };
        let ack = self.stamp.udp(ACK_BYTES, body, now_us);
        self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(ack.len_bytes));
        out.push(ack);
    }

    fn poll(&mut self, _now_us: u64, _out: &mut Vec<Packet>) {}

    fn next_deadline_us(&self) -> Option<u64> {
        None
    }
}

impl Measured for VivaceReceiver {
    fn sent(&self) -> (u64, u64) {
        self.sent
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.sequence.lost())
    }
}
