//! What a scenario says about a flow.
//!
//! Every structure refuses unknown keys. [`FlowConfig::validate`] names the field, the value and
//! what was expected; a caller that knows where in its file the flow stands prefixes the path.

use serde::{Deserialize, Serialize};

use crate::call::CallConfig;
use crate::error::{ConfigError, check};
use crate::game::GameConfig;
use crate::ip::Ecn;
use crate::sprout::SproutConfig;
use crate::video::VideoConfig;
use crate::vivace::VivaceConfig;
use crate::web::WebConfig;

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
    /// ECN field of the data packets of an application over UDP. Its receivers count CE and answer
    /// nothing. TCP sets the field by what was negotiated, so there it has to be left alone.
    #[serde(default)]
    pub ecn: Ecn,
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
    /// A game in real time, small packets both ways.
    Game(GameConfig),
    /// A video call, the server talking.
    Call(CallConfig),
    /// Web browsing over TCP.
    Web {
        /// The pages and who reads them.
        web: WebConfig,
        /// The connections.
        #[serde(default)]
        tcp: TcpConfig,
    },
    /// Video streaming with adaptive bit rate over TCP.
    Video {
        /// The video and its player.
        video: VideoConfig,
        /// The connection.
        #[serde(default)]
        tcp: TcpConfig,
    },
    /// Bulk over UDP with a Sprout-like controller.
    Sprout(SproutConfig),
    /// Bulk over UDP with a Vivace-like controller.
    Vivace(VivaceConfig),
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
    /// Westwood+, Mascolo et al. 2004: after a loss, bandwidth times least RTT.
    Westwood,
    /// Brakmo and Peterson 1995: keeps two to four segments queued.
    Vegas,
    /// BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00. Always paces.
    Bbr,
    /// BBR version 3, draft-ietf-ccwg-bbr-02. Always paces. With ECN: ECT(1) and AccECN.
    Bbr3,
    /// draft-briscoe-iccrg-prague-congestion-control-03. Always paces, ECT(1) and AccECN.
    Prague,
    /// Abbasloo et al. 2019: Cubic, and a bound on the RTT.
    C2tcp,
}

/// What was negotiated about congestion marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EcnMode {
    /// Not ECN-capable.
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate,
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
    /// ECN, with the feedback of RFC 3168. Off by default: Linux asks for it only when told to.
    /// Prague always has it.
    pub ecn: bool,
    /// ECN with accurate feedback, RFC 9768: the receiver says how many packets were marked. Prague
    /// always has it, BBR version 3 whenever it has ECN.
    pub accecn: bool,
    /// The AccECN option beside the ACE field, where there is room. Without it a sender that hears
    /// of many segments at once has to assume the worst about wraps of the field's three bits.
    pub accecn_option: bool,
    /// Pace window-based congestion control as Linux does with the fq scheduler or internal pacing:
    /// at twice the window per smoothed RTT in slow start, at 1.2 times after. Off by default, as
    /// with Linux's default scheduler. Those that always pace have their own rate.
    pub pacing: bool,
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
    /// BBR v1: the window grows by what is acknowledged at once, as in Linux since 5.1. The draft does
    /// without.
    pub bbr_ack_aggregation: bool,
    /// C2TCP: the average RTT that the application asks for, µs (JSAC 2019; the authors' example:
    /// 50 ms). Looked at without a fixed setpoint alone.
    pub c2tcp_target_us: u64,
    /// C2TCP: a fixed setpoint of the RTT, µs (IFIP 2018: 100 ms); absent: a multiple of the least
    /// RTT, tuned.
    pub c2tcp_setpoint_us: Option<u64>,
    /// C2TCP: how long the RTT may stay above the setpoint, µs; absent: as long as the setpoint.
    pub c2tcp_interval_us: Option<u64>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: CongestionAlgorithm::Cubic,
            hystart: true,
            ecn: false,
            accecn: false,
            accecn_option: true,
            pacing: false,
            mss_bytes: 1448,
            total_bytes: None,
            initial_window_segments: 10,
            receive_window_bytes: 16 << 20,
            min_rto_us: 200_000,
            delayed_ack_us: 40_000,
            bbr_ack_aggregation: false,
            c2tcp_target_us: 50_000,
            c2tcp_setpoint_us: None,
            c2tcp_interval_us: None,
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
    /// The UE talks, and the server sends each frame back as it comes: irtt, whose client measures
    /// the round trip. Instead of `bidirectional`.
    pub echoed: bool,
}

