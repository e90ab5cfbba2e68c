//! The server of web pages and video chunks: it sends as many bytes as requested.

use crate::endpoint::{Endpoint, Measured};
use crate::packet::{FlowId, Packet};
use crate::rng::SplitMix64;
use crate::tcp::TcpStats;
use crate::tcp::config::TcpConfig;

use super::StreamEnd;

/// Number of the random stream of the flow's seed from which the connections draw.
const STREAM_CONNECTIONS: u64 = 16;

/// Responds to each request at once with the number of bytes it asks for.
#[derive(Debug, Clone)]
pub struct RequestServer {
    first_flow: FlowId,
    connections: Vec<StreamEnd>,
}

impl RequestServer {
    /// Serves the connections `first_flow..first_flow + connections`.
    pub fn new(
        first_flow: FlowId,
        connections: u16,
        dscp: u8,
        config: &TcpConfig,
        seed: u64,
    ) -> Self {
        Self { first_flow, connections: open(first_flow, connections, dscp, config, seed) }
    }

    /// Statistics of its senders, in the order of the connections.
    pub fn senders(&self) -> impl Iterator<Item = TcpStats> + '_ {
        self.connections.iter().map(StreamEnd::tcp_stats)
    }
}

/// The ends of the connections of an application.
pub(super) fn open(
    first_flow: FlowId,
    connections: u16,
    dscp: u8,
    config: &TcpConfig,
    seed: u64,
) -> Vec<StreamEnd> {
    let mut seeds = SplitMix64::stream(seed, STREAM_CONNECTIONS);
    (0..FlowId::from(connections))
        .map(|offset| StreamEnd::new(first_flow + offset, dscp, config, seeds.below(u64::MAX)))
        .collect()
}

/// Index of a packet's connection.
pub(super) fn place(packet: &Packet, first_flow: FlowId) -> Option<usize> {
    packet.flow.checked_sub(first_flow).map(|offset| offset as usize)
}

impl Endpoint for RequestServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some(connection) =
            place(packet, self.first_flow).and_then(|index| self.connections.get_mut(index))
        else {
            return;
        };
        connection.on_packet(packet, now_us, out);
        while let Some(wanted_bytes) = connection.read() {
            connection.write(wanted_bytes, None, now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        for connection in &mut self.connections {
            if connection.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                connection.poll(now_us, out);
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.connections.iter().filter_map(Endpoint::next_deadline_us).min()
    }
}

impl Measured for RequestServer {
    fn sent(&self) -> (u64, u64) {
        self.senders().fold((0, 0), |(packets, bytes), tcp| {
            (packets + tcp.sent_packets, bytes + tcp.sent_bytes)
        })
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.senders().map(|tcp| tcp.lost_packets).sum())
    }

    fn tcp_stats(&self) -> Option<TcpStats> {
        match self.connections.as_slice() {
            [one] => Some(one.tcp_stats()),
            _ => None,
        }
    }
}
