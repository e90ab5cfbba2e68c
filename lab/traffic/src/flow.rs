//! The two ends of a flow.

use std::sync::LazyLock;

use crate::call::{CallReceiver, CallSender};
use crate::cloud_game::{CloudGameClient, CloudGameServer};
use crate::config::{AppConfig, FlowConfig};
use crate::direction::Direction;
use crate::download::DownloadClient;
use crate::endpoint::{Endpoint, FlowContext, Measured};
use crate::error::ConfigError;
use crate::game::{GameClient, GameServer};
use crate::host::HostEnd;
use crate::ip::IpVersion;
use crate::packet::{FlowId, Packet, Stamp};
use crate::ping::{PingResponder, Pinger};
use crate::quic::{QuicReceiver, QuicSender};
use crate::responsiveness::{ResponsivenessClient, ResponsivenessServer};
use crate::rng;
use crate::screen::{ScreenReceiver, ScreenSender};
use crate::sprout::{SproutReceiver, SproutSender};
use crate::stats::{Arrivals, Deadlines, DelayRecorder, Figures, FlowStats};
use crate::stream::{self, Connections, HttpConfig, HttpVersion, RequestServer};
use crate::tcp::{TcpConfig, TcpReceiver, TcpSender, TcpStats};
use crate::udp_cbr::{DatagramSink, DatagramSource};
use crate::video::VideoClient;
use crate::vivace::{VivaceReceiver, VivaceSender};
use crate::voip::{Side, VoipEnd};
use crate::web::WebClient;

/// A flow: the server behind the core network and the UE behind the radio.
///
/// ```
/// use traffic::{AppConfig, Endpoint, Flow, FlowConfig, PingConfig};
///
/// let config = FlowConfig::new(AppConfig::Ping(PingConfig::default()));
/// let mut flow = Flow::new(0, &config, 42)?;
/// let (mut downlink, mut uplink) = (Vec::new(), Vec::new());
/// flow.server.poll(0, &mut downlink);
/// flow.ue.on_packet(&downlink[0], 8_000, &mut uplink);
/// flow.server.on_packet(&uplink[0], 15_000, &mut downlink);
/// assert_eq!(flow.stats().rtt.map(|rtt| rtt.max_us), Some(15_000));
/// # Ok::<(), traffic::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Flow {
    kind: &'static str,
    direction: Direction,
    /// The end behind the core network, which sends the data of a flow down.
    pub server: ServerSide,
    /// The end behind the radio, which sends those of a flow up.
    pub ue: UeSide,
}

/// The end behind the core network.
#[derive(Debug, Clone)]
pub enum ServerSide {
    /// Bulk sender.
    Tcp(Box<TcpSender>),
    /// Bulk receiver of a flow up.
    TcpUp(Box<TcpReceiver>),
    /// Bulk sender over QUIC.
    Quic(Box<QuicSender>),
    /// Bulk receiver over QUIC of a flow up.
    QuicUp(Box<QuicReceiver>),
    /// Constant bit rate source.
    UdpCbr(Box<DatagramSource>),
    /// Constant bit rate sink of a flow up.
    UdpCbrUp(Box<DatagramSink>),
    /// Server end of a voice call.
    Voip(Box<VoipEnd>),
    /// Sender of echo requests.
    Ping(Box<Pinger>),
    /// Game server.
    Game(Box<GameServer>),
    /// Server of a cloud game.
    CloudGame(Box<CloudGameServer>),
    /// Sender of video.
    Call(Box<CallSender>),
    /// Server of pages.
    Web(Box<RequestServer>),
    /// Server of video chunks.
    Video(Box<RequestServer>),
    /// Server of parts of a file.
    Download(Box<RequestServer>),
    /// Sharer of a screen.
    Screen(Box<ScreenSender>),
    /// Sprout-like sender.
    Sprout(Box<SproutSender>),
    /// Vivace-like sender.
    Vivace(Box<VivaceSender>),
    /// Server of a responsiveness test.
    Responsiveness(Box<ResponsivenessServer>),
    /// A real server.
    Host(Box<HostEnd>),
}

