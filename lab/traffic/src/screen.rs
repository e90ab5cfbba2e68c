//! A shared screen over TCP: small updates while a slide stands, a burst when it changes.
//!
//! The sender is limited by the application. A change is some hundred kB, which no congestion control
//! knows of before; its delay is what the viewer waits for the slide. Sizes and times are choices:
//! lognormal around 300 kB, changes each 10 s on average, updates of 1 kB (pointer, caret) each 200 ms.
//!
//! Both ends draw the same bursts from the seed of the flow, so the receiver knows where in the stream
//! each ends and when it was due.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::{ConfigError, check};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::tcp::{TcpConfig, TcpReceiver, TcpSender, TcpStats};

/// A change is within these multiples of the median.
const SHARES: (f64, f64) = (0.1, 10.0);

/// A shared screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ScreenConfig {
    /// Mean time between changes of the slide, s; exponential.
    pub change_mean_s: f64,
    /// Median size of a change, bytes.
    pub change_bytes: u32,
    /// σ of the size's lognormal distribution; 0 for equal sizes.
    pub change_sigma: f64,
    /// Time between small updates, µs.
    pub update_interval_us: u64,
    /// Size of an update, bytes.
    pub update_bytes: u32,
}

impl Default for ScreenConfig {
    fn default() -> Self {
        Self {
            change_mean_s: 10.0,
            change_bytes: 300_000,
            change_sigma: 0.6,
            update_interval_us: 200_000,
            update_bytes: 1_000,
        }
    }
}

impl ScreenConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("screen.change_mean_s", self.change_mean_s, 0.01..=3600.0, "10 ms to 1 h in s")?;
        let (bytes, range) = (self.change_bytes, 1_000..=100_000_000);
        check("screen.change_bytes", bytes, range, "1 kB to 100 MB in bytes")?;
        check("screen.change_sigma", self.change_sigma, 0.0..=3.0, "0 to 3")?;
        let (interval_us, range) = (self.update_interval_us, 1_000..=60_000_000);
        check("screen.update_interval_us", interval_us, range, "1 ms to 60 s in µs")?;
        check("screen.update_bytes", self.update_bytes, 1..=1_000_000, "1 byte to 1 MB in bytes")
    }
}

/// What is written at once.
#[derive(Debug, Clone, Copy)]
struct Burst {
    at_us: u64,
    /// Length of the stream with it.
    end: u64,
    is_change: bool,
}

/// The bursts of a flow, in order of time.
#[derive(Debug, Clone)]
struct Bursts {
    config: ScreenConfig,
    random: Rng,
    stop_us: Option<u64>,
    change_us: u64,
    update_us: u64,
    next: Burst,
}

impl Bursts {
    /// The first burst is the slide that stands at the start.
    fn new(context: FlowContext, config: &ScreenConfig) -> Self {
        let start_us = context.start_us;
        let mut bursts = Self {
            config: config.clone(),
            random: Rng::stream(context.seed, 0),
            stop_us: context.stop_us,
            change_us: start_us,
            update_us: start_us + config.update_interval_us,
            next: Burst { at_us: 0, end: 0, is_change: true },
        };
        bursts.advance();
        bursts
    }

    fn advance(&mut self) {
        let is_change = self.change_us <= self.update_us;
        let (at_us, bytes) = if is_change {
            let at_us = self.change_us;
            let mean = self.config.change_mean_s * 1e6;
            // The next is later, so that time advances.
            let gap_us = Distribution::Exponential { mean }.draw(&mut self.random) as u64;
            self.change_us += gap_us.max(1);
            let median = f64::from(self.config.change_bytes);
            let sizes = Distribution::TruncatedLognormal {
                mu: libm::log(median),
                sigma: self.config.change_sigma,
                min: SHARES.0 * median,
                max: SHARES.1 * median,
            };
            (at_us, sizes.draw(&mut self.random) as u64)
        } else {
            let at_us = self.update_us;
            self.update_us += self.config.update_interval_us;
            (at_us, u64::from(self.config.update_bytes))
        };
        self.next = Burst { at_us, end: self.next.end + bytes, is_change };
    }

    /// Time at which the next burst is due.
    fn next_us(&self) -> Option<u64> {
        let at_us = self.next.at_us;
        self.stop_us.is_none_or(|stop_us| at_us < stop_us).then_some(at_us)
    }
}

/// Writes the bursts.
#[derive(Debug, Clone)]
pub struct ScreenSender {
    sender: TcpSender,
    bursts: Bursts,
    written_bytes: u64,
}

impl ScreenSender {
    pub(crate) fn new(context: FlowContext, config: &ScreenConfig, tcp: &TcpConfig) -> Self {
        let tcp = TcpConfig { total_bytes: Some(0), ..tcp.clone() };
        let (flow, dscp) = (context.stamp.flow, context.stamp.dscp);
        Self {
            sender: TcpSender::new(flow, dscp, &tcp, 0, None, context.seed),
            bursts: Bursts::new(context, config),
            written_bytes: 0,
        }
    }
}

impl Endpoint for ScreenSender {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.sender.on_packet(packet, now_us, out);
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        while self.bursts.next_us().is_some_and(|at_us| at_us <= now_us) {
            let end = self.bursts.next.end;
            self.sender.write(end - self.written_bytes, now_us);
            self.written_bytes = end;
            self.bursts.advance();
        }
        self.sender.poll(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        [self.sender.next_deadline_us(), self.bursts.next_us()].into_iter().flatten().min()
    }
}

impl Measured for ScreenSender {
    fn sent(&self) -> (u64, u64) {
        let stats = self.sender.stats();
        (stats.sent_packets, stats.sent_bytes)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.sender.stats().lost_packets)
    }

    fn tcp_stats(&self) -> Option<TcpStats> {
        Some(self.sender.stats())
    }
}

/// Shows what has arrived.
#[derive(Debug, Clone)]
pub struct ScreenReceiver {
    receiver: TcpReceiver,
    bursts: Bursts,
    /// Time from a change to the whole slide at the UE.
    change_delay: DelayRecorder,
    update_delay: DelayRecorder,
}

impl ScreenReceiver {
    pub(crate) fn new(context: FlowContext, config: &ScreenConfig, tcp: &TcpConfig) -> Self {
        let (flow, dscp) = (context.stamp.flow, context.stamp.dscp);
        Self {
            receiver: TcpReceiver::new(flow, dscp, tcp),
            bursts: Bursts::new(context, config),
            change_delay: DelayRecorder::new(),
            update_delay: DelayRecorder::new(),
        }
    }
}

impl Endpoint for ScreenReceiver {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.receiver.on_packet(packet, now_us, out);
        while self.bursts.next.end <= self.receiver.delivered_bytes() {
            let Burst { at_us, is_change, .. } = self.bursts.next;
            let delay = if is_change { &mut self.change_delay } else { &mut self.update_delay };
            delay.record(now_us, now_us.saturating_sub(at_us));
            self.bursts.advance();
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.receiver.poll(now_us, out);
    }

    fn next_deadline_us(&self) -> Option<u64> {
        self.receiver.next_deadline_us()
    }
}

impl Measured for ScreenReceiver {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.receiver.arrivals())
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("change", &self.change_delay))
    }

    fn figures(&self, figures: &mut Figures) {
        figures.push("changes_count", self.change_delay.count() as f64);
        figures.push_delay_s("change_delay", &self.change_delay);
        figures.push_delay_ms("update_delay", &self.update_delay);
    }
}
