//! What this RAN function declares, and what it refuses because it does not.

use std::sync::LazyLock;

use e2sm_tc::v1::Capabilities;

/// Made once: a transaction is checked against them.
pub(crate) static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(capabilities);

/// Most queues of a pipeline.
pub const MAX_QUEUES: u16 = 4096;
/// Most filters of a classifier.
pub const MAX_FILTERS: u16 = 256;
/// Most bearers of a node; the RAN function itself is per bearer.
const MAX_BEARERS: u32 = 4096;

const CLASSIFIERS: [&str; 5] =
    ["round_robin", "stochastic_hash", "osi", "l4s_ecn", "host_then_flow"];
const QUEUES: [&str; 8] =
    ["fifo", "codel", "pie", "red", "cobalt", "bode", "l4s_marking", "dual_pi2"];
const SCHEDULERS: [&str; 6] = [
    "round_robin",
    "deficit_round_robin",
    "strict_priority",
    "weighted",
    "conditional_priority",
    "earliest_deadline_first",
];
const PACERS: [&str; 11] = [
    "none",
    "bdp5g",
    "e5g_bdp",
    "drql",
    "dql",
    "dyn_rlc",
    "ebb",
    "upf_sdap",
    "forecast",
    "bdp5g_prototype",
    "just_in_time",
];

/// What this RAN function declares in its definition.
pub fn capabilities() -> Capabilities {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
    Capabilities {
        classifiers: names(&CLASSIFIERS),
        queues: names(&QUEUES),
        schedulers: names(&SCHEDULERS),
        pacers: names(&PACERS),
        policer: true,
        shaper: true,
        max_queues: MAX_QUEUES,
        max_filters: MAX_FILTERS,
        max_bearers: MAX_BEARERS,
        min_period_ms: 1,
    }
}
