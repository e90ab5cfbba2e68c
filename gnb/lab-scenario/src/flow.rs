//! A flow in the scenario file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kinds of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowKind {
    /// A bulk download over TCP.
    Tcp,
    /// UDP at a constant bit rate.
    UdpCbr,
    /// G.711: 172 B of UDP payload each 20 ms (irazabal2021 §V-F).
    Voip,
    /// ICMP echo from the server.
    Ping,
    /// A game in real time, small packets both ways.
    Game,
    /// A video call, the server talking, with Google Congestion Control.
    Call,
    /// Web browsing over TCP.
    Web,
    /// Video streaming with adaptive bit rate over TCP.
    Video,
    /// Bulk over UDP with a Sprout-like controller.
    Sprout,
    /// Bulk over UDP with a Vivace-like controller.
    Vivace,
}

impl FlowKind {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::UdpCbr => "udp_cbr",
            Self::Voip => "voip",
            Self::Ping => "ping",
            Self::Game => "game",
            Self::Call => "call",
            Self::Web => "web",
            Self::Video => "video",
            Self::Sprout => "sprout",
            Self::Vivace => "vivace",
        }
    }
}

/// Congestion control of a TCP sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
    /// Westwood+ (Mascolo et al. 2004).
    Westwood,
    /// Brakmo and Peterson 1995.
    Vegas,
    /// BBR version 1; always paces.
    Bbr,
    /// BBR version 3; always paces. With `ecn`: ECT(1) and AccECN.
    Bbr3,
    /// L4S: ECT(1), AccECN and pacing, always.
    Prague,
    /// Abbasloo et al. 2019: Cubic, and a bound on the RTT.
    C2tcp,
}

/// Version of the internet protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum IpVersion {
    /// RFC 791.
    #[default]
    V4,
    /// RFC 8200.
    V6,
}

/// ECN field (RFC 3168 §5, RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnField {
    /// 00.
    #[default]
    NotEct,
    /// 10: ECN-capable, classic.
    Ect0,
    /// 01: ECN-capable, L4S.
    Ect1,
}

/// UEs of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowUe {
    /// This one.
    Rnti(u16),
    /// One such flow for each UE.
    Each,
}

/// A flow between a server and a UE.
///
/// `congestion_control`, `mss_bytes`, `ecn`, `accecn`, `pacing`, `hystart`, `receive_window_bytes` and
/// what begins with `c2tcp` belong to the kinds over TCP: `tcp`, `web` and `video`; `ecn_field` to
/// those over UDP; `echoed` to `voip`; `rate_kbps` to `udp_cbr`; `packet_bytes` to `udp_cbr` and
/// `ping`; `interval_ms` to `ping`. `game`, `call`, `web`, `video`, `sprout` and `vivace` hold what
/// is particular to the kind of that name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name, unique in the scenario.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Kind.
    pub kind: FlowKind,
    /// RNTI of the UE, or `each`; the only UE when absent.
    #[serde(default)]
    pub rnti: Option<FlowUe>,
    /// DRB of the UE that carries it; the UE's first when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 32))]
    pub drb: Option<u8>,
    /// When it starts.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub start_s: f64,
    /// When it stops; at the end when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub stop_s: Option<f64>,
    /// From its server to the CU and back, in place of `split.core_delay_us`; at most 1 s.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    pub core_delay_us: Option<u32>,
    /// DSCP, 0..=63 (RFC 2474).
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub dscp: u8,
    /// QoS flow identifier, 0..=63 (23.501 §5.7).
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub qfi: Option<u8>,
    /// So many flows alike, 1..=64, named `NAME#1` and so on when more than one. Their starts are
    /// spread over `start_jitter_ms` so that no two coincide.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub count: u8,
    /// The start is put off by a time below this, drawn from the seed; 0..=60000 ms, 20 when absent.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pub start_jitter_ms: Option<u32>,
    /// 4 or 6.
    #[serde(default)]
    pub ip_version: IpVersion,
    /// ECN field of data packets over UDP.
    #[serde(default)]
    pub ecn_field: Option<EcnField>,
    /// Congestion control.
    #[serde(default)]
    pub congestion_control: Option<CongestionControl>,
    /// Negotiate ECN (RFC 3168): data packets are ECT(0).
    #[serde(default)]
    pub ecn: Option<bool>,
    /// Negotiate ECN with accurate feedback (RFC 9768).
    #[serde(default)]
    pub accecn: Option<bool>,
    /// Pace window-based congestion control as Linux does with the fq scheduler; false when absent.
    #[serde(default)]
    pub pacing: Option<bool>,
    /// BBR v1 with Linux's estimate of aggregated acknowledgements; false when absent, as in the draft.
    #[serde(default)]
    pub bbr_ack_aggregation: Option<bool>,
    /// Average RTT that C2TCP tunes itself to, 1..=60000 ms; 50 when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    pub c2tcp_target_ms: Option<u32>,
    /// Fixed setpoint of C2TCP's RTT, 1..=60000 ms; tuned when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    pub c2tcp_setpoint_ms: Option<u32>,
    /// How long C2TCP lets the RTT stay above the setpoint, 1..=60000 ms; the setpoint when absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    pub c2tcp_interval_ms: Option<u32>,
    /// Maximum segment size, 536..=8960 bytes; 1460 when absent.
    #[serde(default)]
    #[schemars(range(min = 536, max = 8960))]
    pub mss_bytes: Option<u16>,
    /// Leave slow start when the round trip grows (RFC 9406); true when absent, as in Linux.
    #[serde(default)]
    pub hystart: Option<bool>,
    /// The receiver's window, 10000..=1073741824 bytes; 16 MiB when absent.
    #[serde(default)]
    #[schemars(range(min = 10_000, max = 1_073_741_824))]
    pub receive_window_bytes: Option<u32>,
    /// The UE sends the frames and the server sends each back as it comes, as irtt does.
    #[serde(default)]
    pub echoed: Option<bool>,
    /// Rate with IP headers, 1..=10000000 kbit/s.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rate_kbps: Option<u32>,
    /// Packet with IP header, 28..=9000 bytes.
    #[serde(default)]
    #[schemars(range(min = 28, max = 9000))]
    pub packet_bytes: Option<u32>,
    /// Between two echo requests, 1..=60000 ms.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    pub interval_ms: Option<u32>,
    /// What a `game` is like.
    #[serde(default)]
    pub game: Option<traffic::GameConfig>,
    /// What a `call` is like.
    #[serde(default)]
    pub call: Option<traffic::CallConfig>,
    /// What `web` browsing is like.
    #[serde(default)]
    pub web: Option<traffic::WebConfig>,
    /// What a `video` and its player are like.
    #[serde(default)]
    pub video: Option<traffic::VideoConfig>,
    /// The `sprout`-like controller.
    #[serde(default)]
    pub sprout: Option<traffic::SproutConfig>,
    /// The `vivace`-like controller.
    #[serde(default)]
    pub vivace: Option<traffic::VivaceConfig>,
}

fn one() -> u8 {
    1
}
