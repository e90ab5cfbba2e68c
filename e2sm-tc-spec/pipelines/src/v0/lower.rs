//! v1 pipelines as v0 expresses them, or the element that it cannot express.
//!
//! v0 has one pipeline whose queues are numbered without gaps, filters over single IPv4 addresses
//! and ports, FIFO and CoDel in whole milliseconds, round robin and strict priority, token buckets
//! of a given depth, and 5G-BDP. The buffer limit is the node's own: v0 has no control for it.

use std::collections::BTreeMap;

use e2sm_tc::v0::{
    ModifyPacer, ModifyScheduler, NewFilter, PolicerControl, QueueParameters, ShaperControl,
};
use e2sm_tc::v1::{
    Capabilities, Cause, Classifier, ExceedAction, FifoDrop, Filter, FilterId, FlowMatch,
    Isolation, OsiClassifier, Pacer, Pipeline, Policer, PortRange, Prefix, QueueDiscipline,
    QueueId, QueueSet, QueueTarget, Scheduler, Shaper, StochasticHash,
};

use super::controls::{MIN_BURST_BYTES, POLICER_WINDOW_MS, WILDCARD, burst_bytes, one};
use super::state::NodeState;
use crate::{PipelineError, limits};

/// A pipeline that v0 cannot express; the error names the first element at fault, in the pipeline
/// that was to be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct UnsupportedInV0(#[from] pub PipelineError);

type Result<T = ()> = std::result::Result<T, UnsupportedInV0>;

fn unsupported(element: impl Into<String>, detail: impl Into<String>) -> UnsupportedInV0 {
    PipelineError::new(Cause::Unsupported, element, detail).into()
}

fn out_of_range(element: impl Into<String>, detail: impl Into<String>) -> UnsupportedInV0 {
    PipelineError::new(Cause::OutOfRange, element, detail).into()
}

/// What v0 has of the capabilities of v1, for a node with this much room.
pub fn capabilities(max_queues: u16, max_filters: u16) -> Capabilities {
    let names = |kinds: &[&str]| kinds.iter().map(|&kind| kind.to_owned()).collect();
    Capabilities {
        classifiers: names(&["round_robin", "stochastic_hash", "osi"]),
        queues: names(&["fifo", "codel"]),
        schedulers: names(&["round_robin", "strict_priority"]),
        pacers: names(&["none", "bdp5g"]),
        policer: true,
        shaper: true,
        node_lease: true,
        as_safe: false,
        max_queues,
        max_filters,
        max_bearers: 1,
        min_period_ms: 1,
        features: None,
        node_default: None,
    }
}

/// The v0 pipeline that does what a v1 pipeline describes, its queues numbered from `base` on; the
/// default of an OSI classifier becomes the first queue, where v0 sends what no filter matches.
///
/// # Errors
/// For a pipeline that is invalid, that exceeds the capabilities, or that v0 cannot express.
pub fn lower(pipeline: &Pipeline, base: QueueId, node: &Capabilities) -> Result<NodeState> {
    limits::check(pipeline, node)?;
    let numbers = Numbers::of(pipeline, base)?;
    let mut queues = Vec::with_capacity(numbers.0.len());
    for (i, set) in pipeline.queues.iter().enumerate() {
        check_queue(&format!("queues[{i}]"), set)?;
        queues.extend((0..set.count).map(|offset| queue(set, offset, &numbers)));
    }
    queues.sort_by_key(|set| set.first);
    let mut lowered = NodeState::safe(base);
    lowered.pipeline = Pipeline {
        name: pipeline.name.clone(),
        classifier: classifier(&pipeline.classifier, &numbers, base)?,
        queues,
        scheduler: scheduler(&pipeline.scheduler, &numbers)?,
        pacer: pipeline.pacer,
        buffer: lowered.pipeline.buffer,
    };
    pacer(&pipeline.pacer)?;
    lowered.v1_ids = numbers.0.iter().map(|(&v1, &v0)| (v0, v1)).collect();
    Ok(lowered)
}

/// v1 queue id → v0 queue id.
struct Numbers(BTreeMap<QueueId, QueueId>);

