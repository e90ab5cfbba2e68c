//! RIC event trigger, action definition and indication.

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Problem, Violation, at_least};
use crate::v1::per::*;

use super::addressing::each_once;
use super::{BearerId, BearerQos, Ecn, Owner, PipelineName, QueueId};

choice! {
    /// RIC event trigger definition.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum EventTrigger { ...
        /// One report per period.
        0 periodic => Periodic {
            /// Period, 1..=60000.
            period_ms: u32 as Int<1, 60_000>,
        },
        /// When a quantity of a bearer crosses a threshold, at most every `min_interval_ms`.
        1 threshold => Threshold {
            /// Quantity.
            quantity: Quantity,
            /// Fires above this value.
            above: u32,
            /// Re-arms below `above − hysteresis`.
            hysteresis: u32,
            /// Minimum time between two reports.
            min_interval_ms: u32,
        },
        /// When a pipeline, a lease or a revision changes.
        2 on_change => OnChange,
    }
    check rearms_above_zero
}

fn rearms_above_zero(trigger: &EventTrigger) -> Result<(), Violation> {
    match *trigger {
        EventTrigger::Threshold { above, hysteresis, .. } => {
            at_least("threshold.above", above, hysteresis)
        }
        EventTrigger::Periodic { .. } | EventTrigger::OnChange => Ok(()),
    }
}

enumerated! {
    /// Quantity of a threshold trigger.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum Quantity { ...
        /// Age of the oldest packet in the pipeline, µs.
        0 "head_of_line_age_us" => HeadOfLineAgeUs,
        /// Mean sojourn in the pipeline, µs.
        1 "mean_sojourn_us" => MeanSojournUs,
        /// Bytes in the pipeline.
        2 "backlog_bytes" => BacklogBytes,
        /// Packets dropped since the last report.
        3 "drops" => Drops,
    }
}

sequence! {
    /// RIC action definition: what to report of which bearers.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ActionDefinition { ...
        /// Report style.
        style: ReportStyle,
        /// Bearers; all if empty.
        bearers: Vec<BearerId> as ListOf<BearerId, 0, 4096>,
        /// Flow inventory: flows per bearer, 1..=256.
        top_flows: u16 as Int<1, 256>,
    }
    check bearers_once
}

fn bearers_once(definition: &ActionDefinition) -> Result<(), Violation> {
    each_once(definition.bearers.iter().copied())
        .map_err(|(index, violation)| violation.at_index(index).within("bearers"))
}

enumerated! {
    /// Report styles.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ReportStyle { ...
        /// Style 1.
        0 "pipeline_status" => PipelineStatus,
        /// Style 2.
        1 "flow_inventory" => FlowInventory,
        /// Style 3.
        2 "events" => Events,
    }
}

sequence! {
    /// RIC indication header.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct IndicationHeader { ...
        /// Time of collection, µs since the Unix epoch.
        collected_at_us: u64,
    }
}

choice! {
    /// RIC indication message.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum IndicationMessage { ...
        /// Style 1.
        0 pipeline_status => PipelineStatus(Vec<PipelineStatus> as ReportOf<PipelineStatus, 0, 4096>),
        /// Style 2.
        1 flow_inventory => FlowInventory(Vec<FlowInventory> as ReportOf<FlowInventory, 0, 4096>),
        /// Style 3.
        2 events => Events(Vec<Event> as ReportOf<Event, 0, 4096>),
    }
}

sequence! {
    /// State of one bearer's pipeline.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PipelineStatus { ...
        /// The bearer.
        bearer: BearerId,
        /// Revision in force; grows by one with each change.
        revision: u32,
        /// Name of the composition in force.
        name: String as PipelineName,
        /// [`digest`](crate::v1::digest) of the pipeline in force.
        digest: Option<u32>,
        /// Whether it is the safe pipeline.
        safe: bool,
        /// Remaining lease, ms; absent without lease.
        lease_left_ms: Option<u32>,
        /// Who installed it; absent for the safe pipeline and where the transaction named nobody.
        owner: Option<String> as Option<Owner>,
        /// Age of the oldest packet, µs; 0 if empty.
        head_of_line_age_us: u32,
        /// Queues with a backlog or traffic since the last report, at most 256, by backlog.
        queues: Vec<QueueStatus> as ListOf<QueueStatus, 0, 256>,
        /// Pacer.
        pacer: PacerStatus,
        /// Packets that arrived at the pipeline, cumulative.
        ingress_packets: u64,
        /// Bytes that arrived, cumulative.
        ingress_bytes: u64,
        /// Packets dropped by policers, queues and overflow, cumulative.
        dropped_packets: u64,
        ...
        /// Rule of the node default that the bearer was set up with, if that pipeline is still in
        /// force.
        by_default: Option<ByDefault>,
        /// What it carries; absent where the node does not know.
        qos: Option<BearerQos>,
        /// QoS flows that it carries in the downlink; absent where they cannot be mapped to other
        /// DRBs.
        qos_flows: Option<QosFlows>,
    }
}

