//! An encoder that meets a rate: key frames are large, the frames after them smaller.

use super::CallConfig;
use crate::rng::Rng;

/// Frames over which an excess over the rate is compensated.
const PAYBACK_FRAMES: f64 = 10.0;
/// Minimum size of a frame, as a share of what the rate allows.
const LEAST_SHARE: f64 = 0.2;
/// Unused rate is carried over for at most this many frames.
const MAX_CREDIT_FRAMES: f64 = 1.0;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) bytes: u32,
    pub(super) is_key: bool,
}

/// Produces frames whose mean size is what the rate allows.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    frames_per_s: f64,
    key_interval_frames: u32,
    key_frame_ratio: f64,
    size_variation: f64,
    random: Rng,
    debt_bytes: f64,
    since_key: u32,
}

impl Encoder {
    pub(super) fn new(config: &CallConfig, random: Rng) -> Self {
        Self {
            frames_per_s: f64::from(config.frames_per_s),
            key_interval_frames: config.key_interval_frames,
            key_frame_ratio: config.key_frame_ratio,
            size_variation: config.size_variation,
            random,
            debt_bytes: 0.0,
            // The first frame is a key frame.
            since_key: config.key_interval_frames,
        }
    }

    /// The next frame at a rate of `bps`; a key frame if `key_wanted` or it is time for one.
    pub(super) fn encode(&mut self, bps: f64, key_wanted: bool) -> Frame {
        let allowed = bps / self.frames_per_s / 8.0;
        let is_key = key_wanted || self.since_key >= self.key_interval_frames;
        self.since_key = if is_key { 1 } else { self.since_key + 1 };
        let noise = self.random.uniform(1.0 - self.size_variation, 1.0 + self.size_variation);
        let aim = if is_key {
            allowed * self.key_frame_ratio
        } else {
            (allowed - self.debt_bytes / PAYBACK_FRAMES).max(LEAST_SHARE * allowed)
        };
        let bytes = (aim * noise).round().clamp(1.0, f64::from(u32::MAX));
        self.debt_bytes = (self.debt_bytes + bytes - allowed).max(-MAX_CREDIT_FRAMES * allowed);
        Frame { bytes: bytes as u32, is_key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_met_with_key_frames_and_without() {
        for (key_interval_frames, key_frame_ratio) in [(300, 4.0), (30, 8.0), (1_000_000, 1.0)] {
            let config =
                CallConfig { key_interval_frames, key_frame_ratio, ..CallConfig::default() };
            let mut encoder = Encoder::new(&config, Rng::new(3));
            let frames: Vec<Frame> = (0..9_000).map(|_| encoder.encode(1e6, false)).collect();
            let bps = frames.iter().map(|f| f64::from(f.bytes)).sum::<f64>() * 8.0 / 300.0;
            assert!((bps / 1e6 - 1.0).abs() < 0.01, "{key_interval_frames}: {bps}");
            let keys = frames.iter().filter(|f| f.is_key).count();
            assert_eq!(keys as u32, 9_000_u32.div_ceil(key_interval_frames));
        }
    }

    #[test]
    fn a_key_frame_is_larger_and_comes_when_asked_for() {
        let config = CallConfig { size_variation: 0.0, ..CallConfig::default() };
        let mut encoder = Encoder::new(&config, Rng::new(3));
        let first = encoder.encode(2.4e6, false);
        assert_eq!(first, Frame { bytes: 40_000, is_key: true });
        let second = encoder.encode(2.4e6, false);
        assert_eq!(second, Frame { bytes: 7_000, is_key: false }, "a tenth of 30 kB is paid back");
        assert!(encoder.encode(2.4e6, true).is_key);
    }
}
