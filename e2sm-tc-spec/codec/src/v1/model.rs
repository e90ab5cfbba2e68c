//! E2SM-TC v1: the information elements as Rust types.
//!
//! Names follow the ASN.1 module `asn1/E2SM-TC-v1.asn`; units are in the names.
//! Serde names (snake_case) are the JSON shape of the CLI and of the Python module.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

// ---------------------------------------------------------------- addressing

/// How an E2 node names a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UeId {
    /// C-RNTI, 38.321 §7.1. Unique per cell.
    Rnti(u16),
    /// gNB-CU UE F1AP ID, 38.473 §9.3.1.4.
    GnbCuUeF1apId(u32),
}

/// One data radio bearer of one UE: what a pipeline belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BearerId {
    /// The UE.
    pub ue: UeId,
    /// DRB identity, 1..=32 (38.331 DRB-Identity).
    pub drb: u8,
}

// ------------------------------------------------------------------ pipeline

/// Queue identifier, unique within a pipeline.
pub type QueueId = u16;
/// Filter identifier, unique within a classifier.
pub type FilterId = u16;

/// The whole six-stage pipeline of a bearer: classifier → policer → queue → scheduler → shaper →
/// pacer (irazabal2024 §IV-A). Policers and shapers live with their queue (1:1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Operator-visible name of the composition, e.g. `fq_codel`; at most 64 printable characters.
    pub name: String,
    /// Stage 1.
    pub classifier: Classifier,
    /// Stages 2, 3 and 5: at least one queue set, ids disjoint.
    pub queues: Vec<QueueSet>,
    /// Stage 4.
    pub scheduler: Scheduler,
    /// Stage 6.
    pub pacer: Pacer,
    /// Bound on all queues together.
    pub buffer: BufferLimit,
}

/// Where a classifier sends a packet: one queue, or a run of queues chosen by flow hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTarget {
    /// First queue id.
    pub first: QueueId,
    /// Number of consecutive ids, 1..=4096; with more than 1, the 5-tuple hash picks one.
    pub count: u16,
}

/// Stage 1: which queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// Packets in turn over the target's queues.
    RoundRobin(QueueTarget),
    /// Stochastic hash of the 5-tuple (SFQ).
    StochasticHash(StochasticHash),
    /// Ordered filters on L3/L4 fields; the first match wins.
    Osi(OsiClassifier),
    /// ECN field: ECT(1) and CE to `l4s`, the rest to `classic` (RFC 9331 §5.1).
    L4sEcn(L4sEcnClassifier),
    /// Hash of the destination host, then of the 5-tuple within the host's share.
    HostThenFlow(StochasticHash),
}

/// Parameters of the stochastic hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StochasticHash {
    /// Queues hashed into.
    pub target: QueueTarget,
    /// Hash key; the RAN function derives one when absent.
    pub perturbation: Option<u32>,
    /// Ways of a set-associative hash, 1 for a plain hash.
    pub ways: u8,
}

/// OSI classifier: filters in order, then a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OsiClassifier {
    /// At most 256 filters; the first that matches wins.
    pub filters: Vec<Filter>,
    /// For packets no filter matches.
    pub default: QueueTarget,
}

/// L4S classifier by ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct L4sEcnClassifier {
    /// Queue of ECT(1) and CE packets.
    pub l4s: QueueTarget,
    /// Queue of everything else.
    pub classic: QueueTarget,
}

/// One rule of the OSI classifier. Absent fields are wildcards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// Identifier, unique within the classifier.
    pub id: FilterId,
    /// What to match.
    #[serde(rename = "match")]
    pub rule: FlowMatch,
    /// Where matching packets go.
    pub target: QueueTarget,
}

