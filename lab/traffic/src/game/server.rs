//! The game server.

use super::{GameConfig, GameMessage, INITIAL_US, MIN_INTERVAL_US, payload};
use crate::distribution::Distribution;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::Rng;
use crate::stats::{Arrivals, Due, Figures};
use crate::udp_cbr::DatagramSink;

/// Receives actions and sends the state of the world at its own ticks.
#[derive(Debug, Clone)]
pub struct GameServer {
    sender: UdpSender,
    config: GameConfig,
    /// The longest payload.
    most_bytes: u32,
    random: Rng,
    next_us: u64,
    stop_us: Option<u64>,
    actions: DatagramSink,
    /// The newest action: number, time of the action, time of arrival.
    newest: Option<(u64, u64, u64)>,
    due: Option<Due>,
}

impl GameServer {
    pub(crate) fn new(context: FlowContext, config: &GameConfig) -> Self {
        let mut random = Rng::stream(context.seed, 1);
        let next_us = context.start_us + random.below(INITIAL_US);
        Self {
            sender: UdpSender::new(context.stamp),
            config: config.clone(),
            most_bytes: context.udp_payload_bytes(),
            random,
            next_us,
            stop_us: context.stop_us,
            actions: DatagramSink::default(),
            newest: None,
            due: context.deadline_us.map(Due::new),
        }
    }

    fn interval_us(&mut self) -> u64 {
        let (a, b) = (self.config.state_interval_a_us, self.config.state_interval_b_us);
        let drawn = Distribution::LargestExtreme { a, b }.draw(&mut self.random);
        drawn.max(MIN_INTERVAL_US) as u64
    }
}

impl Endpoint for GameServer {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::Game(GameMessage::Action { seq, acted_us }) = packet.body else { return };
        if self.actions.on_datagram(packet, seq, 0, now_us)
            && self.newest.is_none_or(|(newest, ..)| seq > newest)
        {
            self.newest = Some((seq, acted_us, now_us));
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
            let (a, b) = (self.config.state_bytes_a, self.config.state_bytes_b);
            let bytes = payload(a, b, self.most_bytes, &mut self.random);
            let message = GameMessage::State {
                seq: self.sender.sent().0,
                newest: self.newest.map(|(seq, acted_us, _)| (seq, acted_us)),
                held_us: self
                    .newest
                    .map_or(0, |(.., arrived_us)| now_us.saturating_sub(arrived_us)),
            };
            self.sender.send(bytes, Body::Game(message), now_us, out);
            if let Some(due) = &mut self.due {
                due.on_sent(now_us);
            }
            self.next_us += self.interval_us();
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.stop_us.is_none_or(|stop_us| self.next_us < stop_us).then_some(self.next_us)
    }
}

impl Measured for GameServer {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.actions.arrivals())
    }

    fn due(&self) -> Option<&Due> {
        self.due.as_ref()
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("lost_actions_packets", self.actions.lost_packets() as f64);
    }
}
