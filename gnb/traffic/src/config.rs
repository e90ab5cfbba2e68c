//! What a scenario says about a flow.
//!
//! Every structure refuses unknown keys. [`FlowConfig::validate`] names the field, the value and
//! what was expected; a caller that knows where in its file the flow stands prefixes the path.

use serde::{Deserialize, Serialize};

/// One flow: what application, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// The application and its parameters.
    pub app: AppConfig,
    /// When it starts, µs from the start of the world.
    #[serde(default)]
    pub start_us: u64,
    /// When it has nothing new to send any more; absent: never.
    #[serde(default)]
    pub stop_us: Option<u64>,
    /// The start is put off by a time drawn from `0..start_jitter_us` with the flow's seed, so that
    /// flows of one scenario do not beat in phase.
    #[serde(default)]
    pub start_jitter_us: u64,
    /// DSCP of its packets, 0..=63.
    #[serde(default)]
    pub dscp: u8,
}

/// The application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AppConfig {
    /// A TCP bulk download.
    Tcp(TcpConfig),
    /// UDP at a constant bit rate, downlink.
    UdpCbr(UdpCbrConfig),
    /// Voice frames at a constant interval.
    Voip(VoipConfig),
    /// ICMP echo from the server to the UE and back.
    Ping(PingConfig),
}

/// Which congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CongestionAlgorithm {
    /// RFC 9438; what Linux, Windows and macOS use.
    #[default]
    Cubic,
    /// RFC 5681 and 6582.
    Reno,
}

/// A TCP bulk download.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// Congestion control.
    pub congestion: CongestionAlgorithm,
    /// Leave slow start when the RTT grows (HyStart++, RFC 9406). On by default, as HyStart is in
    /// Linux.
    pub hystart: bool,
    /// Classic ECN, RFC 3168. Off by default: Linux asks for it only when told to.
    pub ecn: bool,
    /// Payload of a full segment, bytes. 1448 and the 52 bytes of IP, TCP and timestamp option make
    /// a datagram of 1500.
    pub mss_bytes: u32,
    /// How much there is to send, bytes; absent: without end.
    pub total_bytes: Option<u64>,
    /// Initial window, segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// The receiver's window, bytes. Linux tunes it up to `tcp_rmem[2]`, 6 MB by default; seconds
    /// of queue in a 10 MB RLC buffer are only reached by hosts tuned for more, hence 16 MiB.
    pub receive_window_bytes: u64,
    /// Least retransmission time-out, µs. Linux: 200 ms, where RFC 6298 §2.4 says 1 s.
    pub min_rto_us: u64,
    /// How long the receiver waits with an acknowledgement, µs. Linux: 40 ms; RFC 5681 §4.2 allows
    /// 500 ms.
    pub delayed_ack_us: u64,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: CongestionAlgorithm::Cubic,
            hystart: true,
            ecn: false,
            mss_bytes: 1448,
            total_bytes: None,
            initial_window_segments: 10,
            receive_window_bytes: 16 << 20,
            min_rto_us: 200_000,
            delayed_ack_us: 40_000,
        }
    }
}

/// UDP at a constant bit rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UdpCbrConfig {
    /// Rate of the UDP payload, bit/s, as `iperf3 -b` counts it.
    pub rate_bps: u64,
    /// Payload of a datagram, bytes.
    #[serde(default = "default_udp_payload_bytes")]
    pub payload_bytes: u32,
}

fn default_udp_payload_bytes() -> u32 {
    1472
}

/// Voice frames at a constant interval. The defaults are G.711 in RTP (irazabal2021 §V): 160 B of
/// voice and 12 B of RTP each 20 ms, a 200 B datagram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct VoipConfig {
    /// UDP payload of a frame, bytes.
    pub payload_bytes: u32,
    /// Time between frames, µs.
    pub interval_us: u64,
    /// The UE talks as well.
    pub bidirectional: bool,
}

impl Default for VoipConfig {
    fn default() -> Self {
        Self { payload_bytes: 172, interval_us: 20_000, bidirectional: false }
    }
}

/// ICMP echo from the server to the UE and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct PingConfig {
    /// Time between requests, µs.
    pub interval_us: u64,
    /// Payload behind the ICMP header, bytes. `ping` sends 56: a 64 B message, an 84 B datagram.
    pub payload_bytes: u32,
}

impl Default for PingConfig {
    fn default() -> Self {
        Self { interval_us: 100_000, payload_bytes: 56 }
    }
}

/// A field whose value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {value} is not usable, expected {expected}")]
pub struct ConfigError {
    /// Where, from the flow down, e.g. `app.tcp.mss_bytes`.
    pub field: &'static str,
    /// What stood there.
    pub value: String,
    /// What would do.
    pub expected: &'static str,
}

fn check<V: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: V,
    range: std::ops::RangeInclusive<V>,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(ConfigError { field, value: value.to_string(), expected })
    }
}

/// A year of virtual time, far beyond any scenario; keeps sums of times from overflowing.
const MAX_TIME_US: u64 = 366 * 86_400 * 1_000_000;

