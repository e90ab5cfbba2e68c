//! RAN function definition.

use serde::{Deserialize, Serialize};

/// RAN function definition: what this RAN function is and can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
