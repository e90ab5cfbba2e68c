//! The game client at the UE.

use super::{GameConfig, GameMessage, INITIAL_US, payload};
use crate::endpoint::{Endpoint, Measured};
use crate::ip::{IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::packet::{Body, Packet, Stamp};
use crate::rng::SplitMix64;
use crate::sequence::SequenceTracker;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::timer::Periodic;

/// Sends actions, receives states, and measures the time from an action to the screen.
#[derive(Debug, Clone)]
pub struct GameClient {
    stamp: Stamp,
    config: GameConfig,
    random: SplitMix64,
    timer: Periodic,
    sent: (u64, u64),
    arrivals: Arrivals,
    states: SequenceTracker,
    newest_seen: Option<u64>,
    last_state_us: Option<u64>,
    response: DelayRecorder,
    rtt: DelayRecorder,
    gap: DelayRecorder,
}

impl GameClient {
    pub(crate) fn new(
        stamp: Stamp,
        config: &GameConfig,
        seed: u64,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        let mut random = SplitMix64::stream(seed, 0);
        let start_us = start_us + random.below(INITIAL_US);
        Self {
            stamp,
            config: config.clone(),
            random,
            timer: Periodic::new(start_us, stop_us, config.action_interval_us, 1),
            sent: (0, 0),
            arrivals: Arrivals::default(),
            states: SequenceTracker::default(),
            newest_seen: None,
            last_state_us: None,
            response: DelayRecorder::new(),
            rtt: DelayRecorder::new(),
            gap: DelayRecorder::new(),
        }
    }

    /// Time from an action to the first state that reflects it or a newer one.
    pub fn response(&self) -> &DelayRecorder {
        &self.response
    }

    /// Time between two states, the age of the screen before the newer one.
    pub fn gap(&self) -> &DelayRecorder {
        &self.gap
    }
}

impl Endpoint for GameClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::Game(GameMessage::State { seq, newest, held_us }) = packet.body else { return };
        self.arrivals.on_packet(packet, now_us);
        if !self.states.on_arrival(seq) {
            return;
        }
        let payload = packet.len_bytes.saturating_sub(UDP_HEADER_BYTES + IP_HEADER_BYTES);
        self.arrivals.on_delivered(u64::from(payload), now_us);
        if let Some(last_us) = self.last_state_us.replace(now_us) {
            self.gap.record(now_us, now_us.saturating_sub(last_us));
        }
        if let Some((action, acted_us)) = newest
            && self.newest_seen.is_none_or(|seen| action > seen)
        {
            self.newest_seen = Some(action);
            let response_us = now_us.saturating_sub(acted_us);
            self.response.record(now_us, response_us);
            self.rtt.record(now_us, response_us.saturating_sub(held_us));
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while let Some(seq) = self.timer.fire(now_us) {
            let bytes =
                payload(self.config.action_bytes_a, self.config.action_bytes_b, &mut self.random);
            let body = Body::Game(GameMessage::Action { seq, acted_us: now_us });
            let packet = self.stamp.udp(bytes, body, now_us);
            self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(packet.len_bytes));
            out.push(packet);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.timer.next_us()
    }
}

impl Measured for GameClient {
    fn sent(&self) -> (u64, u64) {
        self.sent
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.states.lost())
    }

    fn rtt(&self) -> Option<&DelayRecorder> {
        Some(&self.rtt)
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("action to screen", &self.response))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push_delay_ms("action_to_screen", &self.response);
        figures.push_delay_ms("state_gap", &self.gap);
    }
}