impl FlowConfig {
    /// A flow of this application from the start of the world on, without end.
    pub fn new(app: AppConfig) -> Self {
        Self { app, start_us: 0, stop_us: None, start_jitter_us: 0, dscp: 0 }
    }

    /// Whether every value can be used.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const A_YEAR: &str = "at most one year in µs";
        check("start_us", self.start_us, 0..=MAX_TIME_US, A_YEAR)?;
        check("start_jitter_us", self.start_jitter_us, 0..=MAX_TIME_US, A_YEAR)?;
        if let Some(stop_us) = self.stop_us {
            check("stop_us", stop_us, self.start_us..=u64::MAX, "no earlier than start_us")?;
        }
        check("dscp", self.dscp, 0..=63, "0 to 63")?;
        self.app.validate()
    }
}

impl AppConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        const A_PAYLOAD: &str = "1 to 65507 bytes";
        const AN_INTERVAL: &str = "1 µs to one hour";
        const HOUR_US: u64 = 3_600_000_000;
        match self {
            Self::Tcp(tcp) => tcp.validate(),
            Self::UdpCbr(cbr) => {
                check(
                    "app.udp_cbr.rate_bps",
                    cbr.rate_bps,
                    1..=1_000_000_000_000,
                    "1 bit/s to 1 Tbit/s",
                )?;
                check("app.udp_cbr.payload_bytes", cbr.payload_bytes, 1..=65_507, A_PAYLOAD)
            }
            Self::Voip(voip) => {
                check("app.voip.payload_bytes", voip.payload_bytes, 1..=65_507, A_PAYLOAD)?;
                check("app.voip.interval_us", voip.interval_us, 1..=HOUR_US, AN_INTERVAL)
            }
            Self::Ping(ping) => {
                check(
                    "app.ping.payload_bytes",
                    ping.payload_bytes,
                    0..=65_507,
                    "0 to 65507 bytes",
                )?;
                check("app.ping.interval_us", ping.interval_us, 1..=HOUR_US, AN_INTERVAL)
            }
        }
    }
}

impl TcpConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check("app.tcp.mss_bytes", self.mss_bytes, 64..=65_483, "64 to 65483 bytes")?;
        check(
            "app.tcp.initial_window_segments",
            self.initial_window_segments,
            1..=1_000,
            "1 to 1000 segments",
        )?;
        // The wire carries 32-bit sequence numbers: a window of 1 GiB is the most that RFC 7323
        // §2.3 can scale to, and keeps "before" and "after" unambiguous.
        check(
            "app.tcp.receive_window_bytes",
            self.receive_window_bytes,
            2 * u64::from(self.mss_bytes)..=1 << 30,
            "two segments to 1 GiB",
        )?;
        check("app.tcp.min_rto_us", self.min_rto_us, 1_000..=60_000_000, "1 ms to 60 s")?;
        check("app.tcp.delayed_ack_us", self.delayed_ack_us, 0..=500_000, "0 to 500 ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<FlowConfig, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn defaults_fill_what_a_scenario_leaves_out() {
        let flow = parse(r#"{"app": {"tcp": {"congestion": "reno"}}, "start_us": 5}"#).unwrap();
        let AppConfig::Tcp(tcp) = &flow.app else { panic!("{flow:?}") };
        assert_eq!(tcp.congestion, CongestionAlgorithm::Reno);
        assert_eq!(tcp.mss_bytes, 1448);
        assert_eq!(flow.start_us, 5);
        flow.validate().unwrap();
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        for json in [
            r#"{"app": {"tcp": {"msss": 1448}}}"#,
            r#"{"app": {"voip": {}}, "strat_us": 5}"#,
            r#"{"app": {"quic": {}}}"#,
        ] {
            let message = parse(json).unwrap_err().to_string();
            assert!(message.contains("unknown"), "{message}");
        }
    }

    #[test]
    fn a_value_out_of_range_names_field_value_and_expectation() {
        let mut flow = FlowConfig::new(AppConfig::Ping(PingConfig {
            interval_us: 0,
            ..PingConfig::default()
        }));
        let error = flow.validate().unwrap_err();
        assert_eq!(
            error.to_string(),
            "app.ping.interval_us: 0 is not usable, expected 1 µs to one hour"
        );
        flow.dscp = 64;
        assert_eq!(flow.validate().unwrap_err().field, "dscp");
        flow = FlowConfig { start_us: 9, stop_us: Some(3), ..flow };
        assert_eq!(flow.validate().unwrap_err().field, "stop_us");
    }

    #[test]
    fn config_survives_a_round_trip() {
        for app in [
            AppConfig::Tcp(TcpConfig::default()),
            AppConfig::UdpCbr(UdpCbrConfig { rate_bps: 1_000_000, payload_bytes: 1472 }),
            AppConfig::Voip(VoipConfig::default()),
            AppConfig::Ping(PingConfig::default()),
        ] {
            let flow = FlowConfig::new(app);
            let json = serde_json::to_string(&flow).unwrap();
            assert_eq!(parse(&json).unwrap(), flow);
        }
    }
}
