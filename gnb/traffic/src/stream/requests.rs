//! Requests and responses: a server that sends as many bytes as requested, and its client.

use std::num::NonZeroU32;

use super::StreamEnd;
use crate::endpoint::{Endpoint, Measured};
use crate::packet::{FlowId, Packet};
use crate::rng::SplitMix64;
use crate::stats::Arrivals;
use crate::tcp::TcpStats;
use crate::tcp::config::TcpConfig;

/// Number of the random stream of the flow's seed from which the connections draw.
const STREAM_CONNECTIONS: u64 = 16;

/// Parameters of the connections of an application, the same at both ends.
#[derive(Debug, Clone, Copy)]
pub struct Connections<'a> {
    /// Number of the first connection; the others follow it.
    pub first_flow: FlowId,
    /// Number of connections.
    pub count: u16,
    /// DSCP of all packets.
    pub dscp: u8,
    /// Configuration of each connection.
    pub tcp: &'a TcpConfig,
    /// Seed of the flow.
    pub seed: u64,
}

/// One end of each connection.
#[derive(Debug, Clone)]
struct Ends {
    first_flow: FlowId,
    ends: Vec<StreamEnd>,
}

impl Ends {
    fn open(connections: Connections<'_>) -> Self {
        let Connections { first_flow, count, dscp, tcp, seed } = connections;
        let mut seeds = SplitMix64::stream(seed, STREAM_CONNECTIONS);
        let ends = (first_flow..first_flow + FlowId::from(count))
            .map(|flow| StreamEnd::new(flow, dscp, tcp, seeds.below(u64::MAX)))
            .collect();
        Self { first_flow, ends }
    }

    /// The connection of a packet, with its index.
    fn of(&mut self, packet: &Packet) -> Option<(usize, &mut StreamEnd)> {
        let index = packet.flow.checked_sub(self.first_flow)? as usize;
        Some((index, self.ends.get_mut(index)?))
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        for end in &mut self.ends {
            if end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                end.poll(now_us, out);
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.ends.iter().filter_map(Endpoint::next_deadline_us).min()
    }
}

/// Responds to each request at once with the number of bytes requested.
#[derive(Debug, Clone)]
pub struct RequestServer(Ends);

impl RequestServer {
    /// Serves these connections.
    pub fn new(connections: Connections<'_>) -> Self {
        Self(Ends::open(connections))
    }

    fn senders(&self) -> impl Iterator<Item = TcpStats> + '_ {
        self.0.ends.iter().map(StreamEnd::tcp_stats)
    }
}

impl Endpoint for RequestServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some((_, end)) = self.0.of(packet) else { return };
        end.on_packet(packet, now_us, out);
        while let Some(requested_bytes) = end.read() {
            end.write(requested_bytes, None, now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.0.poll(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.0.next_deadline_us()
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
        match self.0.ends.as_slice() {
            [one] => Some(one.tcp_stats()),
            _ => None,
        }
    }
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Connection.
    pub connection: usize,
    /// Size of the response.
    pub bytes: NonZeroU32,
    /// Time of the request.
    pub requested_us: u64,
}

/// A request whose response is not complete.
#[derive(Debug, Clone, Copy)]
struct Pending {
    bytes: NonZeroU32,
    requested_us: u64,
    /// Bytes received on the connection when the response is complete.
    ends_at: u64,
}

/// Requests bytes, one request at a time per connection, as HTTP/1.1 without pipelining.
#[derive(Debug, Clone)]
pub struct RequestClient {
    ends: Ends,
    /// The outstanding request of each connection.
    pending: Vec<Option<Pending>>,
    request_bytes: NonZeroU32,
    arrivals: Arrivals,
}

impl RequestClient {
    /// A client on these connections with requests of `request_bytes`, at least 1.
    pub fn new(connections: Connections<'_>, request_bytes: u32) -> Self {
        Self {
            ends: Ends::open(connections),
            pending: vec![None; connections.count.into()],
            request_bytes: NonZeroU32::new(request_bytes).unwrap_or(NonZeroU32::MIN),
            arrivals: Arrivals::default(),
        }
    }

    /// What arrived over all connections: segments, their delay, and bytes in order.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The lowest connection without an outstanding request.
    pub fn idle_connection(&self) -> Option<usize> {
        self.pending.iter().position(Option::is_none)
    }

    /// Requests `bytes` on `connection`; `false` if it is busy or does not exist.
    pub fn request(
        &mut self,
        connection: usize,
        bytes: NonZeroU32,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> bool {
        let (Some(end), Some(pending @ None)) =
            (self.ends.ends.get_mut(connection), self.pending.get_mut(connection))
        else {
            return false;
        };
        let ends_at = end.received_bytes() + u64::from(bytes.get());
        *pending = Some(Pending { bytes, requested_us: now_us, ends_at });
        end.write(self.request_bytes, Some(bytes), now_us, out);
        true
    }

    /// Processes a packet; returns the response that it completes.
    pub fn on_packet(
        &mut self,
        packet: &Packet,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> Option<Completed> {
        let (connection, end) = self.ends.of(packet)?;
        let before = end.received_bytes();
        end.on_packet(packet, now_us, out);
        let received_bytes = end.received_bytes();
        if packet.is_tcp_data() {
            self.arrivals.on_packet(packet, now_us);
            self.arrivals.on_delivered(received_bytes - before, now_us);
        }
        let pending = self.pending.get_mut(connection)?;
        let Pending { bytes, requested_us, .. } =
            pending.take_if(|pending| received_bytes >= pending.ends_at)?;
        Some(Completed { connection, bytes, requested_us })
    }

    /// Runs the timers of the connections.
    pub fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.ends.poll(now_us, out);
    }

    /// The earliest timer of a connection.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.ends.next_deadline_us()
    }
}
