//! Named compositions.

use e2sm_tc::v1::{
    BufferLimit, Classifier, FifoDrop, FiveTuple, FlowMatch, Overflow, Pacer, Pipeline,
    QueueDiscipline, QueueSet, QueueTarget, Scheduler, Shaper,
};

/// What a template leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateParams {
    /// Pacer of every template but `transparent`.
    pub pacer: Pacer,
    /// CoDel target.
    pub target_us: u32,
    /// CoDel interval.
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Queues of the stochastic hash.
    pub flow_queues: u16,
    /// DRR quantum.
    pub quantum_bytes: u32,
    /// Marking threshold of the `l4s` template.
    pub l4s_threshold_us: u32,
    /// Greedy flows, for `segregate_greedy`.
    pub greedy: Vec<FiveTuple>,
    /// Slices, for `flow_slicing`.
    pub slices: Vec<Slice>,
    /// Bound on all queues together.
    pub buffer: BufferLimit,
}

/// One slice of `flow_slicing`: the flows of a queue and the rate it is held to.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Packets that match any of these belong to the slice.
    pub matches: Vec<FlowMatch>,
    /// Rate limit; none when absent.
    pub shaper: Option<Shaper>,
}

impl Default for TemplateParams {
    fn default() -> Self {
        Self {
            pacer: Pacer::E5gBdp,
            target_us: 5_000,
            interval_us: 100_000,
            ecn: true,
            flow_queues: 1024,
            quantum_bytes: 1514,
            l4s_threshold_us: 5_000,
            greedy: Vec::new(),
            slices: Vec::new(),
            buffer: BufferLimit {
                packets: 10_240,
                bytes: 32 << 20,
                overflow: Overflow::FattestHead,
            },
        }
    }
}

/// One deep FIFO that holds nothing back: what the gNB does without traffic control.
pub fn transparent() -> Pipeline {
    Pipeline {
        name: "transparent".to_owned(),
        classifier: Classifier::RoundRobin(QueueTarget { first: 0, count: 1 }),
        queues: vec![QueueSet {
            first: 0,
            count: 1,
            discipline: QueueDiscipline::Fifo { drop: FifoDrop::Tail },
            limit_packets: None,
            limit_bytes: None,
            policer: None,
            shaper: None,
        }],
        scheduler: Scheduler::RoundRobin,
        pacer: Pacer::None,
        buffer: BufferLimit { packets: 65_536, bytes: 64 << 20, overflow: Overflow::Tail },
    }
}

/// The template of that name: `transparent`, `bdp_only`, `fq_codel`, `segregate_greedy`,
/// `flow_slicing` or `l4s`.
pub fn by_name(name: &str, params: &TemplateParams) -> Option<Pipeline> {
    let _ = params;
    (name == "transparent").then(transparent)
}
