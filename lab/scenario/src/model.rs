//! The scenario as a serde model: the shape of the YAML file and of its JSON schema.
//!
//! Units are in the keys. Times in `_s` are seconds of virtual time, delays in `_us` microseconds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use traffic::TunnelConfig;

use super::adaptation::Adaptation;
use super::channel::Channel;
use super::drx::Drx;
use super::flow::Flow;
use super::handover::{Handover, Site};
use super::link::{F1, Harq, Overhead, RecordedUplink, UeHarq, UplinkAccess};
use super::pipeline::PipelineSpec;
use super::rlc::Rlc;
use super::scheduler::{self, MacScheduler};

/// A cell or several of one gNB, their UEs and the traffic towards them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name, for reports.
    #[serde(default)]
    pub name: String,
    /// Purpose of the scenario, for reports.
    #[serde(default)]
    pub description: String,
    /// Seed of every random stream.
    #[serde(default = "one")]
    pub seed: u64,
    /// Virtual time to run, in seconds; above 0, at most 86400.
    #[schemars(range(min = 0.001, max = 86400.0))]
    pub duration_s: f64,
    /// The cell, or what several have in common.
    pub cell: Cell,
    /// The cells, if there are several; UEs move between them by handover.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub cells: Vec<Site>,
    /// Handover between several cells.
    #[serde(default)]
    pub handover: Option<Handover>,
    /// Delays between CU, DU, RIC and servers.
    #[serde(default)]
    pub split: Split,
    /// The UEs with their bearers; at least one.
    #[schemars(length(min = 1))]
    pub ues: Vec<Ue>,
    /// The traffic.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// The tunnels that flows name; if there are none, a name of a flow is a WireGuard tunnel over IPv4.
    /// Each UE has its own end.
    #[serde(default)]
    pub tunnels: BTreeMap<String, TunnelConfig>,
}

impl Scenario {
    /// What cell number `index` is: `cell` with its own PRBs.
    pub fn cell_of(&self, index: usize) -> Cell {
        let n_prb = self.cells.get(index).and_then(|site| site.n_prb);
        Cell { n_prb: n_prb.unwrap_or(self.cell.n_prb), ..self.cell.clone() }
    }

    /// Place of the antenna of cell number `index`, m.
    pub fn position_m(&self, index: usize) -> [f64; 2] {
        self.cells.get(index).map_or([0.0, 0.0], |site| site.position_m)
    }

    /// The tunnel that carries a flow; `None` for a flow outside tunnels.
    pub fn tunnel_of(&self, flow: &Flow) -> Option<TunnelConfig> {
        let name = flow.keys.tunnel.as_ref()?;
        Some(self.tunnels.get(name).copied().unwrap_or_default())
    }
}

/// Radio access technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rat {
    /// 5G NR: slots of the subcarrier spacing, TBS of 38.214 §5.1.3.2.
    Nr,
    /// LTE: TTI 1 ms, TBS of 36.213 as measured in OAI.
    Lte,
}

/// The cell.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Radio access technology.
    pub rat: Rat,
    /// Physical resource blocks: 1..=275 in NR; 6, 15 or 25 in LTE, whose transport block sizes are
    /// known here up to 25.
    #[schemars(range(min = 1, max = 275))]
    pub n_prb: u16,
    /// Subcarrier spacing in kHz: 15, 30, 60 or 120; LTE has 15.
    #[serde(default = "fifteen")]
    pub scs_khz: u16,
    /// TDD pattern; FDD if unset.
    #[serde(default)]
    pub tdd: Option<Tdd>,
    /// MAC scheduler; round robin if unset.
    #[serde(default, deserialize_with = "scheduler::name_or_mapping")]
    #[schemars(schema_with = "scheduler::schema")]
    pub scheduler: MacScheduler,
    /// Resource allocation type (NR; LTE has type 0 with the RBG sizes of 36.213).
    #[serde(default)]
    pub resource_allocation: ResourceAllocation,
    /// UEs that can get a transport block in one slot, 1..=256: the capacity of the PDCCH.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 256))]
    pub max_ues_per_slot: u16,
    /// MIMO layers, 1..=4; LTE has 1 here.
    #[serde(default = "one_u8")]
    #[schemars(range(min = 1, max = 4))]
    pub layers: u8,
    /// MCS table; if unset, `qam256` in NR and `qam64` in LTE, which has no other here.
    #[serde(default)]
    pub mcs_table: Option<McsTable>,
    /// Resource elements that carry no data (NR).
    #[serde(default)]
    pub overhead: Overhead,
    /// PRBs of common channels; if unset, none in NR and those of synchronisation signals and PBCH in
    /// LTE.
    #[serde(default)]
    pub reserved: Option<Reserved>,
    /// HARQ and errors of transport blocks.
    #[serde(default)]
    pub harq: Harq,
    /// Downlink adaptation of UEs whose channel has an SNR or a CQI.
    #[serde(default)]
    pub adaptation: Adaptation,
    /// Uplink access of the UEs; unset values follow from duplexing and radio access technology.
    #[serde(default)]
    pub uplink: UplinkAccess,
}