/// The end behind the radio.
#[derive(Debug, Clone)]
pub enum UeSide {
    /// Bulk receiver.
    Tcp(Box<TcpReceiver>),
    /// Bulk sender of a flow up.
    TcpUp(Box<TcpSender>),
    /// Bulk receiver over QUIC.
    Quic(Box<QuicReceiver>),
    /// Bulk sender over QUIC of a flow up.
    QuicUp(Box<QuicSender>),
    /// Constant bit rate sink.
    UdpCbr(Box<DatagramSink>),
    /// Constant bit rate source of a flow up.
    UdpCbrUp(Box<DatagramSource>),
    /// UE end of a voice call.
    Voip(Box<VoipEnd>),
    /// Responder to echo requests.
    Ping(Box<PingResponder>),
    /// Game client.
    Game(Box<GameClient>),
    /// Player of a cloud game.
    CloudGame(Box<CloudGameClient>),
    /// Receiver of video.
    Call(Box<CallReceiver>),
    /// The browser.
    Web(Box<WebClient>),
    /// The video player.
    Video(Box<VideoClient>),
    /// The download manager.
    Download(Box<DownloadClient>),
    /// Viewer of a shared screen.
    Screen(Box<ScreenReceiver>),
    /// Sprout-like receiver.
    Sprout(Box<SproutReceiver>),
    /// Vivace-like receiver.
    Vivace(Box<VivaceReceiver>),
    /// Client of a responsiveness test.
    Responsiveness(Box<ResponsivenessClient>),
    /// A real UE.
    Host(Box<HostEnd>),
}

