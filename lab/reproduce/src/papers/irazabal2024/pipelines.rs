//! The pipelines of Figs. 5, 8 and 11, as the xApps deploy them.

use e2sm_tc::v1::{
    BufferLimit, Classifier, Codel, FifoDrop, Filter, FlowMatch, OsiClassifier, Overflow, Pacer,
    Pipeline, PortRange, QueueDiscipline, QueueId, QueueSet, QueueTarget, Scheduler, Shaper,
    StochasticHash,
};

/// Port of the UE's first flow; each flow of the scenario has the next.
const FIRST_PORT: u16 = 49_152;
/// Packets a CoDel queue of the prototype holds.
const CODEL_PACKETS: u32 = 8_192;
/// Window over which the prototype's shaper takes its mean.
const SHAPER_WINDOW_MS: u32 = 100;

/// A pipeline around a pacer.
fn pipeline(
    name: &str,
    classifier: Classifier,
    queues: Vec<QueueSet>,
    scheduler: Scheduler,
    pacer: Pacer,
) -> Pipeline {
    // Each queue has its own limit, so that the sum of all is no concern.
    let buffer = BufferLimit { packets: 1_000_000, bytes: 1 << 30, overflow: Overflow::Tail };
    Pipeline { name: name.to_owned(), classifier, queues, scheduler, pacer, buffer }
}

/// Fig. 5a: flows 2, 3 and 4 in a second FIFO, round robin.
pub(super) fn half_half(pacer: Pacer) -> Pipeline {
    let second = ports(1, 3, 1);
    let queues = vec![fifo(0, None), fifo(1, None)];
    pipeline("50-50", osi(vec![second]), queues, Scheduler::RoundRobin, pacer)
}

/// Fig. 5b: flows 1, 2 and 3 in a FIFO shaped to a rate, flow 4 in the other.
pub(super) fn shaped(rate_kbps: u32, pacer: Pacer) -> Pipeline {
    let burst_bytes = rate_kbps / 8 * SHAPER_WINDOW_MS;
    let shaper = Shaper { rate_kbps, burst_bytes, group: None };
    let queues = vec![fifo(0, Some(shaper)), fifo(1, None)];
    pipeline("shaped", osi(vec![ports(3, 3, 1)]), queues, Scheduler::RoundRobin, pacer)
}

/// Fig. 5c: one CoDel queue. With `ecn` it marks what can be marked (§V-D, Prague).
pub(super) fn one_codel(ecn: bool, pacer: Pacer) -> Pipeline {
    let name = if ecn { "ecn_codel" } else { "codel" };
    let classifier = Classifier::RoundRobin(run(0, 1));
    pipeline(name, classifier, vec![codel(0, 1, ecn)], Scheduler::RoundRobin, pacer)
}

/// Fig. 8: the flow of a number in a second CoDel queue, round robin.
pub(super) fn segregated(flow: u16, pacer: Pacer) -> Pipeline {
    let classifier = osi(vec![ports(flow, flow, 1)]);
    pipeline("segregated", classifier, vec![codel(0, 2, false)], Scheduler::RoundRobin, pacer)
}

/// FQ-CoDel of §IV-B: stochastic classifier, CoDel queues, deficit round robin.
pub(super) fn fq_codel(pacer: Pacer) -> Pipeline {
    // RFC 8290 §4.1.2 and §5.2.1.
    let (queues, quantum_bytes) = (1024, 1514);
    let hash = StochasticHash::plain(run(0, queues));
    let classifier = Classifier::StochasticHash(hash);
    let scheduler = Scheduler::DeficitRoundRobin { quantum_bytes };
    pipeline("fq_codel", classifier, vec![codel(0, queues, false)], scheduler, pacer)
}

fn run(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

/// Flows of the scenario, from one number to another, to a queue.
fn ports(from: u16, to: u16, queue: QueueId) -> Filter {
    let ports = PortRange { low: FIRST_PORT + from, high: FIRST_PORT + to };
    let rule = FlowMatch { destination_port: Some(ports), ..FlowMatch::default() };
    Filter { id: 1, rule, target: run(queue, 1) }
}

fn osi(filters: Vec<Filter>) -> Classifier {
    Classifier::Osi(OsiClassifier::new(filters, run(0, 1)))
}

fn fifo(first: QueueId, shaper: Option<Shaper>) -> QueueSet {
    set(first, 1, QueueDiscipline::Fifo { drop: FifoDrop::Tail }, None, shaper)
}

/// Defaults of §V-B2: target 5 ms, interval 100 ms.
fn codel(first: QueueId, count: u16, ecn: bool) -> QueueSet {
    let (target_us, interval_us) = (5_000, 100_000);
    let codel = Codel { target_us, interval_us, ecn, ce_threshold_us: None, l4s: false };
    set(first, count, QueueDiscipline::Codel(codel), Some(CODEL_PACKETS), None)
}

fn set(
    first: QueueId,
    count: u16,
    discipline: QueueDiscipline,
    limit_packets: Option<u32>,
    shaper: Option<Shaper>,
) -> QueueSet {
    QueueSet { first, count, discipline, limit_packets, limit_bytes: None, policer: None, shaper }
}
