//! The server of a responsiveness test.

use std::num::NonZeroU32;

use super::probe::{ProbeServer, Setup};
use super::{PROBE_CONNECTIONS, REQUEST_BYTES, RESPONSE_BYTES, ResponsivenessConfig};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{FlowId, Packet};
use crate::stream::StreamEnd;
use crate::tcp::TcpConfig;

/// Bytes written and not sent that a loading connection keeps: the largest frame of HTTP/2 (RFC 9113
/// §4.2), at whose end the server chooses what goes next.
const NOT_SENT_BYTES: u64 = 16_384;

/// A loading connection.
#[derive(Debug, Clone)]
struct Load {
    end: StreamEnd,
    /// Self probes that were requested, answered.
    probes: (u64, u64),
    /// Bytes of the download since the last answer.
    since_answer: u64,
    is_open: bool,
}

impl Load {
    /// Counts requests and writes what the connection takes.
    fn serve(&mut self, mss_bytes: u64, now_us: u64, out: &mut Vec<Packet>) {
        // The first request is that of the large object.
        let requests = self.end.received_bytes() / u64::from(REQUEST_BYTES);
        self.is_open |= requests > 0;
        self.probes.0 = requests.saturating_sub(1);
        if !self.is_open {
            return;
        }
        loop {
            // A segment of the download goes between two answers: a segment carries one word.
            let answers = self.probes.0 > self.probes.1;
            if answers && self.since_answer >= mss_bytes {
                self.probes.1 += 1;
                self.since_answer = 0;
                // Answers are in order, so their number is enough.
                let number = u32::try_from(self.probes.1).ok().and_then(NonZeroU32::new);
                self.write(u64::from(RESPONSE_BYTES), number, now_us, out);
                continue;
            }
            let room = NOT_SENT_BYTES.saturating_sub(self.end.unsent_bytes(now_us));
            let bytes = if answers { mss_bytes.max(room) } else { room };
            if bytes == 0 {
                return;
            }
            self.write(bytes, None, now_us, out);
            self.since_answer += bytes;
        }
    }

    fn write(&mut self, bytes: u64, word: Option<NonZeroU32>, now_us: u64, out: &mut Vec<Packet>) {
        if let Some(bytes) = u32::try_from(bytes).ok().and_then(NonZeroU32::new) {
            self.end.write(bytes, word, now_us, out);
        }
    }
}

/// Serves downloads without end and answers probes.
#[derive(Debug, Clone)]
pub struct ResponsivenessServer {
    first_flow: FlowId,
    loads: Vec<Load>,
    probes: Vec<Option<ProbeServer>>,
    /// Probes whose connection has a timer.
    live: Vec<usize>,
    setup: Setup,
    mss_bytes: u64,
    stop_us: Option<u64>,
}

impl ResponsivenessServer {
    pub(crate) fn new(
        context: FlowContext,
        config: &ResponsivenessConfig,
        tcp: &TcpConfig,
    ) -> Self {
        let setup = super::client::setup(context, config, tcp);
        let first_flow = context.stamp.flow;
        let load = |index| Load {
            end: setup.open(first_flow + FlowId::from(index)),
            probes: (0, 0),
            since_answer: 0,
            is_open: false,
        };
        Self {
            first_flow,
            loads: (0..config.connections).map(load).collect(),
            probes: vec![None; PROBE_CONNECTIONS.into()],
            live: Vec::new(),
            mss_bytes: u64::from(setup.tcp.mss_bytes()),
            setup,
            stop_us: context.stop_us,
        }
    }

    fn is_on(&self, now_us: u64) -> bool {
        self.stop_us.is_none_or(|stop_us| now_us < stop_us)
    }

    fn serve(&mut self, index: usize, now_us: u64, out: &mut Vec<Packet>) {
        if self.is_on(now_us)
            && let Some(load) = self.loads.get_mut(index)
        {
            load.serve(self.mss_bytes, now_us, out);
        }
    }

    fn on_probe(&mut self, slot: usize, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some(probe) = self.probes.get_mut(slot) else { return };
        if let Some(generation) = ProbeServer::opened_by(packet)
            && probe.as_ref().is_none_or(|probe| !probe.is_of(generation))
        {
            *probe = Some(ProbeServer::new(packet.flow, generation, &self.setup));
        }
        let Some(probe) = probe else { return };
        probe.on_packet(packet, &self.setup, now_us, out);
        if probe.end.next_deadline_us().is_some() && !self.live.contains(&slot) {
            self.live.push(slot);
        }
    }

    fn senders(&self) -> impl Iterator<Item = &StreamEnd> {
        let probes = self.probes.iter().flatten().map(|probe| &probe.end);
        self.loads.iter().map(|load| &load.end).chain(probes)
    }
}

impl Endpoint for ResponsivenessServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Some(index) = packet.flow.checked_sub(self.first_flow) else { return };
        let index = index as usize;
        match self.loads.get_mut(index) {
            Some(load) => {
                load.end.on_packet(packet, now_us, out);
                self.serve(index, now_us, out);
            }
            None => self.on_probe(index - self.loads.len(), packet, now_us, out),
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        for index in 0..self.loads.len() {
            let end = &mut self.loads[index].end;
            if end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                end.poll(now_us, out);
                self.serve(index, now_us, out);
            }
        }
        let probes = &mut self.probes;
        self.live.retain(|slot| {
            let Some(probe) = &mut probes[*slot] else { return false };
            if probe.end.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
                probe.end.poll(now_us, out);
            }
            probe.end.next_deadline_us().is_some()
        });
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let loads = self.loads.iter().filter_map(|load| load.end.next_deadline_us());
        let probes = self.live.iter().filter_map(|slot| self.probes[*slot].as_ref());
        loads.chain(probes.filter_map(|probe| probe.end.next_deadline_us())).min()
    }
}

impl Measured for ResponsivenessServer {
    fn sent(&self) -> (u64, u64) {
        self.senders().fold((0, 0), |(packets, bytes), end| {
            let stats = end.tcp_stats();
            (packets + stats.sent_packets, bytes + stats.sent_bytes)
        })
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.senders().map(|end| end.tcp_stats().lost_packets).sum())
    }
}