impl Flow {
    /// Both ends of the flow that `config` describes.
    ///
    /// `flow` is stamped on every packet; an application with [`AppConfig::connections`] above one
    /// takes the numbers that follow as well. `seed` is that of the flow's random stream, derived from
    /// the scenario's seed; all random values of the flow are drawn from it.
    ///
    /// # Errors
    /// The first field of `config` that is out of range.
    pub fn new(flow: FlowId, config: &FlowConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let start_us = config.start_us + rng::jitter_us(seed, config.start_jitter_us);
        let (stop_us, dscp, ip_version) = (config.stop_us, config.dscp, config.ip_version);
        let stamp = Stamp { flow, dscp, ecn: config.ecn };
        let mtu_bytes = config.mtu_bytes();
        let deadline_us = config.budget_us();
        let context =
            FlowContext { stamp, seed, start_us, stop_us, ip_version, mtu_bytes, deadline_us };
        let (server, ue) = match &config.app {
            AppConfig::Tcp(tcp) => {
                let tcp = &tcp.for_path(mtu_bytes, ip_version);
                let sender = TcpSender::new(flow, dscp, tcp, start_us, stop_us, seed);
                let receiver = TcpReceiver::new(flow, dscp, tcp);
                let (sender, receiver) = (Box::new(sender), Box::new(receiver));
                match config.direction {
                    Direction::Down => (ServerSide::Tcp(sender), UeSide::Tcp(receiver)),
                    Direction::Up => (ServerSide::TcpUp(receiver), UeSide::TcpUp(sender)),
                }
            }
            AppConfig::Quic(quic) => {
                let quic = &quic.for_path(context.udp_payload_bytes());
                let sender = Box::new(QuicSender::new(context, quic));
                let receiver = Box::new(QuicReceiver::new(context, quic));
                match config.direction {
                    Direction::Down => (ServerSide::Quic(sender), UeSide::Quic(receiver)),
                    Direction::Up => (ServerSide::QuicUp(receiver), UeSide::QuicUp(sender)),
                }
            }
            AppConfig::UdpCbr(cbr) => {
                let source = Box::new(DatagramSource::cbr(context, cbr));
                let sink = Box::default();
                match config.direction {
                    Direction::Down => (ServerSide::UdpCbr(source), UeSide::UdpCbr(sink)),
                    Direction::Up => (ServerSide::UdpCbrUp(sink), UeSide::UdpCbrUp(source)),
                }
            }
            AppConfig::Voip(voip) => {
                let end = |side| Box::new(VoipEnd::new(context, voip, config.direction, side));
                (ServerSide::Voip(end(Side::Server)), UeSide::Voip(end(Side::Ue)))
            }
            AppConfig::Ping(ping) => (
                ServerSide::Ping(Box::new(Pinger::new(context, ping))),
                UeSide::Ping(Box::default()),
            ),
            AppConfig::Game(game) => (
                ServerSide::Game(Box::new(GameServer::new(context, game))),
                UeSide::Game(Box::new(GameClient::new(context, game))),
            ),
            AppConfig::CloudGame(game) => (
                ServerSide::CloudGame(Box::new(CloudGameServer::new(context, game))),
                UeSide::CloudGame(Box::new(CloudGameClient::new(context, game))),
            ),
            AppConfig::Call(call) => (
                ServerSide::Call(Box::new(CallSender::new(context, call))),
                UeSide::Call(Box::new(CallReceiver::new(stamp, call))),
            ),
            AppConfig::Web { web, tcp } => {
                let tcp = &for_http(tcp, web.http, mtu_bytes, ip_version);
                let connections = Connections {
                    first_flow: flow,
                    count: web.connections(),
                    dscp,
                    tcp,
                    http: web.http,
                    // Pages that have begun are finished; a download ends.
                    stop_us: stop_us.filter(|_| web.download_bytes.is_some()),
                    seed,
                };
                let browser = WebClient::new(context, web, connections);
                let server = RequestServer::new(connections);
                (ServerSide::Web(Box::new(server)), UeSide::Web(Box::new(browser)))
            }
            AppConfig::Video { video, tcp } => {
                let tcp = &for_http(tcp, video.http, mtu_bytes, ip_version);
                let connections = Connections {
                    first_flow: flow,
                    count: video.connections(),
                    dscp,
                    tcp,
                    http: video.http,
                    stop_us: None,
                    seed,
                };
                let player = VideoClient::new(context, video, connections);
                let server = RequestServer::new(connections);
                (ServerSide::Video(Box::new(server)), UeSide::Video(Box::new(player)))
            }
            AppConfig::Download { download, tcp } => {
                let tcp = &tcp.for_path(mtu_bytes, ip_version);
                let connections = Connections {
                    first_flow: flow,
                    count: download.connections,
                    dscp,
                    tcp,
                    http: HttpConfig::default(),
                    stop_us: None,
                    seed,
                };
                let client = DownloadClient::new(context, download, connections);
                let server = RequestServer::new(connections);
                (ServerSide::Download(Box::new(server)), UeSide::Download(Box::new(client)))
            }
            AppConfig::Screen { screen, tcp } => {
                let tcp = &tcp.for_path(mtu_bytes, ip_version);
                let sender = ScreenSender::new(context, screen, tcp);
                let receiver = ScreenReceiver::new(context, screen, tcp);
                (ServerSide::Screen(Box::new(sender)), UeSide::Screen(Box::new(receiver)))
            }
            AppConfig::Sprout(sprout) => (
                ServerSide::Sprout(Box::new(SproutSender::new(context, sprout))),
                UeSide::Sprout(Box::new(SproutReceiver::new(context))),
            ),
            AppConfig::Vivace(vivace) => (
                ServerSide::Vivace(Box::new(VivaceSender::new(context, vivace))),
                UeSide::Vivace(Box::new(VivaceReceiver::new(stamp))),
            ),
            AppConfig::Responsiveness { test, tcp } => {
                let tcp = &tcp.for_path(mtu_bytes, ip_version);
                let server = ResponsivenessServer::new(context, test, tcp);
                let client = ResponsivenessClient::new(context, test, tcp);
                (
                    ServerSide::Responsiveness(Box::new(server)),
                    UeSide::Responsiveness(Box::new(client)),
                )
            }
            AppConfig::Host(_) => {
                let end = || Box::new(HostEnd::new(stamp));
                (ServerSide::Host(end()), UeSide::Host(end()))
            }
        };
        Ok(Self { kind: config.app.kind(), direction: config.direction, server, ue })
    }

