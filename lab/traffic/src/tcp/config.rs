//! Configuration of a TCP sender and its receiver.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check};
use crate::ip::{Ecn, IpVersion};
use crate::tcp::segment;
use crate::tunnel::PATH_MTU_BYTES;

/// Congestion control of a TCP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// RFC 9438, the default of Linux, Windows and macOS.
    #[default]
    Cubic,
    /// RFC 5681 and 6582.
    Reno,
    /// Westwood+ (Mascolo et al. 2004): after a loss, bandwidth times minimum RTT.
    Westwood,
    /// Brakmo and Peterson 1995: keeps two to four segments queued.
    Vegas,
    /// BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00. Always paces.
    Bbr,
    /// BBR version 3, draft-ietf-ccwg-bbr-02. Always paces. With `ecn`: ECT(1) and AccECN.
    Bbr3,
    /// draft-briscoe-iccrg-prague-congestion-control-03. Always paces, ECT(1) and AccECN.
    Prague,
    /// Abbasloo et al. 2019: Cubic with a bound on the RTT.
    C2tcp,
}

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
    /// Congestion control.
    pub congestion_control: CongestionControl,
    /// Leave slow start when the RTT grows (HyStart++, RFC 9406); on by default, as in Linux.
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
    /// `bbr` adds aggregated acknowledgements to its window, as Linux since 5.1; the draft does not.
    pub bbr_ack_aggregation: bool,
    /// `bbr` paces at 1 % below its rate, as Linux since 4.20; the draft does not.
    pub bbr_pacing_margin: bool,
    /// `cubic` leaves slow start by the HyStart of Linux, not by RFC 9406, and grows at least 5 % per RTT
    /// before the first reduction, as Linux does and RFC 9438 does not.
    pub cubic_as_in_linux: bool,
    /// `reno` counts acknowledgements (RFC 5681 §3.1), not acknowledged bytes (RFC 3465): with
    /// delayed acknowledgements its window grows at half the speed.
    pub reno_ack_counting: bool,
    /// `c2tcp`: average RTT to which it tunes its setpoint, 1..=60000 ms; 50 if unset (JSAC 2019).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_target_ms: Option<u32>,
    /// `c2tcp`: fixed setpoint of the RTT, 1..=60000 ms (IFIP 2018: 100); if unset a multiple of the
    /// minimum RTT, tuned to the target.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_setpoint_ms: Option<u32>,
    /// `c2tcp`: how long the RTT may exceed the setpoint, 1..=60000 ms; the setpoint if unset.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 60_000)))]
    pub c2tcp_interval_ms: Option<u32>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion_control: CongestionControl::Cubic,
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
            bbr_ack_aggregation: false,
            bbr_pacing_margin: false,
            cubic_as_in_linux: false,
            reno_ack_counting: false,
            c2tcp_target_ms: None,
            c2tcp_setpoint_ms: None,
            c2tcp_interval_ms: None,
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

    /// ECN feedback of the connection.
    pub(crate) fn ecn_mode(&self) -> EcnMode {
        let (ecn, accecn) = (self.ecn == Some(true), self.accecn == Some(true));
        match self.congestion_control {
            CongestionControl::Prague => EcnMode::Accurate,
            CongestionControl::Bbr3 if ecn => EcnMode::Accurate,
            _ if accecn => EcnMode::Accurate,
            _ if ecn => EcnMode::Classic,
            _ => EcnMode::Off,
        }
    }

    /// The codepoint of data: ECT(1) for senders with a scalable response to marks (RFC 9331 §4.3).
    pub(crate) fn data_codepoint(&self) -> Ecn {
        match (self.ecn_mode(), self.congestion_control) {
            (EcnMode::Off, _) => Ecn::NotEct,
            (_, CongestionControl::Prague | CongestionControl::Bbr3) => Ecn::Ect1,
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
        self.validate_congestion_control()
    }

    /// Keys that depend on the congestion control.
    fn validate_congestion_control(&self) -> Result<(), ConfigError> {
        let control = self.congestion_control;
        for (field, value) in [("ecn", self.ecn), ("accecn", self.accecn)] {
            if control == CongestionControl::Prague && value == Some(false) {
                return Err(ConfigError::new(field, "false", "true or unset with prague"));
            }
        }
        let (bbr, cubic) = (CongestionControl::Bbr, CongestionControl::Cubic);
        let only_bbr = "false unless congestion_control is bbr";
        let only_cubic = "false unless congestion_control is cubic";
        let only_reno = "false unless congestion_control is reno";
        for (field, is_set, owner, expected) in [
            ("bbr_ack_aggregation", self.bbr_ack_aggregation, bbr, only_bbr),
            ("bbr_pacing_margin", self.bbr_pacing_margin, bbr, only_bbr),
            ("cubic_as_in_linux", self.cubic_as_in_linux, cubic, only_cubic),
            ("reno_ack_counting", self.reno_ack_counting, CongestionControl::Reno, only_reno),
        ] {
            if is_set && control != owner {
                return Err(ConfigError::new(field, "true", expected));
            }
        }
        for (field, value) in [
            ("c2tcp_target_ms", self.c2tcp_target_ms),
            ("c2tcp_setpoint_ms", self.c2tcp_setpoint_ms),
            ("c2tcp_interval_ms", self.c2tcp_interval_ms),
        ] {
            let Some(value) = value else { continue };
            if control != CongestionControl::C2tcp {
                let expected = "unset unless congestion_control is c2tcp";
                return Err(ConfigError::new(field, value, expected));
            }
            check(field, value, 1..=60_000, "1 to 60000 ms")?;
        }
        if let (Some(target), Some(_)) = (self.c2tcp_target_ms, self.c2tcp_setpoint_ms) {
            let expected = "unset with c2tcp_setpoint_ms, which fixes what the target tunes";
            return Err(ConfigError::new("c2tcp_target_ms", target, expected));
        }
        Ok(())
    }
}

