//! What this RAN function declares, and what it refuses because it does not.

use e2sm_tc::v1::{Capabilities, Classifier, Pacer, QueueDiscipline, Scheduler};

/// Most queues of a pipeline.
pub const MAX_QUEUES: u16 = 4096;
/// Most filters of a classifier.
pub const MAX_FILTERS: u16 = 256;
/// Most bearers of a node; the RAN function itself is per bearer.
const MAX_BEARERS: u32 = 4096;

const CLASSIFIERS: [&str; 3] = ["round_robin", "stochastic_hash", "osi"];
const QUEUES: [&str; 2] = ["fifo", "codel"];
const SCHEDULERS: [&str; 3] = ["round_robin", "deficit_round_robin", "strict_priority"];
const PACERS: [&str; 4] = ["none", "bdp5g", "e5g_bdp", "drql"];

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

/// A kind of a stage by its name in [`Capabilities`], and whether it is there.
pub(crate) trait Kind {
    fn name(&self) -> &'static str;
    fn available(&self) -> &'static [&'static str];
    fn is_available(&self) -> bool {
        self.available().contains(&self.name())
    }
}

impl Kind for Classifier {
    fn name(&self) -> &'static str {
        match self {
            Self::RoundRobin(_) => "round_robin",
            Self::StochasticHash(_) => "stochastic_hash",
            Self::Osi(_) => "osi",
            Self::L4sEcn(_) => "l4s_ecn",
            Self::HostThenFlow(_) => "host_then_flow",
        }
    }
    fn available(&self) -> &'static [&'static str] {
        &CLASSIFIERS
    }
}

impl Kind for QueueDiscipline {
    fn name(&self) -> &'static str {
        match self {
            Self::Fifo { .. } => "fifo",
            Self::Codel(_) => "codel",
            Self::Pie { .. } => "pie",
            Self::Red { .. } => "red",
            Self::Cobalt(_) => "cobalt",
            Self::Bode { .. } => "bode",
            Self::L4sMarking { .. } => "l4s_marking",
            Self::DualPi2 { .. } => "dual_pi2",
        }
    }
    fn available(&self) -> &'static [&'static str] {
        &QUEUES
    }
}

impl Kind for Scheduler {
    fn name(&self) -> &'static str {
        match self {
            Self::RoundRobin => "round_robin",
            Self::DeficitRoundRobin { .. } => "deficit_round_robin",
            Self::StrictPriority { .. } => "strict_priority",
            Self::Weighted { .. } => "weighted",
            Self::ConditionalPriority { .. } => "conditional_priority",
            Self::EarliestDeadlineFirst { .. } => "earliest_deadline_first",
        }
    }
    fn available(&self) -> &'static [&'static str] {
        &SCHEDULERS
    }
}

impl Kind for Pacer {
    fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bdp5g => "bdp5g",
            Self::E5gBdp => "e5g_bdp",
            Self::Drql { .. } => "drql",
            Self::Dql { .. } => "dql",
            Self::DynRlc { .. } => "dyn_rlc",
            Self::Ebb { .. } => "ebb",
            Self::UpfSdap => "upf_sdap",
            Self::Forecast { .. } => "forecast",
        }
    }
    fn available(&self) -> &'static [&'static str] {
        &PACERS
    }
}