impl Default for VoipConfig {
    fn default() -> Self {
        Self { payload_bytes: 172, interval_us: 20_000, bidirectional: false, echoed: false }
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

/// A year of virtual time, far beyond any scenario; keeps sums of times from overflowing.
const MAX_TIME_US: u64 = 366 * 86_400 * 1_000_000;

impl FlowConfig {
    /// A flow of this application from the start of the world on, without end.
    pub fn new(app: AppConfig) -> Self {
        Self { app, start_us: 0, stop_us: None, start_jitter_us: 0, dscp: 0, ecn: Ecn::NotEct }
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
        if self.ecn == Ecn::Ce || (self.ecn != Ecn::NotEct && !self.app.is_over_udp()) {
            let expected = "not-ect, or ect0 or ect1 for an application over UDP";
            return Err(ConfigError { field: "ecn", value: format!("{:?}", self.ecn), expected });
        }
        self.app.validate()
    }
}

impl AppConfig {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::UdpCbr(_) => "udp_cbr",
            Self::Voip(_) => "voip",
            Self::Ping(_) => "ping",
            Self::Game(_) => "game",
            Self::Call(_) => "call",
            Self::Web { .. } => "web",
            Self::Video { .. } => "video",
            Self::Sprout(_) => "sprout",
            Self::Vivace(_) => "vivace",
        }
    }

    /// Connections or datagram streams it has, each with a [`crate::FlowId`] of its own.
    pub fn connections(&self) -> u16 {
        match self {
            Self::Web { web, .. } => web.connections,
            _ => 1,
        }
    }

    fn is_over_udp(&self) -> bool {
        !matches!(self, Self::Tcp(_) | Self::Ping(_) | Self::Web { .. } | Self::Video { .. })
    }

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
                check("app.voip.interval_us", voip.interval_us, 1..=HOUR_US, AN_INTERVAL)?;
                if voip.echoed && voip.bidirectional {
                    return Err(ConfigError {
                        field: "app.voip.echoed",
                        value: "true".to_owned(),
                        expected: "false with app.voip.bidirectional true",
                    });
                }
                Ok(())
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
            Self::Game(game) => game.validate(),
            Self::Call(call) => call.validate(),
            Self::Web { web, tcp } => web.validate().and_then(|()| tcp.validate()),
            Self::Video { video, tcp } => video.validate().and_then(|()| tcp.validate()),
            Self::Sprout(sprout) => sprout.validate(),
            Self::Vivace(vivace) => vivace.validate(),
        }
    }
}

impl TcpConfig {
    /// What is negotiated.
    pub(crate) fn ecn_mode(&self) -> EcnMode {
        match self.congestion {
            CongestionAlgorithm::Prague => EcnMode::Accurate,
            CongestionAlgorithm::Bbr3 if self.ecn => EcnMode::Accurate,
            _ if self.accecn => EcnMode::Accurate,
            _ if self.ecn => EcnMode::Classic,
            _ => EcnMode::Off,
        }
    }

