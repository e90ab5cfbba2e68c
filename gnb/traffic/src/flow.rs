//! The two ends of a flow.

use crate::config::{AppConfig, ConfigError, FlowConfig};
use crate::endpoint::Endpoint;
use crate::packet::{FlowId, Packet};
use crate::ping::{PingResponder, Pinger};
use crate::rng;
use crate::stats::{Arrivals, DelayRecorder, FlowStats};
use crate::tcp::{TcpReceiver, TcpSender};
use crate::udp_cbr::{DatagramSink, DatagramSource};
use crate::voip::VoipEnd;

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
    /// The sender of the downlink.
    pub server: ServerSide,
    /// The receiver of the downlink.
    pub ue: UeSide,
}

/// The end behind the core network.
#[derive(Debug, Clone)]
pub enum ServerSide {
    /// Bulk sender.
    Tcp(Box<TcpSender>),
    /// Constant bit rate source.
    UdpCbr(DatagramSource),
    /// One end of a call.
    Voip(Box<VoipEnd>),
    /// The one who pings.
    Ping(Box<Pinger>),
}

/// The end behind the radio.
#[derive(Debug, Clone)]
pub enum UeSide {
    /// Bulk receiver.
    Tcp(Box<TcpReceiver>),
    /// Constant bit rate sink.
    UdpCbr(Box<DatagramSink>),
    /// The other end of a call.
    Voip(Box<VoipEnd>),
    /// The one who answers.
    Ping(Box<PingResponder>),
}

impl Flow {
    /// Both ends of the flow that `config` describes.
    ///
    /// `flow` is stamped on every packet. `seed` should come from the scenario's seed, one stream
    /// per flow; it decides the start jitter and nothing else.
    ///
    /// # Errors
    /// The first field of `config` that is out of range.
    pub fn new(flow: FlowId, config: &FlowConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        let start_us = config.start_us + rng::jitter_us(seed, config.start_jitter_us);
        let (stop_us, dscp) = (config.stop_us, config.dscp);
        Ok(match &config.app {
            AppConfig::Tcp(tcp) => Self {
                server: ServerSide::Tcp(Box::new(TcpSender::new(
                    flow, dscp, tcp, start_us, stop_us,
                ))),
                ue: UeSide::Tcp(Box::new(TcpReceiver::new(flow, dscp, tcp))),
            },
            AppConfig::UdpCbr(cbr) => Self {
                server: ServerSide::UdpCbr(DatagramSource::cbr(flow, dscp, cbr, start_us, stop_us)),
                ue: UeSide::UdpCbr(Box::default()),
            },
            AppConfig::Voip(voip) => {
                let end =
                    |talks| Box::new(VoipEnd::new(flow, dscp, voip, talks, start_us, stop_us));
                Self {
                    server: ServerSide::Voip(end(true)),
                    ue: UeSide::Voip(end(voip.bidirectional)),
                }
            }
            AppConfig::Ping(ping) => Self {
                server: ServerSide::Ping(Box::new(Pinger::new(
                    flow, dscp, ping, start_us, stop_us,
                ))),
                ue: UeSide::Ping(Box::default()),
            },
        })
    }

    /// Payload handed to the application at the UE, bytes.
    pub fn goodput_bytes(&self) -> u64 {
        self.ue.arrivals().goodput().total_bytes()
    }

    /// One-way delay of every downlink packet, server to UE.
    pub fn one_way_delay(&self) -> &DelayRecorder {
        self.ue.arrivals().delay()
    }

    /// Round-trip times, for a ping flow.
    pub fn rtt(&self) -> Option<&DelayRecorder> {
        match &self.server {
            ServerSide::Ping(pinger) => Some(pinger.rtt()),
            _ => None,
        }
    }

