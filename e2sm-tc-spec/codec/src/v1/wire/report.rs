//! RIC event trigger, action definition, indication and RAN function definition.

use crate::error::{DecodeError, EncodeError, Problem};
use crate::v1::model::*;
use crate::v1::per::*;

use super::{Id, Name};

choice!(EventTrigger { ...
    0 periodic => Periodic { period_ms: Int<1, 60_000> },
    1 threshold => Threshold {
        quantity: Quantity,
        above: U32,
        hysteresis: U32,
        min_interval_ms: U32,
    },
    2 on_change => OnChange(),
});

enumerated!(Quantity { ...
    0 "head_of_line_age_us" => HeadOfLineAgeUs,
    1 "mean_sojourn_us" => MeanSojournUs,
    2 "backlog_bytes" => BacklogBytes,
    3 "drops" => Drops,
});

sequence!(ActionDefinition { ...
    style: ReportStyle,
    bearers: ListOf<BearerId, 0, 4096>,
    top_flows: Int<1, 256>,
});

enumerated!(ReportStyle { ...
    0 "pipeline_status" => PipelineStatus,
    1 "flow_inventory" => FlowInventory,
    2 "events" => Events,
});

sequence!(IndicationHeader { ... collected_at_us: U64 });

choice!(IndicationMessage { ...
    0 pipeline_status => PipelineStatus(ListOf<PipelineStatus, 0, 4096>),
    1 flow_inventory => FlowInventory(ListOf<FlowInventory, 0, 4096>),
    2 events => Events(ListOf<Event, 0, 4096>),
});

sequence!(PipelineStatus { ...
    bearer: BearerId,
    revision: U32,
    name: Name,
    safe: Bool,
    lease_left_ms: Opt<U32>,
    head_of_line_age_us: U32,
    queues: ListOf<QueueStatus, 0, 256>,
    pacer: PacerStatus,
    ingress_packets: U64,
    ingress_bytes: U64,
    dropped_packets: U64,
});

sequence!(QueueStatus { ...
    id: Id,
    backlog_bytes: U32,
    backlog_packets: U32,
    forwarded_packets: U64,
    forwarded_bytes: U64,
    dropped_packets: U64,
    marked_packets: U64,
    policed_packets: U64,
    mean_sojourn_us: U32,
    last_sojourn_us: U32,
    shaped: Bool,
});

sequence!(PacerStatus { ...
    drain_kbps: U32,
    rlc_occupancy_bytes: U32,
    forwarded_bytes: U64,
    limit_bytes: Opt<U32>,
    by_forecast: Opt<Bool>,
});

sequence!(FlowInventory { ...
    bearer: BearerId,
    active_flows: U32,
    window_ms: U32,
    flows: ListOf<FlowRecord, 0, 256>,
});

sequence!(FlowRecord { ...
    flow: FiveTuple,
    qfi: Opt<Int<0, 63>>,
    dscp: Int<0, 63>,
    ecn: Ecn,
    rate_kbps: U32,
    mean_packet_bytes: U16,
    backlog_bytes: U32,
    queue: Id,
});

sequence!(Event { ... bearer: BearerId, at_us: U64, kind: EventKind });

choice!(EventKind { ...
    0 pipeline_changed => PipelineChanged { revision: U32, name: Name },
    1 lease_expired => LeaseExpired { revision: U32 },
    2 threshold_crossed => ThresholdCrossed { quantity: Quantity, value: U32 },
    3 bearer_added => BearerAdded(),
    4 bearer_removed => BearerRemoved(),
    5 pacing_changed => PacingChanged { by_forecast: Bool },
});

sequence!(RanFunctionDefinition { ...
    short_name: Visible<1, 32>,
    oid: Visible<1, 128>,
    description: Utf8<255>,
    capabilities: Capabilities,
});

sequence!(Capabilities { ...
    classifiers: Kinds,
    queues: Kinds,
    schedulers: Kinds,
    pacers: Kinds,
    policer: Bool,
    shaper: Bool,
    max_queues: U16,
    max_filters: U16,
    max_bearers: U32,
    min_period_ms: U32,
});

/// `KindList`.
type Kinds = ListOf<Visible<1, 64>, 0, 64>;
