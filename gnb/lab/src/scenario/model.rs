//! The scenario as a serde model: the shape of the YAML file and of its JSON schema.
//!
//! Units are in the keys. Times in `_s` are seconds of virtual time, delays in `_us` microseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pipeline::PipelineSpec;

/// One cell, its UEs and the traffic towards them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name, for reports.
    #[serde(default)]
    pub name: String,
    /// What the scenario shows, for people.
    #[serde(default)]
    pub description: String,
    /// Seed of every random stream.
    #[serde(default = "one")]
    pub seed: u64,
    /// Virtual time to run, in seconds; above 0, at most 86400.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub duration_s: f64,
    /// The cell.
    pub cell: Cell,
    /// Where CU, DU, RIC and servers are.
    #[serde(default)]
    pub split: Split,
    /// The UEs with their bearers; at least one.
    #[schemars(length(min = 1))]
    pub ues: Vec<Ue>,
    /// The traffic.
    #[serde(default)]
    pub flows: Vec<Flow>,
}

/// Radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rat {
    /// 5G NR: slots of the subcarrier spacing, TBS of 38.214 §5.1.3.2.
    Nr,
    /// LTE: TTI 1 ms, TBS of 36.213 as measured in OAI.
    Lte,
}

/// Which resources are shared how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MacScheduler {
    /// Active UEs share each slot in turn.
    #[default]
    RoundRobin,
    /// Each UE owns its `prb_share_percent` (irazabal2021 §VI-B, FP).
    FixedPartition,
}

/// The cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Radio access technology.
    pub rat: Rat,
    /// Physical resource blocks: 1..=275 in NR; 6, 15 or 25 in LTE.
    #[schemars(range(min = 1, max = 275))]
    pub n_prb: u16,
    /// Subcarrier spacing in kHz: 15, 30, 60 or 120; LTE has 15.
    #[serde(default = "fifteen")]
    pub scs_khz: u16,
    /// TDD pattern; FDD when absent.
    #[serde(default)]
    pub tdd: Option<Tdd>,
    /// MAC scheduler.
    #[serde(default)]
    pub scheduler: MacScheduler,
    /// MIMO layers, 1..=4 (NR).
    #[serde(default = "one_u8")]
    #[schemars(range(min = 1, max = 4))]
    pub layers: u8,
    /// MCS table (NR).
    #[serde(default)]
    pub mcs_table: McsTable,
    /// PRBs that common channels take; when absent, none in NR and in LTE those of
    /// synchronisation signals and PBCH.
    #[serde(default)]
    pub reserved: Option<Reserved>,
}

/// Modulation and coding table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McsTable {
    /// 38.214 table 5.1.3.1-1, MCS 0..=28.
    Qam64,
    /// 38.214 table 5.1.3.1-2, MCS 0..=27.
    #[default]
    Qam256,
}

/// PRBs not available to user data in some slots of a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// Slots after which the reservation repeats, 1..=10240.
    #[schemars(range(min = 1, max = 10240))]
    pub period_slots: u16,
    /// The slots concerned, from 0.
    pub slots: Vec<u16>,
    /// PRBs not available there; as many as the cell has, or more, leave none.
    #[schemars(range(min = 1, max = 275))]
    pub n_prb: u16,
}

/// Time division duplex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tdd {
    /// One letter a slot: D downlink, M mixed, U uplink; 2..=320 slots.
    #[schemars(length(min = 2, max = 320), regex(pattern = r"^[DMU]+$"))]
    pub pattern: String,
    /// Downlink symbols of a mixed slot, 0..=14.
    #[serde(default = "six")]
    #[schemars(range(max = 14))]
    pub mixed_dl_symbols: u8,
    /// Uplink symbols of a mixed slot; with those of downlink at most 14.
    #[serde(default = "four")]
    #[schemars(range(max = 14))]
    pub mixed_ul_symbols: u8,
}

/// One-way delays between the parts, at most 1 s each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Split {
    /// F1-U, CU to DU and back; 0 is a monolithic gNB.
    #[schemars(range(max = 1_000_000))]
    pub f1_delay_us: u32,
    /// E2, from report to RIC (T_RD of stolidis2024).
    #[schemars(range(max = 1_000_000))]
    pub e2_report_delay_us: u32,
    /// E2, from RIC to RAN function (T_RC of stolidis2024).
    #[schemars(range(max = 1_000_000))]
    pub e2_control_delay_us: u32,
    /// Server to CU and back: core network and internet.
    #[schemars(range(max = 1_000_000))]
    pub core_delay_us: u32,
    /// Each packet from a server takes up to this much longer, uniformly distributed, without
    /// overtaking: the timers of servers do not run in step with the slots of a cell.
    #[schemars(range(max = 1_000_000))]
    pub core_jitter_us: u32,
    /// The SDAP scheduler is a thread that sleeps this long between two looks at its queues
    /// (irazabal2021 §V-A: 200 µs), in no step with the slots; at most 10000. At 0 it acts at once
    /// when a packet or a status arrives.
    #[schemars(range(max = 10_000))]
    pub sdap_poll_us: u32,
    /// Whether a pacer that takes over from none gets back the SDUs that the RLC has not begun to
    /// send (38.322 §5.4, over F1-U 38.425 §5.4.1); without it the old backlog drains first.
    pub recall: bool,
}

