//! The game server.

use super::{GameConfig, GameMessage, INITIAL_US, MIN_INTERVAL_US, payload};
use crate::distribution::Distribution;
use crate::endpoint::{Endpoint, Measured};
use crate::ip::{IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::packet::{Body, Packet, Stamp};
use crate::rng::SplitMix64;
use crate::sequence::SequenceTracker;
use crate::stats::{Arrivals, Figures};

/// Receives actions and sends the state of the world at its own ticks.
#[derive(Debug, Clone)]
pub struct GameServer {
    stamp: Stamp,
    config: GameConfig,
    random: SplitMix64,
    next_us: u64,
    stop_us: Option<u64>,
    sent: (u64, u64),
    arrivals: Arrivals,
    actions: SequenceTracker,
    /// The newest action: its number, when it was done, when it came.
    newest: Option<(u64, u64, u64)>,
}

impl GameServer {
    pub(crate) fn new(
        stamp: Stamp,
        config: &GameConfig,
        seed: u64,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        let mut random = SplitMix64::stream(seed, 1);
        let next_us = start_us + random.below(INITIAL_US);
        Self {
            stamp,
            config: config.clone(),
            random,
            next_us,
            stop_us,
            sent: (0, 0),
            arrivals: Arrivals::default(),
            actions: SequenceTracker::default(),
            newest: None,
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
        self.arrivals.on_packet(packet, now_us);
        if !self.actions.on_arrival(seq) {
            return;
        }
        let payload = packet.len_bytes.saturating_sub(UDP_HEADER_BYTES + IP_HEADER_BYTES);
        self.arrivals.on_delivered(u64::from(payload), now_us);
        if self.newest.is_none_or(|(newest, ..)| seq > newest) {
            self.newest = Some((seq, acted_us, now_us));
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.next_deadline_us().is_some_and(|at_us| at_us <= now_us) {
            let bytes =
                payload(self.config.state_bytes_a, self.config.state_bytes_b, &mut self.random);
            let message = GameMessage::State {
                seq: self.sent.0,
                newest: self.newest.map(|(seq, acted_us, _)| (seq, acted_us)),
                held_us: self.newest.map_or(0, |(.., came_us)| now_us.saturating_sub(came_us)),
            };
            let packet = self.stamp.udp(bytes, Body::Game(message), now_us);
            self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(packet.len_bytes));
            out.push(packet);
            self.next_us += self.interval_us();
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.stop_us.is_none_or(|stop_us| self.next_us < stop_us).then_some(self.next_us)
    }
}

impl Measured for GameServer {
    fn sent(&self) -> (u64, u64) {
        self.sent
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("lost_actions_packets", self.actions.lost() as f64);
    }
}
