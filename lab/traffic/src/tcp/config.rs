//! Configuration of a TCP sender and its receiver.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};
use crate::ip::{Ecn, IpVersion};
use crate::tcp::congestion::{CongestionConfig, ConnectionConfig};
use crate::tcp::segment;
use crate::tunnel::PATH_MTU_BYTES;

/// ECN feedback of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EcnMode {
    /// Not ECN-capable.
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
}

/// A TCP sender of bulk data and its receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// Congestion control and its options. A scenario has
    /// [`CongestionKeys`](crate::CongestionKeys) for it, beside these keys.
    #[serde(skip)]
    pub congestion: CongestionConfig,
    /// Leave slow start when the RTT grows, with the HyStart of the `form`; on by default, as in Linux,
    /// which has it in `cubic` alone.
    pub hystart: bool,
    /// ECN with the feedback of RFC 3168; off if unset, as in Linux. Always on for `prague`.
    pub ecn: Option<bool>,
    /// ECN with accurate feedback (RFC 9768): the receiver reports how many packets were marked.
    /// Always on for `prague`, and for `bbr3` with `ecn`; otherwise off if unset.
    pub accecn: Option<bool>,
    /// Send the AccECN option beside the ACE field where it fits. Without it a sender that has many
    /// segments acknowledged at once has to assume the most wraps of the field's three bits.
    pub accecn_option: bool,
    /// Pace window-based congestion control as Linux's fq: twice the window per smoothed RTT in slow
    /// start, 1.2 times after it. Off by default. `bbr`, `bbr3` and `prague` pace at their own rate.
    pub pacing: bool,
    /// Payload of a full segment, 536..=8960 bytes. If unset 1448 with IPv4 and 1428 with IPv6: with
    /// the IP and TCP headers and the timestamp option a datagram of 1500 bytes; in a tunnel of its MTU.
    #[cfg_attr(feature = "schema", schemars(range(min = 536, max = 8960)))]
    pub mss_bytes: Option<u32>,
    /// Data to send, bytes; unlimited if unset.
    pub total_bytes: Option<u64>,
    /// Initial window, 1..=1000 segments (RFC 6928: 10).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub initial_window_segments: u32,
    /// Receive window, 10000..=1073741824 bytes and at least two segments. Linux tunes it up to
    /// `tcp_rmem[2]`, by default 6 MB; only hosts tuned for more reach seconds of queue in a 10 MB
    /// RLC buffer, hence 16 MiB.
    #[cfg_attr(feature = "schema", schemars(range(min = 10_000, max = 1_073_741_824)))]
    pub receive_window_bytes: u64,
    /// Minimum retransmission time-out, 1000..=60000000 µs. Linux: 200 ms; RFC 6298 §2.4: 1 s.
    #[cfg_attr(feature = "schema", schemars(range(min = 1_000, max = 60_000_000)))]
    pub min_rto_us: u64,
    /// Delay of an acknowledgement, 0..=500000 µs. Linux: 40 ms; RFC 5681 §4.2 allows 500 ms.
    #[cfg_attr(feature = "schema", schemars(range(max = 500_000)))]
    pub delayed_ack_us: u64,
    /// Acknowledge as a Linux receiver: once for segments that arrive together (GRO, up to 64 KiB) and, after
    /// three for segments beyond a gap, once per ms (SACK compression); on by default. Without it each second
    /// segment and each one beyond a gap has its own (RFC 5681 §4.2).
    pub ack_thinning: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: CongestionConfig::default(),
            hystart: true,
            ecn: None,
            accecn: None,
            accecn_option: true,
            pacing: false,
            mss_bytes: None,
            total_bytes: None,
            initial_window_segments: 10,
            receive_window_bytes: 16 << 20,
            min_rto_us: 200_000,
            delayed_ack_us: 40_000,
            ack_thinning: true,
        }
    }
}

impl TcpConfig {
    /// This configuration with the segment size that fills a datagram of `mtu_bytes`.
    pub(crate) fn for_path(&self, mtu_bytes: u32, ip_version: IpVersion) -> Self {
        let fills = mtu_bytes.saturating_sub(segment::HEADER_BYTES + ip_version.extra_bytes());
        Self { mss_bytes: Some(self.mss_bytes.unwrap_or(fills)), ..self.clone() }
    }

