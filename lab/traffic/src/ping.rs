//! ICMP echo: requests from the server, replies from the UE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::{ConfigError, check};
use crate::ip::{Ecn, ICMP_HEADER_BYTES, IP_HEADER_BYTES, IpVersion};
use crate::packet::{Body, Packet, Stamp};
use crate::sequence::SequenceTracker;
use crate::stats::{Arrivals, DelayRecorder};
use crate::timer::Periodic;

/// Payload of `ping`: a message of 64 bytes.
const DEFAULT_PAYLOAD_BYTES: u32 = 56;

/// ICMP echo from the server to the UE and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PingConfig {
    /// Time between requests, 1..=60000 ms.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub interval_ms: u32,
    /// Length of a packet including IP and ICMP headers, 28..=9000 bytes, from 48 with IPv6. If
    /// unset, 84 with IPv4 and 104 with IPv6: the payload of 56 bytes of `ping`.
    #[cfg_attr(feature = "schema", schemars(range(min = 28, max = 9000)))]
    pub packet_bytes: Option<u32>,
}

impl Default for PingConfig {
    fn default() -> Self {
        Self { interval_ms: 100, packet_bytes: None }
    }
}

impl PingConfig {
    pub(crate) fn validate(&self, ip_version: IpVersion) -> Result<(), ConfigError> {
        check("interval_ms", self.interval_ms, 1..=60_000, "1 to 60000 ms")?;
        let Some(packet_bytes) = self.packet_bytes else { return Ok(()) };
        let expected = "28 to 9000 bytes, from 48 with IPv6";
        check("packet_bytes", packet_bytes, headers_bytes(ip_version)..=9000, expected)
    }
}

fn headers_bytes(ip_version: IpVersion) -> u32 {
    ICMP_HEADER_BYTES + IP_HEADER_BYTES + ip_version.extra_bytes()
}

/// Sends a request each interval, whether or not the last was answered, and measures the RTT.
#[derive(Debug, Clone)]
pub struct Pinger {
    stamp: Stamp,
    len_bytes: u32,
    timer: Periodic,
    sent_packets: u64,
    rtt: DelayRecorder,
    replies: SequenceTracker,
    /// Sequence number and time of the requests without a reply.
    unanswered: BTreeMap<u64, u64>,
}

impl Pinger {
    pub(crate) fn new(context: FlowContext, config: &PingConfig) -> Self {
        let headers_bytes = headers_bytes(context.ip_version);
        let payload_bytes = config
            .packet_bytes
            .map_or(DEFAULT_PAYLOAD_BYTES, |bytes| bytes.saturating_sub(headers_bytes));
        Self {
            stamp: context.stamp,
            len_bytes: payload_bytes + ICMP_HEADER_BYTES + IP_HEADER_BYTES,
            timer: context.periodic(u64::from(config.interval_ms) * 1_000, 1),
            sent_packets: 0,
            rtt: DelayRecorder::new(),
            replies: SequenceTracker::default(),
            unanswered: BTreeMap::new(),
        }
    }
}

impl Endpoint for Pinger {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        if let Body::Ping { seq, is_reply: true, request_sent_us } = packet.body
            && self.replies.on_arrival(seq)
        {
            self.unanswered.remove(&seq);
            self.rtt.record(now_us, now_us.saturating_sub(request_sent_us));
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(seq) = self.timer.fire(now_us) {
            self.sent_packets += 1;
            self.unanswered.insert(seq, now_us);
            let body = Body::Ping { seq, is_reply: false, request_sent_us: now_us };
            out.push(self.stamp.packet(self.len_bytes, body, now_us));
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.timer.next_us()
    }
}

/// Replies to each request at once with a packet of the same size.
#[derive(Debug, Clone, Default)]
pub struct PingResponder {
    arrivals: Arrivals,
}

impl Endpoint for PingResponder {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::Ping { seq, is_reply: false, request_sent_us } = packet.body else { return };
        self.arrivals.on_packet(packet, now_us);
        let payload = packet.len_bytes.saturating_sub(ICMP_HEADER_BYTES + IP_HEADER_BYTES);
        self.arrivals.on_delivered(u64::from(payload), now_us);
        out.push(Packet {
            sent_us: now_us,
            ecn: Ecn::NotEct,
            body: Body::Ping { seq, is_reply: true, request_sent_us },
            ..*packet
        });
    }
}

impl Measured for Pinger {
    fn sent(&self) -> (u64, u64) {
        (self.sent_packets, self.sent_packets * u64::from(self.len_bytes))
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.replies.lost())
    }

    fn rtt(&self) -> Option<&DelayRecorder> {
        Some(&self.rtt)
    }

    fn unanswered_us(&self) -> Vec<u64> {
        self.unanswered.values().copied().collect()
    }
}

impl Measured for PingResponder {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_is_measured_per_request_even_when_replies_overlap() {
        let context = FlowContext { stop_us: Some(300_000), ..FlowContext::default() };
        let mut pinger = Pinger::new(context, &PingConfig::default());
        let mut responder = PingResponder::default();
        let mut requests = Vec::new();
        while let Some(now_us) = pinger.next_deadline_us() {
            pinger.poll(now_us, &mut requests);
        }
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|packet| packet.len_bytes == 84));
        let mut replies = Vec::new();
        for request in &requests {
            responder.on_packet(request, request.sent_us + 150_000, &mut replies);
        }
        for reply in [&replies[0], &replies[2], &replies[2]] {
            pinger.on_packet(reply, reply.sent_us + 10_000, &mut Vec::new());
        }
        let summary = pinger.rtt.summary();
        assert_eq!((summary.count, summary.min_us, summary.max_us), (2, 160_000, 160_000));
        assert_eq!(pinger.unanswered_us(), [100_000]);
        assert_eq!(pinger.lost_packets(), Some(1));
    }

    #[test]
    fn a_request_is_not_taken_for_a_reply() {
        let mut pinger = Pinger::new(FlowContext::default(), &PingConfig::default());
        let mut out = Vec::new();
        pinger.poll(0, &mut out);
        let request = out[0].clone();
        pinger.on_packet(&request, 5, &mut out);
        assert_eq!(pinger.rtt.count(), 0);
    }
}
