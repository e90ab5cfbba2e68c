//! v0 controls as edits of a v1 pipeline.

use std::net::Ipv4Addr;

use e2sm_tc::v0::{
    AddClassifier, ClassifierControl, ControlMessage, DeleteClassifier, Filter as FilterV0,
    ModifyClassifier, ModifyPacer, ModifyScheduler, NewFilter, PacerControl, PolicerControl,
    QueueControl, QueueParameters, SchedulerControl, ShaperControl,
};
use e2sm_tc::v1::{
    Classifier, Codel, ExceedAction, FifoDrop, Filter, FilterId, FlowMatch, OsiClassifier, Pacer,
    Pipeline, PipelineEdit, Policer, PortRange, Prefix, QueueDiscipline, QueueId, QueueSet,
    QueueTarget, Scheduler, Shaper, StochasticHash,
};

/// A v0 control that no edit of the pipeline carries out; the text has the reason, as v0 has no causes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ControlError(String);

impl From<String> for ControlError {
    fn from(detail: String) -> Self {
        Self(detail)
    }
}

impl From<&str> for ControlError {
    fn from(detail: &str) -> Self {
        Self(detail.into())
    }
}

type Result<T> = std::result::Result<T, ControlError>;

/// Component of a v0 filter that matches everything.
pub(super) const WILDCARD: i32 = -1;
/// v0 does not express the depth of a policer's bucket: it is this long at the rate.
pub(super) const POLICER_WINDOW_MS: u32 = 10;
/// Two packets of an Ethernet MTU: a bucket that holds less passes none of a burst.
pub(super) const MIN_BURST_BYTES: u32 = 3_000;

/// Depth of a token bucket of v0.
pub(super) fn burst_bytes(rate_kbps: u32, window_ms: u32) -> u32 {
    let bytes = u64::from(rate_kbps) * u64::from(window_ms) / 8;
    u32::try_from(bytes).unwrap_or(u32::MAX).max(MIN_BURST_BYTES)
}

/// The edits of `pipeline` that carry out a v0 control.
///
/// # Errors
/// For a control without an edit in v1, or one that refers to an element that the pipeline lacks.
pub fn edits(pipeline: &Pipeline, message: &ControlMessage) -> Result<Vec<PipelineEdit>> {
    match message {
        ControlMessage::Classifier(control) => classifier(pipeline, control),
        ControlMessage::Policer(control) => policer(pipeline, control),
        ControlMessage::Queue(control) => queue(pipeline, control),
        ControlMessage::Scheduler(control) => scheduler(control),
        ControlMessage::Shaper(control) => shaper(pipeline, control),
        ControlMessage::Pacer(control) => pacer(control),
    }
}

fn id(number: u32, what: &str) -> Result<u16> {
    u16::try_from(number).map_err(|_| format!("{what} {number}; expected at most 65535").into())
}

pub(super) fn one(queue: QueueId) -> QueueTarget {
    QueueTarget { first: queue, count: 1 }
}

fn classifier(pipeline: &Pipeline, control: &ClassifierControl) -> Result<Vec<PipelineEdit>> {
    let all = all_queues(pipeline);
    match control {
        ClassifierControl::Add(AddClassifier::Osi(new)) => add_filter(pipeline, new),
        ClassifierControl::Modify(ModifyClassifier::Osi { filter }) => {
            modify_filter(pipeline, filter)
        }
        ClassifierControl::Delete(DeleteClassifier::Osi { filter_id }) => {
            Ok(vec![PipelineEdit::RemoveFilter(id(*filter_id, "filter")?)])
        }
        ClassifierControl::Add(AddClassifier::RoundRobin { .. })
        | ClassifierControl::Modify(ModifyClassifier::RoundRobin { .. }) => {
            Ok(vec![PipelineEdit::SetClassifier(Classifier::RoundRobin(all?))])
        }
        ClassifierControl::Add(AddClassifier::Stochastic { .. })
        | ClassifierControl::Modify(ModifyClassifier::Stochastic { .. }) => {
            let hash = StochasticHash::plain(all?);
            Ok(vec![PipelineEdit::SetClassifier(Classifier::StochasticHash(hash))])
        }
        ClassifierControl::Delete(
            DeleteClassifier::RoundRobin { .. } | DeleteClassifier::Stochastic { .. },
        ) => Err("a pipeline needs a classifier; modify it instead".into()),
    }
}

/// All queues as one target, which v0's unparametrised classifiers spread over.
fn all_queues(pipeline: &Pipeline) -> Result<QueueTarget> {
    let mut sets: Vec<&QueueSet> = pipeline.queues.iter().collect();
    sets.sort_by_key(|set| set.first);
    let first = sets.first().map_or(0, |set| set.first);
    let mut next = u32::from(first);
    for set in sets {
        if u32::from(set.first) != next {
            return Err("the queue ids have gaps; use v1 to say which queues".into());
        }
        next += u32::from(set.count);
    }
    Ok(QueueTarget { first, count: id(next - u32::from(first), "queue count")? })
}

