//! What templates are put together from.

use e2sm_tc::v1::{
    Classifier, Codel, FifoDrop, Filter, FiveTuple, FlowMatch, OsiClassifier, PortRange, Prefix,
    QueueDiscipline, QueueId, QueueSet, QueueTarget, Scheduler, StochasticHash,
};

use super::{CodelParameters, FlowScheduler};

pub(super) const FIFO: QueueDiscipline = QueueDiscipline::Fifo { drop: FifoDrop::Tail };

pub(super) fn run(first: QueueId, count: u16) -> QueueTarget {
    QueueTarget { first, count }
}

pub(super) fn one(id: QueueId) -> QueueTarget {
    run(id, 1)
}

pub(super) fn queues(target: QueueTarget, discipline: QueueDiscipline) -> QueueSet {
    QueueSet {
        first: target.first,
        count: target.count,
        discipline,
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

pub(super) fn codel(parameters: CodelParameters) -> Codel {
    let CodelParameters { target_us, interval_us, ecn } = parameters;
    Codel { target_us, interval_us, ecn, ce_threshold_us: None, l4s: false }
}

/// Stage 4 over the queues 0 to `count` - 1.
pub(super) fn between(scheduler: FlowScheduler, quantum_bytes: u32, count: u16) -> Scheduler {
    match scheduler {
        FlowScheduler::DeficitRoundRobin => Scheduler::DeficitRoundRobin { quantum_bytes },
        FlowScheduler::RoundRobin => Scheduler::RoundRobin,
        FlowScheduler::StrictPriority => {
            Scheduler::StrictPriority { order: (0..count).map(one).collect() }
        }
    }
}

pub(super) fn hash(target: QueueTarget) -> Classifier {
    Classifier::StochasticHash(StochasticHash::plain(target))
}

pub(super) fn osi(
    rules: impl Iterator<Item = (FlowMatch, QueueTarget)>,
    default: QueueTarget,
) -> Classifier {
    let filters = (0..).zip(rules).map(|(id, (rule, target))| Filter { id, rule, target });
    Classifier::Osi(OsiClassifier::new(filters.collect(), default))
}

/// A match for one DSCP.
pub(super) fn marked(dscp: u8) -> FlowMatch {
    FlowMatch { dscp: Some(dscp), ..FlowMatch::default() }
}

/// TCP, UDP, DCCP, SCTP and UDP-Lite, by IANA's numbers.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// A match for one 5-tuple; ports are left open where the protocol has none.
pub fn exactly(flow: &FiveTuple) -> FlowMatch {
    let ports = WITH_PORTS.contains(&flow.protocol);
    let port = |port| ports.then_some(PortRange { low: port, high: port });
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
