//! RIC event trigger, action definition and indication.

use serde::{Deserialize, Serialize};

use super::{BearerId, Ecn, QueueId};

/// RIC event trigger definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
pub struct IndicationHeader {
    /// When the report was taken, µs since the Unix epoch.
    pub collected_at_us: u64,
}

/// RIC indication message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
pub struct PacerStatus {
    /// Drain rate of the RLC as the pacer sees it, kbit/s.
    pub drain_kbps: u32,
    /// RLC occupancy as last told, bytes.
    pub rlc_occupancy_bytes: u32,
    /// Bytes handed to the RLC, cumulative.
    pub forwarded_bytes: u64,
    /// Bytes it lets stand in the RLC buffer now; absent without a limit.
    pub limit_bytes: Option<u32>,
    /// Whether it goes by a forecast now; absent for a pacer that takes none.
    pub by_forecast: Option<bool>,
}

/// Flows of one bearer, largest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
#[serde(rename_all = "snake_case", deny_unknown_fields)]
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
    /// The pacer goes by a forecast, or fell back on what it measures itself.
    PacingChanged {
        /// Whether by a forecast.
        by_forecast: bool,
    },
}
