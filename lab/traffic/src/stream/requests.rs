//! Requests and responses: a server that sends as many bytes as requested, and its client.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use super::StreamEnd;
use super::http::{HttpConfig, MAX_STREAMS};
use super::multiplexed::StreamsEnd;
use crate::endpoint::{Endpoint, Measured};
use crate::packet::{FlowId, Packet};
use crate::rng::Rng;
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
    /// Version of HTTP; connections with streams are one.
    pub http: HttpConfig,
    /// End of new data of the server of a connection with streams, µs.
    pub stop_us: Option<u64>,
    /// Seed of the flow.
    pub seed: u64,
}

/// One end of all connections of an application.
#[derive(Debug, Clone)]
enum Side {
    /// HTTP/1.1.
    Plain(Ends),
    /// HTTP/2 and HTTP/3.
    Streams(Box<StreamsEnd>),
}

impl Side {
    fn open(connections: Connections<'_>, stop_us: Option<u64>) -> Self {
        let Connections { first_flow, dscp, tcp, http, seed, .. } = connections;
        if !http.is_multiplexed() {
            return Self::Plain(Ends::open(connections));
        }
        let seed = Rng::stream(seed, STREAM_CONNECTIONS).below(u64::MAX);
        Self::Streams(Box::new(StreamsEnd::new(first_flow, dscp, tcp, http, stop_us, seed)))
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        match self {
            Self::Plain(ends) => ends.poll(now_us, out),
            Self::Streams(end) => {
                if end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                    end.poll(now_us, out);
                }
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        match self {
            Self::Plain(ends) => ends.next_deadline_us(),
            Self::Streams(end) => end.next_deadline_us(),
        }
    }
}

/// One end of each connection.
#[derive(Debug, Clone)]
struct Ends {
    first_flow: FlowId,
    ends: Vec<StreamEnd>,
}

impl Ends {
    fn open(connections: Connections<'_>) -> Self {
        let Connections { first_flow, count, dscp, tcp, seed, .. } = connections;
        let mut seeds = Rng::stream(seed, STREAM_CONNECTIONS);
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
pub struct RequestServer(Side);

impl RequestServer {
    /// Serves these connections.
    pub fn new(connections: Connections<'_>) -> Self {
        Self(Side::open(connections, connections.stop_us))
    }

    fn senders(&self) -> Vec<TcpStats> {
        match &self.0 {
            Side::Plain(ends) => ends.ends.iter().map(StreamEnd::tcp_stats).collect(),
            Side::Streams(end) => vec![end.tcp_stats()],
        }
    }
}

impl Endpoint for RequestServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        match &mut self.0 {
            Side::Plain(ends) => {
                let Some((_, end)) = ends.of(packet) else { return };
                end.on_packet(packet, now_us, out);
                while let Some(requested_bytes) = end.read() {
                    end.write(requested_bytes, None, now_us, out);
                }
            }
            Side::Streams(end) => {
                end.on_packet(packet, now_us, out);
                while let Some(request) = end.read() {
                    let Some(requested_bytes) = request.word else { continue };
                    end.write(request.stream, requested_bytes, None, now_us, out);
                }
            }
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
        if let Side::Streams(end) = &self.0 {
            return end.sent();
        }
        self.senders().iter().fold((0, 0), |(packets, bytes), tcp| {
            (packets + tcp.sent_packets, bytes + tcp.sent_bytes)
        })
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.senders().iter().map(|tcp| tcp.lost_packets).sum())
    }

    fn tcp_stats(&self) -> Option<TcpStats> {
        let mut senders = self.senders();
        senders.pop().filter(|_| senders.is_empty())
    }
}

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Connection; place of the stream in a connection with streams.
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
    /// Plain: bytes received on the connection when the response is complete.
    ends_at: u64,
    /// The stream in a connection with streams.
    stream: u32,
}

