//! Video streaming with adaptive bit rate over TCP.
//!
//! A player fetches a video chunk by chunk, one request at a time, and selects a rung of the ladder
//! for each. The controllers are those of abbasloo2019 §VI-B: BB, FESTIVE, BOLA
//! and robust MPC ([`abr`]); the video is the one its ABR tests stream (48 chunks, 193 s, {240, 360,
//! 480, 720, 1080, 1440}p) with the ladder of the modified dash.js it names (Mao et al., Pensieve,
//! SIGCOMM 2017, §5.1: 300 to 4300 kbit/s), and the QoE is that of Yin et al. 2015 with its
//! rebuffering penalty of 4.3 ([`qoe`]).

pub mod abr;
mod client;
mod manifest;
mod player;
pub mod qoe;

pub use client::{ChunkLog, VideoClient};
pub use manifest::Manifest;
pub use player::Player;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};
use crate::stream::{HttpConfig, HttpKeys};

/// Controller of the bit rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AbrAlgorithm {
    /// BBA-0 of Huang et al., SIGCOMM 2014: the buffer alone decides.
    Bb,
    /// Jiang et al., CoNEXT 2012 (ToN 2014): harmonic mean, gradual and delayed switching, random
    /// scheduling.
    Festive,
    /// BOLA-BASIC of Spiteri et al., INFOCOM 2016: Lyapunov optimisation on the buffer.
    Bola,
    /// Robust MPC of Yin et al., SIGCOMM 2015: the best plan for five chunks at a throughput that is
    /// discounted by the largest recent error.
    #[default]
    RobustMpc,
}

/// Video streaming.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VideoConfig {
    /// Version of HTTP. Versions 2 and 3 fetch video and audio as streams of one connection.
    pub http: HttpConfig,
    /// The controller.
    pub controller: AbrAlgorithm,
    /// Bit rates offered, ascending, kbit/s.
    pub ladder_kbps: Vec<u32>,
    /// Rate of an audio rendition with segments of its own, fetched beside those of the video, 1..=10000
    /// kbit/s; audio is part of the video's segments if unset.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000)))]
    pub audio_kbps: Option<u32>,
    /// Playing time of a chunk, µs.
    pub chunk_us: u64,
    /// Chunks of the video.
    pub chunks: u32,
    /// Chunk sizes vary uniformly by up to this share around rate times time, alike on all rungs, as
    /// scenes do; 0..=0.9.
    pub size_variation: f64,
    /// Maximum buffer, µs.
    pub buffer_max_us: u64,
    /// Buffer at which playing starts and resumes after a stall, µs.
    pub startup_us: u64,
    /// Size of a request, bytes.
    pub request_bytes: u32,
    /// μ of the QoE: cost of a second of stalling in Mbit/s.
    pub rebuffer_penalty: f64,
    /// μ_s of the QoE: the same for a second before the first picture.
    pub startup_penalty: f64,
    /// λ of the QoE: a change of the rate by 1 Mbit/s.
    pub switch_penalty: f64,
    /// BB: below this much buffer the lowest rate, µs.
    pub bb_reservoir_us: u64,
    /// BB: over this much more the rate rises to the highest, µs.
    pub bb_cushion_us: u64,
    /// BOLA: γp, what playing without stalls is worth beside the utility of the rates.
    pub bola_gamma_p: f64,
}

impl Default for VideoConfig {
    fn default() -> Self {
        Self {
            http: HttpConfig::default(),
            controller: AbrAlgorithm::default(),
            ladder_kbps: vec![300, 750, 1200, 1850, 2850, 4300],
            audio_kbps: None,
            chunk_us: 4_000_000,
            chunks: 48,
            size_variation: 0.2,
            buffer_max_us: 60_000_000,
            startup_us: 4_000_000,
            request_bytes: 350,
            rebuffer_penalty: 4.3,
            startup_penalty: 4.3,
            switch_penalty: 1.0,
            bb_reservoir_us: 5_000_000,
            bb_cushion_us: 10_000_000,
            bola_gamma_p: 5.0,
        }
    }
}

impl VideoConfig {
    /// Size of an audio segment, if it is apart.
    fn audio_bytes(&self) -> Option<NonZeroU32> {
        let kbps = u64::from(self.audio_kbps?);
        // At most 10 Mbit/s for 30 s.
        NonZeroU32::new((kbps * self.chunk_us / 8_000) as u32).or(Some(NonZeroU32::MIN))
    }

    /// Its connections: HTTP/1.1 has one each for video and audio.
    pub(crate) fn connections(&self) -> u16 {
        if self.audio_kbps.is_some() && !self.http.is_multiplexed() { 2 } else { 1 }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.http.validate(&HttpKeys {
            loss_isolation: "video.http.loss_isolation",
            unsent_bytes: "video.http.unsent_bytes",
        })?;
        if let Some(kbps) = self.audio_kbps {
            check("video.audio_kbps", kbps, 1..=10_000, "1 to 10000 kbit/s")?;
        }
        let steps = self.ladder_kbps.windows(2).all(|pair| pair[0] < pair[1]);
        let range = self.ladder_kbps.iter().all(|kbps| (1..=1_000_000).contains(kbps));
        if !(1..=16).contains(&self.ladder_kbps.len()) || !steps || !range {
            return Err(ConfigError::new(
                "video.ladder_kbps",
                format!("{:?}", self.ladder_kbps),
                "1 to 16 ascending rates of 1 to 1000000 kbit/s",
            ));
        }
        const A_PENALTY: &str = "0 to 1000";
        check("video.chunk_us", self.chunk_us, 100_000..=30_000_000, "100 ms to 30 s in µs")?;
        check("video.chunks", self.chunks, 1..=100_000, "1 to 100000")?;
        check("video.size_variation", self.size_variation, 0.0..=0.9, "0 to 0.9")?;
        check(
            "video.buffer_max_us",
            self.buffer_max_us,
            2 * self.chunk_us..=3_600_000_000,
            "two chunks to one hour in µs",
        )?;
        check(
            "video.startup_us",
            self.startup_us,
            1..=self.buffer_max_us - self.chunk_us,
            "above 0, at most buffer_max_us less a chunk",
        )?;
        check("video.request_bytes", self.request_bytes, 1..=65_536, "1 to 65536 bytes")?;
        check("video.rebuffer_penalty", self.rebuffer_penalty, 0.0..=1e3, A_PENALTY)?;
        check("video.startup_penalty", self.startup_penalty, 0.0..=1e3, A_PENALTY)?;
        check("video.switch_penalty", self.switch_penalty, 0.0..=1e3, A_PENALTY)?;
        check(
            "video.bb_reservoir_us",
            self.bb_reservoir_us,
            0..=self.buffer_max_us,
            "at most buffer_max_us",
        )?;
        check(
            "video.bb_cushion_us",
            self.bb_cushion_us,
            1..=self.buffer_max_us,
            "above 0, at most buffer_max_us",
        )?;
        check("video.bola_gamma_p", self.bola_gamma_p, 0.1..=1e3, "0.1 to 1000")
    }
}