    /// Everything there is to say about both ends now.
    pub fn stats(&self) -> FlowStats {
        let arrivals = self.ue.arrivals();
        let (kind, sent_packets, sent_bytes) = match &self.server {
            ServerSide::Tcp(tcp) => ("tcp", tcp.stats().sent_packets, tcp.stats().sent_bytes),
            ServerSide::UdpCbr(source) => ("udp_cbr", source.sent_packets(), source.sent_bytes()),
            ServerSide::Voip(voip) => (
                "voip",
                voip.talk().map_or(0, DatagramSource::sent_packets),
                voip.talk().map_or(0, DatagramSource::sent_bytes),
            ),
            ServerSide::Ping(pinger) => ("ping", pinger.sent_packets(), pinger.sent_bytes()),
        };
        let lost_packets = match (&self.server, &self.ue) {
            (ServerSide::Tcp(tcp), _) => tcp.stats().lost_packets,
            (_, UeSide::UdpCbr(sink)) => sink.lost_packets(),
            (_, UeSide::Voip(voip)) => voip.listen().lost_packets(),
            (ServerSide::Ping(pinger), _) => pinger.lost_packets(),
            _ => 0,
        };
        FlowStats {
            kind,
            sent_packets,
            sent_bytes,
            received_packets: arrivals.packets(),
            received_bytes: arrivals.bytes(),
            goodput_bytes: arrivals.goodput().total_bytes(),
            lost_packets,
            one_way_delay: arrivals.delay().summary(),
            uplink_delay: match (&self.server, &self.ue) {
                (ServerSide::Voip(server), UeSide::Voip(ue)) if ue.talk().is_some() => {
                    Some(server.listen().arrivals().delay().summary())
                }
                _ => None,
            },
            rtt: self.rtt().map(DelayRecorder::summary),
            tcp: match &self.server {
                ServerSide::Tcp(tcp) => Some(tcp.stats()),
                _ => None,
            },
        }
    }
}

impl UeSide {
    /// What arrived over the downlink: packets, delay, goodput over time.
    pub fn arrivals(&self) -> &Arrivals {
        match self {
            Self::Tcp(receiver) => receiver.arrivals(),
            Self::UdpCbr(sink) => sink.arrivals(),
            Self::Voip(voip) => voip.listen().arrivals(),
            Self::Ping(responder) => responder.arrivals(),
        }
    }
}

/// Forwards the three methods of [`Endpoint`] to whichever end it is.
macro_rules! dispatch_endpoint {
    ($side:ident) => {
        impl Endpoint for $side {
            fn on_packet(&mut self, packet: &Packet, now_us: u64, out: &mut Vec<Packet>) {
                match self {
                    Self::Tcp(end) => end.on_packet(packet, now_us, out),
                    Self::UdpCbr(end) => end.on_packet(packet, now_us, out),
                    Self::Voip(end) => end.on_packet(packet, now_us, out),
                    Self::Ping(end) => end.on_packet(packet, now_us, out),
                }
            }

            fn poll(&mut self, now_us: u64, out: &mut Vec<Packet>) {
                match self {
                    Self::Tcp(end) => end.poll(now_us, out),
                    Self::UdpCbr(end) => end.poll(now_us, out),
                    Self::Voip(end) => end.poll(now_us, out),
                    Self::Ping(end) => end.poll(now_us, out),
                }
            }

            fn next_deadline_us(&self) -> Option<u64> {
                match self {
                    Self::Tcp(end) => end.next_deadline_us(),
                    Self::UdpCbr(end) => end.next_deadline_us(),
                    Self::Voip(end) => end.next_deadline_us(),
                    Self::Ping(end) => end.next_deadline_us(),
                }
            }
        }
    };
}

dispatch_endpoint!(ServerSide);
dispatch_endpoint!(UeSide);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{UdpCbrConfig, VoipConfig};

    #[test]
    fn start_jitter_moves_the_start_by_the_seed() {
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
    fn a_wrong_configuration_makes_no_flow() {
        let cbr = UdpCbrConfig { rate_bps: 0, payload_bytes: 1472 };
        let error = Flow::new(0, &FlowConfig::new(AppConfig::UdpCbr(cbr)), 0).unwrap_err();
        assert_eq!(error.field, "app.udp_cbr.rate_bps");
    }

    #[test]
    fn a_flow_can_move_between_threads_and_be_forked() {
        fn check<T: Send + Sync + Clone + 'static>() {}
        check::<Flow>();
    }
}