sequence! {
    /// QoS flows of a bearer.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QosFlows { ...
        /// Revision of the UE's mapping; grows by one with each change.
        revision: u32,
        /// Their identifiers, in order.
        qfis: Vec<u8> as ListOf<Int<0, 63>, 0, 64>,
    }
}

sequence! {
    /// Origin of a pipeline that a bearer was set up with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ByDefault { ...
        /// Revision of the node default.
        revision: u32,
        /// Position of its rule, from 0.
        rule: u8 as Int<0, 15>,
        /// Time since the bearer was set up, ms.
        age_ms: u32,
    }
}

sequence! {
    /// State of one queue with its policer and shaper.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueStatus { ...
        /// Queue.
        id: QueueId,
        /// Bytes queued.
        backlog_bytes: u32,
        /// Packets queued.
        backlog_packets: u32,
        /// Forwarded, cumulative.
        forwarded_packets: u64,
        /// Forwarded, cumulative.
        forwarded_bytes: u64,
        /// Dropped by the discipline or a limit, cumulative.
        dropped_packets: u64,
        /// CE-marked, cumulative.
        marked_packets: u64,
        /// Dropped, deviated or remarked by the policer, cumulative.
        policed_packets: u64,
        /// Mean sojourn over 100 ms, µs.
        mean_sojourn_us: u32,
        /// Sojourn of the last packet, µs.
        last_sojourn_us: u32,
        /// Whether the shaper blocks the queue now.
        shaped: bool,
    }
}

sequence! {
    /// State of the pacer.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PacerStatus { ...
        /// Drain rate of the RLC measured by the pacer, kbit/s.
        drain_kbps: u32,
        /// Last reported RLC occupancy, bytes.
        rlc_occupancy_bytes: u32,
        /// Bytes handed to the RLC, cumulative.
        forwarded_bytes: u64,
        /// Current limit on the RLC buffer; absent for pacers without limit.
        limit_bytes: Option<u32>,
        /// Whether a forecast is used now; absent for pacers that do not use forecasts.
        by_forecast: Option<bool>,
    }
}

sequence! {
    /// Flows of one bearer, largest first.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowInventory { ...
        /// The bearer.
        bearer: BearerId,
        /// Flows seen in the window.
        active_flows: u32,
        /// Measuring window.
        window_ms: u32,
        /// The top flows by bytes.
        flows: Vec<FlowRecord> as ListOf<FlowRecord, 0, 256>,
    }
}

sequence! {
    /// One flow of the inventory.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowRecord { ...
        /// 5-tuple.
        flow: FiveTuple,
        /// QFI.
        qfi: Option<u8> as Option<Int<0, 63>>,
        /// DSCP.
        dscp: u8 as Int<0, 63>,
        /// ECN codepoint of its last packet.
        ecn: Ecn,
        /// Arrival rate over the window, kbit/s.
        rate_kbps: u32,
        /// Mean packet size, bytes.
        mean_packet_bytes: u16,
        /// Bytes queued now.
        backlog_bytes: u32,
        /// Queue its last packet went to.
        queue: QueueId,
        ...
        /// What the scheduler `inelastic_first` decided about its queue; absent for other flows.
        inelastic: Option<Inelastic>,
    }
}

enumerated! {
    /// Whether a flow goes first as inelastic, or why not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Inelastic { ...
        /// It goes first.
        0 "admitted" => Admitted,
        /// Its rate, with the lower ones of others, exceeds the part.
        1 "over_part" => OverPart,
        /// It sent more once it went first, or a flow in its queue did.
        2 "grew" => Grew,
        /// It is marked and is not known to keep its rate.
        3 "unsteady" => Unsteady,
    }
}

sequence! {
    /// A 5-tuple.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FiveTuple {
        /// Source address.
        source: std::net::IpAddr,
        /// Destination address.
        destination: std::net::IpAddr,
        /// Source port, 0 where the protocol has none.
        source_port: u16,
        /// Destination port.
        destination_port: u16,
        /// IP protocol number.
        protocol: u8,
    }
}

sequence! {
    /// An event.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Event { ...
        /// The bearer.
        bearer: BearerId,
        /// Time, µs since the Unix epoch.
        at_us: u64,
        /// Kind.
        kind: EventKind,
    }
}

choice! {
    /// Kinds of event.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum EventKind { ...
        /// A transaction took effect.
        0 pipeline_changed => PipelineChanged {
            /// New revision.
            revision: u32,
            /// New name.
            name: String as PipelineName,
        },
        /// A lease ended; the safe pipeline is back.
        1 lease_expired => LeaseExpired {
            /// New revision.
            revision: u32,
        },
        /// A quantity exceeded the threshold of a trigger.
        2 threshold_crossed => ThresholdCrossed {
            /// Quantity.
            quantity: Quantity,
            /// Its value.
            value: u32,
        },
        /// A bearer was set up.
        3 bearer_added => BearerAdded,
        /// A bearer was released.
        4 bearer_removed => BearerRemoved,
        /// The pacer now uses forecasts, or its own measurements again.
        5 pacing_changed => PacingChanged {
            /// Whether it uses forecasts.
            by_forecast: bool,
        },
    }
}
