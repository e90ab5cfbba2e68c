//! A video call: frames at a fixed rate over RTP, an encoder that follows Google Congestion Control.
//!
//! The server sends the video: the downlink is queued in the gNB. GCC is the delay-based and
//! loss-based controller of draft-ietf-rmcat-gcc-02, run at the sender on per-packet arrival times
//! (the draft's first figure; transport-wide feedback), which is what WebRTC does and, by
//! measurement, not far from what Skype does.
//!
//! Of WebRTC there is: 5 ms grouping of packets, the Kalman filter, the over-use detector with its
//! adaptive threshold, AIMD, the loss-based bound, a pacer at 2.5 times the rate, key frames on
//! request after a loss. There is not: retransmission (NACK) and FEC — a frame with a lost packet is
//! lost and the picture stands until the next key frame —, and probing. Audio, if there is, is Opus in
//! frames of 20 ms (RFC 7587 §4.2) in the same 5-tuple (RFC 9143), beside the control of the video.

mod arrival;
mod detector;
mod encoder;
mod gcc;
mod loss;
mod pacer;
mod rate;
mod receiver;
mod sender;

pub(crate) use pacer::FramePacer;
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
    /// Minimum media rate, bit/s.
    pub min_bps: u64,
    /// Maximum media rate, bit/s: that of the encoder's best quality.
    pub max_bps: u64,
    /// Maximum number of frames between key frames.
    pub key_interval_frames: u32,
    /// Ratio of the size of a key frame to that of others.
    pub key_frame_ratio: f64,
    /// Frame sizes vary uniformly by up to this share around what the rate allows, 0..=0.9.
    pub size_variation: f64,
    /// Time between two reports of the receiver, µs.
    pub feedback_interval_us: u64,
    /// Rate of audio beside the video without headers, 6..=510 kbit/s (Opus, RFC 6716 §2.1.1; WebRTC's voice
    /// has about 32); none if unset.
    #[cfg_attr(feature = "schema", schemars(range(min = 6, max = 510)))]
    pub audio_kbps: Option<u32>,
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
            audio_kbps: None,
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
        if let Some(kbps) = self.audio_kbps {
            check("call.audio_kbps", kbps, 6..=510, "6 to 510 kbit/s")?;
        }
        check(
            "call.feedback_interval_us",
            self.feedback_interval_us,
            5_000..=1_000_000,
            "5 ms to 1 s in µs",
        )
    }
}

/// Largest RTP payload of a packet in WebRTC.
const MAX_MEDIA_BYTES: u32 = 1_200;
/// RTP header (RFC 3550 §5.1) and the header extension with the transport-wide number (RFC 8285).
pub(crate) const RTP_HEADER_BYTES: u32 = 12 + 8;
/// Length of an audio frame.
const AUDIO_FRAME_MS: u32 = 20;
/// RTCP header of a transport-wide feedback (draft-holmer-rmcat-transport-wide-cc §3.1).
const FEEDBACK_HEADER_BYTES: u32 = 20;
/// Each packet reported takes a delta of 2 B and a share of a status chunk.
const FEEDBACK_PER_PACKET_BYTES: u32 = 3;

/// A media packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPacket {
    /// Transport-wide number, from 0.
    pub seq: u64,
    /// Its frame, from 0.
    pub frame: u64,
    /// Its index in the frame.
    pub index: u16,
    /// Number of packets of the frame.
    pub count: u16,
    /// The frame can be decoded without others.
    pub is_key: bool,
    /// Time of capture.
    pub captured_us: u64,
}

/// A report of the receiver: arrival times and requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaFeedback {
    /// Number and arrival time of each packet since the last report, in order of arrival.
    pub arrivals: Vec<(u64, u64)>,
    /// A picture was lost: a key frame is requested (RFC 4585 §6.3.1).
    pub wants_key_frame: bool,
}

impl MediaFeedback {
    /// Payload of the datagram that carries it.
    fn payload_bytes(&self) -> u32 {
        let packets = u32::try_from(self.arrivals.len()).unwrap_or(u32::MAX);
        FEEDBACK_HEADER_BYTES.saturating_add(FEEDBACK_PER_PACKET_BYTES.saturating_mul(packets))
    }
}
