//! Types of the gNB's E2 interface: subscriptions, indications, controls and their errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use e2sm_tc::v1;
use thiserror::Error;

/// A service model this gNB offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RanFunction {
    /// E2SM-KPM, as a typed report.
    Kpm,
    /// FlexRIC's MAC statistics, plain encoding.
    Mac,
    /// FlexRIC's RLC statistics, plain encoding.
    Rlc,
    /// E2SM-TC v0, FlexRIC's plain encoding.
    TcV0,
    /// E2SM-TC v1, aligned PER.
    TcV1,
}

impl RanFunction {
    /// Every RAN function, by id.
    pub const ALL: [Self; 5] = [Self::Kpm, Self::Mac, Self::Rlc, Self::TcV0, Self::TcV1];

    /// RAN function id, FlexRIC's where FlexRIC has one.
    pub const fn id(self) -> u32 {
        match self {
            Self::Kpm => 2,
            Self::Mac => 142,
            Self::Rlc => 143,
            Self::TcV0 => 146,
            Self::TcV1 => 1146,
        }
    }

    /// Service model OID.
    pub const fn oid(self) -> &'static str {
        match self {
            Self::Kpm => "1.3.6.1.4.1.53148.1.2.2.2",
            Self::Mac => "0.0.0.0.0.0.0.0.1.142.0",
            Self::Rlc => "0.0.0.0.0.0.0.0.1.143.0",
            Self::TcV0 => "0.0.0.0.0.0.0.0.1.146.0",
            Self::TcV1 => "0.0.0.0.0.0.0.0.1.146.1",
        }
    }

    /// Revision of the RAN function.
    pub const fn revision(self) -> u32 {
        1
    }

    /// The RAN function of an OID.
    pub fn by_oid(oid: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.oid() == oid)
    }
}

/// An E2 node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeInfo {
    /// Unique name, e.g. `gnb-001-01-0xe00`.
    pub id: String,
    /// Mobile country code.
    pub mcc: u32,
    /// Mobile network code.
    pub mnc: u32,
    /// gNB id.
    pub nb_id: u64,
    /// RAN functions of the E2 setup.
    pub ran_functions: Vec<RanFunctionInfo>,
}

/// A RAN function of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanFunctionInfo {
    /// The RAN function.
    pub function: RanFunction,
    /// RAN function definition in the service model's encoding; empty if the model has none.
    pub definition: Bytes,
}

/// A RIC subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SubscriptionRequest {
    /// The node, by [`NodeInfo::id`].
    pub node_id: String,
    /// OID of the RAN function.
    pub ran_function_oid: String,
    /// RIC event trigger definition: that of E2SM-TC v1 for TC v1, otherwise u32 little-endian
    /// milliseconds.
    pub event_trigger: Bytes,
    /// RIC action definitions; empty except for TC v1.
    pub action_definitions: Vec<Bytes>,
    /// Measurement names of KPM; empty selects all.
    pub kpm_measurements: Vec<String>,
}

impl SubscriptionRequest {
    /// A report every `period_ms`, without actions. The RAN function checks the period.
    pub fn periodic(node_id: &str, function: RanFunction, period_ms: u32) -> Self {
        Self {
            node_id: node_id.to_owned(),
            ran_function_oid: function.oid().to_owned(),
            event_trigger: periodic_trigger(function.oid(), period_ms),
            ..Self::default()
        }
    }
}

/// Identifies a subscription of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u64);

/// A request that no RAN function can receive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RouteError {
    /// No such node.
    #[error("node_id: no node {node_id:?} is connected; expected one of ListNodes")]
    UnknownNode {
        /// Value of the request.
        node_id: String,
    },
    /// The node lacks the RAN function.
    #[error(
        "ran_function_oid: node {node_id:?} has no RAN function {oid:?}; expected one of {}",
        known_oids()
    )]
    UnknownRanFunction {
        /// The node.
        node_id: String,
        /// Value of the request.
        oid: String,
    },
}

fn known_oids() -> String {
    RanFunction::ALL.map(|function| function.oid()).join(", ")
}