    /// The application, by its name in [`AppConfig`].
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The ends of a flow of real hosts: server, UE.
    pub fn hosts_mut(&mut self) -> Option<(&mut HostEnd, &mut HostEnd)> {
        match (&mut self.server, &mut self.ue) {
            (ServerSide::Host(server), UeSide::Host(ue)) => Some((server, ue)),
            _ => None,
        }
    }

    /// The ends of a flow of real hosts: server, UE.
    pub fn hosts(&self) -> Option<(&HostEnd, &HostEnd)> {
        match (&self.server, &self.ue) {
            (ServerSide::Host(server), UeSide::Host(ue)) => Some((server, ue)),
            _ => None,
        }
    }

    /// The direction of its data.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The end that sends the data, and the one that receives them.
    fn by_direction(&self) -> (&dyn Measured, &dyn Measured) {
        let (server, ue) = (self.server.measured(), self.ue.measured());
        match self.direction {
            Direction::Down => (server, ue),
            Direction::Up => (ue, server),
        }
    }

    /// Packets that arrived at the receiver of the data, their delay, and goodput over time.
    pub fn arrivals(&self) -> &Arrivals {
        static NO_ARRIVALS: LazyLock<Arrivals> = LazyLock::new(Arrivals::default);
        self.by_direction().1.arrivals().unwrap_or(&NO_ARRIVALS)
    }

    /// Payload handed to the application at the receiver of the data, bytes.
    pub fn goodput_bytes(&self) -> u64 {
        self.arrivals().goodput().total_bytes()
    }

    /// One-way delay of every packet in the direction of the data.
    pub fn one_way_delay(&self) -> &DelayRecorder {
        self.arrivals().delay()
    }

    /// Round-trip times, of an application that measures them.
    pub fn rtt(&self) -> Option<&DelayRecorder> {
        self.server.measured().rtt().or(self.ue.measured().rtt())
    }

    /// Times at which the requests of a ping were sent that have no reply so far, µs; empty for
    /// other flows.
    pub fn unanswered_us(&self) -> Vec<u64> {
        self.server.measured().unanswered_us()
    }

    /// The delay that matters to the application, with its name: `frame` of a video call or a cloud game,
    /// `action to screen` of a game, `page load`, `chunk`, `part` of a download, `change` of a screen.
    pub fn app_delay(&self) -> Option<(&'static str, &DelayRecorder)> {
        self.ue.measured().app_delay()
    }

    /// Frames or packets against their deadlines, of an inelastic flow.
    pub fn deadlines(&self, now_us: u64) -> Option<Deadlines> {
        let (sender, receiver) = self.by_direction();
        let (delays, expected) = receiver.arrived_units()?;
        Some(sender.due()?.judge(delays, expected, now_us))
    }

    /// Statistics of both ends.
    pub fn stats(&self) -> FlowStats {
        let arrivals = self.arrivals();
        let (server, ue) = (self.server.measured(), self.ue.measured());
        let (sender, receiver) = self.by_direction();
        let (sent_packets, sent_bytes) = sender.sent();
        let mut app = Figures::default();
        server.figures(&mut app);
        ue.figures(&mut app);
        FlowStats {
            kind: self.kind,
            direction: self.direction,
            sent_packets,
            sent_bytes,
            received_packets: arrivals.packets(),
            received_bytes: arrivals.bytes(),
            ce_packets: arrivals.ce_packets(),
            goodput_bytes: arrivals.goodput().total_bytes(),
            lost_packets: receiver.lost_packets().or(sender.lost_packets()).unwrap_or(0),
            one_way_delay: arrivals.delay().summary(),
            uplink_delay: server
                .arrivals()
                .filter(|arrivals| arrivals.packets() > 0)
                .map(|arrivals| arrivals.delay().summary()),
            rtt: self.rtt().map(DelayRecorder::summary),
            tcp: sender.tcp_stats(),
            app,
        }
    }
}

/// Configuration of the connections of an application over HTTP.
fn for_http(tcp: &TcpConfig, http: HttpConfig, mtu_bytes: u32, ip_version: IpVersion) -> TcpConfig {
    match http.version {
        HttpVersion::V1 | HttpVersion::V2 => tcp.for_path(mtu_bytes, ip_version),
        HttpVersion::V3 => stream::quic(tcp, mtu_bytes, ip_version),
    }
}

