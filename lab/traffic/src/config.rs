//! Configuration of a flow: its application, its times and the header fields of its packets.
//!
//! The configuration of each application stands beside its code and is read from the flow of a
//! scenario as it is: its keys, units and defaults are those of the file. Each refuses unknown keys;
//! [`FlowConfig::validate`] names the key, its value and what was expected.

use crate::call::CallConfig;
use crate::cloud_game::CloudGameConfig;
use crate::direction::Direction;
use crate::download::DownloadConfig;
use crate::error::{ConfigError, check};
use crate::game::GameConfig;
use crate::host::HostConfig;
use crate::ip::{Ecn, IpVersion, UDP_IP_HEADER_BYTES};
use crate::ping::PingConfig;
use crate::quic::{MIN_UDP_PAYLOAD_BYTES, QuicConfig};
use crate::responsiveness::ResponsivenessConfig;
use crate::screen::ScreenConfig;
use crate::sprout::{self, SproutConfig};
use crate::stream::{HttpConfig, HttpVersion, QUIC_DATA_HEADER_BYTES};
use crate::tcp::{TcpConfig, segment};
use crate::tunnel::{PATH_MTU_BYTES, TunnelConfig};
use crate::udp_cbr::UdpCbrConfig;
use crate::video::VideoConfig;
use crate::vivace::VivaceConfig;
use crate::voip::VoipConfig;
use crate::web::WebConfig;

/// A flow between a server and a UE.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowConfig {
    /// The application.
    pub app: AppConfig,
    /// Which end sends; up for TCP, QUIC, UDP at a constant bit rate and voice in one direction.
    pub direction: Direction,
    /// Start, µs of virtual time.
    pub start_us: u64,
    /// End of new data, µs of virtual time; never if `None`.
    pub stop_us: Option<u64>,
    /// The start is delayed by a time drawn from `0..start_jitter_us` with the seed of the flow, so
    /// that the flows of a scenario are not in phase.
    pub start_jitter_us: u64,
    /// Time from sending within which a frame or packet is of use to an inelastic application, µs;
    /// [`AppConfig::deadline_us`] if `None`.
    pub deadline_us: Option<u64>,
    /// DSCP of its packets, 0..=63 (RFC 2474).
    pub dscp: u8,
    /// ECN field of data over UDP. Receivers count CE and answer nothing. TCP and QUIC set the field by
    /// what was negotiated, so there it has to be [`Ecn::NotEct`].
    pub ecn: Ecn,
    /// Version of IP, which decides what fits a datagram.
    pub ip_version: IpVersion,
    /// The tunnel that carries it.
    pub tunnel: Option<TunnelConfig>,
    /// One-way delay between server and gNB, µs: the default deadline of a cloud game is beyond it.
    pub core_delay_us: u64,
}

/// An application and its configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum AppConfig {
    /// A bulk transfer over TCP.
    Tcp(TcpConfig),
    /// A bulk transfer over QUIC.
    Quic(QuicConfig),
    /// UDP at a constant bit rate.
    UdpCbr(UdpCbrConfig),
    /// Voice frames at a constant interval.
    Voip(VoipConfig),
    /// ICMP echo from the server to the UE and back.
    Ping(PingConfig),
    /// A real-time game, small packets both ways.
    Game(GameConfig),
    /// A cloud game, video from the server.
    CloudGame(CloudGameConfig),
    /// A video call, video from the server.
    Call(CallConfig),
    /// Web browsing over TCP.
    Web {
        /// Pages and user.
        web: WebConfig,
        /// The connections.
        tcp: TcpConfig,
    },
    /// Video streaming with adaptive bit rate over TCP.
    Video {
        /// Video and player.
        video: VideoConfig,
        /// The connection.
        tcp: TcpConfig,
    },
    /// One file over several TCP connections.
    Download {
        /// File and parts.
        download: DownloadConfig,
        /// The connections.
        tcp: TcpConfig,
    },
    /// A shared screen over TCP.
    Screen {
        /// Slides and updates.
        screen: ScreenConfig,
        /// The connection.
        tcp: TcpConfig,
    },
    /// Bulk over UDP with a Sprout-like controller.
    Sprout(SproutConfig),
    /// Bulk over UDP with a Vivace-like controller.
    Vivace(VivaceConfig),
    /// A test of responsiveness under working conditions.
    Responsiveness {
        /// The test.
        test: ResponsivenessConfig,
        /// The connections.
        tcp: TcpConfig,
    },
    /// Real hosts.
    Host(HostConfig),
}

/// A year of virtual time; keeps sums of times from overflowing.
const MAX_TIME_US: u64 = 366 * 86_400 * 1_000_000;