/// Fields of a packet to match; all given ones must.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowMatch {
    /// Source prefix.
    pub source: Option<Prefix>,
    /// Destination prefix.
    pub destination: Option<Prefix>,
    /// Source port range.
    pub source_port: Option<PortRange>,
    /// Destination port range.
    pub destination_port: Option<PortRange>,
    /// IP protocol number (6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6).
    pub protocol: Option<u8>,
    /// DSCP, 0..=63 (RFC 2474).
    pub dscp: Option<u8>,
    /// QoS flow identifier, 0..=63 (23.501).
    pub qfi: Option<u8>,
    /// ECN codepoint (RFC 3168).
    pub ecn: Option<Ecn>,
}

/// An IP prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prefix {
    /// IPv4 network and length 0..=32.
    V4 {
        /// Network address.
        address: Ipv4Addr,
        /// Prefix length in bits.
        length: u8,
    },
    /// IPv6 network and length 0..=128.
    V6 {
        /// Network address.
        address: Ipv6Addr,
        /// Prefix length in bits.
        length: u8,
    },
}

/// Inclusive port range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortRange {
    /// Lowest port.
    pub low: u16,
    /// Highest port, not below `low`.
    pub high: u16,
}

/// ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// 00.
    #[default]
    NotEct,
    /// 01, L4S (RFC 9331).
    Ect1,
    /// 10.
    Ect0,
    /// 11, congestion experienced.
    Ce,
}

/// `count` equal queues with consecutive ids and the stages bound to each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueSet {
    /// Id of the first queue.
    pub first: QueueId,
    /// Number of queues, 1..=4096.
    pub count: u16,
    /// Stage 3.
    pub discipline: QueueDiscipline,
    /// Limit per queue in packets; the buffer limit alone when absent.
    pub limit_packets: Option<u32>,
    /// Limit per queue in bytes; the buffer limit alone when absent.
    pub limit_bytes: Option<u32>,
    /// Stage 2, per queue.
    pub policer: Option<Policer>,
    /// Stage 5, per queue.
    pub shaper: Option<Shaper>,
}

/// Stage 3: queue discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueDiscipline {
    /// First in, first out; which end loses a packet when full.
    Fifo {
        /// Drop policy at the limit.
        drop: FifoDrop,
    },
    /// CoDel (RFC 8289), optionally marking ECN-capable packets instead of dropping them.
    Codel(Codel),
    /// PIE (RFC 8033).
    Pie {
        /// Reference delay.
        target_us: u32,
        /// Update period.
        update_us: u32,
        /// α in thousandths of 1/s.
        alpha_milli: u32,
        /// β in thousandths of 1/s.
        beta_milli: u32,
        /// Mark instead of drop.
        ecn: bool,
    },
    /// RED (Floyd and Jacobson 1993), thresholds in bytes.
    Red {
        /// No drops below.
        min_bytes: u32,
        /// All dropped above.
        max_bytes: u32,
        /// Drop probability at `max_bytes`, in thousandths.
        max_probability_milli: u16,
        /// Mark instead of drop.
        ecn: bool,
    },
    /// COBALT: CoDel with BLUE.
    Cobalt(Codel),
    /// BoDe (abbasloo2019): bounded delay, drop at egress unless fewer than three are queued.
    Bode {
        /// Sojourn bound.
        bound_us: u32,
    },
    /// L4S immediate marking (RFC 9332 §2.4), step at `threshold_us` or ramp up to `ramp_us`.
    L4sMarking {
        /// Marking starts here.
        threshold_us: u32,
        /// Marking is certain here; equal to the threshold for a step.
        ramp_us: u32,
    },
    /// Coupled DualPI2 (RFC 9332); the set must hold two queues, L then C.
    DualPi2 {
        /// PI2 target.
        target_us: u32,
        /// Update period.
        update_us: u32,
        /// Coupling factor k in thousandths.
        coupling_milli: u32,
    },
}

/// Which packet a full FIFO gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FifoDrop {
    /// The arriving one.
    #[default]
    Tail,
    /// The oldest.
    Head,
}

