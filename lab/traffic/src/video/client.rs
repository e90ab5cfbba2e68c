//! The player at the UE: fetches and plays chunks and measures the quality of experience.

use std::num::NonZeroU32;

use super::VideoConfig;
use super::abr::{Controller, Situation};
use super::manifest::Manifest;
use super::player::Player;
use super::qoe::{Tally, Weights};
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::stats::{Arrivals, DelayRecorder, Figures};
use crate::stream::{Connections, RequestClient};

/// Throughput samples available to controllers.
const THROUGHPUT_WINDOW: usize = 20;
/// Interval at which a waiting player is advanced, so that the statistics include a stall that has not
/// ended.
const WAITING_TICK_US: u64 = 500_000;

/// A chunk that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLog {
    /// Time at which it was complete.
    pub at_us: u64,
    /// Its index in the video.
    pub chunk: u32,
    /// Its rung.
    pub rung: u8,
    /// Its size, audio included.
    pub bytes: u32,
    /// Time from request to completion.
    pub fetch_us: u64,
    /// Playing time in the buffer, this chunk included.
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
    /// Size of an audio segment, if it is apart.
    audio_bytes: Option<NonZeroU32>,
    /// Segments of the chunk that have been requested and not received.
    outstanding: u8,
    /// Size of those received.
    fetched_bytes: u64,
    /// Time of the next request.
    request_us: Option<u64>,
    requested_rung: Option<usize>,
    last_rung: Option<usize>,
    throughput_bps: Vec<f64>,
    tally: Tally,
    fetch: DelayRecorder,
    log: Vec<ChunkLog>,
}

impl VideoClient {
    pub(crate) fn new(
        context: FlowContext,
        config: &VideoConfig,
        connections: Connections<'_>,
    ) -> Self {
        let FlowContext { seed, start_us, stop_us, .. } = context;
        Self {
            manifest: Manifest::new(config, Rng::stream(seed, 0)),
            chunk_us: config.chunk_us,
            buffer_max_us: config.buffer_max_us,
            startup_us: config.startup_us,
            weights: Weights::new(config),
            client: RequestClient::new(connections, config.request_bytes),
            controller: Controller::new(config, Rng::stream(seed, 1)),
            player: None,
            start_us,
            stop_us,
            audio_bytes: config.audio_bytes(),
            outstanding: 0,
            fetched_bytes: 0,
            request_us: Some(start_us),
            requested_rung: None,
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

    /// The player; `None` before the start.
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

    fn request(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.request_us = None;
        let stopped = self.stop_us.is_some_and(|stop_us| now_us >= stop_us);
        let chunk = self.log.len();
        if stopped || chunk >= self.manifest.chunks() {
            return;
        }
        let rung = self.with_situation(|controller, situation| controller.choose(situation));
        self.requested_rung = Some(rung);
        let audio = self.audio_bytes;
        for bytes in [Some(self.manifest.chunk_bytes(chunk, rung)), audio].into_iter().flatten() {
            // Nothing is outstanding, so there is a connection or a stream for each.
            if let Some(connection) = self.client.idle_connection() {
                self.client.request(connection, bytes, now_us, out);
                self.outstanding += 1;
            }
        }
    }

    fn with_situation<T>(
        &mut self,
        decide: impl FnOnce(&mut Controller, &Situation<'_>) -> T,
    ) -> T {
        let buffer_us = self.player.as_ref().map_or(0, Player::buffer_us);
        let situation = Situation {
            manifest: &self.manifest,
            chunk: self.log.len(),
            buffer_s: buffer_us as f64 / 1e6,
            throughput_bps: &self.throughput_bps,
            last_rung: self.last_rung,
        };
        decide(&mut self.controller, &situation)
    }

    fn on_chunk(&mut self, bytes: u64, requested_us: u64, now_us: u64) {
        let Some(rung) = self.requested_rung.take() else { return };
        let chunk = self.log.len();
        let is_last = chunk + 1 == self.manifest.chunks();
        let fetch_us = now_us.saturating_sub(requested_us).max(1);
        let threshold_us = self.startup_us;
        let player = self.player.get_or_insert_with(|| Player::new(threshold_us, now_us));
        player.add(self.chunk_us, is_last, now_us);
        let buffer_us = player.buffer_us();
        self.log.push(ChunkLog {
            at_us: now_us,
            chunk: chunk as u32,
            rung: rung as u8,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            fetch_us,
            buffer_us,
        });
        self.fetch.record(now_us, fetch_us);
        self.tally.add(self.manifest.rates_bps().get(rung).copied().unwrap_or(0.0));
        self.last_rung = Some(rung);
        if self.throughput_bps.len() == THROUGHPUT_WINDOW {
            self.throughput_bps.remove(0);
        }
        self.throughput_bps.push(bytes as f64 * 8e6 / fetch_us as f64);
        if is_last {
            return;
        }
        let wait_s = self.with_situation(|controller, situation| controller.wait_s(situation));
        // A chunk is requested only when it fits the buffer.
        let full_us = (buffer_us + self.chunk_us).saturating_sub(self.buffer_max_us);
        self.request_us = Some(now_us + full_us.max((wait_s * 1e6).ceil() as u64));
    }
}

impl Endpoint for VideoClient {
    fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
        self.client.on_packet(packet, now_us, out);
        while let Some(done) = self.client.completed() {
            self.fetched_bytes += u64::from(done.bytes.get());
            self.outstanding = self.outstanding.saturating_sub(1);
            if self.outstanding == 0 {
                let bytes = std::mem::take(&mut self.fetched_bytes);
                self.on_chunk(bytes, done.requested_us, now_us);
                self.poll(now_us, out);
            }
        }
    }

    fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
        self.client.poll(now_us, out);
        if now_us >= self.start_us {
            let (threshold_us, start_us) = (self.startup_us, self.start_us);
            let player = self.player.get_or_insert_with(|| Player::new(threshold_us, start_us));
            player.advance(now_us);
        }
        if self.request_us.is_some_and(|at_us| at_us <= now_us) {
            self.request(now_us, out);
        }
    }

    fn next_deadline_us(&self) -> Option<u64> {
        let player_us = self.player.as_ref().and_then(|player| {
            // One µs past the moment at which the buffer is empty: that moment is no stall yet.
            let empty_us = player.empty_at_us().map(|at_us| at_us + 1);
            let waits = player.is_waiting() && self.requested_rung.is_some();
            empty_us.or_else(|| waits.then(|| player.at_us() + WAITING_TICK_US))
        });
        [self.client.next_deadline_us(), self.request_us, player_us].into_iter().flatten().min()
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