/// `match self` with the same expression for each application.
macro_rules! for_each_application {
    ($side:expr, $end:ident => $do:expr) => {
        match $side {
            Self::Tcp($end) => $do,
            Self::TcpUp($end) => $do,
            Self::Quic($end) => $do,
            Self::QuicUp($end) => $do,
            Self::UdpCbr($end) => $do,
            Self::UdpCbrUp($end) => $do,
            Self::Voip($end) => $do,
            Self::Ping($end) => $do,
            Self::Game($end) => $do,
            Self::CloudGame($end) => $do,
            Self::Call($end) => $do,
            Self::Web($end) => $do,
            Self::Video($end) => $do,
            Self::Download($end) => $do,
            Self::Screen($end) => $do,
            Self::Sprout($end) => $do,
            Self::Vivace($end) => $do,
            Self::Responsiveness($end) => $do,
            Self::Host($end) => $do,
        }
    };
}

macro_rules! dispatch {
    ($side:ident) => {
        impl Endpoint for $side {
            fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
                for_each_application!(self, end => end.on_packet(packet, now_us, out))
            }

            fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
                for_each_application!(self, end => end.poll(now_us, out))
            }

            fn next_deadline_us(&self) -> Option<u64> {
                for_each_application!(self, end => end.next_deadline_us())
            }
        }

        impl $side {
            fn measured(&self) -> &dyn Measured {
                for_each_application!(self, end => end.as_ref())
            }
        }
    };
}

dispatch!(ServerSide);
dispatch!(UeSide);

impl Measured for TcpSender {
    fn sent(&self) -> (u64, u64) {
        let stats = self.stats();
        (stats.sent_packets, stats.sent_bytes)
    }

    fn lost_packets(&self) -> Option<u64> {
        Some(self.stats().lost_packets)
    }

    fn tcp_stats(&self) -> Option<TcpStats> {
        Some(self.stats())
    }
}

impl Measured for TcpReceiver {
    fn arrivals(&self) -> Option<&Arrivals> {
        Some(TcpReceiver::arrivals(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp_cbr::UdpCbrConfig;
    use crate::voip::VoipConfig;

    #[test]
    fn start_jitter_delays_the_start_by_a_time_drawn_from_the_seed() {
        let mut config = FlowConfig::new(AppConfig::Voip(VoipConfig::default()));
        config.start_us = 1_000;
        config.start_jitter_us = 20_000;
        let start = |seed| Flow::new(0, &config, seed).unwrap().server.next_deadline_us().unwrap();
        assert_eq!(start(1), start(1));
        assert_ne!(start(1), start(2));
        assert!((1_000..21_000).contains(&start(3)));
    }

    #[test]
    fn a_two_way_call_measures_both_directions() {
        let voip = VoipConfig { bidirectional: true, ..VoipConfig::default() };
        let mut flow = Flow::new(0, &FlowConfig::new(AppConfig::Voip(voip)), 0).unwrap();
        let (mut down, mut up) = (Vec::new(), Vec::new());
        flow.server.poll(0, &mut down);
        flow.ue.poll(0, &mut up);
        flow.ue.on_packet(&down[0], 3_000, &mut Vec::new());
        flow.server.on_packet(&up[0], 9_000, &mut Vec::new());
        let stats = flow.stats();
        assert_eq!(stats.one_way_delay.max_us, 3_000);
        assert_eq!(stats.uplink_delay.unwrap().max_us, 9_000);
        assert_eq!(stats.goodput_bytes, 172);
    }

    #[test]
    fn an_invalid_configuration_is_refused() {
        let cbr = UdpCbrConfig { rate_kbps: 0, packet_bytes: 1500 };
        let error = Flow::new(0, &FlowConfig::new(AppConfig::UdpCbr(cbr)), 0).unwrap_err();
        assert_eq!(error.field, "rate_kbps");
    }

    #[test]
    fn a_flow_can_move_between_threads_and_be_forked() {
        fn check<T: Send + Sync + Clone + 'static>() {}
        check::<Flow>();
    }
}