/// Downlink resource allocation of NR (38.214 §5.1.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceAllocation {
    /// Type 1: single PRBs.
    #[default]
    Type1,
    /// Type 0: RBGs of configuration 1 of table 5.1.2.2.1-1.
    Type0Config1,
    /// Type 0: RBGs of configuration 2.
    Type0Config2,
}

/// Modulation and coding table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McsTable {
    /// 38.214 table 5.1.3.1-1, MCS 0..=28.
    Qam64,
    /// 38.214 table 5.1.3.1-2, MCS 0..=27.
    #[default]
    Qam256,
    /// 38.214 table 5.1.3.1-3 for low spectral efficiency, MCS 0..=28.
    Qam64LowSe,
    /// 38.214 table 5.1.3.1-4, MCS 0..=26.
    Qam1024,
}

/// PRBs not available to user data in some slots of a period.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Split {
    /// F1-U, CU to DU and back; 0 is a monolithic gNB.
    #[schemars(range(max = 1_000_000))]
    pub f1_delay_us: u32,
    /// Jitter, loss and status reporting of F1-U.
    pub f1: F1,
    /// E2, from report to RIC (T_RD of stolidis2024).
    #[schemars(range(max = 1_000_000))]
    pub e2_report_delay_us: u32,
    /// E2, from RIC to RAN function (T_RC of stolidis2024).
    #[schemars(range(max = 1_000_000))]
    pub e2_control_delay_us: u32,
    /// Server to CU and back: core network and internet.
    #[schemars(range(max = 1_000_000))]
    pub core_delay_us: u32,
    /// Additional delay of each packet from a server, uniform from 0 to this, in order within a flow:
    /// the timers of servers are not synchronous to the slots of a cell.
    #[schemars(range(max = 1_000_000))]
    pub core_jitter_us: u32,
    /// Sleep of the SDAP scheduler's thread between two runs (irazabal2021 §V-A: 200 µs), not
    /// synchronous to the slots; at most 10000. At 0 it runs when a packet or a status arrives.
    #[schemars(range(max = 10_000))]
    pub sdap_poll_us: u32,
    /// Whether enabling a pacer recalls the SDUs that the RLC has not begun to send (38.322 §5.4,
    /// over F1-U 38.425 §5.4.1); otherwise the old backlog drains first.
    pub recall: bool,
    /// Longest time, 0..=10000 ms, for which packets of a QoS flow that moves to another DRB wait for those
    /// on the old one, in each direction.
    #[schemars(range(max = 10_000))]
    pub qos_flow_hold_ms: u32,
}

impl Default for Split {
    fn default() -> Self {
        Self {
            f1_delay_us: 0,
            f1: F1::default(),
            e2_report_delay_us: 0,
            e2_control_delay_us: 0,
            core_delay_us: 5_000,
            core_jitter_us: 0,
            sdap_poll_us: 0,
            recall: true,
            qos_flow_hold_ms: 500,
        }
    }
}

