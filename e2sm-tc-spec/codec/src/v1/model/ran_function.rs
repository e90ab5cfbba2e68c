//! RAN function definition.

use serde::{Deserialize, Serialize};

use crate::error::{DecodeError, EncodeError, Violation};
use crate::v1::per::*;

sequence! {
    /// RAN function definition.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct RanFunctionDefinition { ...
        /// `ORAN-E2SM-TC`.
        short_name: String as Visible<1, 32>,
        /// Object identifier of the service model.
        oid: String as Visible<1, 128>,
        /// Description for operators.
        description: String as Utf8<255>,
        /// Declared capabilities.
        capabilities: Capabilities,
    }
}

sequence! {
    /// Declared capabilities. Names are the snake_case names of the enum variants.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Capabilities { ...
        /// Classifier kinds.
        classifiers: Vec<String> as ListOf<Visible<1, 64>, 0, 64>,
        /// Queue kinds.
        queues: Vec<String> as ListOf<Visible<1, 64>, 0, 64>,
        /// Scheduler kinds.
        schedulers: Vec<String> as ListOf<Visible<1, 64>, 0, 64>,
        /// Pacer kinds.
        pacers: Vec<String> as ListOf<Visible<1, 64>, 0, 64>,
        /// Whether policers are supported.
        policer: bool,
        /// Whether shapers are supported.
        shaper: bool,
        /// Whether the node has leases (control style 4).
        #[serde(default)]
        node_lease: bool,
        /// Whether a transaction may set the safe pipeline.
        #[serde(default)]
        as_safe: bool,
        /// Maximum queues per pipeline.
        max_queues: u16,
        /// Maximum filters per classifier.
        max_filters: u16,
        /// Maximum bearers.
        max_bearers: u32,
        /// Shortest report period.
        min_period_ms: u32,
        ...
        /// Which of [`FEATURES`] the node has, and [`QOS_FLOW_MAPPING`]; none if absent.
        features: Option<Vec<String>> as Option<ListOf<Visible<1, 64>, 0, 64>>,
        /// The node default (control style 5); absent where there is none.
        node_default: Option<NodeDefaultSupport>,
    }
}

sequence! {
    /// What a node takes in a node default.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct NodeDefaultSupport { ...
        /// Most rules.
        max_rules: u8 as Int<1, 16>,
        /// What it knows of a bearer when that is set up, and can match: `five_qi`, `s_nssai`,
        /// `drb`.
        matches: Vec<String> as ListOf<Visible<1, 64>, 0, 64>,
    }
}

/// Matches that look into tunnels: `inner` of a `FlowMatch`.
pub const INNER_HEADERS: &str = "inner_headers";
/// Shares by host: `isolation` of a classifier.
pub const HOST_ISOLATION: &str = "host_isolation";
/// QoS flows mapped to other DRBs: control style 6, `qos_flows` of a status.
pub const QOS_FLOW_MAPPING: &str = "qos_flow_mapping";
/// The names of all features of pipelines that a node may declare, besides [`QOS_FLOW_MAPPING`].
pub const FEATURES: [&str; 2] = [INNER_HEADERS, HOST_ISOLATION];