/// Why a subscription is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubscribeError {
    /// Unknown node or RAN function.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A part of the request is beyond its bound.
    #[error("{element}: {found} {unit}; expected at most {limit}")]
    TooLarge {
        /// The part.
        element: String,
        /// Its size or count.
        found: usize,
        /// The bound.
        limit: usize,
        /// Unit of both.
        unit: &'static str,
    },
    /// Invalid event trigger.
    #[error("event trigger: {message}")]
    EventTrigger {
        /// Value and expectation.
        message: String,
    },
    /// Invalid action definition.
    #[error("action definition {index}: {message}")]
    ActionDefinition {
        /// Position among the action definitions.
        index: usize,
        /// Value and expectation.
        message: String,
    },
    /// The RAN function reports to subscriptions only.
    #[error(
        "ran_function_oid: {oid} has no report without a subscription; expected RLC, MAC, or E2SM-TC \
         v0 of a node with one bearer"
    )]
    NoReportNow {
        /// Value of the request.
        oid: String,
    },
}

/// Output of the E2 agent while the world steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A report of a subscription.
    Indication(Indication),
    /// The answer to a submitted control.
    ControlDone {
        /// Ticket of the control.
        ticket: ControlTicket,
        /// The answer.
        reply: ControlReply,
    },
}

/// A report of a RAN function.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// RIC indication header.
    pub header: Bytes,
    /// RIC indication message.
    pub payload: Payload,
    /// Time at which the report was taken, µs since the Unix epoch.
    pub collected_at_us: u64,
}

impl Report {
    /// Bytes of header and content, with the names of KPM: what a copy takes in memory or in a message.
    pub fn len_bytes(&self) -> usize {
        let content = match &self.payload {
            Payload::Message(bytes) => bytes.len(),
            Payload::Kpm(report) => report.len_bytes(),
        };
        self.header.len() + content
    }
}

/// What the reports of a subscription take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportLoad {
    /// Bytes of one report.
    pub report_bytes: u64,
    /// Reports per second.
    pub reports_per_s: f64,
}

/// A RIC indication.
#[derive(Clone, Debug, PartialEq)]
pub struct Indication {
    /// Its subscription.
    pub subscription: SubscriptionId,
    /// Its RAN function.
    pub ran_function: RanFunction,
    /// Number among the indications of the subscription, from 0.
    pub sequence: u64,
    /// Header and message.
    pub report: Report,
    /// Time at which it reaches the RIC (T_RD later), µs since the Unix epoch.
    pub received_at_us: u64,
}

/// Message of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// A message in the service model's encoding.
    Message(Bytes),
    /// A typed KPM report.
    Kpm(KpmReport),
}

/// A KPM report, with the names and units of OAI.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KpmReport {
    /// Granularity period.
    pub period_ms: u32,
    /// A row per UE.
    pub ues: Vec<KpmUe>,
    /// Requested measurements that this node lacks; shared by the reports of a subscription.
    pub unsupported: Arc<[String]>,
}

/// KPM of one UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KpmUe {
    /// C-RNTI.
    pub rnti: u16,
    /// Value by measurement name.
    pub values: BTreeMap<&'static str, f64>,
}

/// A RIC control.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlRequest {
    /// The node, by [`NodeInfo::id`].
    pub node_id: String,
    /// OID of the RAN function.
    pub ran_function_oid: String,
    /// RIC control header.
    pub header: Bytes,
    /// RIC control message.
    pub message: Bytes,
}

/// Identifies a control in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlTicket(pub u64);

/// The RAN function's answer to a RIC control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlReply {
    /// Whether it took effect (or would, in a dry run); otherwise a RIC control failure.
    pub acknowledged: bool,
    /// RIC control outcome in the service model's encoding.
    pub outcome: Bytes,
    /// Cause of a failure: the name of an E2SM-TC v1 cause, or `unnamed` from v0.
    pub cause: Option<&'static str>,
    /// Description of the failure; empty if acknowledged.
    pub detail: String,
}

/// Why a control reaches no RAN function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// Unknown node or RAN function.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A RAN function that only reports.
    #[error("RAN function {} ({}) takes no control", function.id(), function.oid())]
    NotControllable {
        /// The RAN function.
        function: RanFunction,
    },
}

/// RIC event trigger for a report every `period_ms`. The RAN function checks the period.
pub fn periodic_trigger(ran_function_oid: &str, period_ms: u32) -> Bytes {
    let v1 = (ran_function_oid == RanFunction::TcV1.oid())
        .then(|| v1::encode(&v1::EventTrigger::Periodic { period_ms }).ok())
        .flatten();
    v1.unwrap_or_else(|| period_ms.to_le_bytes().to_vec()).into()
}