/// The OSI classifier in force, or one that sends everything to the first queue.
fn osi(pipeline: &Pipeline) -> (OsiClassifier, bool) {
    match &pipeline.classifier {
        Classifier::Osi(osi) => (osi.clone(), true),
        _ => {
            let first = pipeline.queues.iter().map(|set| set.first).min().unwrap_or(0);
            (OsiClassifier::new(Vec::new(), one(first)), false)
        }
    }
}

fn add_filter(pipeline: &Pipeline, new: &NewFilter) -> Result<Vec<PipelineEdit>> {
    let (mut osi, in_force) = osi(pipeline);
    let free = (0..=FilterId::MAX).find(|id| osi.filters.iter().all(|filter| filter.id != *id));
    let id = free.ok_or("no filter id is free")?;
    let filter = Filter {
        id,
        rule: rule(new.src_addr, new.dst_addr, new.src_port, new.dst_port, new.protocol)?,
        target: one(queue_number(new.dst_queue)?),
    };
    if in_force {
        let position = osi.filters.len() as u16;
        return Ok(vec![PipelineEdit::AddFilter { position, filter }]);
    }
    osi.filters.push(filter);
    Ok(vec![PipelineEdit::SetClassifier(Classifier::Osi(osi))])
}

fn modify_filter(pipeline: &Pipeline, new: &FilterV0) -> Result<Vec<PipelineEdit>> {
    let id = id(new.id, "filter")?;
    let (osi, _) = osi(pipeline);
    let position = osi
        .filters
        .iter()
        .position(|filter| filter.id == id)
        .ok_or_else(|| format!("no filter {id}"))?;
    let filter = filter(id, new)?;
    let position = position as u16;
    Ok(vec![PipelineEdit::RemoveFilter(id), PipelineEdit::AddFilter { position, filter }])
}

/// A v0 filter in terms of v1.
pub(super) fn filter(id: FilterId, filter: &FilterV0) -> Result<Filter> {
    let FilterV0 { src_addr, dst_addr, src_port, dst_port, protocol, .. } = *filter;
    Ok(Filter {
        id,
        rule: rule(src_addr, dst_addr, src_port, dst_port, protocol)?,
        target: one(queue_number(filter.dst_queue)?),
    })
}

fn queue_number(number: i32) -> Result<QueueId> {
    QueueId::try_from(number).map_err(|_| format!("queue {number}; expected 0..=65535").into())
}

fn rule(
    source: i64,
    destination: i64,
    source_port: i32,
    destination_port: i32,
    protocol: i32,
) -> Result<FlowMatch> {
    Ok(FlowMatch {
        source: address(source)?,
        destination: address(destination)?,
        source_port: port(source_port)?,
        destination_port: port(destination_port)?,
        protocol: wildcard(i64::from(protocol), "protocol")?,
        ..FlowMatch::default()
    })
}

/// −1 is an absent component, anything else must fit.
fn wildcard<T: TryFrom<i64>>(value: i64, what: &str) -> Result<Option<T>> {
    if value == i64::from(WILDCARD) {
        return Ok(None);
    }
    T::try_from(value).map(Some).map_err(|_| format!("{what} {value} is out of range").into())
}

fn address(value: i64) -> Result<Option<Prefix>> {
    let address: Option<u32> = wildcard(value, "address")?;
    Ok(address.map(|bits| Prefix::V4 { address: Ipv4Addr::from(bits), length: 32 }))
}

fn port(value: i32) -> Result<Option<PortRange>> {
    let port: Option<u16> = wildcard(i64::from(value), "port")?;
    Ok(port.map(|port| PortRange { low: port, high: port }))
}

/// The set that holds a queue, cut down to that queue.
fn single(pipeline: &Pipeline, number: u32) -> Result<QueueSet> {
    let id = id(number, "queue")?;
    pipeline
        .queues
        .iter()
        .find(|set| id >= set.first && u32::from(id) < u32::from(set.first) + u32::from(set.count))
        .map(|set| QueueSet { first: id, count: 1, ..set.clone() })
        .ok_or_else(|| format!("no queue {id}").into())
}

