//! From a flow of the file to the configuration of its two ends.

use traffic::{
    AppConfig, CongestionAlgorithm, FlowConfig, PingConfig, TcpConfig, UdpCbrConfig, VoipConfig,
};

use super::flow::{CongestionControl, EcnField, Flow, FlowKind, IpVersion};

const IPV4_UDP_HEADER_BYTES: u32 = 28;
/// Start jitter unless the file says otherwise: a phase of its own, so that flows do not beat in
/// step with the slots.
const START_JITTER_MS: u32 = 20;

impl IpVersion {
    /// What its header (40 B without extension, RFC 8200 §3) has more than that of IPv4.
    pub const fn extra_bytes(self) -> u32 {
        match self {
            Self::V4 => 0,
            Self::V6 => 20,
        }
    }
}

impl Flow {
    /// The names of its copies.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(|copy| match self.count {
            1 => self.name.clone(),
            _ => format!("{}#{copy}", self.name),
        })
    }

    /// What its two ends are set up with.
    pub fn traffic_config(&self) -> FlowConfig {
        let micros = |seconds: f64| (seconds * 1e6).round() as u64;
        FlowConfig {
            app: app(self),
            start_us: micros(self.start_s),
            stop_us: self.stop_s.map(micros),
            start_jitter_us: ms_to_us(self.start_jitter_ms.unwrap_or(START_JITTER_MS)),
            dscp: self.dscp,
            ecn: match self.ecn_field.unwrap_or_default() {
                EcnField::NotEct => traffic::Ecn::NotEct,
                EcnField::Ect0 => traffic::Ecn::Ect0,
                EcnField::Ect1 => traffic::Ecn::Ect1,
            },
        }
    }
}

fn app(flow: &Flow) -> AppConfig {
    let headers = IPV4_UDP_HEADER_BYTES + flow.ip_version.extra_bytes();
    match flow.kind {
        FlowKind::Tcp => AppConfig::Tcp(tcp_config(flow)),
        FlowKind::UdpCbr => {
            let packet_bytes = flow.packet_bytes.unwrap_or(1500).max(headers + 1);
            let payload_bytes = packet_bytes - headers;
            // The scenario counts IP headers, the sender its payload.
            let rate_bps = u64::from(flow.rate_kbps.unwrap_or(1)) * 1000 * u64::from(payload_bytes)
                / u64::from(packet_bytes);
            AppConfig::UdpCbr(UdpCbrConfig { rate_bps, payload_bytes })
        }
        FlowKind::Voip => AppConfig::Voip(VoipConfig {
            echoed: flow.echoed.unwrap_or(false),
            ..VoipConfig::default()
        }),
        FlowKind::Ping => {
            let default = PingConfig::default();
            AppConfig::Ping(PingConfig {
                interval_us: flow
                    .interval_ms
                    .map_or(default.interval_us, |ms| u64::from(ms) * 1000),
                payload_bytes: flow
                    .packet_bytes
                    .map_or(default.payload_bytes, |bytes| bytes - headers),
            })
        }
        FlowKind::Game => AppConfig::Game(flow.game.clone().unwrap_or_default()),
        FlowKind::Call => AppConfig::Call(flow.call.clone().unwrap_or_default()),
        FlowKind::Web => {
            AppConfig::Web { web: flow.web.clone().unwrap_or_default(), tcp: tcp_config(flow) }
        }
        FlowKind::Video => AppConfig::Video {
            video: flow.video.clone().unwrap_or_default(),
            tcp: tcp_config(flow),
        },
        FlowKind::Sprout => AppConfig::Sprout(flow.sprout.clone().unwrap_or_default()),
        FlowKind::Vivace => AppConfig::Vivace(flow.vivace.clone().unwrap_or_default()),
    }
}

fn ms_to_us(ms: u32) -> u64 {
    u64::from(ms) * 1000
}

/// The transport of every kind over TCP.
fn tcp_config(flow: &Flow) -> TcpConfig {
    let default = TcpConfig::default();
    TcpConfig {
        congestion: match flow.congestion_control.unwrap_or_default() {
            CongestionControl::Cubic => CongestionAlgorithm::Cubic,
            CongestionControl::Reno => CongestionAlgorithm::Reno,
            CongestionControl::Westwood => CongestionAlgorithm::Westwood,
            CongestionControl::Vegas => CongestionAlgorithm::Vegas,
            CongestionControl::Bbr => CongestionAlgorithm::Bbr,
            CongestionControl::Bbr3 => CongestionAlgorithm::Bbr3,
            CongestionControl::Prague => CongestionAlgorithm::Prague,
            CongestionControl::C2tcp => CongestionAlgorithm::C2tcp,
        },
        ecn: flow.ecn.unwrap_or(false),
        accecn: flow.accecn.unwrap_or(false),
        pacing: flow.pacing.unwrap_or(false),
        bbr_ack_aggregation: flow.bbr_ack_aggregation.unwrap_or(false),
        c2tcp_target_us: flow.c2tcp_target_ms.map_or(default.c2tcp_target_us, ms_to_us),
        c2tcp_setpoint_us: flow.c2tcp_setpoint_ms.map(ms_to_us),
        c2tcp_interval_us: flow.c2tcp_interval_ms.map(ms_to_us),
        hystart: flow.hystart.unwrap_or(true),
        receive_window_bytes: flow
            .receive_window_bytes
            .map_or(default.receive_window_bytes, u64::from),
        // A datagram of 1500 B with either header.
        mss_bytes: flow
            .mss_bytes
            .map_or(default.mss_bytes - flow.ip_version.extra_bytes(), u32::from),
        ..default
    }
}
