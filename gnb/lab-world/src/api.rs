//! What the outside asks of a [`World`](super::World) and gets from it: the E2 side of the gNB.

use std::collections::BTreeMap;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Readable and unique, e.g. `gnb-001-01-0xe00`.
    pub id: String,
    /// Mobile country code.
    pub mcc: u32,
    /// Mobile network code.
    pub mnc: u32,
    /// gNB id.
    pub nb_id: u64,
    /// What it offers.
    pub ran_functions: Vec<RanFunctionInfo>,
}

/// A RAN function of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanFunctionInfo {
    /// Which.
    pub function: RanFunction,
    /// RAN function definition in the service model's encoding; empty where the model has none.
    pub definition: Vec<u8>,
}

/// A RIC subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// OID of the RAN function.
    pub ran_function_oid: String,
    /// RIC event trigger definition: E2SM-TC v1's own for TC v1, otherwise u32 little-endian
    /// milliseconds.
    pub event_trigger: Vec<u8>,
    /// RIC action definitions; TC v1 alone has them.
    pub action_definitions: Vec<Vec<u8>>,
    /// KPM alone: measurement names, all when empty.
    pub kpm_measurements: Vec<String>,
}

/// A subscription of this world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriptionId(pub u64);

/// Why a subscription is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubscribeError {
    /// No such RAN function.
    #[error("no RAN function has OID '{oid}'; this node has {}", known_oids())]
    UnknownRanFunction {
        /// The OID asked for.
        oid: String,
    },
    /// The event trigger is not one.
    #[error("event trigger: {message}")]
    EventTrigger {
        /// What is wrong and what was expected.
        message: String,
    },
    /// An action definition is not one.
    #[error("action definition {index}: {message}")]
    ActionDefinition {
        /// Position among the action definitions.
        index: usize,
        /// What is wrong and what was expected.
        message: String,
    },
}

fn known_oids() -> String {
    RanFunction::ALL.map(|function| function.oid()).join(", ")
}

/// What happens at the E2 side while the world steps.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A report of a subscription.
    Indication(Indication),
    /// The answer to a control submitted before.
    ControlDone {
        /// Which control.
        ticket: ControlTicket,
        /// The answer.
        reply: ControlReply,
    },
}

/// A RIC indication.
#[derive(Clone, Debug, PartialEq)]
pub struct Indication {
    /// Whose.
    pub subscription: SubscriptionId,
    /// Of which RAN function.
    pub ran_function: RanFunction,
    /// Grows by one per indication of the subscription, from 0.
    pub sequence: u64,
    /// RIC indication header.
    pub header: Vec<u8>,
    /// RIC indication message.
    pub payload: Payload,
    /// When the report was taken, µs since the Unix epoch.
    pub collected_at_us: u64,
    /// When it reaches the RIC (T_RD later), µs since the Unix epoch.
    pub received_at_us: u64,
}

/// Body of an indication.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// In the service model's encoding.
    Message(Vec<u8>),
    /// KPM, typed.
    Kpm(KpmReport),
}

/// A KPM report: the names and units OAI serves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KpmReport {
    /// Granularity period.
    pub period_ms: u32,
    /// A row per UE.
    pub ues: Vec<KpmUe>,
    /// Measurements asked for that this node does not have.
    pub unsupported: Vec<String>,
}

/// KPM of one UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KpmUe {
    /// C-RNTI.
    pub rnti: u16,
    /// Measurement name to value.
    pub values: BTreeMap<&'static str, f64>,
}

/// A RIC control on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ControlTicket(pub u64);

/// The answer to a RIC control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlReply {
    /// Acknowledged, or a RIC control failure.
    pub acknowledged: bool,
    /// RIC control outcome in the service model's encoding.
    pub outcome: Vec<u8>,
    /// For people; empty when acknowledged.
    pub detail: String,
}

/// Why a control never reaches a RAN function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// No such RAN function.
    #[error("no RAN function has OID '{oid}'; this node has {}", known_oids())]
    UnknownRanFunction {
        /// The OID asked for.
        oid: String,
    },
    /// A RAN function that only reports.
    #[error("RAN function {} ({oid}) takes no control", function.id())]
    NotControllable {
        /// The OID asked for.
        oid: &'static str,
        /// The RAN function.
        function: RanFunction,
    },
}

/// The RIC event trigger of a RAN function for a report each `period_ms`. A period out of range is
/// for the RAN function to refuse.
pub fn periodic_trigger(ran_function_oid: &str, period_ms: u32) -> Vec<u8> {
    let v1 = (ran_function_oid == RanFunction::TcV1.oid())
        .then(|| e2sm_tc::v1::encode(&e2sm_tc::v1::EventTrigger::Periodic { period_ms }).ok())
        .flatten();
    v1.unwrap_or_else(|| period_ms.to_le_bytes().to_vec())
}