fn policer(pipeline: &Pipeline, control: &PolicerControl) -> Result<Vec<PipelineEdit>> {
    match control {
        PolicerControl::Add { .. } => Err("v0 does not say where; modify a queue's".into()),
        PolicerControl::Delete { id } => {
            let set = QueueSet { policer: None, ..single(pipeline, *id)? };
            Ok(vec![PipelineEdit::ModifyQueues(set)])
        }
        PolicerControl::Modify { id: number, drop_rate_kbps, dev_id, dev_rate_kbps, active } => {
            let set = single(pipeline, *number)?;
            let deviates = *dev_rate_kbps > 0 && *dev_id != *number;
            let (rate_kbps, exceed) = if deviates {
                (*dev_rate_kbps, ExceedAction::Deviate { queue: id(*dev_id, "queue")? })
            } else {
                (*drop_rate_kbps, ExceedAction::Drop)
            };
            let burst_bytes = burst_bytes(rate_kbps, POLICER_WINDOW_MS);
            let policer = (*active != 0).then_some(Policer { rate_kbps, burst_bytes, exceed });
            Ok(vec![PipelineEdit::ModifyQueues(QueueSet { policer, ..set })])
        }
    }
}

fn queue(pipeline: &Pipeline, control: &QueueControl) -> Result<Vec<PipelineEdit>> {
    match control {
        QueueControl::Add(parameters) => {
            let taken =
                pipeline.queues.iter().map(|set| u32::from(set.first) + u32::from(set.count));
            let set = QueueSet {
                first: id(taken.max().unwrap_or(0), "queue")?,
                count: 1,
                discipline: discipline(parameters)?,
                limit_packets: None,
                limit_bytes: None,
                policer: None,
                shaper: None,
            };
            Ok(vec![PipelineEdit::AddQueues(set)])
        }
        QueueControl::Modify { id, parameters } => {
            let set = single(pipeline, *id)?;
            let discipline = discipline(parameters)?;
            Ok(vec![PipelineEdit::ModifyQueues(QueueSet { discipline, ..set })])
        }
        QueueControl::Delete { id: number, .. } => {
            Ok(vec![PipelineEdit::RemoveQueues(one(id(*number, "queue")?))])
        }
    }
}

fn discipline(parameters: &QueueParameters) -> Result<QueueDiscipline> {
    let micros = |ms: u32| ms.checked_mul(1000).ok_or_else(|| format!("{ms} ms is too long"));
    let codel = |target_ms: u32, interval_ms: u32, ecn: bool| -> Result<_> {
        Ok(QueueDiscipline::Codel(Codel {
            target_us: micros(target_ms)?,
            interval_us: micros(interval_ms)?,
            ecn,
            ce_threshold_us: None,
            l4s: false,
        }))
    };
    match *parameters {
        QueueParameters::Fifo { .. } => Ok(QueueDiscipline::Fifo { drop: FifoDrop::Tail }),
        QueueParameters::Codel { target_ms, interval_ms } => codel(target_ms, interval_ms, false),
        QueueParameters::EcnCodel { target_ms, interval_ms } => codel(target_ms, interval_ms, true),
    }
}

fn scheduler(control: &SchedulerControl) -> Result<Vec<PipelineEdit>> {
    let scheduler = match control {
        SchedulerControl::Modify(ModifyScheduler::RoundRobin { .. }) => Scheduler::RoundRobin,
        SchedulerControl::Modify(ModifyScheduler::Priority { q_prio }) => {
            let order: Result<_> =
                q_prio.iter().map(|queue| Ok(one(id(*queue, "queue")?))).collect();
            Scheduler::StrictPriority { order: order? }
        }
        SchedulerControl::Add { .. } | SchedulerControl::Delete { .. } => {
            return Err("a pipeline has exactly one scheduler; modify it instead".into());
        }
    };
    Ok(vec![PipelineEdit::SetScheduler(scheduler)])
}

fn shaper(pipeline: &Pipeline, control: &ShaperControl) -> Result<Vec<PipelineEdit>> {
    match control {
        ShaperControl::Add { .. } => Err("v0 does not say where; modify a queue's".into()),
        ShaperControl::Delete { id } => {
            let set = QueueSet { shaper: None, ..single(pipeline, *id)? };
            Ok(vec![PipelineEdit::ModifyQueues(set)])
        }
        ShaperControl::Modify { id, time_window_ms, max_rate_kbps, active } => {
            let burst_bytes = burst_bytes(*max_rate_kbps, *time_window_ms);
            let shaper = Shaper { rate_kbps: *max_rate_kbps, burst_bytes, group: None };
            let set = single(pipeline, *id)?;
            let shaper = (*active != 0).then_some(shaper);
            Ok(vec![PipelineEdit::ModifyQueues(QueueSet { shaper, ..set })])
        }
    }
}

fn pacer(control: &PacerControl) -> Result<Vec<PipelineEdit>> {
    match control {
        PacerControl::Modify(ModifyPacer::Dummy { .. }) => {
            Ok(vec![PipelineEdit::SetPacer(Pacer::None)])
        }
        PacerControl::Modify(ModifyPacer::Bdp5g { .. }) => {
            Ok(vec![PipelineEdit::SetPacer(Pacer::Bdp5g)])
        }
        PacerControl::Add { .. } | PacerControl::Delete { .. } => {
            Err("a pipeline has exactly one pacer; modify it instead".into())
        }
    }
}