    /// Payload of a full segment.
    pub(crate) fn mss_bytes(&self) -> u32 {
        self.mss_bytes.unwrap_or(DEFAULT_MSS_BYTES)
    }

    /// Properties of the connection that congestion control needs.
    pub fn connection(&self) -> ConnectionConfig {
        ConnectionConfig {
            mss_bytes: self.mss_bytes(),
            header_bytes: segment::HEADER_BYTES,
            initial_window_segments: self.initial_window_segments,
            hystart: self.hystart,
            pacing: self.pacing,
            ecn: self.ecn_mode() != EcnMode::Off,
        }
    }

    /// ECN feedback of the connection.
    pub(crate) fn ecn_mode(&self) -> EcnMode {
        let ecn = self.ecn == Some(true) || self.congestion.requires_ecn();
        let accurate = self.accecn == Some(true) || (ecn && self.congestion.is_scalable());
        match (accurate, ecn) {
            (true, _) => EcnMode::Accurate,
            (false, true) => EcnMode::Classic,
            (false, false) => EcnMode::Off,
        }
    }

    /// The codepoint of data: ECT(1) for senders with a scalable response to marks (RFC 9331 §4.3).
    pub(crate) fn data_codepoint(&self) -> Ecn {
        match self.ecn_mode() {
            EcnMode::Off => Ecn::NotEct,
            _ if self.congestion.is_scalable() => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        check("mss_bytes", self.mss_bytes(), 536..=8960, "536 to 8960 bytes")?;
        check(
            "initial_window_segments",
            self.initial_window_segments,
            1..=1_000,
            "1 to 1000 segments",
        )?;
        // RFC 7323 §2.3: windows scale to at most 1 GiB, so that 32-bit sequence numbers stay unambiguous.
        check(
            "receive_window_bytes",
            self.receive_window_bytes,
            10_000.max(2 * u64::from(self.mss_bytes()))..=1 << 30,
            "10000 bytes and two segments to 1 GiB",
        )?;
        check("min_rto_us", self.min_rto_us, 1_000..=60_000_000, "1 ms to 60 s in µs")?;
        check("delayed_ack_us", self.delayed_ack_us, 0..=500_000, "0 to 500 ms in µs")?;
        for (field, value) in [("ecn", self.ecn), ("accecn", self.accecn)] {
            if self.congestion.requires_ecn() && value == Some(false) {
                return Err(ConfigError::new(field, "false", "true or unset with prague"));
            }
        }
        Ok(())
    }
}

const DEFAULT_MSS_BYTES: u32 = PATH_MTU_BYTES - segment::HEADER_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_do_not_fit_others_are_refused_by_name() {
        let prague = TcpConfig { congestion: CongestionConfig::Prague, ..TcpConfig::default() };
        TcpConfig { ecn: Some(true), ..prague.clone() }.validate().unwrap();
        let without = TcpConfig { accecn: Some(false), ..prague };
        let window = TcpConfig {
            mss_bytes: Some(8_000),
            receive_window_bytes: 12_000,
            ..TcpConfig::default()
        };
        for (wrong, message) in [
            (without, "accecn: false; expected true or unset with prague"),
            (window, "receive_window_bytes: 12000; expected 10000 bytes and two segments to 1 GiB"),
        ] {
            assert_eq!(wrong.validate().unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_full_segment_is_a_datagram_of_1500_bytes() {
        let config = TcpConfig::default();
        assert_eq!(config.for_path(1500, IpVersion::V4).mss_bytes(), 1448);
        assert_eq!(config.for_path(1500, IpVersion::V6).mss_bytes(), 1428);
        assert_eq!(config.for_path(1420, IpVersion::V4).mss_bytes(), 1368);
        let own = TcpConfig { mss_bytes: Some(1000), ..config };
        assert_eq!(own.for_path(1500, IpVersion::V6).mss_bytes(), 1000);
    }
}
