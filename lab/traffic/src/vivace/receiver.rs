//! The receiver: acknowledges each packet.

use crate::endpoint::{Endpoint, Measured};
use crate::packet::{Body, Packet, Stamp, UdpSender};
use crate::stats::Arrivals;
use crate::udp_cbr::DatagramSink;

/// Payload of an acknowledgement: sequence number, timestamp, checksum.
const ACK_BYTES: u32 = 16;

/// Acknowledges each packet at once.
#[derive(Debug, Clone)]
pub struct VivaceReceiver {
    sender: UdpSender,
    sink: DatagramSink,
}

impl VivaceReceiver {
    pub(crate) fn new(stamp: Stamp) -> Self {
        Self { sender: UdpSender::new(stamp.not_ect()), sink: DatagramSink::default() }
    }
}

impl Endpoint for VivaceReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::VivaceData { seq } = packet.body else { return };
        self.sink.on_datagram(packet, seq, 0, now_us);
        let body = Body::VivaceAck { seq, data_sent_us: packet.sent_us };
        self.sender.send(ACK_BYTES, body, now_us, out);
    }
}

impl Measured for VivaceReceiver {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.sink.arrivals())
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.sink.lost_packets())
    }
}