impl FlowConfig {
    /// A flow of this application from the start of the world on, without end.
    pub fn new(app: AppConfig) -> Self {
        Self {
            app,
            direction: Direction::default(),
            start_us: 0,
            stop_us: None,
            start_jitter_us: 0,
            deadline_us: None,
            dscp: 0,
            ecn: Ecn::NotEct,
            ip_version: IpVersion::V4,
            tunnel: None,
            core_delay_us: 0,
        }
    }

    /// Time from sending within which a frame or packet is of use, µs. A cloud game's default is beyond the
    /// delay to the gNB.
    pub(crate) fn budget_us(&self) -> Option<u64> {
        let is_beyond_core = matches!(self.app, AppConfig::CloudGame(_));
        let core_delay_us = if is_beyond_core { self.core_delay_us } else { 0 };
        let default = || self.app.deadline_us().map(|default| default + core_delay_us);
        self.deadline_us.or_else(default)
    }

    /// The longest datagram that its path carries.
    pub(crate) fn mtu_bytes(&self) -> u32 {
        self.tunnel.map_or(PATH_MTU_BYTES, TunnelConfig::mtu_bytes)
    }

    /// Whether every value can be used.
    ///
    /// # Errors
    /// The first key whose value is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        const A_YEAR: &str = "at most one year in µs";
        check("start_us", self.start_us, 0..=MAX_TIME_US, A_YEAR)?;
        check("start_jitter_us", self.start_jitter_us, 0..=MAX_TIME_US, A_YEAR)?;
        if let Some(stop_us) = self.stop_us {
            check("stop_us", stop_us, self.start_us..=u64::MAX, "no earlier than start_us")?;
        }
        if let Some(deadline_us) = self.deadline_us {
            if !self.app.is_inelastic() {
                let expected =
                    "no such key; it is for kinds voip, game, cloud_game, call and udp_cbr";
                return Err(ConfigError::new("deadline_ms", deadline_us / 1_000, expected));
            }
            check("deadline_ms", deadline_us / 1_000, 1..=1_000, "1 to 1000 ms")?;
        }
        check("dscp", self.dscp, 0..=63, "0 to 63")?;
        if self.ecn == Ecn::Ce || (self.ecn != Ecn::NotEct && !self.app.has_ecn_field()) {
            let expected = "not_ect; ect0 and ect1 are for kinds over UDP other than quic";
            let value = format!("{:?}", self.ecn).to_lowercase();
            return Err(ConfigError::new("ecn_field", value, expected));
        }
        if self.direction == Direction::Up && !self.app.can_go_up() {
            let expected = "down; up is for kinds tcp, quic, udp_cbr and voip, the last neither \
                            bidirectional nor echoed";
            return Err(ConfigError::new("direction", self.direction.name(), expected));
        }
        self.check_tunnel()?;
        match &self.app {
            AppConfig::Tcp(tcp) => tcp.validate(),
            AppConfig::Quic(quic) => {
                quic.validate()?;
                let most = PATH_MTU_BYTES - UDP_IP_HEADER_BYTES - self.ip_version.extra_bytes();
                let bytes = quic.max_udp_payload_bytes.unwrap_or(0);
                check("max_udp_payload_bytes", bytes, 0..=most, "at most 1452 over IPv6")
            }
            AppConfig::UdpCbr(cbr) => cbr.validate(),
            AppConfig::Voip(voip) => voip.validate(),
            AppConfig::Ping(ping) => ping.validate(self.ip_version),
            AppConfig::Game(game) => game.validate(),
            AppConfig::CloudGame(game) => game.validate(),
            AppConfig::Call(call) => call.validate(),
            AppConfig::Web { web, tcp } => web.validate().and_then(|()| tcp.validate()),
            AppConfig::Video { video, tcp } => video.validate().and_then(|()| tcp.validate()),
            AppConfig::Download { download, tcp } => {
                download.validate().and_then(|()| tcp.validate())
            }
            AppConfig::Screen { screen, tcp } => screen.validate().and_then(|()| tcp.validate()),
            AppConfig::Sprout(sprout) => sprout.validate(),
            AppConfig::Vivace(vivace) => vivace.validate(),
            AppConfig::Responsiveness { test, tcp } => {
                test.validate().and_then(|()| tcp.validate())
            }
            AppConfig::Host(_) => Ok(()),
        }
    }
}

