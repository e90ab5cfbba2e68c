//! The player at the UE: fetches chunks, plays them, tells how it was.

use std::num::NonZeroU32;

use super::VideoConfig;
use super::abr::{Controller, Situation};
use super::manifest::Manifest;
use super::player::Player;
use super::qoe::{Tally, Weights};
use crate::endpoint::{Endpoint, Measured};
use crate::packet::{FlowId, Packet};
use crate::rng::SplitMix64;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::stream::RequestClient;
use crate::tcp::config::TcpConfig;

/// Throughputs that controllers look back on.
const THROUGHPUT_WINDOW: usize = 20;
/// While it waits for video a player looks at the clock this often, so that a stall without an end
/// is counted as it grows.
const WAITING_TICK_US: u64 = 500_000;

/// A chunk that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLog {
    /// When it was there in full.
    pub at_us: u64,
    /// Its place in the video.
    pub chunk: u32,
    /// Its rung.
    pub rung: u8,
    /// Its size.
    pub bytes: u32,
    /// How long it took.
    pub fetch_us: u64,
    /// Playing time in the buffer with it.
    pub buffer_us: u64,
}

/// Streams one video.
#[derive(Debug, Clone)]
pub struct VideoClient {
    manifest: Manifest,
    chunk_us: u64,
    buffer_max_us: u64,
    startup_us: u64,
    weights: Weights,
    client: RequestClient,
    controller: Controller,
    player: Option<Player>,
    start_us: u64,
    stop_us: Option<u64>,
    /// When the next chunk is asked for.
    ask_us: Option<u64>,
    under_way: Option<usize>,
    last_rung: Option<usize>,
    throughput_bps: Vec<f64>,
    tally: Tally,
    fetch: DelayRecorder,
    log: Vec<ChunkLog>,
}

impl VideoClient {
    pub(crate) fn new(
        flow: FlowId,
        dscp: u8,
        (config, tcp): (&VideoConfig, &TcpConfig),
        seed: u64,
        start_us: u64,
        stop_us: Option<u64>,
    ) -> Self {
        let request_bytes = NonZeroU32::new(config.request_bytes).unwrap_or(NonZeroU32::MIN);
        Self {
            manifest: Manifest::new(config, SplitMix64::stream(seed, 0)),
            chunk_us: config.chunk_us,
            buffer_max_us: config.buffer_max_us,
            startup_us: config.startup_us,
            weights: Weights::new(config),
            client: RequestClient::new(flow, 1, dscp, request_bytes, tcp, seed),
            controller: Controller::new(config, SplitMix64::stream(seed, 1)),
            player: None,
            start_us,
            stop_us,
            ask_us: Some(start_us),
            under_way: None,
            last_rung: None,
            throughput_bps: Vec::new(),
            tally: Tally::default(),
            fetch: DelayRecorder::new(),
            log: Vec::new(),
        }
    }

    /// The chunks fetched, in order.
    pub fn log(&self) -> &[ChunkLog] {
        &self.log
    }

    /// The player, once it was started.
    pub fn player(&self) -> Option<&Player> {
        self.player.as_ref()
    }

    /// The video.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The QoE so far; 0 before the start.
    pub fn qoe(&self) -> f64 {
        let (stalled_us, startup_us) =
            self.player.as_ref().map_or((0, 0), |it| (it.stalled_us(), it.startup_us()));
        self.tally.qoe(&self.weights, stalled_us as f64 / 1e6, startup_us as f64 / 1e6)
    }

    fn ask(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.ask_us = None;
        let stopped = self.stop_us.is_some_and(|stop_us| now_us >= stop_us);
        let chunk = self.log.len();
        if stopped || chunk >= self.manifest.chunks() {
            return;
        }
        let rung = self.with_situation(|controller, situation| controller.choose(situation));
        self.under_way = Some(rung);
        self.client.ask(0, self.manifest.chunk_bytes(chunk, rung), now_us, out);
    }

