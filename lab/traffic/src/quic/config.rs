//! Configuration of a QUIC sender and its receiver.

use serde::{Deserialize, Serialize};

use super::packet::{AckFrequency, MAX_ACK_DELAY_US};
use crate::error::{ConfigError, check};
use crate::ip::{Ecn, UDP_IP_HEADER_BYTES};
use crate::tcp::congestion::{CongestionConfig, ConnectionConfig};

/// RFC 9000 §14: the least that every path has to carry.
pub(crate) const MIN_UDP_PAYLOAD_BYTES: u32 = 1_200;
/// What quinn, quic-go and Chromium settle at where the path carries 1500 bytes: 1452, which also fits
/// IPv6.
const DEFAULT_UDP_PAYLOAD_BYTES: u32 = 1_452;
/// What a datagram of 1500 bytes over IPv4 holds.
const MAX_UDP_PAYLOAD_BYTES: u32 = 1_472;

/// A QUIC sender of bulk data and its receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct QuicConfig {
    /// Congestion control and its options. A scenario has
    /// [`CongestionKeys`](crate::CongestionKeys) for it, beside these keys.
    #[serde(skip)]
    pub congestion: CongestionConfig,
    /// Leave slow start when the RTT grows, with the HyStart of the `form`.
    pub hystart: bool,
    /// ECN with the counts of ACK frames (RFC 9000 §13.4); off if unset. Always on for `prague`.
    pub ecn: Option<bool>,
    /// Datagrams that leave back to back, 1..=64: what one call with segmentation offload (`UDP_SEGMENT`)
    /// hands to the kernel. Pacing spaces these bursts. 10, as quinn and quic-go; 1 is without offload.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 64)))]
    pub gso_segments: u32,
    /// Payload of a full UDP datagram, 1200..=1472 bytes; if unset 1452, or what the tunnel carries.
    #[cfg_attr(feature = "schema", schemars(range(min = 1200, max = 1472)))]
    pub max_udp_payload_bytes: Option<u32>,
    /// Data to send, bytes; unlimited if unset.
    pub total_bytes: Option<u64>,
    /// Initial window, 1..=1000 datagrams (RFC 9002 §7.2: 10).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub initial_window_segments: u32,
    /// Flow control window of the connection, 10000..=1073741824 bytes; Chromium has 15 MiB.
    #[cfg_attr(feature = "schema", schemars(range(min = 10_000, max = 1_073_741_824)))]
    pub receive_window_bytes: u64,
    /// Delay of an acknowledgement, 0..=500000 µs (RFC 9000 §18.2: 25 ms).
    #[cfg_attr(feature = "schema", schemars(range(max = 500_000)))]
    pub max_ack_delay_us: u64,
    /// How often the sender asks to be acknowledged, by draft-ietf-quic-ack-frequency. If unset each
    /// second packet is acknowledged (RFC 9000 §13.2.2).
    pub ack_frequency: Option<AckFrequencyConfig>,
}

/// What an ACK_FREQUENCY frame asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AckFrequencyConfig {
    /// Packets for each acknowledgement, 1..=1000: the Ack-Eliciting Threshold plus one. 10, as Chromium
    /// asks for.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub packets: u32,
    /// Requested Max Ack Delay, 1000..=500000 µs.
    #[cfg_attr(feature = "schema", schemars(range(min = 1000, max = 500_000)))]
    pub max_ack_delay_us: u64,
    /// Reordering Threshold, 0..=100 packets: a gap is reported at once when this many packets follow it; 0
    /// never. 3, the packet threshold of loss detection.
    #[cfg_attr(feature = "schema", schemars(range(max = 100)))]
    pub reordering_packets: u32,
}

impl Default for AckFrequencyConfig {
    fn default() -> Self {
        Self { packets: 10, max_ack_delay_us: MAX_ACK_DELAY_US, reordering_packets: 3 }
    }
}

impl From<AckFrequencyConfig> for AckFrequency {
    fn from(config: AckFrequencyConfig) -> Self {
        Self {
            eliciting_threshold: config.packets - 1,
            max_ack_delay_us: config.max_ack_delay_us,
            reordering_threshold: config.reordering_packets,
        }
    }
}

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
            congestion: CongestionConfig::default(),
            hystart: true,
            ecn: None,
            gso_segments: 10,
            max_udp_payload_bytes: None,
            total_bytes: None,
            initial_window_segments: 10,
            receive_window_bytes: 15 << 20,
            max_ack_delay_us: MAX_ACK_DELAY_US,
            ack_frequency: None,
        }
    }
}

impl QuicConfig {
    /// This configuration with datagrams that a path for UDP payloads of `path_bytes` carries.
    pub(crate) fn for_path(&self, path_bytes: u32) -> Self {
        let most = DEFAULT_UDP_PAYLOAD_BYTES.min(path_bytes);
        Self {
            max_udp_payload_bytes: Some(self.max_udp_payload_bytes.unwrap_or(most)),
            ..self.clone()
        }
    }

    /// Payload of a full UDP datagram.
    pub(crate) fn udp_payload_bytes(&self) -> u32 {
        self.max_udp_payload_bytes.unwrap_or(DEFAULT_UDP_PAYLOAD_BYTES)
    }

    /// Properties of the connection that congestion control needs. Bytes in flight are those of UDP
    /// payloads (RFC 9002 §2).
    pub(crate) fn connection(&self) -> ConnectionConfig {
        ConnectionConfig {
            mss_bytes: self.udp_payload_bytes(),
            header_bytes: UDP_IP_HEADER_BYTES,
            initial_window_segments: self.initial_window_segments,
            hystart: self.hystart,
            pacing: true,
            ecn: self.data_codepoint() != Ecn::NotEct,
        }
    }

    /// The codepoint of data: ECT(1) for senders with a scalable response to marks (RFC 9331 §4.3).
    pub(crate) fn data_codepoint(&self) -> Ecn {
        match self.ecn == Some(true) || self.congestion.requires_ecn() {
            false => Ecn::NotEct,
            true if self.congestion.is_scalable() => Ecn::Ect1,
            true => Ecn::Ect0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("gso_segments", self.gso_segments, 1..=64, "1 to 64 datagrams")?;
        check(
            "max_udp_payload_bytes",
            self.udp_payload_bytes(),
            MIN_UDP_PAYLOAD_BYTES..=MAX_UDP_PAYLOAD_BYTES,
            "1200 to 1472 bytes",
        )?;
        let windows = "1 to 1000 datagrams";
        check("initial_window_segments", self.initial_window_segments, 1..=1_000, windows)?;
        let window = "10000 bytes to 1 GiB";
        check("receive_window_bytes", self.receive_window_bytes, 10_000..=1 << 30, window)?;
        check("max_ack_delay_us", self.max_ack_delay_us, 0..=500_000, "0 to 500 ms in µs")?;
        if let Some(asked) = self.ack_frequency {
            check("ack_frequency.packets", asked.packets, 1..=1_000, "1 to 1000 packets")?;
            let delay = "1 to 500 ms in µs";
            check(
                "ack_frequency.max_ack_delay_us",
                asked.max_ack_delay_us,
                1_000..=500_000,
                delay,
            )?;
            let packets = "0 to 100 packets";
            check("ack_frequency.reordering_packets", asked.reordering_packets, 0..=100, packets)?;
        }
        if self.congestion.requires_ecn() && self.ecn == Some(false) {
            return Err(ConfigError::new("ecn", "false", "true or unset with prague"));
        }
        Ok(())
    }
}
