//! A video call: frames at a fixed rate over RTP, an encoder that follows Google Congestion Control.
//!
//! The server talks, the UE sees: the downlink is what the gNB queues. GCC is the delay-based and
//! loss-based controller of draft-ietf-rmcat-gcc-02, run at the sender on per-packet arrival times
//! (the draft's first figure; transport-wide feedback), which is what WebRTC does and, by
//! measurement, not far from what Skype does.
//!
//! Of WebRTC there is: 5 ms grouping of packets, the Kalman filter, the over-use detector with its
//! adaptive threshold, AIMD, the loss-based bound, a pacer at 2.5 times the rate, key frames on
//! request after a loss. There is not: retransmission (NACK) and FEC — a frame with a lost packet is
//! lost and the picture stands until the next key frame —, probing, and audio.

mod arrival;
mod detector;
mod encoder;
mod gcc;
mod loss;
mod packets;
mod rate;
mod receiver;
mod sender;

pub use packets::{MediaFeedback, MediaPacket};
pub use receiver::CallReceiver;
pub use sender::CallSender;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};

/// A video call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CallConfig {
    /// Frames per second.
    pub frames_per_s: u32,
    /// Media rate at the start, bit/s (WebRTC: 300 kbit/s).
    pub start_bps: u64,
    /// Least media rate, bit/s.
    pub min_bps: u64,
    /// Largest media rate, bit/s: what the encoder needs for its best picture.
    pub max_bps: u64,
    /// A key frame at least each so many frames.
    pub key_interval_frames: u32,
    /// Size of a key frame over that of the others.
    pub key_frame_ratio: f64,
    /// Frame sizes vary uniformly by up to this share around what the rate allows, 0..=0.9.
    pub size_variation: f64,
    /// Time between two reports of the receiver, µs.
    pub feedback_interval_us: u64,
}

impl Default for CallConfig {
    fn default() -> Self {
        Self {
            frames_per_s: 30,
            start_bps: 300_000,
            min_bps: 50_000,
            max_bps: 6_000_000,
            key_interval_frames: 300,
            key_frame_ratio: 4.0,
            size_variation: 0.2,
            feedback_interval_us: 100_000,
        }
    }
}

impl CallConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("call.frames_per_s", self.frames_per_s, 1..=240, "1 to 240")?;
        check("call.min_bps", self.min_bps, 5_000..=1_000_000_000, "5 kbit/s to 1 Gbit/s")?;
        check("call.max_bps", self.max_bps, self.min_bps..=1_000_000_000, "min_bps to 1 Gbit/s")?;
        check("call.start_bps", self.start_bps, self.min_bps..=self.max_bps, "min_bps to max_bps")?;
        check("call.key_interval_frames", self.key_interval_frames, 1..=1_000_000, "1 to 1000000")?;
        check("call.key_frame_ratio", self.key_frame_ratio, 1.0..=100.0, "1 to 100")?;
        check("call.size_variation", self.size_variation, 0.0..=0.9, "0 to 0.9")?;
        check(
            "call.feedback_interval_us",
            self.feedback_interval_us,
            5_000..=1_000_000,
            "5 ms to 1 s in µs",
        )
    }
}