    /// The codepoint of data: ECT(1) is for those that answer marks in proportion (RFC 9331 §4.3).
    pub(crate) fn data_codepoint(&self) -> Ecn {
        match (self.ecn_mode(), self.congestion) {
            (EcnMode::Off, _) => Ecn::NotEct,
            (_, CongestionAlgorithm::Prague | CongestionAlgorithm::Bbr3) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

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
        check("app.tcp.delayed_ack_us", self.delayed_ack_us, 0..=500_000, "0 to 500 ms")?;
        const A_DELAY: &str = "1 ms to 60 s";
        for (field, value) in [
            ("app.tcp.c2tcp_target_us", Some(self.c2tcp_target_us)),
            ("app.tcp.c2tcp_setpoint_us", self.c2tcp_setpoint_us),
            ("app.tcp.c2tcp_interval_us", self.c2tcp_interval_us),
        ] {
            check(field, value.unwrap_or(1_000), 1_000..=60_000_000, A_DELAY)?;
        }
        Ok(())
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
    fn ecn_is_for_udp_and_is_not_born_marked() {
        let with = |app, ecn| FlowConfig { ecn, ..FlowConfig::new(app) }.validate();
        with(AppConfig::Voip(VoipConfig::default()), Ecn::Ect1).unwrap();
        for (app, ecn) in [
            (AppConfig::Voip(VoipConfig::default()), Ecn::Ce),
            (AppConfig::Tcp(TcpConfig::default()), Ecn::Ect0),
            (AppConfig::Ping(PingConfig::default()), Ecn::Ect0),
        ] {
            assert_eq!(with(app, ecn).unwrap_err().field, "ecn");
        }
    }

    #[test]
    fn wrong_applications_are_refused_by_field() {
        let field = |app| FlowConfig::new(app).validate().unwrap_err().field;
        let video = |video| AppConfig::Video { video, tcp: TcpConfig::default() };
        let default = VideoConfig::default;
        assert_eq!(
            field(video(VideoConfig { ladder_kbps: vec![300, 300], ..default() })),
            "app.video.ladder_kbps"
        );
        assert_eq!(
            field(video(VideoConfig { buffer_max_us: 5_000_000, ..default() })),
            "app.video.buffer_max_us"
        );
        assert_eq!(
            field(video(VideoConfig { size_variation: f64::NAN, ..default() })),
            "app.video.size_variation"
        );
        let web = WebConfig { connections: 0, ..WebConfig::default() };
        assert_eq!(field(AppConfig::Web { web, tcp: TcpConfig::default() }), "app.web.connections");
        let call = CallConfig { max_bps: 1_000, ..CallConfig::default() };
        assert_eq!(field(AppConfig::Call(call)), "app.call.max_bps");
        let game = GameConfig { state_bytes_a: f64::INFINITY, ..GameConfig::default() };
        assert_eq!(field(AppConfig::Game(game)), "app.game.state_bytes_a");
        let sprout = SproutConfig { lookahead_ticks: Some(9) };
        assert_eq!(field(AppConfig::Sprout(sprout)), "app.sprout.lookahead_ticks");
        let vivace = VivaceConfig { start_bps: 0, ..VivaceConfig::default() };
        assert_eq!(field(AppConfig::Vivace(vivace)), "app.vivace.start_bps");
    }

    #[test]
    fn config_survives_a_round_trip() {
        for app in [
            AppConfig::Tcp(TcpConfig::default()),
            AppConfig::UdpCbr(UdpCbrConfig { rate_bps: 1_000_000, payload_bytes: 1472 }),
            AppConfig::Voip(VoipConfig::default()),
            AppConfig::Ping(PingConfig::default()),
            AppConfig::Game(GameConfig::default()),
            AppConfig::Call(CallConfig::default()),
            AppConfig::Web { web: WebConfig::default(), tcp: TcpConfig::default() },
            AppConfig::Video { video: VideoConfig::default(), tcp: TcpConfig::default() },
            AppConfig::Sprout(SproutConfig::default()),
            AppConfig::Vivace(VivaceConfig::default()),
        ] {
            let flow = FlowConfig::new(app);
            let json = serde_json::to_string(&flow).unwrap();
            assert_eq!(parse(&json).unwrap(), flow);
        }
    }
}