/// Requests bytes: one request at a time per connection, as HTTP/1.1 without pipelining, or up to 100
/// as streams of one connection.
#[derive(Debug, Clone)]
pub struct RequestClient {
    side: Side,
    /// The outstanding request of each connection, or place of a stream.
    pending: Vec<Option<Pending>>,
    next_stream: u32,
    completed: VecDeque<Completed>,
    request_bytes: NonZeroU32,
    arrivals: Arrivals,
}

impl RequestClient {
    /// A client on these connections with requests of `request_bytes`, at least 1.
    pub fn new(connections: Connections<'_>, request_bytes: u32) -> Self {
        let http = connections.http;
        let places = if http.is_multiplexed() { MAX_STREAMS } else { connections.count.into() };
        Self {
            side: Side::open(connections, None),
            pending: vec![None; places],
            next_stream: 0,
            completed: VecDeque::new(),
            request_bytes: NonZeroU32::new(request_bytes).unwrap_or(NonZeroU32::MIN),
            arrivals: Arrivals::default(),
        }
    }

    /// What arrived over all connections: segments, their delay, and bytes in order.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The lowest connection, or place of a stream, without an outstanding request.
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
        let Some(pending @ None) = self.pending.get_mut(connection) else { return false };
        let stream = self.next_stream;
        let request = Pending { bytes, requested_us: now_us, ends_at: 0, stream };
        match &mut self.side {
            Side::Plain(ends) => {
                let Some(end) = ends.ends.get_mut(connection) else { return false };
                let ends_at = end.received_bytes() + u64::from(bytes.get());
                *pending = Some(Pending { ends_at, ..request });
                end.write(self.request_bytes, Some(bytes), now_us, out);
            }
            Side::Streams(end) => {
                *pending = Some(request);
                self.next_stream += 1;
                end.write(stream, self.request_bytes, Some(bytes), now_us, out);
            }
        }
        true
    }

    /// Bytes of the outstanding response of a place in a connection with streams; 0 on others.
    pub fn received_bytes(&self, place: usize) -> u64 {
        match (&self.side, self.pending.get(place)) {
            (Side::Streams(end), Some(Some(pending))) => end.received_bytes(pending.stream),
            _ => 0,
        }
    }

    /// Processes a packet; [`completed`](Self::completed) has the responses that it completes.
    pub fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let delivered_bytes = match &mut self.side {
            Side::Plain(ends) => {
                let Some((connection, end)) = ends.of(packet) else { return };
                let before = end.received_bytes();
                end.on_packet(packet, now_us, out);
                let received_bytes = end.received_bytes();
                let is_done = |pending: &mut Pending| received_bytes >= pending.ends_at;
                if let Some(pending) = self.pending.get_mut(connection)
                    && let Some(Pending { bytes, requested_us, .. }) = pending.take_if(is_done)
                {
                    self.completed.push_back(Completed { connection, bytes, requested_us });
                }
                received_bytes - before
            }
            Side::Streams(end) => {
                let delivered_bytes = end.receive(packet, now_us, out);
                while let Some(response) = end.read() {
                    let is_done = |pending: &mut Pending| pending.stream == response.stream;
                    let done = self.pending.iter_mut().enumerate().find_map(|(place, pending)| {
                        pending.take_if(is_done).map(|pending| (place, pending))
                    });
                    let Some((connection, Pending { bytes, requested_us, .. })) = done else {
                        continue;
                    };
                    self.completed.push_back(Completed { connection, bytes, requested_us });
                }
                delivered_bytes
            }
        };
        if packet.is_data_segment() {
            self.arrivals.on_packet(packet, now_us);
            self.arrivals.on_delivered(delivered_bytes, now_us);
        }
    }

    /// The next complete response.
    pub fn completed(&mut self) -> Option<Completed> {
        self.completed.pop_front()
    }

    /// Runs the timers of the connections.
    pub fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.side.poll(now_us, out);
    }

    /// The earliest timer of a connection.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.side.next_deadline_us()
    }
}
