//! A cloud game: the server renders and sends video over UDP at a fixed rate, the UE sends the player's
//! inputs. Each frame has a deadline; what comes later is of no use.
//!
//! The model is that of 3GPP TR 38.838 for cloud gaming: 60 frames/s; sizes of truncated Gaussian
//! distribution with a deviation of 10.5 % within 50 to 150 % of the mean (§5.1.1.1); of a group of
//! pictures the first frame is larger (§5.1.2: 8 frames, ratio 1.5 to 3); uplink inputs of 100 bytes each
//! 4 ms. Its rates are 8 and 30, optionally 45 Mbit/s, its delay budget in the RAN 15 ms. Here a frame leaves
//! paced rather than at once, as cloud game servers over WebRTC do. No retransmission, FEC or
//! adaptation of the rate.

mod client;
mod server;

pub use client::CloudGameClient;
pub use server::CloudGameServer;

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::{ConfigError, check};
use crate::rng::Rng;

/// A frame is within these shares of the mean of its kind (TR 38.838 §5.1.1.1).
const SHARES: (f64, f64) = (0.5, 1.5);

/// A cloud game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CloudGameConfig {
    /// Rate of the video without headers, bit/s.
    pub rate_bps: u64,
    /// Frames per second.
    pub frames_per_s: u32,
    /// Standard deviation of the size of a frame, as a share of the mean of its kind, 0..=1.
    pub size_deviation: f64,
    /// Frames of a group of pictures, the first of which is an I-frame; 1 for frames of one kind.
    pub group_frames: u32,
    /// Ratio of the size of an I-frame to that of the others.
    pub key_frame_ratio: f64,
    /// A frame leaves at this multiple of the rate.
    pub pacing_factor: f64,
    /// Time between two inputs of the player, µs.
    pub input_interval_us: u64,
    /// Payload of an input, bytes.
    pub input_bytes: u32,
}

impl Default for CloudGameConfig {
    fn default() -> Self {
        Self {
            rate_bps: 12_000_000,
            frames_per_s: 60,
            size_deviation: 0.105,
            group_frames: 8,
            key_frame_ratio: 1.5,
            // As libwebrtc's pacer.
            pacing_factor: 2.5,
            input_interval_us: 4_000,
            input_bytes: 100,
        }
    }
}

impl CloudGameConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let rate = "100 kbit/s to 1 Gbit/s";
        check("cloud_game.rate_bps", self.rate_bps, 100_000..=1_000_000_000, rate)?;
        check("cloud_game.frames_per_s", self.frames_per_s, 1..=240, "1 to 240")?;
        check("cloud_game.size_deviation", self.size_deviation, 0.0..=1.0, "0 to 1")?;
        check("cloud_game.group_frames", self.group_frames, 1..=1_000_000, "1 to 1000000")?;
        check("cloud_game.key_frame_ratio", self.key_frame_ratio, 1.0..=100.0, "1 to 100")?;
        check("cloud_game.pacing_factor", self.pacing_factor, 1.0..=1000.0, "1 to 1000")?;
        let interval_us = self.input_interval_us;
        check(
            "cloud_game.input_interval_us",
            interval_us,
            1_000..=10_000_000,
            "1 ms to 10 s in µs",
        )?;
        check("cloud_game.input_bytes", self.input_bytes, 1..=1_200, "1 to 1200 bytes")
    }

    /// Time between two frames: one is of no use once the next is there.
    pub(crate) fn frame_interval_us(&self) -> u64 {
        1_000_000 / u64::from(self.frames_per_s.max(1))
    }

    /// Size of frame `number`.
    fn frame_bytes(&self, number: u64, random: &mut Rng) -> u32 {
        let mean = self.rate_bps as f64 / 8.0 / f64::from(self.frames_per_s);
        let (group, ratio) = (f64::from(self.group_frames), self.key_frame_ratio);
        let others = mean * group / (group - 1.0 + ratio);
        let mean = if self.is_key(number) { ratio * others } else { others };
        let sizes = Distribution::TruncatedNormal {
            mean,
            deviation: self.size_deviation * mean,
            min: SHARES.0 * mean,
            max: SHARES.1 * mean,
        };
        sizes.draw(random).round().clamp(1.0, f64::from(u32::MAX)) as u32
    }

    fn is_key(&self, number: u64) -> bool {
        number.is_multiple_of(u64::from(self.group_frames))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_met_with_groups_and_without() {
        for (group_frames, key_frame_ratio) in [(1, 1.0), (8, 1.5), (8, 3.0), (60, 5.0)] {
            let config =
                CloudGameConfig { group_frames, key_frame_ratio, ..CloudGameConfig::default() };
            let mut random = Rng::new(4);
            let frames: Vec<u32> =
                (0..36_000).map(|n| config.frame_bytes(n, &mut random)).collect();
            let bps = frames.iter().map(|it| f64::from(*it)).sum::<f64>() * 8.0 / 600.0;
            assert!((bps / 12e6 - 1.0).abs() < 0.003, "{group_frames}: {bps}");
            let mean_of = |key: bool| {
                let of = frames.iter().zip(0..).filter(|(_, n)| config.is_key(*n) == key);
                let (sum, count) =
                    of.fold((0.0, 0.0), |(s, c), (it, _)| (s + f64::from(*it), c + 1.0));
                sum / count
            };
            if group_frames > 1 {
                let ratio = mean_of(true) / mean_of(false);
                assert!((ratio / key_frame_ratio - 1.0).abs() < 0.01, "{ratio}");
            }
        }
    }

    #[test]
    fn sizes_stay_within_half_and_one_and_a_half_of_the_mean() {
        let config = CloudGameConfig {
            group_frames: 1,
            key_frame_ratio: 1.0,
            size_deviation: 1.0,
            ..CloudGameConfig::default()
        };
        let mut random = Rng::new(4);
        let sizes: Vec<u32> = (0..10_000).map(|n| config.frame_bytes(n, &mut random)).collect();
        assert!(sizes.iter().all(|bytes| (12_500..=37_500).contains(bytes)));
        assert!(*sizes.iter().min().unwrap() < 12_600 && *sizes.iter().max().unwrap() > 37_400);
    }
}