impl Numbers {
    fn of(pipeline: &Pipeline, base: QueueId) -> Result<Self> {
        let sets = pipeline.queues.iter();
        let mut ids: Vec<_> =
            sets.flat_map(|set| (0..set.count).map(|offset| set.first + offset)).collect();
        let default = match &pipeline.classifier {
            Classifier::Osi(osi) => Some(single(osi.default, "classifier.osi.default")?),
            _ => None,
        };
        ids.sort_by_key(|id| (Some(*id) != default, *id));
        if ids.len() > usize::from(QueueId::MAX - base) {
            let detail = format!("{} queues from id {base} on; expected ids to 65535", ids.len());
            return Err(out_of_range("queues", detail));
        }
        Ok(Self(ids.into_iter().zip(base..).collect()))
    }

    /// Number in v0 of a queue that the pipeline has.
    fn v0(&self, queue: QueueId) -> QueueId {
        self.0.get(&queue).copied().unwrap_or(queue)
    }

    /// The target over all queues, which v0 spreads over, if that is what `target` is.
    fn all(&self, target: QueueTarget, base: QueueId, place: &str) -> Result<QueueTarget> {
        if usize::from(target.count) != self.0.len() {
            return Err(unsupported(place, "some of the queues; v0 spreads over all of them"));
        }
        Ok(QueueTarget { first: base, count: target.count })
    }
}

fn single(target: QueueTarget, place: &str) -> Result<QueueId> {
    if target.count != 1 {
        return Err(unsupported(place, format!("{} queues; v0 sends to one queue", target.count)));
    }
    Ok(target.first)
}

fn check_queue(place: &str, set: &QueueSet) -> Result {
    for (name, limit) in [("limit_packets", set.limit_packets), ("limit_bytes", set.limit_bytes)] {
        if limit.is_some() {
            return Err(unsupported(
                format!("{place}.{name}"),
                "v0 has no limit of a queue; expected none",
            ));
        }
    }
    parameters(place, &set.discipline)?;
    if let Some(policer) = &set.policer {
        policer_control(place, set.first, policer)?;
    }
    if let Some(shaper) = &set.shaper {
        shaper_control(place, set.first, shaper)?;
    }
    Ok(())
}

fn queue(set: &QueueSet, offset: u16, numbers: &Numbers) -> QueueSet {
    let mut queue = QueueSet { first: numbers.v0(set.first + offset), count: 1, ..set.clone() };
    if let Some(Policer { exceed: ExceedAction::Deviate { queue }, .. }) = &mut queue.policer {
        *queue = numbers.v0(*queue);
    }
    queue
}

/// The content of QUEUE ADD and MOD.
pub(super) fn parameters(place: &str, discipline: &QueueDiscipline) -> Result<QueueParameters> {
    match discipline {
        QueueDiscipline::Fifo { drop: FifoDrop::Tail } => Ok(QueueParameters::Fifo { dummy: 0 }),
        QueueDiscipline::Fifo { .. } => {
            Err(unsupported(format!("{place}.discipline.fifo.drop"), "head; v0 has tail"))
        }
        QueueDiscipline::Codel(codel) => {
            let place = format!("{place}.discipline.codel");
            if codel.ce_threshold_us.is_some() || codel.l4s {
                return Err(unsupported(
                    format!("{place}.ce_threshold_us"),
                    "v0 has none; expected none, and l4s false",
                ));
            }
            let target_ms = whole_ms(codel.target_us, || format!("{place}.target_us"))?;
            let interval_ms = whole_ms(codel.interval_us, || format!("{place}.interval_us"))?;
            Ok(if codel.ecn {
                QueueParameters::EcnCodel { target_ms, interval_ms }
            } else {
                QueueParameters::Codel { target_ms, interval_ms }
            })
        }
        other => {
            let place = format!("{place}.discipline.{}", other.kind());
            Err(unsupported(place, "v0 has fifo and codel"))
        }
    }
}

fn whole_ms(us: u32, place: impl Fn() -> String) -> Result<u32> {
    if us.is_multiple_of(1000) {
        return Ok(us / 1000);
    }
    Err(out_of_range(place(), format!("{us} µs; v0 has whole milliseconds")))
}

