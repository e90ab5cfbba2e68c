//! Named compositions: a ladder from doing nothing to telling every flow apart.

use e2sm_tc::v1::{
    BufferLimit, Classifier, Codel, Ecn, FifoDrop, Filter, FiveTuple, FlowMatch, OsiClassifier,
    Overflow, Pacer, Pipeline, PortRange, Prefix, QueueDiscipline, QueueId, QueueSet, QueueTarget,
    Scheduler, Shaper, StochasticHash,
};

/// Names that [`by_name`] knows, from least to most intrusive.
pub const NAMES: [&str; 6] =
    ["transparent", "bdp_only", "fq_codel", "segregate_greedy", "flow_slicing", "l4s"];

/// What a template leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateParams {
    /// Pacer of every template but `transparent`; 5G-BDP, as in all pipelines of irazabal2024. It
    /// keeps at most some 15 kB in the RLC buffer of a slow bearer, which e5G-BDP and DRQL undercut,
    /// and loses least on channels whose capacity comes in bursts.
    pub pacer: Pacer,
    /// CoDel target; 5 ms (RFC 8289 §4.4).
    pub target_us: u32,
    /// CoDel interval; 100 ms (RFC 8289 §4.4).
    pub interval_us: u32,
    /// Mark ECN-capable packets instead of dropping them (RFC 8290 §5.1.3 recommends it).
    pub ecn: bool,
    /// Queues of the stochastic hash; 1024 (RFC 8290 §4.1.2).
    pub flow_queues: u16,
    /// DRR quantum; one Ethernet frame of 1514 bytes (RFC 8290 §4.2).
    pub quantum_bytes: u32,
    /// Marking threshold of the `l4s` template. Higher than the 1 ms of RFC 9332: a TDD cell
    /// drains nothing for up to 1.5 ms and everything comes in slots.
    pub l4s_threshold_us: u32,
    /// Greedy flows, for `segregate_greedy`.
    pub greedy: Vec<FiveTuple>,
    /// Slices, for `flow_slicing`.
    pub slices: Vec<Slice>,
    /// Bound on all queues together; 10240 packets (RFC 8290 §5.2.3) and 32 MiB.
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
            pacer: Pacer::Bdp5g,
            target_us: 5_000,
            interval_us: 100_000,
            ecn: true,
            flow_queues: 1024,
            quantum_bytes: 1514,
            l4s_threshold_us: 2_000,
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

/// The template of that name, one of [`NAMES`].
pub fn by_name(name: &str, params: &TemplateParams) -> Option<Pipeline> {
    match name {
        "transparent" => Some(transparent()),
        "bdp_only" => Some(bdp_only(params)),
        "fq_codel" => Some(fq_codel(params)),
        "segregate_greedy" => Some(segregate_greedy(params)),
        "flow_slicing" => Some(flow_slicing(params)),
        "l4s" => Some(l4s(params)),
        _ => None,
    }
}

/// One deep FIFO that holds nothing back: what the gNB does without traffic control. The usual
/// safe pipeline.
pub fn transparent() -> Pipeline {
    Pipeline {
        name: "transparent".to_owned(),
        classifier: Classifier::RoundRobin(one(0)),
        queues: vec![queues(0, 1, FIFO)],
        scheduler: Scheduler::RoundRobin,
        pacer: Pacer::None,
        buffer: BufferLimit { packets: 65_536, bytes: 64 << 20, overflow: Overflow::Tail },
    }
}

/// One FIFO and a pacer. It moves the queue out of the RLC, where nothing can be done about it;
/// within the bearer every flow still waits for every other.
pub fn bdp_only(params: &TemplateParams) -> Pipeline {
    Pipeline {
        name: "bdp_only".to_owned(),
        pacer: params.pacer,
        buffer: BufferLimit { overflow: Overflow::Tail, ..params.buffer },
        ..transparent()
    }
}