/// A UE, or `count` equal UEs.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ue {
    /// C-RNTI, 1..=65519 (38.321 table 7.1-1).
    #[schemars(range(min = 1, max = 65519))]
    pub rnti: u16,
    /// This many UEs with consecutive RNTIs.
    #[serde(default = "one_u16")]
    #[schemars(range(min = 1, max = 4096))]
    pub count: u16,
    /// The channel; of several cells, that of the first.
    pub channel: Channel,
    /// The channels of the second and further cells, in their order; or `route_m`.
    #[serde(default)]
    pub neighbour_channels: Vec<Channel>,
    /// The way on which the UE goes to and fro at the speed of its fading channel, from place to place, x
    /// and y in m; its distance to each cell sets the path loss.
    #[serde(default)]
    pub route_m: Option<[[f64; 2]; 2]>,
    /// The slice of `cell.scheduler.slices` it belongs to.
    #[serde(default)]
    pub slice: Option<u8>,
    /// Share of the PRBs that this UE, or these `count` UEs together, own under `fp` and `eqp`
    /// without `slices`, percent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub prb_share_percent: Option<u8>,
    /// Errors of its transport blocks; those of the cell if unset.
    #[serde(default)]
    pub harq: Option<UeHarq>,
    /// Recorded uplink; requests and grants of `cell.uplink` if unset.
    #[serde(default)]
    pub uplink: Option<RecordedUplink>,
    /// Discontinuous reception; the UE always listens if unset.
    #[serde(default)]
    pub drx: Option<Drx>,
    /// When the UE attaches.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub join_at_s: f64,
    /// When the UE is released; never if unset.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub leave_at_s: Option<f64>,
    /// Data radio bearers; at least one. The first is the default DRB.
    #[schemars(length(min = 1, max = 32))]
    pub drbs: Vec<Drb>,
    /// Moves of QoS flows to other DRBs, as a RIC control would ask for.
    #[serde(default)]
    pub qos_flow_moves: Vec<QosFlowMove>,
}

/// A QoS flow is mapped to another DRB (37.324 §5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosFlowMove {
    /// When.
    #[schemars(range(min = 0.0, max = 86400.0))]
    pub at_s: f64,
    /// QoS flow identifier, 0..=63.
    #[schemars(range(max = 63))]
    pub qfi: u8,
    /// DRB of the UE that carries it from then on.
    #[schemars(range(min = 1, max = 32))]
    pub drb: u8,
}

/// A data radio bearer.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drb {
    /// DRB identity, 1..=32 (38.331).
    #[schemars(range(min = 1, max = 32))]
    pub id: u8,
    /// Logical channel priority, 1 (first) to 16 (38.331), in both directions; if unset that of the 5QI, a
    /// tenth of its priority level (23.501 table 5.7.4-1), and 9 without one. Equals take turns.
    #[serde(default)]
    #[schemars(range(min = 1, max = 16))]
    pub priority: Option<u8>,
    /// Prioritised bit rate in kByte/s, 0..=65536: what it has before DRBs of higher priority take more
    /// than theirs (38.321 §5.4.3.1). At 0 it has what they leave.
    #[serde(default)]
    #[schemars(range(max = 65_536))]
    pub prioritised_kbytes_per_s: u32,
    /// Time for which an unused prioritised rate is kept, 5..=1000 ms (38.331 `bucketSizeDuration`).
    #[serde(default = "hundred")]
    #[schemars(range(min = 5, max = 1000))]
    pub bucket_ms: u16,
    /// QoS flow identifiers that it carries (38.331 `mappedQoS-FlowsToAdd`); those that no DRB names, and
    /// no flow with a `drb`, are on the UE's first.
    #[serde(default)]
    #[schemars(inner(range(max = 63)))]
    pub qfis: Vec<u8>,
    /// 5QI of its QoS flow (23.501 §5.7.4), as E2SM-TC reports it and rules of a node default match
    /// it; unknown if unset.
    #[serde(default)]
    pub five_qi: Option<u8>,
    /// Slice of its PDU session, likewise.
    #[serde(default)]
    pub s_nssai: Option<SNssai>,
    /// RLC entity.
    #[serde(default)]
    pub rlc: Rlc,
    /// Initial traffic-control pipeline.
    #[serde(default)]
    pub pipeline: PipelineSpec,
    /// Pipeline that is installed when a lease ends.
    #[serde(default)]
    pub safe_pipeline: PipelineSpec,
}

/// S-NSSAI of a slice (23.003 §28.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SNssai {
    /// Slice/service type; 1 is eMBB.
    pub sst: u8,
    /// Slice differentiator, 0..=16777215.
    #[serde(default)]
    #[schemars(range(min = 0, max = 16_777_215))]
    pub sd: Option<u32>,
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
fn eight() -> u16 {
    8
}
fn hundred() -> u16 {
    100
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
