//! The client of a [`RequestServer`](super::RequestServer).

use std::num::NonZeroU32;

use crate::endpoint::Endpoint;
use crate::packet::{FlowId, Packet};
use crate::stats::Arrivals;
use crate::tcp::config::TcpConfig;

use super::StreamEnd;
use super::server::{open, place};

/// An answer that is there in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completed {
    /// On which connection.
    pub connection: usize,
    /// Its size.
    pub bytes: NonZeroU32,
    /// When it was asked for.
    pub asked_us: u64,
}

/// A request without its whole answer.
#[derive(Debug, Clone, Copy)]
struct Pending {
    bytes: NonZeroU32,
    asked_us: u64,
    /// Received on the connection when the answer is complete.
    ends_at: u64,
}

/// Asks for bytes, one request at a time on each connection, as HTTP/1.1 without pipelining does.
#[derive(Debug, Clone)]
pub struct RequestClient {
    first_flow: FlowId,
    connections: Vec<(StreamEnd, Option<Pending>)>,
    request_bytes: NonZeroU32,
    arrivals: Arrivals,
}

impl RequestClient {
    /// Asks over the connections `first_flow..first_flow + connections`, each time with a request of
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

    /// The lowest connection without a request under way.
    pub fn idle_connection(&self) -> Option<usize> {
        self.connections.iter().position(|(_, pending)| pending.is_none())
    }

    /// Bytes of the answer under way on `connection` that have arrived, with the time it was asked
    /// for.
    pub fn progress(&self, connection: usize) -> Option<(u64, u64)> {
        let (end, pending) = self.connections.get(connection)?;
        let pending = (*pending)?;
        let begins_at = pending.ends_at - u64::from(pending.bytes.get());
        Some((end.received_bytes().saturating_sub(begins_at), pending.asked_us))
    }

    /// Asks for `bytes` on `connection`; `false` if that is busy or does not exist.
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

    /// Takes in a packet; says whether it completed an answer.
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
