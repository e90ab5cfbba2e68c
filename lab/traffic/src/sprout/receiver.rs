//! The receiver: infers the rate and sends forecasts.

use std::collections::VecDeque;

use super::forecast::cautious;
use super::model::Belief;
use super::{HEARTBEAT_BYTES, PACKET_BYTES, SproutData, SproutForecast, TICK_US, datagram_bytes};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::stats::{Arrivals, Figures};

/// The receiver sends forecasts for this long after the stop of the sender.
const LINGER_US: u64 = 10_000_000;

/// Watches arrivals and sends a forecast each tick.
#[derive(Debug, Clone)]
pub struct SproutReceiver {
    sender: UdpSender,
    end_us: u64,
    belief: Belief,
    /// End of the current tick; `None` before the first packet.
    tick_us: Option<u64>,
    bytes_this_tick: u64,
    /// Time of the next packet announced by the sender; silence before it is no observation.
    expect_us: u64,
    throwaway_bytes: u64,
    /// End and length of received packets beyond the throwaway number.
    beyond: VecDeque<(u64, u32)>,
    arrivals: Arrivals,
    lost_bytes: u64,
}

impl SproutReceiver {
    pub(crate) fn new(context: FlowContext) -> Self {
        let end_us = context.stop_us.map_or(u64::MAX, |stop_us| stop_us.saturating_add(LINGER_US));
        Self {
            sender: UdpSender::new(context.stamp.not_ect()),
            end_us,
            belief: Belief::default(),
            tick_us: None,
            bytes_this_tick: 0,
            expect_us: 0,
            throwaway_bytes: 0,
            beyond: VecDeque::new(),
            arrivals: Arrivals::default(),
            lost_bytes: 0,
        }
    }

    /// Distribution of the link's rate.
    pub fn belief(&self) -> &Belief {
        &self.belief
    }

    fn track_bytes(&mut self, data: &SproutData, len_bytes: u32) {
        let end = data.seq_bytes + u64::from(len_bytes);
        if data.throwaway_bytes > self.throwaway_bytes {
            let passed: u64 = self
                .beyond
                .iter()
                .filter(|(end, _)| *end <= data.throwaway_bytes)
                .map(|(_, len)| u64::from(*len))
                .sum();
            self.lost_bytes += (data.throwaway_bytes - self.throwaway_bytes).saturating_sub(passed);
            self.throwaway_bytes = data.throwaway_bytes;
            self.beyond.retain(|(end, _)| *end > data.throwaway_bytes);
        }
        if end > self.throwaway_bytes {
            self.beyond.push_back((end, len_bytes));
        }
    }

    /// §3.4: the bytes below the throwaway number and those received beyond it.
    fn received_or_lost_bytes(&self) -> u64 {
        let beyond: u64 = self.beyond.iter().map(|(_, len)| u64::from(*len)).sum();
        self.throwaway_bytes + beyond
    }

    fn tick(&mut self, at_us: u64) {
        self.belief.evolve();
        // Whole packets; a tick with less than one, such as a heartbeat, counts as one, as in the
        // authors' implementation.
        let whole = (self.bytes_this_tick + u64::from(PACKET_BYTES) / 2) / u64::from(PACKET_BYTES);
        let least = u64::from(self.bytes_this_tick > 0);
        let packets = u32::try_from(whole.max(least)).unwrap_or(u32::MAX);
        if at_us >= self.expect_us {
            self.belief.observe(packets);
        } else {
            // The sender has announced a pause: silence is not counted (§3.4), and what came before
            // it is a lower bound of what the link would have carried.
            self.belief.observe_at_least(packets);
        }
        self.bytes_this_tick = 0;
    }
}

impl Endpoint for SproutReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, _out: &mut Vec<Packet>) {
        let Body::SproutData(data) = &packet.body else { return };
        self.arrivals.on_packet(packet, now_us);
        let payload = packet.len_bytes.saturating_sub(datagram_bytes(super::HEADER_BYTES));
        if packet.len_bytes > datagram_bytes(HEARTBEAT_BYTES) {
            self.arrivals.on_delivered(u64::from(payload), now_us);
        }
        self.tick_us.get_or_insert(now_us + TICK_US);
        self.bytes_this_tick += u64::from(packet.len_bytes);
        self.expect_us = now_us + u64::from(data.time_to_next_us);
        self.track_bytes(data, packet.len_bytes);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let mut ticked = false;
        while let Some(at_us) = self.tick_us.filter(|at_us| *at_us <= now_us) {
            self.tick(at_us);
            let next_us = at_us + TICK_US;
            self.tick_us = (next_us < self.end_us).then_some(next_us);
            ticked = true;
        }
        if ticked {
            let forecast = SproutForecast {
                packets: cautious(&self.belief),
                received_or_lost_bytes: self.received_or_lost_bytes(),
            };
            self.sender.send(HEARTBEAT_BYTES, Body::SproutForecast(forecast), now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.tick_us
    }
}

impl Measured for SproutReceiver {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn arrivals(&self) -> Option<&Arrivals> {
        Some(&self.arrivals)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.lost_bytes.div_ceil(u64::from(PACKET_BYTES)))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("forecasts_count", self.sender.sent().0 as f64);
        figures.push("believed_rate_packets_per_s", self.belief.mean());
    }
}