/// PLC MOD.
pub(super) fn policer_control(
    place: &str,
    queue: QueueId,
    policer: &Policer,
) -> Result<PolicerControl> {
    let Policer { rate_kbps, burst_bytes: burst, exceed } = *policer;
    let depth = burst_bytes(rate_kbps, POLICER_WINDOW_MS);
    if burst != depth {
        return Err(out_of_range(
            format!("{place}.policer.burst_bytes"),
            format!("{burst}; a v0 policer of {rate_kbps} kbit/s has {depth}"),
        ));
    }
    let id = u32::from(queue);
    let modify = |drop_rate_kbps, dev_id, dev_rate_kbps| PolicerControl::Modify {
        id,
        drop_rate_kbps,
        dev_id,
        dev_rate_kbps,
        active: 1,
    };
    match exceed {
        ExceedAction::Drop => Ok(modify(rate_kbps, id, 0)),
        ExceedAction::Deviate { queue } => Ok(modify(0, u32::from(queue), rate_kbps)),
        ExceedAction::Remark { .. } => {
            Err(unsupported(format!("{place}.policer.exceed"), "remark; v0 has drop and deviate"))
        }
    }
}

/// SHP MOD.
pub(super) fn shaper_control(
    place: &str,
    queue: QueueId,
    shaper: &Shaper,
) -> Result<ShaperControl> {
    let Shaper { rate_kbps, burst_bytes: burst, group } = *shaper;
    if group.is_some() {
        let place = format!("{place}.shaper.group");
        return Err(unsupported(place, "v0 has no groups; expected none"));
    }
    let about_ms = u64::from(burst) * 8 / u64::from(rate_kbps.max(1));
    let about_ms = u32::try_from(about_ms).unwrap_or(u32::MAX);
    for time_window_ms in [about_ms, about_ms.saturating_add(1)] {
        if time_window_ms >= 1 && burst_bytes(rate_kbps, time_window_ms) == burst {
            let (id, max_rate_kbps) = (u32::from(queue), rate_kbps);
            return Ok(ShaperControl::Modify { id, time_window_ms, max_rate_kbps, active: 1 });
        }
    }
    let nearest = burst_bytes(rate_kbps, about_ms.max(1));
    Err(out_of_range(
        format!("{place}.shaper.burst_bytes"),
        format!(
            "{burst}; a v0 shaper of {rate_kbps} kbit/s has whole milliseconds at that rate, at \
             least {MIN_BURST_BYTES} bytes: {nearest} for example"
        ),
    ))
}

fn classifier(classifier: &Classifier, numbers: &Numbers, base: QueueId) -> Result<Classifier> {
    match classifier {
        Classifier::RoundRobin(target) => {
            numbers.all(*target, base, "classifier.round_robin").map(Classifier::RoundRobin)
        }
        Classifier::StochasticHash(hash) => {
            let place = "classifier.stochastic_hash";
            if hash.perturbation.is_some() {
                let place = format!("{place}.perturbation");
                return Err(unsupported(place, "v0 has none; expected none"));
            }
            if hash.ways != 1 {
                let detail = format!("{}; v0 has plain hashes, 1 way", hash.ways);
                return Err(unsupported(format!("{place}.ways"), detail));
            }
            if classifier.isolation() != Isolation::Flows {
                let detail = "v0 shares between flows; expected absent";
                return Err(unsupported(format!("{place}.isolation"), detail));
            }
            let target = numbers.all(hash.target, base, &format!("{place}.target"))?;
            Ok(Classifier::StochasticHash(StochasticHash { target, ..*hash }))
        }
        Classifier::Osi(osi) => {
            let filters = osi.filters.iter().enumerate();
            let filters: Result<Vec<_>> = filters
                .map(|(i, filter)| {
                    lower_filter(&format!("classifier.osi.filters[{i}]"), i, filter, numbers)
                })
                .collect();
            let mut filters = filters?;
            if filters.is_empty() {
                filters.push(catch_all(base));
            }
            Ok(Classifier::Osi(OsiClassifier::new(filters, one(base))))
        }
        other => Err(unsupported(
            format!("classifier.{}", other.kind()),
            "v0 has round_robin, stochastic_hash and osi",
        )),
    }
}

/// v0 has no OSI classifier without filters; one that matches everything does the same.
pub(super) fn catch_all(queue: QueueId) -> Filter {
    Filter { id: 0, rule: FlowMatch::default(), target: one(queue) }
}