const DEFAULT_MSS_BYTES: u32 = PATH_MTU_BYTES - segment::HEADER_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_do_not_fit_the_congestion_control_are_refused_by_name() {
        let with = |text: &str| {
            let config: TcpConfig = serde_json::from_str(text).unwrap();
            config.validate().map_err(|error| error.to_string())
        };
        for good in [
            r#"{"congestion_control": "prague", "ecn": true}"#,
            r#"{"congestion_control": "bbr", "bbr_ack_aggregation": true, "bbr_pacing_margin": true}"#,
            r#"{"congestion_control": "reno", "reno_ack_counting": true}"#,
            r#"{"cubic_as_in_linux": true}"#,
            r#"{"congestion_control": "c2tcp", "c2tcp_setpoint_ms": 80, "c2tcp_interval_ms": 20}"#,
        ] {
            with(good).unwrap();
        }
        for (wrong, message) in [
            (
                r#"{"congestion_control": "prague", "accecn": false}"#,
                "accecn: false; expected true or unset with prague",
            ),
            (
                r#"{"bbr_ack_aggregation": true}"#,
                "bbr_ack_aggregation: true; expected false unless congestion_control is bbr",
            ),
            (
                r#"{"bbr_pacing_margin": true}"#,
                "bbr_pacing_margin: true; expected false unless congestion_control is bbr",
            ),
            (
                r#"{"reno_ack_counting": true}"#,
                "reno_ack_counting: true; expected false unless congestion_control is reno",
            ),
            (
                r#"{"congestion_control": "reno", "cubic_as_in_linux": true}"#,
                "cubic_as_in_linux: true; expected false unless congestion_control is cubic",
            ),
            (
                r#"{"c2tcp_setpoint_ms": 80}"#,
                "c2tcp_setpoint_ms: 80; expected unset unless congestion_control is c2tcp",
            ),
            (
                r#"{"mss_bytes": 8000, "receive_window_bytes": 12000}"#,
                "receive_window_bytes: 12000; expected 10000 bytes and two segments to 1 GiB",
            ),
        ] {
            assert_eq!(with(wrong).unwrap_err(), message);
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
