//! The sender: sends what is forecast to drain within 100 ms.

use std::collections::VecDeque;

use super::{
    FORECAST_TICKS, HEADER_BYTES, HEARTBEAT_BYTES, PACKET_BYTES, SproutConfig, SproutData,
    SproutForecast, TICK_US,
};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::timer::Periodic;

/// Packets sent longer ago have arrived or are lost (§3.4: reordering beyond 10 ms is not expected).
const THROWAWAY_US: u64 = 10_000;
/// Payload of a full packet.
const PAYLOAD_BYTES: u32 = PACKET_BYTES - 28;

/// The latest forecast.
#[derive(Debug, Clone, Copy)]
struct LatestForecast {
    packets: [u16; FORECAST_TICKS],
    /// Ticks since its arrival.
    age_ticks: usize,
}

impl LatestForecast {
    /// Bytes that drain by the end of tick `tick` after its arrival.
    fn drained_bytes(&self, tick: usize) -> u64 {
        let packets = match tick.min(FORECAST_TICKS) {
            0 => 0,
            tick => self.packets[tick - 1],
        };
        u64::from(packets) * u64::from(PACKET_BYTES)
    }
}

/// A backlogged sender whose window is what the forecast lets drain in time.
#[derive(Debug, Clone)]
pub struct SproutSender {
    sender: UdpSender,
    lookahead: usize,
    ticks: Periodic,
    forecast: Option<LatestForecast>,
    /// Estimated queue, bytes.
    queue_bytes: u64,
    /// Time of each packet of the last 10 ms, and the bytes sent up to it.
    recent: VecDeque<(u64, u64)>,
    throwaway_bytes: u64,
    sent_this_tick: bool,
}

impl SproutSender {
    pub(crate) fn new(context: FlowContext, config: &SproutConfig) -> Self {
        Self {
            sender: UdpSender::new(context.stamp),
            lookahead: config.lookahead(),
            ticks: context.periodic(TICK_US, 1),
            forecast: None,
            queue_bytes: 0,
            recent: VecDeque::new(),
            throwaway_bytes: 0,
            sent_this_tick: false,
        }
    }

    /// §3.5: what drains within the look-ahead less what is queued already.
    fn window_bytes(&self) -> u64 {
        let Some(forecast) = &self.forecast else { return 0 };
        let now = forecast.age_ticks;
        let ahead = forecast.drained_bytes(now + self.lookahead) - forecast.drained_bytes(now);
        ahead.saturating_sub(self.queue_bytes)
    }

    fn sent_bytes(&self) -> u64 {
        self.sender.sent().1
    }

    fn on_forecast(&mut self, forecast: &SproutForecast) {
        self.forecast = Some(LatestForecast { packets: forecast.packets, age_ticks: 0 });
        self.queue_bytes = self.sent_bytes().saturating_sub(forecast.received_or_lost_bytes);
    }

    /// Advances by a tick: reduces the estimated queue by what drains in it.
    fn age(&mut self) {
        if let Some(forecast) = &mut self.forecast {
            let before = forecast.drained_bytes(forecast.age_ticks);
            forecast.age_ticks = (forecast.age_ticks + 1).min(FORECAST_TICKS);
            let drained = forecast.drained_bytes(forecast.age_ticks) - before;
            self.queue_bytes = self.queue_bytes.saturating_sub(drained);
        }
    }

    fn send_window(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        let packets = self.window_bytes() / u64::from(PACKET_BYTES);
        for left in (0..packets).rev() {
            // §3.4: the next packet follows at once, but for the last of the flight.
            let time_to_next_us = if left > 0 { 0 } else { TICK_US as u32 };
            self.send(PAYLOAD_BYTES, time_to_next_us, now_us, out);
            self.sent_this_tick = true;
        }
    }

    fn send(&mut self, payload: u32, time_to_next_us: u32, now_us: u64, out: &mut Vec<Packet>) {
        while let Some((at_us, total)) = self.recent.front()
            && *at_us + THROWAWAY_US <= now_us
        {
            self.throwaway_bytes = *total;
            self.recent.pop_front();
        }
        let data = SproutData {
            seq_bytes: self.sent_bytes(),
            throwaway_bytes: self.throwaway_bytes,
            time_to_next_us,
        };
        let len_bytes = self.sender.send(payload, Body::SproutData(data), now_us, out);
        self.queue_bytes += u64::from(len_bytes);
        self.recent.push_back((now_us, self.sent_bytes()));
    }
}

impl Endpoint for SproutSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        let Body::SproutForecast(forecast) = &packet.body else { return };
        self.on_forecast(forecast);
        if self.ticks.next_us().is_some() {
            self.send_window(now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.ticks.fire(now_us).is_some() {
            self.age();
            self.send_window(now_us, out);
            if !std::mem::take(&mut self.sent_this_tick) {
                // A heartbeat, so that silence means an outage (§3.4). It announces the next one.
                self.send(HEARTBEAT_BYTES, TICK_US as u32, now_us, out);
            }
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.ticks.next_us()
    }
}

impl Measured for SproutSender {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }
}

const _: () = assert!(PAYLOAD_BYTES > HEADER_BYTES && PAYLOAD_BYTES < PACKET_BYTES);

#[cfg(test)]
mod tests {
    use super::super::datagram_bytes;
    use super::*;

    #[test]
    fn the_window_is_what_drains_in_100_ms_less_what_is_queued() {
        let mut sender = SproutSender::new(FlowContext::default(), &SproutConfig::default());
        let mut out = Vec::new();
        sender.poll(0, &mut out);
        assert_eq!(out.len(), 1, "a heartbeat");
        assert_eq!(out[0].len_bytes, datagram_bytes(HEARTBEAT_BYTES));
        sender.on_forecast(&SproutForecast {
            packets: [1, 3, 5, 7, 9, 12, 14, 16],
            received_or_lost_bytes: sender.sent_bytes(),
        });
        out.clear();
        sender.send_window(1_000, &mut out);
        assert_eq!(out.len(), 9);
        assert!(out.iter().all(|packet| packet.len_bytes == 1_500));
        // One tick later one of nine has drained, and the window ends at 12 instead of 9.
        out.clear();
        sender.age();
        sender.send_window(20_000, &mut out);
        assert_eq!(out.len(), 3, "12 − 1 ahead, 8 queued");
        // The forecast ends with the last tick.
        (0..8).for_each(|_| sender.age());
        assert_eq!(sender.window_bytes(), 0);
    }
}