/// FQ-CoDel (RFC 8290) with a pacer: stochastic hash, CoDel queues, DRR (irazabal2024 §IV-B).
pub fn fq_codel(params: &TemplateParams) -> Pipeline {
    let codel = QueueDiscipline::Codel(codel(params));
    Pipeline {
        name: "fq_codel".to_owned(),
        classifier: Classifier::StochasticHash(StochasticHash {
            target: run(0, params.flow_queues),
            perturbation: None,
            ways: 1,
        }),
        queues: vec![queues(0, params.flow_queues, codel)],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// The greedy flows in a second CoDel queue (irazabal2024 §V-C, the game case). The queues are
/// served by DRR where the paper has packet round robin, which favours the longer packets.
pub fn segregate_greedy(params: &TemplateParams) -> Pipeline {
    let filters = params.greedy.iter().map(exactly);
    Pipeline {
        name: "segregate_greedy".to_owned(),
        classifier: osi(filters.map(|rule| (rule, one(1))), one(0)),
        queues: vec![queues(0, 2, QueueDiscipline::Codel(codel(params)))],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// A FIFO per slice, in turn, each with its shaper (irazabal2024 §V-B); queue 0 has the rest.
/// Where there are greedy flows but no slices, the greedy flows are the slice.
pub fn flow_slicing(params: &TemplateParams) -> Pipeline {
    let greedy = Slice { matches: params.greedy.iter().map(exactly).collect(), shaper: None };
    let slices = match params.slices.as_slice() {
        [] if !params.greedy.is_empty() => std::slice::from_ref(&greedy),
        slices => slices,
    };
    let rules = (1..)
        .zip(slices)
        .flat_map(|(id, slice)| slice.matches.iter().map(move |rule| (rule.clone(), one(id))));
    let mut sets = vec![queues(0, 1, FIFO)];
    sets.extend(
        (1..)
            .zip(slices)
            .map(|(id, slice)| QueueSet { shaper: slice.shaper, ..queues(id, 1, FIFO) }),
    );
    Pipeline {
        name: "flow_slicing".to_owned(),
        classifier: osi(rules, one(0)),
        queues: sets,
        scheduler: Scheduler::RoundRobin,
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

/// ECT(1) and CE packets (RFC 9331 §5.1) in queues marked by a step at `l4s_threshold_us`, the
/// rest as in `fq_codel`; all flows of both kinds share by DRR.
pub fn l4s(params: &TemplateParams) -> Pipeline {
    let classic = run(0, params.flow_queues);
    let scalable = run(params.flow_queues, params.flow_queues);
    let step = Codel { ce_threshold_us: Some(params.l4s_threshold_us), l4s: true, ..codel(params) };
    let by_ecn = |ecn| (FlowMatch { ecn: Some(ecn), ..FlowMatch::default() }, scalable);
    Pipeline {
        name: "l4s".to_owned(),
        classifier: osi([by_ecn(Ecn::Ect1), by_ecn(Ecn::Ce)].into_iter(), classic),
        queues: vec![
            queues(classic.first, classic.count, QueueDiscipline::Codel(codel(params))),
            queues(scalable.first, scalable.count, QueueDiscipline::Codel(step)),
        ],
        scheduler: drr(params),
        pacer: params.pacer,
        buffer: params.buffer,
    }
}

const FIFO: QueueDiscipline = QueueDiscipline::Fifo { drop: FifoDrop::Tail };

fn run(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

fn one(id: QueueId) -> QueueTarget {
    run(id, 1)
}

fn queues(first: QueueId, count: u16, discipline: QueueDiscipline) -> QueueSet {
    QueueSet {
        first,
        count,
        discipline,
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

fn codel(params: &TemplateParams) -> Codel {
    Codel {
        target_us: params.target_us,
        interval_us: params.interval_us,
        ecn: params.ecn,
        ce_threshold_us: None,
        l4s: false,
    }
}

fn drr(params: &TemplateParams) -> Scheduler {
    Scheduler::DeficitRoundRobin { quantum_bytes: params.quantum_bytes }
}

fn osi(rules: impl Iterator<Item = (FlowMatch, QueueTarget)>, default: QueueTarget) -> Classifier {
    let filters = (0..).zip(rules).map(|(id, (rule, target))| Filter { id, rule, target });
    Classifier::Osi(OsiClassifier { filters: filters.collect(), default })
}

/// A match for one 5-tuple.
pub fn exactly(flow: &FiveTuple) -> FlowMatch {
    let port = |port| Some(PortRange { low: port, high: port });
    FlowMatch {
        source: Some(host(flow.source)),
        destination: Some(host(flow.destination)),
        source_port: port(flow.source_port),
        destination_port: port(flow.destination_port),
        protocol: Some(flow.protocol),
        ..FlowMatch::default()
    }
}

fn host(address: std::net::IpAddr) -> Prefix {
    match address {
        std::net::IpAddr::V4(address) => Prefix::V4 { address, length: 32 },
        std::net::IpAddr::V6(address) => Prefix::V6 { address, length: 128 },
    }
}
