//! The game client at the UE.

use super::{GameConfig, GameMessage, INITIAL_US, payload};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::Rng;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::timer::Periodic;
use crate::udp_cbr::DatagramSink;

/// Sends actions, receives states, and measures the time from an action to the screen.
#[derive(Debug, Clone)]
pub struct GameClient {
    sender: UdpSender,
    config: GameConfig,
    /// The longest payload.
    most_bytes: u32,
    random: Rng,
    timer: Periodic,
    states: DatagramSink,
    newest_seen: Option<u64>,
    last_state_us: Option<u64>,
    response: DelayRecorder,
    rtt: DelayRecorder,
    /// Time between two states, the age of the screen before the newer one.
    gap: DelayRecorder,
}

impl GameClient {
    pub(crate) fn new(context: FlowContext, config: &GameConfig) -> Self {
        let mut random = Rng::stream(context.seed, 0);
        let start_us = context.start_us + random.below(INITIAL_US);
        Self {
            sender: UdpSender::new(context.stamp),
            config: config.clone(),
            most_bytes: context.udp_payload_bytes(),
            random,
            timer: Periodic::new(start_us, context.stop_us, config.action_interval_us, 1),
            states: DatagramSink::default(),
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
}

impl Endpoint for GameClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::Game(GameMessage::State { seq, newest, held_us }) = packet.body else { return };
        if !self.states.on_datagram(packet, seq, 0, now_us) {
            return;
        }
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
            let (a, b) = (self.config.action_bytes_a, self.config.action_bytes_b);
            let bytes = payload(a, b, self.most_bytes, &mut self.random);
            let body = Body::Game(GameMessage::Action { seq, acted_us: now_us });
            self.sender.send(bytes, body, now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.timer.next_us()
    }
}

impl Measured for GameClient {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.states.arrivals())
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.states.lost_packets())
    }

    fn arrived_units(&self) -> Option<(&DelayRecorder, u64)> {
        self.states.arrived_units()
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
