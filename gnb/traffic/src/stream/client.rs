//! The client of a [`RequestServer`](super::RequestServer).

use std::num::NonZeroU32;

use crate::endpoint::Endpoint;
use crate::packet::{FlowId, Packet};
use crate::stats::Arrivals;
use crate::tcp::config::TcpConfig;

use super::StreamEnd;
use super::server::{open, place};

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// Connection.
    pub connection: usize,
    /// Size of the response.
    pub bytes: NonZeroU32,
    /// Time of the request.
    pub asked_us: u64,
}

/// A request whose response is not complete.
#[derive(Debug, Clone, Copy)]
struct Pending {
    bytes: NonZeroU32,
    asked_us: u64,
    /// Bytes received on the connection when the response is complete.
    ends_at: u64,
}

/// Requests bytes, one request at a time per connection, as HTTP/1.1 without pipelining.
#[derive(Debug, Clone)]
pub struct RequestClient {
    first_flow: FlowId,
    connections: Vec<(StreamEnd, Option<Pending>)>,
    request_bytes: NonZeroU32,
    arrivals: Arrivals,
}

impl RequestClient {
    /// A client on the connections `first_flow..first_flow + connections` with requests of
    /// `request_bytes`.
    pub fn new(
        first_flow: FlowId,
        connections: u16,
        dscp: u8,
        request_bytes: NonZeroU32,
        config: &TcpConfig,
        seed: u64,
    ) -> Self {
        let connections = open(first_flow, connections, dscp, config, seed);
        Self {
            first_flow,
            connections: connections.into_iter().map(|end| (end, None)).collect(),
            request_bytes,
            arrivals: Arrivals::default(),
        }
    }

    /// What arrived over all connections: segments, their delay, and bytes in order.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The lowest connection without an outstanding request.
    pub fn idle_connection(&self) -> Option<usize> {
        self.connections.iter().position(|(_, pending)| pending.is_none())
    }

    /// Bytes received of the outstanding response on `connection`, with the time of its request.
    pub fn progress(&self, connection: usize) -> Option<(u64, u64)> {
        let (end, pending) = self.connections.get(connection)?;
        let pending = (*pending)?;
        let begins_at = pending.ends_at - u64::from(pending.bytes.get());
        Some((end.received_bytes().saturating_sub(begins_at), pending.asked_us))
    }

    /// Requests `bytes` on `connection`; `false` if it is busy or does not exist.
    pub fn ask(
        &mut self,
        connection: usize,
        bytes: NonZeroU32,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> bool {
        let Some((end, pending @ None)) = self.connections.get_mut(connection) else {
            return false;
        };
        let ends_at = end.received_bytes() + u64::from(bytes.get());
        *pending = Some(Pending { bytes, asked_us: now_us, ends_at });
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
        let connection = place(packet, self.first_flow)?;
        let (end, pending) = self.connections.get_mut(connection)?;
        let before = end.received_bytes();
        end.on_packet(packet, now_us, out);
        if packet.is_tcp_data() {
            self.arrivals.on_packet(packet, now_us);
            self.arrivals.on_delivered(end.received_bytes() - before, now_us);
        }
        let done = pending.take_if(|pending| end.received_bytes() >= pending.ends_at)?;
        Some(Completed { connection, bytes: done.bytes, asked_us: done.asked_us })
    }

    /// Runs the timers of the connections.
    pub fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        for (end, _) in &mut self.connections {
            if end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                end.poll(now_us, out);
            }
        }
    }

    /// The earliest timer of a connection.
    pub fn next_deadline_us(&self) -> Option<u64> {
        self.connections.iter().filter_map(|(end, _)| end.next_deadline_us()).min()
    }
}
