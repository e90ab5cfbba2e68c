//! The sender: sends at a rate, measures, and adapts it.

use std::collections::VecDeque;

use super::VivaceConfig;
use super::ascent::Ascent;
use super::monitor::Interval;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::{Body, Packet, UdpSender};
use crate::rng::Rng;
use crate::stats::{DelayRecorder, Figures};

/// Share that the probes lie above and below the rate, ε (§4.2).
const EPSILON: f64 = 0.05;
/// Packets of an interval at least, so that a share of losses and a slope mean something.
const MIN_PACKETS: u64 = 10;
/// Interval while no RTT is known.
const FIRST_INTERVAL_US: u64 = 100_000;
/// Least rate: a packet of 1500 B each 120 ms.
const MIN_MBPS: f64 = 0.1;
/// Largest rate.
const MAX_MBPS: f64 = 10_000.0;
/// After an interval its packets are given this many RTTs, and at least this long, to be
/// acknowledged.
const TIMEOUT_RTTS: u64 = 4;
const MIN_TIMEOUT_US: u64 = 500_000;

/// Purpose of the intervals in progress.
#[derive(Debug, Clone)]
enum Phase {
    /// Doubling; the utility of the rate before, if there was one.
    Starting { before: Option<f64> },
    /// Two intervals around the rate; `first_is_up`: the higher rate came first.
    Probing { first_is_up: bool },
}

/// An outstanding packet.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    seq: u64,
    sent_us: u64,
    /// Number of its interval; packets between intervals have none.
    interval: Option<u64>,
}

/// A backlogged sender.
#[derive(Debug, Clone)]
pub struct VivaceSender {
    context: FlowContext,
    sender: UdpSender,
    payload_bytes: u32,
    random: Rng,
    rate_mbps: f64,
    phase: Phase,
    ascent: Ascent,
    /// Intervals of the phase, in order; at most two.
    intervals: Vec<Interval>,
    /// Number of the first of them.
    first_interval: u64,
    /// The last interval is still being sent in.
    is_measuring: bool,
    /// Time at which incomplete intervals are closed.
    give_up_us: Option<u64>,
    outstanding: VecDeque<Outstanding>,
    next_seq: u64,
    send_next_ns: u64,
    srtt_us: Option<u64>,
    lost_packets: u64,
    rtt: DelayRecorder,
    steps: u64,
}

impl VivaceSender {
    pub(crate) fn new(context: FlowContext, config: &VivaceConfig) -> Self {
        Self {
            context,
            sender: UdpSender::new(context.stamp),
            payload_bytes: config.payload_bytes,
            random: Rng::stream(context.seed, 0),
            rate_mbps: config.start_bps as f64 / 1e6,
            phase: Phase::Starting { before: None },
            ascent: Ascent::default(),
            intervals: Vec::new(),
            first_interval: 0,
            is_measuring: false,
            give_up_us: None,
            outstanding: VecDeque::new(),
            next_seq: 0,
            send_next_ns: context.start_us * 1_000,
            srtt_us: None,
            lost_packets: 0,
            rtt: DelayRecorder::new(),
            steps: 0,
        }
    }

    /// The rate around which it probes, Mbit/s.
    pub fn rate_mbps(&self) -> f64 {
        self.rate_mbps
    }

    /// Intervals that the phase needs.
    fn wanted_intervals(&self) -> usize {
        match self.phase {
            Phase::Starting { .. } => 1,
            Phase::Probing { .. } => 2,
        }
    }

    /// Rate of interval number `index` of the phase.
    fn interval_rate_mbps(&self, index: usize) -> f64 {
        match self.phase {
            Phase::Starting { .. } => self.rate_mbps,
            Phase::Probing { first_is_up } if (index == 0) == first_is_up => {
                self.rate_mbps * (1.0 + EPSILON)
            }
            Phase::Probing { .. } => self.rate_mbps * (1.0 - EPSILON),
        }
    }

    /// The current sending rate.
    fn current_mbps(&self) -> f64 {
        match self.intervals.last() {
            Some(interval) if self.is_measuring => interval.rate_mbps,
            // Between intervals, while results are awaited.
            _ => self.rate_mbps,
        }
    }

    fn begin_interval(&mut self, now_us: u64) {
        let rate_mbps = self.interval_rate_mbps(self.intervals.len());
        self.intervals.push(Interval::new(rate_mbps, now_us));
        self.is_measuring = true;
    }

    /// Ends the interval under way once it is a round trip and ten packets long.
    fn watch_interval(&mut self, now_us: u64) {
        let Some(interval) = self.intervals.last_mut() else {
            return self.begin_interval(now_us);
        };
        if !self.is_measuring {
            return;
        }
        let span_us = self.srtt_us.unwrap_or(FIRST_INTERVAL_US);
        if now_us.saturating_sub(interval.begun_us()) < span_us || interval.sent() < MIN_PACKETS {
            return;
        }
        interval.end(now_us);
        self.is_measuring = false;
        if self.intervals.len() < self.wanted_intervals() {
            self.begin_interval(now_us);
        } else {
            let timeout_us =
                self.srtt_us.map_or(0, |srtt_us| TIMEOUT_RTTS * srtt_us).max(MIN_TIMEOUT_US);
            self.give_up_us = Some(now_us + timeout_us);
        }
    }