/// CoDel parameters (RFC 8289 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codel {
    /// Acceptable standing sojourn time.
    pub target_us: u32,
    /// Sliding window, about a worst-case RTT.
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them (RFC 8289 §3, RFC 8290 §5.1.3).
    pub ecn: bool,
    /// Mark ECN-capable packets above this sojourn (RFC 8290 §4.2 ce_threshold).
    pub ce_threshold_us: Option<u32>,
    /// ECT(1) packets are marked by `ce_threshold_us` alone and not subject to CoDel.
    pub l4s: bool,
}

/// Bound on all queues of a pipeline together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferLimit {
    /// Packets.
    pub packets: u32,
    /// Bytes.
    pub bytes: u32,
    /// Who pays at the limit.
    pub overflow: Overflow,
}

/// What is dropped when the whole buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The arriving packet.
    #[default]
    Tail,
    /// The head of the queue with most bytes (RFC 8290 §4.1).
    FattestHead,
}

/// Stage 2: a token bucket in front of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// Committed rate.
    pub rate_kbps: u32,
    /// Bucket depth.
    pub burst_bytes: u32,
    /// What happens to excess packets.
    pub exceed: ExceedAction,
}

/// What a policer does with a packet above the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceedAction {
    /// Drop it.
    Drop,
    /// Send it to another queue.
    Deviate {
        /// That queue.
        queue: QueueId,
    },
    /// Rewrite its DSCP.
    Remark {
        /// New DSCP, 0..=63.
        dscp: u8,
    },
}

/// Stage 5: a token bucket behind a queue; queues of one group share a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shaper {
    /// Rate.
    pub rate_kbps: u32,
    /// Bucket depth.
    pub burst_bytes: u32,
    /// Shapers with the same group share one bucket.
    pub group: Option<u16>,
}

/// Stage 4: which queue next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Packet by packet in turn.
    RoundRobin,
    /// Deficit round robin with new and old lists (RFC 8290 §4).
    DeficitRoundRobin {
        /// Bytes a queue may send per turn.
        quantum_bytes: u32,
    },
    /// Strict priority; queues not listed come last, by id.
    StrictPriority {
        /// Targets from highest to lowest priority.
        order: Vec<QueueTarget>,
    },
    /// Deficit round robin with a weight per queue.
    Weighted {
        /// Bytes per unit of weight and turn.
        quantum_bytes: u32,
        /// Weight of the queues of each target, 1..=255; 1 when not listed.
        weights: Vec<QueueWeight>,
    },
    /// The L queue first, unless C has waited `time_shift_us` longer (RFC 9332 §4.2.2).
    ConditionalPriority {
        /// L queue.
        l4s: QueueId,
        /// C queue.
        classic: QueueId,
        /// Time shift.
        time_shift_us: u32,
    },
    /// Earliest deadline first: arrival time plus the queue's budget.
    EarliestDeadlineFirst {
        /// Delay budget of the queues of each target.
        budgets: Vec<QueueBudget>,
    },
}

/// A weight of the weighted scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueWeight {
    /// Queues.
    pub target: QueueTarget,
    /// Share relative to 1.
    pub weight: u8,
}

/// A delay budget of the EDF scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueBudget {
    /// Queues.
    pub target: QueueTarget,
    /// Budget.
    pub budget_us: u32,
}

/// Stage 6: how much the RLC buffer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacer {
    /// Everything at once.
    None,
    /// 5G-BDP ([24] of irazabal2021, constants of irazabal2024's prototype).
    Bdp5g,
    /// e5G-BDP (irazabal2021, Algorithms 1–3).
    E5gBdp,
    /// DRQL: keep about one MTU in the RLC after each TTI (irazabal2021 §V-D, stolidis2024 §II).
    Drql {
        /// MTU in bytes.
        mtu_bytes: u16,
    },
    /// Dynamic queue limit over a fixed number of bytes in the RLC.
    Dql {
        /// Lowest limit.
        min_bytes: u32,
        /// Highest limit.
        max_bytes: u32,
    },
    /// DynRLC (kumar2018; irazabal2021 §V-D).
    DynRlc {
        /// Update period.
        interval_us: u32,
        /// Delay target.
        target_us: u32,
        /// Fewest SDUs.
        min_sdus: u16,
        /// Most SDUs.
        max_sdus: u16,
        /// α in thousandths.
        alpha_milli: u16,
    },
    /// Enhanced bearer buffer, kumar2018's successor.
    Ebb {
        /// Delay target.
        target_us: u32,
    },
    /// Pacing between UPF and SDAP.
    UpfSdap,
    /// By forecast occupancy, limit and drain, minus what is in flight on F1.
    Forecast {
        /// Without a forecast for this long, DRQL on the last report is used.
        stale_us: u32,
    },
}

