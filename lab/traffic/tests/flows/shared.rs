//! Several flows through one bottleneck, and the fairness of two of the same kind.

use std::collections::BTreeMap;

use traffic::tcp::congestion::CongestionConfig;
use traffic::{AppConfig, CongestionControl, Endpoint, Flow, FlowConfig, Packet, TcpConfig};

use crate::pair::{ALL, Link, with};

/// Flows that share a downlink, each with its own delay, half per direction.
pub(crate) struct Shared {
    pub(crate) flows: Vec<Flow>,
    pub(crate) down: Link,
    pub(crate) now_us: u64,
    half_rtt_us: Vec<u64>,
    /// Packets by arrival time and order of sending, with their flow and whether to the UE.
    in_transit: BTreeMap<(u64, u64), (usize, bool, Packet)>,
    order: u64,
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

    /// Makes what [`Shared::new`] does for any application with one connection.
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
            in_transit: BTreeMap::new(),
            order: 0,
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
                self.order += 1;
                self.in_transit.insert((at_us, self.order), (flow, to_ue, packet));
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
            let arrival_us = self.in_transit.keys().next().map(|&(at_us, _)| at_us);
            let next_us = ends.chain([arrival_us]).flatten().min();
            let Some(next_us) = next_us.filter(|&at_us| at_us <= end_us) else { break };
            self.now_us = self.now_us.max(next_us);
            while let Some(arrival) = self.in_transit.first_entry()
                && arrival.key().0 <= self.now_us
            {
                let (flow, to_ue, packet) = arrival.remove();
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
        let goodput = |flow: &Flow| flow.arrivals().goodput().mean_bps(from_us, to_us);
        self.flows.iter().map(goodput).collect()
    }
}

/// Jain, Chiu, Hawe 1984.
pub(crate) fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// 20 Mbit/s, 40 ms: a BDP of 67 packets and a buffer of one BDP. Marks at a step for Prague.
fn bottleneck(congestion: CongestionControl) -> Link {
    let mut link = Link::new(20_000_000, 0, 67);
    if congestion == CongestionControl::Prague {
        link.mark_above_us = Some(1_000);
    }
    link
}

#[test]
fn two_flows_of_the_same_kind_share_fairly() {
    for congestion in ALL {
        // A setpoint by the minimum RTT would favour the later flow, which never measures the empty path.
        let mut config = with(congestion);
        if let CongestionConfig::C2tcp(c2tcp) = &mut config.congestion {
            c2tcp.setpoint_ms = Some(60);
        }
        let flows = [(config.clone(), 0, 40_000), (config, 5, 40_000)];
        let mut shared = Shared::new(bottleneck(congestion), &flows);
        shared.run_until(120_000_000);
        let rates = shared.goodputs_bps(40_000_000, 120_000_000);
        let (jain, total) = (jain(&rates), rates.iter().sum::<f64>() / 19.3e6);
        assert!(jain >= 0.9, "{congestion:?}: {jain:.3} of {rates:?}");
        assert!(total > 0.75, "{congestion:?}: {total:.3} of {rates:?}");
    }
}

/// draft-briscoe-iccrg-prague-congestion-control-03 §2.4.4: Prague on a short path does not starve
/// Prague on a long one; Reno does.
#[test]
fn prague_is_independent_of_the_round_trip_below_25_ms() {
    let run = |congestion: CongestionControl| {
        let flows = [(with(congestion), 0, 5_000), (with(congestion), 0, 25_000)];
        let mut shared = Shared::new(bottleneck(congestion), &flows);
        shared.run_until(60_000_000);
        let rates = shared.goodputs_bps(20_000_000, 60_000_000);
        rates[0] / rates[1]
    };
    let ratio = run(CongestionControl::Prague);
    assert!((0.5..2.0).contains(&ratio), "{ratio:.2}");
}