impl FlowConfig {
    /// Whether the datagrams whose length is configured fit the tunnel; other lengths follow its MTU.
    fn check_tunnel(&self) -> Result<(), ConfigError> {
        let Some(tunnel) = self.tunnel else { return Ok(()) };
        let mtu_bytes = tunnel.mtu_bytes();
        let headers_bytes = |over_ipv4: u32| over_ipv4 + self.ip_version.extra_bytes();
        let udp = headers_bytes(UDP_IP_HEADER_BYTES);
        let (field, value, headers_bytes) = match &self.app {
            AppConfig::Host(_) => {
                let expected = "unset; real hosts run a tunnel of their own";
                return Err(ConfigError::new("tunnel", "for kind host", expected));
            }
            AppConfig::Sprout(_) => ("tunnel", sprout::PACKET_BYTES, 0),
            AppConfig::Tcp(tcp)
            | AppConfig::Web { tcp, .. }
            | AppConfig::Video { tcp, .. }
            | AppConfig::Responsiveness { tcp, .. }
            | AppConfig::Download { tcp, .. }
            | AppConfig::Screen { tcp, .. } => {
                let is_quic = self.app.http().is_some_and(|http| http.version == HttpVersion::V3);
                let over_ipv4 =
                    if is_quic { QUIC_DATA_HEADER_BYTES } else { segment::HEADER_BYTES };
                ("mss_bytes", tcp.mss_bytes.unwrap_or(0), headers_bytes(over_ipv4))
            }
            AppConfig::Quic(quic) => {
                let bytes = quic.max_udp_payload_bytes.unwrap_or(MIN_UDP_PAYLOAD_BYTES);
                ("max_udp_payload_bytes", bytes, udp)
            }
            AppConfig::UdpCbr(cbr) => ("packet_bytes", cbr.packet_bytes, 0),
            AppConfig::Ping(ping) => ("packet_bytes", ping.packet_bytes.unwrap_or(0), 0),
            AppConfig::Voip(voip) => ("payload_bytes", voip.payload_bytes, udp),
            AppConfig::Vivace(vivace) => ("vivace.payload_bytes", vivace.payload_bytes, udp),
            // Of at most 1240 bytes, or within the MTU by themselves.
            AppConfig::Game(_) | AppConfig::CloudGame(_) | AppConfig::Call(_) => return Ok(()),
        };
        let most = mtu_bytes - headers_bytes;
        let expected = || format!("at most {most} in a tunnel with an MTU of {mtu_bytes} bytes");
        if value <= most { Ok(()) } else { Err(ConfigError::new(field, value, expected())) }
    }
}

