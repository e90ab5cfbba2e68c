//! Several flows through one bottleneck.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use traffic::{AppConfig, Endpoint, Flow, FlowConfig, Packet, TcpConfig};

use crate::pair::Link;

/// Flows that share a downlink; each has a delay of its own, half there and half back.
pub(crate) struct Shared {
    pub(crate) flows: Vec<Flow>,
    pub(crate) down: Link,
    pub(crate) now_us: u64,
    half_rtt_us: Vec<u64>,
    on_the_way: BinaryHeap<Reverse<(u64, u64)>>,
    packets: Vec<Option<(usize, bool, Packet)>>,
    outbox: Vec<Packet>,
}

impl Shared {
    /// `flows`: configuration, start in seconds, round-trip time.
    pub(crate) fn new(down: Link, flows: &[(TcpConfig, u64, u64)]) -> Self {
        let apps: Vec<_> = flows
            .iter()
            .map(|(tcp, start_s, rtt_us)| (AppConfig::Tcp(tcp.clone()), *start_s, *rtt_us))
            .collect();
        Self::of(down, &apps)
    }

    /// As [`Shared::new`] for any application with one connection.
    pub(crate) fn of(down: Link, flows: &[(AppConfig, u64, u64)]) -> Self {
        let build = |(number, (app, start_s, _)): (usize, &(AppConfig, u64, u64))| {
            let mut config = FlowConfig::new(app.clone());
            config.start_us = start_s * 1_000_000;
            Flow::new(number as u32, &config, number as u64 + 1).unwrap()
        };
        Self {
            flows: flows.iter().enumerate().map(build).collect(),
            down,
            now_us: 0,
            half_rtt_us: flows.iter().map(|(_, _, rtt_us)| rtt_us / 2).collect(),
            on_the_way: BinaryHeap::new(),
            packets: Vec::new(),
            outbox: Vec::new(),
        }
    }

    fn dispatch(&mut self, to_ue: bool) {
        let mut outbox = std::mem::take(&mut self.outbox);
        for mut packet in outbox.drain(..) {
            let flow = packet.flow as usize;
            let at_us = if to_ue {
                self.down.carry(&mut packet, self.now_us).map(|(at_us, _)| at_us)
            } else {
                Some(self.now_us)
            };
            if let Some(at_us) = at_us {
                let at_us = at_us + self.half_rtt_us[flow];
                self.on_the_way.push(Reverse((at_us, self.packets.len() as u64)));
                self.packets.push(Some((flow, to_ue, packet)));
            }
        }
        self.outbox = outbox;
    }

    pub(crate) fn run_until(&mut self, end_us: u64) {
        loop {
            let ends = self
                .flows
                .iter()
                .flat_map(|flow| [flow.server.next_deadline_us(), flow.ue.next_deadline_us()]);
            let arrival_us = self.on_the_way.peek().map(|Reverse((at_us, _))| *at_us);
            let next_us = ends.chain([arrival_us]).flatten().min();
            let Some(next_us) = next_us.filter(|&at_us| at_us <= end_us) else { break };
            self.now_us = self.now_us.max(next_us);
            while let Some(&Reverse((at_us, id))) = self.on_the_way.peek()
                && at_us <= self.now_us
            {
                self.on_the_way.pop();
                let Some((flow, to_ue, packet)) = self.packets[id as usize].take() else {
                    continue;
                };
                let flow = &mut self.flows[flow];
                let end: &mut dyn Endpoint = if to_ue { &mut flow.ue } else { &mut flow.server };
                end.on_packet(&packet, self.now_us, &mut self.outbox);
                self.dispatch(!to_ue);
            }
            for flow in 0..self.flows.len() {
                self.flows[flow].server.poll(self.now_us, &mut self.outbox);
                self.dispatch(true);
                self.flows[flow].ue.poll(self.now_us, &mut self.outbox);
                self.dispatch(false);
            }
        }
        self.now_us = end_us;
    }

    /// Goodput of each flow over `[from, to)`, bit/s.
    pub(crate) fn goodputs_bps(&self, from_us: u64, to_us: u64) -> Vec<f64> {
        let goodput = |flow: &Flow| flow.ue.arrivals().goodput().mean_bps(from_us, to_us);
        self.flows.iter().map(goodput).collect()
    }
}

/// Jain, Chiu, Hawe 1984.
pub(crate) fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}