impl Default for Split {
    fn default() -> Self {
        Self {
            f1_delay_us: 0,
            e2_report_delay_us: 0,
            e2_control_delay_us: 0,
            core_delay_us: 5_000,
            core_jitter_us: 0,
            sdap_poll_us: 0,
            recall: true,
        }
    }
}

/// A UE, or `count` of them alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ue {
    /// C-RNTI, 1..=65519 (38.321 table 7.1-1).
    #[schemars(range(min = 1, max = 65519))]
    pub rnti: u16,
    /// This many UEs with consecutive RNTIs.
    #[serde(default = "one_u16")]
    #[schemars(range(min = 1, max = 4096))]
    pub count: u16,
    /// The channel.
    pub channel: Channel,
    /// Share of the PRBs that this UE, or these `count` UEs together, own under
    /// `fixed_partition`, percent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub prb_share_percent: Option<u8>,
    /// When the UE attaches.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub join_at_s: f64,
    /// When the UE is released; never when absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub leave_at_s: Option<f64>,
    /// Data radio bearers; at least one.
    #[schemars(length(min = 1, max = 32))]
    pub drbs: Vec<Drb>,
}

/// What the radio carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Channel {
    /// One MCS for ever: 0 to the highest of the cell's table (NR 27 or 28, LTE 28).
    FixedMcs(#[schemars(range(max = 28))] u8),
    /// A series of MCS, repeated when it ends.
    McsSeries(McsSeries),
    /// A Mahimahi trace of delivery opportunities.
    Mahimahi(Mahimahi),
}

/// A series of MCS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McsSeries {
    /// How long each value holds, 1..=3600000 ms.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub period_ms: u32,
    /// MCS indices, 0..=28, at least one.
    #[schemars(length(min = 1))]
    pub values: Vec<u8>,
}

/// A Mahimahi trace: one integer a line, the millisecond of a 1500-byte opportunity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mahimahi {
    /// File, relative to the scenario file; `.xz` and `.gz` are decompressed.
    pub path: String,
}

/// A data radio bearer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drb {
    /// DRB identity, 1..=32 (38.331).
    #[schemars(range(min = 1, max = 32))]
    pub id: u8,
    /// RLC entity.
    #[serde(default)]
    pub rlc: Rlc,
    /// Traffic-control pipeline in force at the start.
    #[serde(default)]
    pub pipeline: PipelineSpec,
    /// Pipeline that returns when a lease ends.
    #[serde(default)]
    pub safe_pipeline: PipelineSpec,
}

/// RLC mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RlcMode {
    /// Unacknowledged mode (38.322 §5.2.2).
    #[default]
    Um,
}

/// RLC entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rlc {
    /// Mode.
    pub mode: RlcMode,
    /// Sequence number field, 6 or 12 bits.
    pub sn_bits: u8,
    /// SDU buffer in bytes; the prototype of irazabal2024 has 10 MB.
    #[schemars(range(min = 1500, max = 1_000_000_000))]
    pub limit_bytes: u32,
    /// SDU buffer in packets.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub limit_packets: u32,
    /// Queue management inside the RLC, in place of its FIFO.
    pub aqm: Option<RlcAqm>,
}

impl Default for Rlc {
    fn default() -> Self {
        Self {
            mode: RlcMode::Um,
            sn_bits: 12,
            limit_bytes: 10_000_000,
            limit_packets: 1_000_000,
            aqm: None,
        }
    }
}

/// Queue management in place of the RLC's FIFO (irazabal2021 §V-D).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RlcAqm {
    /// CoDel (RFC 8289): the MAC draws from the CoDel queue what its grant needs.
    Codel(RlcCodel),
}

/// CoDel of the RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RlcCodel {
    /// Acceptable standing sojourn time.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub target_us: u32,
    /// Sliding window.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub interval_us: u32,
}

impl Default for RlcCodel {
    fn default() -> Self {
        Self { target_us: 5_000, interval_us: 100_000 }
    }
}

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
}

impl FlowKind {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::UdpCbr => "udp_cbr",
            Self::Voip => "voip",
            Self::Ping => "ping",
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
/// `congestion_control`, `mss_bytes`, `ecn`, `hystart` and `receive_window_bytes` belong to `tcp`;
/// `rate_kbps` to `udp_cbr`; `packet_bytes` to `udp_cbr` and `ping`; `interval_ms` to `ping`.
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
    /// DSCP, 0..=63 (RFC 2474).
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub dscp: u8,
    /// QoS flow identifier, 0..=63 (23.501 §5.7).
    #[serde(default)]
    #[schemars(range(max = 63))]
    pub qfi: Option<u8>,
    /// Congestion control.
    #[serde(default)]
    pub congestion_control: Option<CongestionControl>,
    /// Negotiate ECN (RFC 3168): data packets are ECT(0).
    #[serde(default)]
    pub ecn: Option<bool>,
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
}

fn one() -> u64 {
    1
}
fn one_u8() -> u8 {
    1
}
fn one_u16() -> u16 {
    1
}
fn four() -> u8 {
    4
}
fn six() -> u8 {
    6
}
fn fifteen() -> u16 {
    15
}