    /// Sets the rate when all intervals of a phase are complete.
    fn conclude(&mut self, now_us: u64) {
        let done = self.intervals.len() == self.wanted_intervals()
            && self.intervals.iter().all(Interval::is_settled);
        if !done {
            return;
        }
        let utilities: Vec<f64> = self.intervals.iter().map(Interval::utility).collect();
        self.phase = match (&self.phase, utilities.as_slice()) {
            (Phase::Starting { before }, [utility, ..])
                if before.is_none_or(|before| *utility > before) =>
            {
                self.rate_mbps = (2.0 * self.rate_mbps).min(MAX_MBPS);
                Phase::Starting { before: Some(*utility) }
            }
            (Phase::Starting { .. }, _) => {
                self.rate_mbps = (self.rate_mbps / 2.0).max(MIN_MBPS);
                self.probe()
            }
            (Phase::Probing { first_is_up }, [first, second]) => {
                let (up, down) = if *first_is_up { (first, second) } else { (second, first) };
                let gradient = (up - down) / (2.0 * EPSILON * self.rate_mbps);
                self.rate_mbps =
                    self.ascent.step(self.rate_mbps, gradient).clamp(MIN_MBPS, MAX_MBPS);
                self.steps += 1;
                self.probe()
            }
            (Phase::Probing { .. }, _) => self.probe(),
        };
        self.first_interval += self.intervals.len() as u64;
        self.intervals.clear();
        self.give_up_us = None;
        if self.context.is_on(now_us) {
            self.begin_interval(now_us);
        }
    }

    fn probe(&mut self) -> Phase {
        Phase::Probing { first_is_up: self.random.below(2) == 0 }
    }

    fn interval_of(&mut self, packet: &Outstanding) -> Option<&mut Interval> {
        let index = packet.interval?.checked_sub(self.first_interval)?;
        self.intervals.get_mut(index as usize)
    }

    fn lose(&mut self, packet: &Outstanding) {
        self.lost_packets += 1;
        if let Some(interval) = self.interval_of(packet) {
            interval.on_lost();
        }
    }

    fn on_ack(&mut self, seq: u64, data_sent_us: u64, now_us: u64) {
        // The path preserves the order of a flow: skipped packets are lost.
        while self.outstanding.front().is_some_and(|packet| packet.seq < seq) {
            let Some(packet) = self.outstanding.pop_front() else { break };
            self.lose(&packet);
        }
        if self.outstanding.front().is_none_or(|packet| packet.seq != seq) {
            return;
        }
        let Some(packet) = self.outstanding.pop_front() else { return };
        let rtt_us = now_us.saturating_sub(data_sent_us);
        self.rtt.record(now_us, rtt_us);
        // RFC 6298 §2.3: one eighth of the new sample.
        self.srtt_us = Some(self.srtt_us.map_or(rtt_us, |srtt| (7 * srtt + rtt_us) / 8).max(1));
        if let Some(interval) = self.interval_of(&packet) {
            interval.on_acked(packet.sent_us, rtt_us);
        }
    }

    fn give_up(&mut self, now_us: u64) {
        if self.give_up_us.is_none_or(|at_us| at_us > now_us) {
            return;
        }
        // Unacknowledged packets of the intervals count as lost.
        self.give_up_us = None;
        let last = self.outstanding.iter().rposition(|packet| packet.interval.is_some());
        for _ in 0..last.map_or(0, |last| last + 1) {
            let Some(packet) = self.outstanding.pop_front() else { break };
            self.lose(&packet);
        }
    }

    fn send_due(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.send_next_ns <= now_us * 1_000 && self.context.is_on(now_us) {
            self.watch_interval(now_us);
            let seq = self.next_seq;
            self.next_seq += 1;
            let body = Body::VivaceData { seq };
            let len_bytes = self.sender.send(self.payload_bytes, body, now_us, out);
            let interval = match self.intervals.last_mut() {
                Some(interval) if self.is_measuring => {
                    interval.on_sent(len_bytes);
                    Some(self.first_interval + self.intervals.len() as u64 - 1)
                }
                _ => None,
            };
            self.outstanding.push_back(Outstanding { seq, sent_us: now_us, interval });
            let gap_ns = f64::from(len_bytes) * 8e3 / self.current_mbps();
            // A sender that was late does not catch up in a burst.
            self.send_next_ns = self.send_next_ns.max(now_us * 1_000) + gap_ns as u64;
        }
    }
}

impl Endpoint for VivaceSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        if let Body::VivaceAck { seq, data_sent_us } = packet.body {
            self.on_ack(seq, data_sent_us, now_us);
            self.conclude(now_us);
            self.send_due(now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.give_up(now_us);
        self.conclude(now_us);
        self.send_due(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let send_us = self.send_next_ns.div_ceil(1_000).max(self.context.start_us);
        let send_us = self.context.is_on(send_us).then_some(send_us);
        [send_us, self.give_up_us].into_iter().flatten().min()
    }
}

impl Measured for VivaceSender {
    fn sent(&self) -> (u64, u64) {
        self.sender.sent()
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.lost_packets)
    }

    fn rtt(&self) -> Option<&DelayRecorder> {
        Some(&self.rtt)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("rate_now_mbps", self.rate_mbps);
        figures.push("steps_count", self.steps as f64);
    }
}
