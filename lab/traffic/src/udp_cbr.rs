//! UDP at a constant bit rate: a source of numbered datagrams and the sink that counts them.

use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::{ConfigError, check};
use crate::ip::UDP_IP_HEADER_BYTES;
use crate::packet::{Body, Packet, UdpSender};
use crate::sequence::SequenceTracker;
use crate::stats::{Arrivals, DelayRecorder, Due};
use crate::timer::Periodic;

/// UDP at a constant bit rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UdpCbrConfig {
    /// Rate including IP and UDP headers, 1..=10000000 kbit/s.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000_000)))]
    pub rate_kbps: u32,
    /// Length of a packet including IP and UDP headers, 28..=9000 bytes. A
    /// length without room for payload is raised to the headers and one byte.
    #[serde(default = "default_packet_bytes")]
    #[cfg_attr(feature = "schema", schemars(range(min = 28, max = 9000)))]
    pub packet_bytes: u32,
}

fn default_packet_bytes() -> u32 {
    1500
}

impl UdpCbrConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("rate_kbps", self.rate_kbps, 1..=10_000_000, "1 to 10000000 kbit/s")?;
        check("packet_bytes", self.packet_bytes, 28..=9000, "28 to 9000 bytes")
    }
}

/// Sends a datagram of one size at exact multiples of a period.
#[derive(Debug, Clone)]
pub struct DatagramSource {
    sender: UdpSender,
    payload_bytes: u32,
    timer: Periodic,
    due: Option<Due>,
}

impl DatagramSource {
    pub(crate) fn new(context: FlowContext, payload_bytes: u32, timer: Periodic) -> Self {
        let due = context.deadline_us.map(Due::new);
        Self { sender: UdpSender::new(context.stamp), payload_bytes, timer, due }
    }

    pub(crate) fn cbr(context: FlowContext, config: &UdpCbrConfig) -> Self {
        let headers = UDP_IP_HEADER_BYTES + context.ip_version.extra_bytes();
        let packet_bytes = config.packet_bytes.max(headers + 1);
        let payload_bytes = packet_bytes - headers;
        // Bit/s of payload.
        let rate_bps = u64::from(config.rate_kbps) * 1_000 * u64::from(payload_bytes)
            / u64::from(packet_bytes);
        let bit_us = u64::from(payload_bytes) * 8 * 1_000_000;
        Self::new(context, payload_bytes, context.periodic(bit_us, rate_bps))
    }
}

impl Endpoint for DatagramSource {
    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(seq) = self.timer.fire(now_us) {
            self.sender.send(self.payload_bytes, Body::Udp { seq }, now_us, out);
            if let Some(due) = &mut self.due {
                due.on_sent(now_us);
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.timer.next_us()
    }
}

impl Measured for DatagramSource {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn due(&self) -> Option<&Due> {
        self.due.as_ref()
    }
}

/// Counts the numbered datagrams that arrive.
#[derive(Debug, Clone, Default)]
pub struct DatagramSink {
    arrivals: Arrivals,
    sequence: SequenceTracker,
}

impl DatagramSink {
    /// Counts a datagram with number `seq`; `false` for a duplicate. `header_bytes` are those
    /// between the UDP header and the payload.
    pub(crate) fn on_datagram(
        &mut self,
        packet: &Packet,
        seq: u64,
        header_bytes: u32,
        now_us: u64,
    ) -> bool {
        self.arrivals.on_packet(packet, now_us);
        let is_new = self.sequence.on_arrival(seq);
        if is_new {
            let payload = packet.len_bytes.saturating_sub(UDP_IP_HEADER_BYTES + header_bytes);
            self.arrivals.on_delivered(u64::from(payload), now_us);
        }
        is_new
    }

    /// Packets, delay and goodput.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Gaps in the numbering below the highest number seen.
    pub fn lost_packets(&self) -> u64 {
        self.sequence.lost()
    }
}

impl Endpoint for DatagramSink {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        if let Body::Udp { seq } = packet.body {
            self.on_datagram(packet, seq, 0, now_us);
        }
    }
}

impl Measured for DatagramSink {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.lost_packets())
    }

    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        Some((self.arrivals.delay(), self.sequence.expected()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Ecn;
    use crate::packet::Stamp;

    #[test]
    fn the_rate_with_headers_is_met_exactly() {
        let config = UdpCbrConfig { rate_kbps: 7_500, packet_bytes: 1500 };
        let stamp = Stamp { flow: 3, dscp: 0, ecn: Ecn::Ect0 };
        let context = FlowContext { stamp, stop_us: Some(10_000_000), ..FlowContext::default() };
        let mut source = DatagramSource::cbr(context, &config);
        let mut sink = DatagramSink::default();
        let mut out = Vec::new();
        while let Some(now_us) = source.next_deadline_us() {
            source.poll(now_us, &mut out);
            for packet in out.drain(..) {
                assert_eq!((packet.len_bytes, packet.ecn), (1500, Ecn::Ect0));
                sink.on_packet(&packet, now_us + 5_000, &mut Vec::new());
            }
        }
        let rate_bps = sink.arrivals().goodput().total_bytes() as f64 * 8.0 / 10.0;
        assert!((rate_bps - 7.36e6).abs() < 1472.0 * 8.0, "{rate_bps}");
        assert_eq!(sink.arrivals().delay().summary().max_us, 5_000);
        assert_eq!(sink.lost_packets(), 0);
    }
}