// ------------------------------------------------------------------- control

/// RIC control header: style 1 pipeline, 2 lease, 3 forecast feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlHeader {
    /// Control style.
    pub style: u8,
    /// Opaque to the RAN function, echoed in events and logs.
    pub correlation_id: u32,
}

/// RIC control message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlMessage {
    /// Style 1: all of it or nothing of it.
    Transaction(Transaction),
    /// Style 2: keep the current pipeline.
    LeaseRenewal(LeaseRenewal),
    /// Style 3: what the RLC will be.
    ForecastFeed(ForecastFeed),
}

/// An atomic change of one bearer's pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    /// Whose pipeline.
    pub bearer: BearerId,
    /// Refused with `stale_revision` unless this is the current one; unchecked when absent.
    pub expected_revision: Option<u32>,
    /// After this long without renewal the safe pipeline returns; for ever when absent.
    pub lease_ms: Option<u32>,
    /// Check and answer, change nothing.
    pub dry_run: bool,
    /// The change.
    pub change: PipelineChange,
}

/// What a transaction does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineChange {
    /// Install this pipeline.
    Replace(Pipeline),
    /// Edit the current one; edits apply in order, all or none.
    Delta(Vec<PipelineEdit>),
    /// Return to the safe pipeline now.
    Safe,
}

/// One edit of a delta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PipelineEdit {
    /// Replace stage 1.
    SetClassifier(Classifier),
    /// Insert a filter before the one at this position of the OSI classifier (0 is first).
    AddFilter {
        /// Position.
        position: u16,
        /// Filter.
        filter: Filter,
    },
    /// Remove a filter of the OSI classifier.
    RemoveFilter(FilterId),
    /// Add queues; their ids must be free.
    AddQueues(QueueSet),
    /// Change discipline, limits, policer and shaper of existing queues; packets stay.
    ModifyQueues(QueueSet),
    /// Remove queues; their packets move, in order, to what the classifier now says.
    RemoveQueues(QueueTarget),
    /// Replace stage 4.
    SetScheduler(Scheduler),
    /// Replace stage 6.
    SetPacer(Pacer),
    /// Replace the buffer limit.
    SetBuffer(BufferLimit),
    /// Rename the composition.
    SetName(String),
}

/// Keeps a leased pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRenewal {
    /// Whose pipeline.
    pub bearer: BearerId,
    /// Must be the current revision.
    pub revision: u32,
    /// New lease, from now.
    pub lease_ms: u32,
}

/// Forecasts of RLC state, for pacers ahead of the DU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastFeed {
    /// At most 256 bearers.
    pub bearers: Vec<BearerForecast>,
}

/// Forecast of one bearer: values at `origin + horizon_start + k · step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BearerForecast {
    /// The bearer.
    pub bearer: BearerId,
    /// Time of the newest sample it rests on, µs since the Unix epoch.
    pub origin_us: u64,
    /// From origin to the first point.
    pub horizon_start_us: u32,
    /// Between points.
    pub step_us: u32,
    /// RLC occupancy in bytes, 1..=64 points.
    pub occupancy_bytes: Vec<u32>,
    /// Queue limit in bytes; empty or as many points.
    pub limit_bytes: Vec<u32>,
    /// Bytes drained per step; empty or as many points.
    pub drain_bytes: Vec<u32>,
}

