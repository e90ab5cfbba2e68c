//! Foreign probes: both ends of a connection that lives for three round trips.

use std::num::NonZeroU32;

use super::Exchange;
use crate::endpoint::Endpoint;
use crate::packet::{Body, FlowId, Packet};
use crate::stream::StreamEnd;
use crate::tcp::config::TcpConfig;

/// Parameters that all connections share.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) dscp: u8,
    pub(super) tcp: TcpConfig,
    pub(super) seed: u64,
    pub(super) exchanges: &'static [Exchange],
}

impl Setup {
    pub(super) fn open(&self, flow: FlowId) -> StreamEnd {
        StreamEnd::new(flow, self.dscp, &self.tcp, self.seed ^ u64::from(flow))
    }
}

fn at_least_one(bytes: u32) -> NonZeroU32 {
    NonZeroU32::new(bytes).unwrap_or(NonZeroU32::MIN)
}

/// The UE's end: requests, and the time since the last.
#[derive(Debug, Clone)]
pub(super) struct ProbeClient {
    end: StreamEnd,
    /// Index of the exchange that is under way; their number once all are done.
    stage: usize,
    pub(super) since_us: u64,
    expected_bytes: u64,
}

impl ProbeClient {
    /// Opens the connection; `generation` tells it from earlier ones of the same number.
    pub(super) fn launch(
        flow: FlowId,
        generation: NonZeroU32,
        setup: &Setup,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> Self {
        let mut end = setup.open(flow);
        let first = setup.exchanges[0];
        end.write(at_least_one(first.request_bytes), Some(generation), now_us, out);
        let expected_bytes = u64::from(first.response_bytes);
        Self { end, stage: 0, since_us: now_us, expected_bytes }
    }

    /// The exchange that is under way; `None` once all are done.
    pub(super) fn stage(&self, setup: &Setup) -> Option<usize> {
        (self.stage < setup.exchanges.len()).then_some(self.stage)
    }

    /// Processes a packet; returns the exchange that it completes and how long that took.
    pub(super) fn on_packet(
        &mut self,
        packet: &Packet,
        setup: &Setup,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) -> Option<(usize, u64)> {
        self.end.on_packet(packet, now_us, out);
        let done = self.stage(setup)?;
        if self.end.received_bytes() < self.expected_bytes {
            return None;
        }
        let took_us = now_us - self.since_us;
        self.stage += 1;
        self.since_us = now_us;
        if let Some(next) = setup.exchanges.get(self.stage) {
            self.expected_bytes += u64::from(next.response_bytes);
            self.end.write(at_least_one(next.request_bytes), None, now_us, out);
        }
        Some((done, took_us))
    }

    pub(super) fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.end.poll(now_us, out);
    }

    pub(super) fn next_deadline_us(&self) -> Option<u64> {
        self.end.next_deadline_us()
    }
}

/// The server's end.
#[derive(Debug, Clone)]
pub(super) struct ProbeServer {
    generation: NonZeroU32,
    pub(super) end: StreamEnd,
    served: usize,
    requested_bytes: u64,
}

impl ProbeServer {
    /// The generation of the connection that this packet opens.
    pub(super) fn opened_by(packet: &Packet) -> Option<NonZeroU32> {
        match &packet.body {
            Body::Tcp(segment) if segment.seq == 0 && segment.payload_bytes > 0 => segment.message,
            _ => None,
        }
    }

    pub(super) fn new(flow: FlowId, generation: NonZeroU32, setup: &Setup) -> Self {
        let requested_bytes = u64::from(setup.exchanges[0].request_bytes);
        Self { generation, end: setup.open(flow), served: 0, requested_bytes }
    }

    pub(super) fn is_of(&self, generation: NonZeroU32) -> bool {
        self.generation == generation
    }

    /// Answers each request as it becomes complete.
    pub(super) fn on_packet(
        &mut self,
        packet: &Packet,
        setup: &Setup,
        now_us: u64,
        out: &mut Vec<Packet>,
    ) {
        self.end.on_packet(packet, now_us, out);
        while let Some(exchange) = setup.exchanges.get(self.served)
            && self.end.received_bytes() >= self.requested_bytes
        {
            self.end.write(at_least_one(exchange.response_bytes), None, now_us, out);
            self.served += 1;
            if let Some(next) = setup.exchanges.get(self.served) {
                self.requested_bytes += u64::from(next.request_bytes);
            }
        }
    }
}