impl AppConfig {
    /// Its name, the `kind` of a flow in a scenario.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Quic(_) => "quic",
            Self::UdpCbr(_) => "udp_cbr",
            Self::Voip(_) => "voip",
            Self::Ping(_) => "ping",
            Self::Game(_) => "game",
            Self::CloudGame(_) => "cloud_game",
            Self::Call(_) => "call",
            Self::Web { .. } => "web",
            Self::Video { .. } => "video",
            Self::Download { .. } => "download",
            Self::Screen { .. } => "screen",
            Self::Sprout(_) => "sprout",
            Self::Vivace(_) => "vivace",
            Self::Responsiveness { .. } => "responsiveness",
            Self::Host(_) => "host",
        }
    }

    /// Deadline of its frames or packets: the packet delay budgets of 3GPP TS 23.501 Table 5.7.4-1 for
    /// conversational voice (5QI 1), conversational video (5QI 2) and real-time gaming (5QI 3), µs.
    pub fn deadline_us(&self) -> Option<u64> {
        match self {
            Self::Voip(_) => Some(100_000),
            Self::Call(_) => Some(150_000),
            Self::Game(_) => Some(50_000),
            Self::CloudGame(game) => Some(game.frame_interval_us()),
            _ => None,
        }
    }

    /// Whether drops and queues do not slow it, or only its quality: what it sends has a deadline, or
    /// may have one.
    fn is_inelastic(&self) -> bool {
        self.deadline_us().is_some() || matches!(self, Self::UdpCbr(_))
    }

    /// Whether one end alone sends data, so that it may be the UE.
    fn can_go_up(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Quic(_) | Self::UdpCbr(_) => true,
            Self::Voip(voip) => !voip.bidirectional && !voip.echoed,
            _ => false,
        }
    }

    /// Number of connections or datagram streams, each with a [`crate::FlowId`] of its own.
    pub fn connections(&self) -> u16 {
        match self {
            Self::Web { web, .. } => web.connections(),
            Self::Video { video, .. } => video.connections(),
            Self::Responsiveness { test, .. } => test.flow_numbers(),
            Self::Download { download, .. } => download.connections,
            _ => 1,
        }
    }

    /// HTTP of an application that has it.
    fn http(&self) -> Option<HttpConfig> {
        match self {
            Self::Web { web, .. } => Some(web.http),
            Self::Video { video, .. } => Some(video.http),
            _ => None,
        }
    }

    /// Whether its datagrams have the ECN field of the flow.
    fn has_ecn_field(&self) -> bool {
        !matches!(
            self,
            Self::Tcp(_)
                | Self::Quic(_)
                | Self::Ping(_)
                | Self::Web { .. }
                | Self::Video { .. }
                | Self::Responsiveness { .. }
                | Self::Download { .. }
                | Self::Screen { .. }
                | Self::Host(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_names_key_value_and_expectation() {
        let ping = PingConfig { interval_ms: 0, ..PingConfig::default() };
        let mut flow = FlowConfig::new(AppConfig::Ping(ping));
        let error = flow.validate().unwrap_err();
        assert_eq!(error.to_string(), "interval_ms: 0; expected 1 to 60000 ms");
        flow.dscp = 64;
        assert_eq!(flow.validate().unwrap_err().field, "dscp");
        flow = FlowConfig { start_us: 9, stop_us: Some(3), ..flow };
        assert_eq!(flow.validate().unwrap_err().field, "stop_us");
    }

    #[test]
    fn data_go_up_where_one_end_alone_sends() {
        let up = |app| FlowConfig { direction: Direction::Up, ..FlowConfig::new(app) }.validate();
        up(AppConfig::Tcp(TcpConfig::default())).unwrap();
        up(AppConfig::Quic(QuicConfig::default())).unwrap();
        up(AppConfig::UdpCbr(UdpCbrConfig { rate_kbps: 100, packet_bytes: 500 })).unwrap();
        up(AppConfig::Voip(VoipConfig::default())).unwrap();
        let both = VoipConfig { bidirectional: true, ..VoipConfig::default() };
        let echoed = VoipConfig { echoed: true, ..VoipConfig::default() };
        for app in [
            AppConfig::Voip(both),
            AppConfig::Voip(echoed),
            AppConfig::Ping(PingConfig::default()),
            AppConfig::Host(HostConfig::default()),
        ] {
            let error = up(app).unwrap_err().to_string();
            assert!(error.starts_with("direction: up; expected down; up is for"), "{error}");
        }
    }

    #[test]
    fn senders_over_udp_are_ecn_capable_and_nobody_sends_ce() {
        let with = |app, ecn| FlowConfig { ecn, ..FlowConfig::new(app) }.validate();
        with(AppConfig::Voip(VoipConfig::default()), Ecn::Ect1).unwrap();
        for (app, ecn) in [
            (AppConfig::Voip(VoipConfig::default()), Ecn::Ce),
            (AppConfig::Tcp(TcpConfig::default()), Ecn::Ect0),
            (AppConfig::Quic(QuicConfig::default()), Ecn::Ect0),
            (AppConfig::Ping(PingConfig::default()), Ecn::Ect0),
        ] {
            assert_eq!(with(app, ecn).unwrap_err().field, "ecn_field");
        }
    }

    #[test]
    fn wrong_applications_are_refused_by_key() {
        let field = |app| FlowConfig::new(app).validate().unwrap_err().field;
        let video = |video| AppConfig::Video { video, tcp: TcpConfig::default() };
        let default = VideoConfig::default;
        assert_eq!(
            field(video(VideoConfig { ladder_kbps: vec![300, 300], ..default() })),
            "video.ladder_kbps"
        );
        assert_eq!(
            field(video(VideoConfig { buffer_max_us: 5_000_000, ..default() })),
            "video.buffer_max_us"
        );
        assert_eq!(
            field(video(VideoConfig { size_variation: f64::NAN, ..default() })),
            "video.size_variation"
        );
        let web = WebConfig { connections: Some(0), ..WebConfig::default() };
        assert_eq!(field(AppConfig::Web { web, tcp: TcpConfig::default() }), "web.connections");
        let call = CallConfig { max_bps: 1_000, ..CallConfig::default() };
        assert_eq!(field(AppConfig::Call(call)), "call.max_bps");
        let game = GameConfig { state_bytes_a: f64::INFINITY, ..GameConfig::default() };
        assert_eq!(field(AppConfig::Game(game)), "game.state_bytes_a");
        let sprout = SproutConfig { lookahead_ticks: Some(9) };
        assert_eq!(field(AppConfig::Sprout(sprout)), "sprout.lookahead_ticks");
        let vivace = VivaceConfig { start_bps: 0, ..VivaceConfig::default() };
        assert_eq!(field(AppConfig::Vivace(vivace)), "vivace.start_bps");
    }
}