/// RIC control outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlOutcome {
    /// Done (or, in a dry run, would be).
    Accepted {
        /// Revision now in force.
        revision: u32,
        /// Lease in force, ms from now; for ever when absent.
        lease_ms: Option<u32>,
    },
    /// Nothing changed.
    Refused {
        /// Why.
        cause: Cause,
        /// The offending element, as a path such as `queues[2].shaper.rate_kbps`.
        element: String,
        /// What was expected, for people.
        detail: String,
        /// Revision in force; absent when the bearer is unknown.
        revision: Option<u32>,
    },
}

/// Why a control was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// No such UE or DRB (any more).
    UnknownBearer,
    /// `expected_revision` is not the current revision.
    StaleRevision,
    /// No such queue.
    UnknownQueue,
    /// No such filter.
    UnknownFilter,
    /// The id is taken.
    DuplicateId,
    /// A value outside its range.
    OutOfRange,
    /// Stages that do not fit together, e.g. a target without queue.
    Inconsistent,
    /// A kind this RAN function does not have.
    Unsupported,
    /// More queues, filters or bearers than this RAN function holds.
    Capacity,
    /// The message could not be decoded.
    Malformed,
}

// -------------------------------------------------------- triggers and reports

/// RIC event trigger definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventTrigger {
    /// Every `period_ms`.
    Periodic {
        /// Period, 1..=60000.
        period_ms: u32,
    },
    /// When a quantity of a bearer crosses a threshold, at most every `min_interval_ms`.
    Threshold {
        /// Quantity.
        quantity: Quantity,
        /// Fires when above.
        above: u32,
        /// Re-arms when below `above − hysteresis`.
        hysteresis: u32,
        /// Least time between two reports.
        min_interval_ms: u32,
    },
    /// When a pipeline, a lease or a revision changes.
    OnChange,
}

/// A quantity a threshold can watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Age of the oldest packet in the pipeline, µs.
    HeadOfLineAgeUs,
    /// Mean sojourn in the pipeline, µs.
    MeanSojournUs,
    /// Bytes in the pipeline.
    BacklogBytes,
    /// Packets dropped since the last report.
    Drops,
}

/// RIC action definition: what to report of which bearers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionDefinition {
    /// Report style.
    pub style: ReportStyle,
    /// Bearers; all when empty.
    pub bearers: Vec<BearerId>,
    /// Flow inventory: flows per bearer, 1..=256.
    pub top_flows: u16,
}

/// Report styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportStyle {
    /// Style 1.
    PipelineStatus,
    /// Style 2.
    FlowInventory,
    /// Style 3.
    Events,
}

/// RIC indication header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndicationHeader {
    /// When the report was taken, µs since the Unix epoch.
    pub collected_at_us: u64,
}

/// RIC indication message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndicationMessage {
    /// Style 1.
    PipelineStatus(Vec<PipelineStatus>),
    /// Style 2.
    FlowInventory(Vec<FlowInventory>),
    /// Style 3.
    Events(Vec<Event>),
}

/// State of one bearer's pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineStatus {
    /// The bearer.
    pub bearer: BearerId,
    /// Revision in force; grows by one with each change.
    pub revision: u32,
    /// Name of the composition in force.
    pub name: String,
    /// Whether it is the safe pipeline.
    pub safe: bool,
    /// Lease left, ms; absent without lease.
    pub lease_left_ms: Option<u32>,
    /// Age of the oldest packet, µs; 0 when empty.
    pub head_of_line_age_us: u32,
    /// Queues with a backlog or traffic since the last report, at most 256, by backlog.
    pub queues: Vec<QueueStatus>,
    /// Pacer.
    pub pacer: PacerStatus,
    /// Packets that arrived at the pipeline, cumulative.
    pub ingress_packets: u64,
    /// Bytes that arrived, cumulative.
    pub ingress_bytes: u64,
    /// Packets dropped by policers, queues and overflow, cumulative.
    pub dropped_packets: u64,
}

