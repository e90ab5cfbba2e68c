//! The manifest of a video: its rungs and the sizes of its chunks.

use std::num::NonZeroU32;

use super::VideoConfig;
use crate::rng::Rng;

/// Rungs and chunk sizes, which a player learns from the manifest before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    rates_bps: Vec<f64>,
    chunk_s: f64,
    /// Size of each chunk over its nominal size.
    scale: Vec<f64>,
}

impl Manifest {
    pub(crate) fn new(config: &VideoConfig, mut random: Rng) -> Self {
        let v = config.size_variation;
        Self {
            rates_bps: config.ladder_kbps.iter().map(|kbps| f64::from(*kbps) * 1e3).collect(),
            chunk_s: config.chunk_us as f64 / 1e6,
            scale: (0..config.chunks).map(|_| random.uniform(1.0 - v, 1.0 + v)).collect(),
        }
    }

    /// Nominal bit rates, ascending.
    pub fn rates_bps(&self) -> &[f64] {
        &self.rates_bps
    }

    /// Playing time of a chunk.
    pub fn chunk_s(&self) -> f64 {
        self.chunk_s
    }

    /// Chunks of the video.
    pub fn chunks(&self) -> usize {
        self.scale.len()
    }

    /// Size of a chunk on a rung, bytes. Beyond the end of the video the nominal size.
    pub fn chunk_bytes(&self, chunk: usize, rung: usize) -> NonZeroU32 {
        let scale = self.scale.get(chunk).copied().unwrap_or(1.0);
        let rate_bps = self.rates_bps.get(rung).copied().unwrap_or(0.0);
        let bytes = (rate_bps * self.chunk_s * scale / 8.0).round();
        NonZeroU32::new(bytes as u32).unwrap_or(NonZeroU32::MIN)
    }
}
