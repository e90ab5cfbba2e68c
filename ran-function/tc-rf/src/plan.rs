//! Compiles a pipeline for the data path: checks it against the capabilities and turns queue ids into
//! indices.

use std::sync::LazyLock;

use e2sm_tc::v1::{BufferLimit, Capabilities, Cause, ExceedAction, Pipeline, QueueSet};

use crate::PipelineError;
use crate::classifier::Classifier;
use crate::policer::Policer;
use crate::queue::{Discipline, QueueConfig, QueueRules, Target, index_of};
use crate::scheduler::SchedulerConfig;
use crate::shaper::Shapers;
use tc_pipelines::limits::{self, Result, everything};

/// Transactions are checked against these.
pub(crate) static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(capabilities);

/// Most queues of a pipeline.
pub const MAX_QUEUES: u16 = 4096;
/// Most filters of a classifier.
pub const MAX_FILTERS: u16 = 256;
/// Most bearers of a node; the RAN function itself is per bearer.
const MAX_BEARERS: u32 = 4096;

/// The capabilities in the RAN function definition. Every kind of the service model is there: the
/// matches that compile a pipeline are exhaustive.
pub fn capabilities() -> Capabilities {
    Capabilities {
        max_queues: MAX_QUEUES,
        max_filters: MAX_FILTERS,
        max_bearers: MAX_BEARERS,
        ..everything()
    }
}

/// The stages of a pipeline, ready to be installed. Queues are sorted by id.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) classifier: Classifier,
    /// Policers by queue index; empty without policers.
    pub(crate) policers: Vec<Option<Policer>>,
    pub(crate) queues: Vec<QueueConfig>,
    pub(crate) scheduler: SchedulerConfig,
    pub(crate) shapers: Shapers,
    pub(crate) buffer: BufferLimit,
}

impl Plan {
    /// Checks and compiles.
    pub(crate) fn compile(pipeline: &Pipeline, now_us: u64) -> Result<Self> {
        limits::check(pipeline, &CAPABILITIES)?;
        let mut sets: Vec<&QueueSet> = pipeline.queues.iter().collect();
        sets.sort_by_key(|set| set.first);

        let mut queues = Vec::new();
        for set in &sets {
            queues.extend((0..set.count).map(|offset| QueueConfig {
                id: set.first + offset,
                rules: QueueRules {
                    discipline: Discipline::compile(&set.discipline, offset),
                    limit_packets: set.limit_packets.unwrap_or(u32::MAX),
                    limit_bytes: set.limit_bytes.unwrap_or(u32::MAX),
                },
            }));
        }
        let per_queue = || sets.iter().flat_map(|&set| std::iter::repeat_n(set, set.count.into()));
        let shapers = Shapers::new(per_queue().map(|set| set.shaper.as_ref()), now_us);
        let policers = if sets.iter().any(|set| set.policer.is_some()) {
            per_queue().map(|set| policer(set, &queues, now_us)).collect()
        } else {
            Vec::new()
        };
        let classifier = Classifier::compile(&pipeline.classifier, |t| Target::resolve(t, &queues))
            .ok_or_else(|| unsupported("classifier"))?;
        let scheduler =
            SchedulerConfig::compile(pipeline, &queues).ok_or_else(|| unsupported("scheduler"))?;
        Ok(Self { classifier, policers, queues, scheduler, shapers, buffer: pipeline.buffer })
    }
}

fn unsupported(stage: &str) -> PipelineError {
    PipelineError::new(Cause::Unsupported, stage, "a kind this RAN function does not have")
}

fn policer(set: &QueueSet, queues: &[QueueConfig], now_us: u64) -> Option<Policer> {
    let config = set.policer?;
    let deviate_index = match config.exceed {
        ExceedAction::Deviate { queue } => index_of(queue, queues)?,
        ExceedAction::Drop | ExceedAction::Remark { .. } => 0,
    };
    Some(Policer::new(config, deviate_index, now_us))
}