/// State of one queue with its policer and shaper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Queue.
    pub id: QueueId,
    /// Bytes queued.
    pub backlog_bytes: u32,
    /// Packets queued.
    pub backlog_packets: u32,
    /// Forwarded, cumulative.
    pub forwarded_packets: u64,
    /// Forwarded, cumulative.
    pub forwarded_bytes: u64,
    /// Dropped by the discipline or a limit, cumulative.
    pub dropped_packets: u64,
    /// CE-marked, cumulative.
    pub marked_packets: u64,
    /// Dropped, deviated or remarked by the policer, cumulative.
    pub policed_packets: u64,
    /// Mean sojourn over 100 ms, µs.
    pub mean_sojourn_us: u32,
    /// Sojourn of the last packet, µs.
    pub last_sojourn_us: u32,
    /// Whether the shaper holds the queue back now.
    pub shaped: bool,
}

/// State of the pacer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PacerStatus {
    /// Drain rate of the RLC as the pacer sees it, kbit/s.
    pub drain_kbps: u32,
    /// RLC occupancy as last told, bytes.
    pub rlc_occupancy_bytes: u32,
    /// Bytes handed to the RLC, cumulative.
    pub forwarded_bytes: u64,
}

/// Flows of one bearer, largest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowInventory {
    /// The bearer.
    pub bearer: BearerId,
    /// Flows seen in the window.
    pub active_flows: u32,
    /// Measuring window.
    pub window_ms: u32,
    /// The top flows by bytes.
    pub flows: Vec<FlowRecord>,
}

/// One flow of the inventory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// 5-tuple.
    pub flow: FiveTuple,
    /// QFI.
    pub qfi: Option<u8>,
    /// DSCP.
    pub dscp: u8,
    /// ECN codepoint of its last packet.
    pub ecn: Ecn,
    /// Arrival rate over the window, kbit/s.
    pub rate_kbps: u32,
    /// Mean packet size, bytes.
    pub mean_packet_bytes: u16,
    /// Bytes queued now.
    pub backlog_bytes: u32,
    /// Queue its last packet went to.
    pub queue: QueueId,
}

/// A 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FiveTuple {
    /// Source address.
    pub source: std::net::IpAddr,
    /// Destination address.
    pub destination: std::net::IpAddr,
    /// Source port, 0 where the protocol has none.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The bearer.
    pub bearer: BearerId,
    /// When, µs since the Unix epoch.
    pub at_us: u64,
    /// What.
    pub kind: EventKind,
}

/// Kinds of event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A transaction took effect.
    PipelineChanged {
        /// New revision.
        revision: u32,
        /// New name.
        name: String,
    },
    /// A lease ended; the safe pipeline is back.
    LeaseExpired {
        /// New revision.
        revision: u32,
    },
    /// A watched quantity crossed its threshold.
    ThresholdCrossed {
        /// Quantity.
        quantity: Quantity,
        /// Its value.
        value: u32,
    },
    /// A bearer came.
    BearerAdded,
    /// A bearer went.
    BearerRemoved,
}

// -------------------------------------------------------------- RAN function

/// RAN function definition: what this RAN function is and can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RanFunctionDefinition {
    /// `ORAN-E2SM-TC`.
    pub short_name: String,
    /// Object identifier of the service model.
    pub oid: String,
    /// For people.
    pub description: String,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// Declared capabilities. Names are the snake_case names of the enum variants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Classifier kinds.
    pub classifiers: Vec<String>,
    /// Queue kinds.
    pub queues: Vec<String>,
    /// Scheduler kinds.
    pub schedulers: Vec<String>,
    /// Pacer kinds.
    pub pacers: Vec<String>,
    /// Whether policers work.
    pub policer: bool,
    /// Whether shapers work.
    pub shaper: bool,
    /// Most queues per pipeline.
    pub max_queues: u16,
    /// Most filters per classifier.
    pub max_filters: u16,
    /// Most bearers.
    pub max_bearers: u32,
    /// Shortest report period.
    pub min_period_ms: u32,
}
