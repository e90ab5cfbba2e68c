//! A real host: the caller brings in the datagrams it sends and takes out those that arrive.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::datagram::Datagram;
use crate::endpoint::{Endpoint, Measured};
use crate::packet::{Body, Packet, Stamp};
use crate::stats::Arrivals;

/// Real hosts at both ends of a flow. Their packets have their own lengths, addresses and header fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HostConfig {}

/// One end with a real host: sends what it is given, keeps what arrives.
#[derive(Debug, Clone)]
pub struct HostEnd {
    stamp: Stamp,
    outgoing: VecDeque<Packet>,
    sent_packets: u64,
    sent_bytes: u64,
    arrivals: Arrivals,
    arrived: VecDeque<(u64, Packet)>,
}

impl HostEnd {
    pub(crate) fn new(stamp: Stamp) -> Self {
        Self {
            stamp,
            outgoing: VecDeque::new(),
            sent_packets: 0,
            sent_bytes: 0,
            arrivals: Arrivals::default(),
            arrived: VecDeque::new(),
        }
    }

    /// The host sends a datagram; it leaves at the next [`Endpoint::poll`].
    pub fn send(&mut self, datagram: Datagram, now_us: u64) {
        let len_bytes = datagram.bytes.len() as u32;
        let Datagram { ecn, dscp, .. } = datagram;
        let stamp = Stamp { ecn, dscp, ..self.stamp };
        self.outgoing.push_back(stamp.packet(len_bytes, Body::Host(Arc::new(datagram)), now_us));
    }

    /// The next datagram that arrived, with the time of its arrival.
    pub fn take_arrived(&mut self) -> Option<(u64, Packet)> {
        self.arrived.pop_front()
    }

    /// Packets that the host sent.
    pub fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    /// Packets that the host has given and that leave at the next [`Endpoint::poll`].
    pub fn waiting_packets(&self) -> u64 {
        self.outgoing.len() as u64
    }

    /// Packets that arrived at the host.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }
}

impl Endpoint for HostEnd {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _: &mut Vec<Packet>) {
        if let Body::Host(datagram) = &packet.body {
            self.arrivals.on_packet(packet, now_us);
            self.arrivals.on_delivered(u64::from(datagram.payload_bytes), now_us);
            self.arrived.push_back((now_us, packet.clone()));
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.next_deadline_us().is_some_and(|at_us| at_us <= now_us)
            && let Some(packet) = self.outgoing.pop_front()
        {
            self.sent_packets += 1;
            self.sent_bytes += u64::from(packet.len_bytes);
            out.push(packet);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.outgoing.front().map(|packet| packet.sent_us)
    }
}

impl Measured for HostEnd {
    fn sent(&self) -> (u64, u64) {
        (self.sent_packets, self.sent_bytes)
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::ip::Ecn;

    fn datagram(length: usize) -> Datagram {
        Datagram {
            bytes: vec![0x45; length].into(),
            source: IpAddr::from([198, 51, 100, 1]),
            destination: IpAddr::from([10, 45, 70, 1]),
            source_port: 5201,
            destination_port: 49_152,
            protocol: 17,
            ecn: Ecn::Ect1,
            dscp: 46,
            payload_bytes: length as u32 - 28,
            inner: None,
        }
    }

    #[test]
    fn datagrams_leave_when_sent_and_are_kept_when_they_arrive() {
        let (mut server, mut ue) = (HostEnd::new(Stamp::default()), HostEnd::new(Stamp::default()));
        assert_eq!(server.next_deadline_us(), None);
        server.send(datagram(100), 7);
        server.send(datagram(200), 9);
        assert_eq!((server.next_deadline_us(), server.waiting_packets()), (Some(7), 2));
        let mut out = Vec::new();
        server.poll(8, &mut out);
        assert_eq!(server.next_deadline_us(), Some(9), "the second is not due");
        server.poll(9, &mut out);
        assert_eq!((server.sent(), server.waiting_packets()), ((2, 300), 0));
        for mut packet in out {
            assert_eq!((packet.ecn, packet.dscp), (Ecn::Ect1, 46));
            packet.ecn = Ecn::Ce;
            ue.on_packet(&packet, 30, &mut Vec::new());
        }
        assert_eq!((ue.arrivals.packets(), ue.arrivals.ce_packets()), (2, 2));
        assert_eq!(ue.arrivals.goodput().total_bytes(), 72 + 172);
        assert_eq!(ue.arrivals.delay().summary().max_us, 23);
        let (at_us, packet) = ue.take_arrived().unwrap();
        assert_eq!((at_us, packet.len_bytes, packet.ecn), (30, 100, Ecn::Ce));
        assert_eq!(ue.take_arrived().unwrap().1.len_bytes, 200);
        assert!(ue.take_arrived().is_none());
    }
}