/// The filter with the id that it gets when filters are added in order.
fn lower_filter(
    place: &str,
    position: usize,
    filter: &Filter,
    numbers: &Numbers,
) -> Result<Filter> {
    let target = one(numbers.v0(single(filter.target, &format!("{place}.target"))?));
    new_filter(&format!("{place}.match"), &filter.rule, target.first)?;
    let id = FilterId::try_from(position)
        .map_err(|_| out_of_range(place, format!("position {position}; expected at most 65535")))?;
    Ok(Filter { id, rule: filter.rule.clone(), target })
}

/// The content of CLS ADD OSI.
pub(super) fn new_filter(place: &str, rule: &FlowMatch, queue: QueueId) -> Result<NewFilter> {
    let FlowMatch {
        source,
        destination,
        source_port,
        destination_port,
        protocol,
        dscp,
        qfi,
        ecn,
        inner,
    } = rule;
    for (name, given) in [
        ("dscp", dscp.is_some()),
        ("qfi", qfi.is_some()),
        ("ecn", ecn.is_some()),
        ("inner", *inner == Some(true)),
    ] {
        if given {
            let detail = "v0 matches addresses, ports and protocol; expected none";
            return Err(unsupported(format!("{place}.{name}"), detail));
        }
    }
    Ok(NewFilter {
        src_addr: address(place, "source", source)?,
        dst_addr: address(place, "destination", destination)?,
        src_port: port(place, "source_port", source_port)?,
        dst_port: port(place, "destination_port", destination_port)?,
        protocol: protocol.map_or(WILDCARD, i32::from),
        dst_queue: i32::from(queue),
    })
}

fn address(place: &str, name: &str, prefix: &Option<Prefix>) -> Result<i64> {
    let shown = match prefix {
        None => return Ok(i64::from(WILDCARD)),
        Some(Prefix::V4 { address, length: 32 }) => return Ok(i64::from(address.to_bits())),
        Some(Prefix::V4 { address, length }) => format!("{address}/{length}"),
        Some(Prefix::V6 { address, length }) => format!("{address}/{length}"),
    };
    let detail = format!("{shown}; v0 matches single IPv4 addresses");
    Err(unsupported(format!("{place}.{name}"), detail))
}

fn port(place: &str, name: &str, range: &Option<PortRange>) -> Result<i32> {
    match range {
        None => Ok(WILDCARD),
        Some(PortRange { low, high }) if low == high => Ok(i32::from(*low)),
        Some(PortRange { low, high }) => {
            let detail = format!("{low} to {high}; v0 matches single ports");
            Err(unsupported(format!("{place}.{name}"), detail))
        }
    }
}

fn scheduler(scheduler: &Scheduler, numbers: &Numbers) -> Result<Scheduler> {
    let Scheduler::StrictPriority { order } = scheduler else {
        scheduler_content(scheduler)?;
        return Ok(scheduler.clone());
    };
    let mut listed = Vec::with_capacity(numbers.0.len());
    for (i, target) in order.iter().enumerate() {
        listed.push(single(*target, &format!("scheduler.strict_priority.order[{i}]"))?);
    }
    // v1 serves queues that are not listed last, in the order of their ids; v0 lists all.
    listed.extend(numbers.0.keys().filter(|id| !listed.contains(id)).copied().collect::<Vec<_>>());
    let order = listed.into_iter().map(|id| one(numbers.v0(id))).collect();
    Ok(Scheduler::StrictPriority { order })
}

/// The content of SCH MOD.
pub(super) fn scheduler_content(scheduler: &Scheduler) -> Result<ModifyScheduler> {
    match scheduler {
        Scheduler::RoundRobin => Ok(ModifyScheduler::RoundRobin { dummy: 0 }),
        Scheduler::StrictPriority { order } => Ok(ModifyScheduler::Priority {
            q_prio: order.iter().map(|target| u32::from(target.first)).collect(),
        }),
        other => Err(unsupported(
            format!("scheduler.{}", other.kind()),
            "v0 has round_robin and strict_priority",
        )),
    }
}

/// The content of PCR MOD. `drb_sz` and `tstamp` are the state of the RLC in the node.
pub(super) fn pacer(pacer: &Pacer) -> Result<ModifyPacer> {
    match pacer {
        Pacer::None => Ok(ModifyPacer::Dummy { dummy: 0 }),
        Pacer::Bdp5g => Ok(ModifyPacer::Bdp5g { drb_sz: 0, tstamp: 0 }),
        other => Err(unsupported(format!("pacer.{}", other.kind()), "v0 has none and bdp5g")),
    }
}