    fn with_situation<T>(&mut self, ask: impl FnOnce(&mut Controller, &Situation<'_>) -> T) -> T {
        let buffer_us = self.player.as_ref().map_or(0, Player::buffer_us);
        let situation = Situation {
            manifest: &self.manifest,
            chunk: self.log.len(),
            buffer_s: buffer_us as f64 / 1e6,
            throughput_bps: &self.throughput_bps,
            last_rung: self.last_rung,
        };
        ask(&mut self.controller, &situation)
    }

    fn on_chunk(&mut self, bytes: NonZeroU32, asked_us: u64, now_us: u64) {
        let Some(rung) = self.under_way.take() else { return };
        let chunk = self.log.len();
        let is_last = chunk + 1 == self.manifest.chunks();
        let fetch_us = now_us.saturating_sub(asked_us).max(1);
        let threshold_us = self.startup_us;
        let player = self.player.get_or_insert_with(|| Player::new(threshold_us, now_us));
        player.add(self.chunk_us, is_last, now_us);
        let buffer_us = player.buffer_us();
        self.log.push(ChunkLog {
            at_us: now_us,
            chunk: chunk as u32,
            rung: rung as u8,
            bytes: bytes.get(),
            fetch_us,
            buffer_us,
        });
        self.fetch.record(now_us, fetch_us);
        self.tally.add(self.manifest.rates_bps().get(rung).copied().unwrap_or(0.0));
        self.last_rung = Some(rung);
        if self.throughput_bps.len() == THROUGHPUT_WINDOW {
            self.throughput_bps.remove(0);
        }
        self.throughput_bps.push(f64::from(bytes.get()) * 8e6 / fetch_us as f64);
        if is_last {
            return;
        }
        let wait_s = self.with_situation(|controller, situation| controller.wait_s(situation));
        // A chunk has to fit the buffer when it is asked for.
        let full_us = (buffer_us + self.chunk_us).saturating_sub(self.buffer_max_us);
        self.ask_us = Some(now_us + full_us.max((wait_s * 1e6).ceil() as u64));
    }
}

impl Endpoint for VideoClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        if let Some(done) = self.client.on_packet(packet, now_us, out) {
            self.on_chunk(done.bytes, done.asked_us, now_us);
            self.poll(now_us, out);
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.client.poll(now_us, out);
        if now_us >= self.start_us {
            let (threshold_us, start_us) = (self.startup_us, self.start_us);
            let player = self.player.get_or_insert_with(|| Player::new(threshold_us, start_us));
            player.advance(now_us);
        }
        if self.ask_us.is_some_and(|at_us| at_us <= now_us) {
            self.ask(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let player_us = self.player.as_ref().and_then(|player| {
            // One µs past the moment at which the buffer is empty: that moment is no stall yet.
            let empty_us = player.empty_at_us().map(|at_us| at_us + 1);
            let waits = player.is_waiting() && self.under_way.is_some();
            empty_us.or_else(|| waits.then(|| player.at_us() + WAITING_TICK_US))
        });
        [self.client.next_deadline_us(), self.ask_us, player_us].into_iter().flatten().min()
    }
}

impl Measured for VideoClient {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(self.client.arrivals())
    }

    fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        Some(("chunk", &self.fetch))
    }

    fn figures(&self, figures: &mut Figures) {
        let Some(player) = &self.player else { return };
        figures.push("qoe_total", self.qoe());
        figures.push("qoe_per_chunk", self.qoe() / self.tally.chunks() as f64);
        figures.push("bitrate_mean_kbps", self.tally.mean_bps() / 1e3);
        figures.push("chunks_count", self.tally.chunks() as f64);
        figures.push("switches_count", self.tally.switches() as f64);
        figures.push("startup_s", player.startup_us() as f64 / 1e6);
        figures.push("stalls_count", player.stalls() as f64);
        figures.push("stalled_s", player.stalled_us() as f64 / 1e6);
        figures.push("played_s", player.played_us() as f64 / 1e6);
        figures.push_delay_s("chunk_fetch", &self.fetch);
    }
}
