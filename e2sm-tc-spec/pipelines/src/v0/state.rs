//! The pipeline of a v0 node, from its acknowledged controls or its reports.

use std::collections::{BTreeMap, BTreeSet};

use e2sm_tc::v0::{
    self, ClassifierControl, ClassifierStatus, ControlMessage, IndicationMessage, PacerType,
    PolicerControl, QueueControl, QueueType, SchedulerStatus, ShaperControl,
};
use e2sm_tc::v1::{
    BufferLimit, Capabilities, Classifier, Codel, ExceedAction, FifoDrop, Filter, FilterId,
    FlowMatch, OsiClassifier, Overflow, Pacer, Pipeline, PipelineChange, Policer, QueueDiscipline,
    QueueId, QueueSet, Scheduler, Shaper, StochasticHash, Validate,
};
use serde::Serialize;

use super::controls::{self, ControlError, burst_bytes, one};
use crate::{candidate, limits};

/// Name of an observed pipeline that is not the safe one: no v1 transaction made it.
const FOREIGN: &str = "foreign";

/// v0 does not report the buffer limit of a node; this is the highest value in v1.
const BUFFER: BufferLimit =
    BufferLimit { packets: 0x7fff_ffff, bytes: u32::MAX, overflow: Overflow::Tail };

/// Window of a shaper that is only known from reports.
const ASSUMED_WINDOW_MS: u32 = 10;

/// What v1 needs and a v0 report does not contain, or contains with a value that v1 excludes. The
/// pipeline holds an assumption in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The queues that round robin or a stochastic hash spreads over; assumed: the lowest.
    Spread,
    /// The order of a strict priority scheduler with queues that do not exist; assumed: the others.
    Order,
    /// Rule or target of a filter; assumed: everything goes to the lowest queue.
    Filter(FilterId),
    /// Rate or target of a policer.
    Policer(QueueId),
    /// Target and interval of CoDel; assumed: those of RFC 8289 §4.4.
    CodelTimes(QueueId),
    /// Bucket depth of a shaper; assumed: 10 ms at its rate.
    BucketDepth(QueueId),
}

/// A v0 report that does not describe a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReportError(String);

/// The one pipeline of a v0 node in terms of v1.
///
/// Each queue is a set of its own with the id that the node gave it, in order; the default of an OSI
/// classifier is the lowest queue; a strict priority lists single queues.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeState {
    pub(super) pipeline: Pipeline,
    /// What is assumed in `pipeline`.
    pub(super) unknown: BTreeSet<Unknown>,
    /// The queue of the v1 transaction that each queue of the node carries out; a queue that is
    /// absent has the same id in both.
    pub(super) v1_ids: BTreeMap<QueueId, QueueId>,
}

impl NodeState {
    /// The safe pipeline: one FIFO `queue`, no pacer.
    pub fn safe(queue: QueueId) -> Self {
        let pipeline = Pipeline {
            name: "transparent".to_owned(),
            classifier: Classifier::RoundRobin(one(queue)),
            queues: vec![plain_queue(queue)],
            scheduler: Scheduler::RoundRobin,
            pacer: Pacer::None,
            buffer: BUFFER,
        };
        Self { pipeline, unknown: BTreeSet::new(), v1_ids: BTreeMap::new() }
    }

    /// The pipeline that a report shows.
    ///
    /// # Errors
    /// For a report without queues, or with filter ids that v1 excludes.
    pub fn observed(report: &IndicationMessage) -> Result<Self, ReportError> {
        let numbers = numbers_of(report);
        let Some(base) = numbers.iter().copied().min() else {
            return Err(ReportError("0 queues in the report; expected at least 1".to_owned()));
        };
        let mut state = Self::safe(base);
        let known: BTreeSet<_> = numbers.iter().copied().collect();
        state.pipeline.queues = numbers
            .into_iter()
            .zip(&report.q)
            .map(|(id, queue)| state_of_queue(id, queue, &known, &mut state.unknown))
            .collect();
        state.pipeline.queues.sort_by_key(|set| set.first);
        state.observe_classifier(&report.cls, &known)?;
        state.observe_scheduler(&report.sch, &known);
        if report.pcr.kind == PacerType::Bdp5g {
            state.pipeline.pacer = Pacer::Bdp5g;
        }
        if !state.is_safe() {
            FOREIGN.clone_into(&mut state.pipeline.name);
        }
        Ok(state)
    }

    fn observe_classifier(
        &mut self,
        status: &ClassifierStatus,
        known: &BTreeSet<QueueId>,
    ) -> Result<(), ReportError> {
        let all = one(self.base());
        self.pipeline.classifier = match status {
            ClassifierStatus::RoundRobin { .. } => Classifier::RoundRobin(all),
            ClassifierStatus::Stochastic { .. } => {
                Classifier::StochasticHash(StochasticHash::plain(all))
            }
            ClassifierStatus::Osi { flt } => {
                let filters = flt.iter().map(|filter| self.observe_filter(filter, known));
                let filters: Vec<_> = filters.collect::<Result<_, _>>()?;
                let mut ids = BTreeSet::new();
                if let Some(twice) = filters.iter().find(|filter| !ids.insert(filter.id)) {
                    let detail = format!("filter {} twice in the report; expected once", twice.id);
                    return Err(ReportError(detail));
                }
                self.pipeline.classifier = Classifier::Osi(OsiClassifier::new(filters, all));
                return Ok(());
            }
        };
        self.unknown.insert(Unknown::Spread);
        Ok(())
    }

    fn observe_filter(
        &mut self,
        filter: &v0::Filter,
        known: &BTreeSet<QueueId>,
    ) -> Result<Filter, ReportError> {
        let id = FilterId::try_from(filter.id)
            .map_err(|_| ReportError(format!("filter {}; expected at most 65535", filter.id)))?;
        let seen = controls::filter(id, filter).ok();
        Ok(seen.filter(|filter| known.contains(&filter.target.first)).unwrap_or_else(|| {
            self.unknown.insert(Unknown::Filter(id));
            Filter { id, rule: FlowMatch::default(), target: one(self.base()) }
        }))
    }

    fn observe_scheduler(&mut self, status: &SchedulerStatus, known: &BTreeSet<QueueId>) {
        let SchedulerStatus::Priority { q_prio } = status else {
            return;
        };
        let mut listed = BTreeSet::new();
        let order: Vec<_> = q_prio
            .iter()
            .filter_map(|&number| QueueId::try_from(number).ok())
            .filter(|id| known.contains(id) && listed.insert(*id))
            .map(one)
            .collect();
        if order.len() != q_prio.len() {
            self.unknown.insert(Unknown::Order);
        }
        self.pipeline.scheduler = Scheduler::StrictPriority { order };
    }

    /// The pipeline in terms of v1, with the node's queue ids.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// What is assumed in the pipeline.
    pub fn unknown(&self) -> impl Iterator<Item = Unknown> {
        self.unknown.iter().copied()
    }

    /// The lowest queue, which gets the packets that no filter matches.
    pub fn base(&self) -> QueueId {
        self.pipeline.queues.first().map_or(0, |set| set.first)
    }

    /// The v1 id of a queue of the node.
    pub fn v1_id(&self, queue: QueueId) -> QueueId {
        self.v1_ids.get(&queue).copied().unwrap_or(queue)
    }

    /// The state after an acknowledged control.
    ///
    /// # Errors
    /// For a control that a node in this state could only refuse: v1 has no edit for it, it refers
    /// to what the pipeline lacks, or it would leave a stage that refers to a missing queue.
    pub fn apply(&self, control: &ControlMessage) -> Result<Self, ControlError> {
        let after = self.edited(control, &limits::everything())?;
        after.pipeline.validate().map_err(|invalid| ControlError::from(invalid.to_string()))?;
        Ok(after)
    }

    /// Does the same as [`apply`](Self::apply), without the check of the whole pipeline.
    pub(super) fn edited(
        &self,
        control: &ControlMessage,
        everything: &Capabilities,
    ) -> Result<Self, ControlError> {
        let change = PipelineChange::Delta(controls::edits(&self.pipeline, control)?);
        let pipeline =
            candidate(&self.pipeline, &self.pipeline, &self.pipeline, &change, everything)
                .map_err(|error| ControlError::from(error.to_string()))?;
        let mut unknown = self.unknown.clone();
        unknown.retain(|item| !sets(control, *item));
        Ok(Self { pipeline, unknown, v1_ids: self.v1_ids.clone() })
    }

    /// Whether a pipeline seen in a report may be this one, as far as reports show.
    pub fn agrees_with(&self, seen: &Self) -> bool {
        let (ours, theirs) = (&self.pipeline, &seen.pipeline);
        let excluded = |item: &Unknown| matches!(item, Unknown::Order | Unknown::Filter(_));
        !seen.unknown.iter().any(excluded)
            && ours.scheduler == theirs.scheduler
            && ours.pacer == theirs.pacer
            && classifiers_agree(&ours.classifier, &theirs.classifier)
            && ours.queues.len() == theirs.queues.len()
            && ours.queues.iter().zip(&theirs.queues).all(|(a, b)| queues_agree(a, b))
    }

    /// Whether it is the safe pipeline, as far as reports show.
    pub fn is_safe(&self) -> bool {
        Self::safe(self.base()).agrees_with(self)
    }
}

fn plain_queue(id: QueueId) -> QueueSet {
    QueueSet {
        first: id,
        count: 1,
        discipline: QueueDiscipline::Fifo { drop: FifoDrop::Tail },
        limit_packets: None,
        limit_bytes: None,
        policer: None,
        shaper: None,
    }
}

/// The ids of a report's queues, in its order. Queue ids are not on the wire: those of the shapers
/// stand for them, one to one; where these are not distinct or exceed v1's, queues are numbered in
/// order.
pub fn queue_numbers(shaper_ids: impl ExactSizeIterator<Item = u32> + Clone) -> Vec<QueueId> {
    let count = shaper_ids.len();
    let ids = shaper_ids.map(|id| QueueId::try_from(id).ok());
    let distinct: BTreeSet<_> = ids.clone().flatten().collect();
    if distinct.len() == count {
        return ids.flatten().collect();
    }
    (0..=QueueId::MAX).take(count).collect()
}

pub(super) fn numbers_of(report: &IndicationMessage) -> Vec<QueueId> {
    queue_numbers(report.q.iter().map(|queue| queue.shp.id))
}

fn state_of_queue(
    id: QueueId,
    status: &v0::QueueStatus,
    known: &BTreeSet<QueueId>,
    unknown: &mut BTreeSet<Unknown>,
) -> QueueSet {
    let mut set = plain_queue(id);
    let kind = status.queue.queue_type();
    if kind != QueueType::Fifo {
        unknown.insert(Unknown::CodelTimes(id));
        set.discipline = QueueDiscipline::Codel(Codel {
            target_us: 5_000,
            interval_us: 100_000,
            ecn: kind == QueueType::EcnCodel,
            ce_threshold_us: None,
            l4s: false,
        });
    }
    if status.plc.active != 0 {
        let rate = status.plc.max_rate_kbps.round();
        // A float that is no rate, NaN included, becomes 1.
        let rate_kbps = (rate as u32).max(1);
        let to = QueueId::try_from(status.plc.dev_id).ok().filter(|to| known.contains(to));
        if rate_kbps as f32 != rate || to.is_none() {
            unknown.insert(Unknown::Policer(id));
        }
        let exceed = match to {
            Some(queue) if queue != id => ExceedAction::Deviate { queue },
            _ => ExceedAction::Drop,
        };
        let burst_bytes = burst_bytes(rate_kbps, controls::POLICER_WINDOW_MS);
        set.policer = Some(Policer { rate_kbps, burst_bytes, exceed });
    }
    if status.shp.active != 0 {
        unknown.insert(Unknown::BucketDepth(id));
        let rate_kbps = status.shp.max_rate_kbps.max(1);
        let burst_bytes = burst_bytes(rate_kbps, ASSUMED_WINDOW_MS);
        set.shaper = Some(Shaper { rate_kbps, burst_bytes, group: None });
    }
    set
}

/// Whether a control sets what was unknown, or removes what it is about.
fn sets(control: &ControlMessage, unknown: Unknown) -> bool {
    use ControlMessage as C;
    match (unknown, control) {
        (Unknown::Spread, C::Classifier(_)) | (Unknown::Order, C::Scheduler(_)) => true,
        (Unknown::Filter(id), C::Classifier(control)) => match control {
            ClassifierControl::Modify(v0::ModifyClassifier::Osi { filter }) => {
                filter.id == u32::from(id)
            }
            ClassifierControl::Delete(v0::DeleteClassifier::Osi { filter_id }) => {
                *filter_id == u32::from(id)
            }
            ClassifierControl::Add(v0::AddClassifier::Osi(_)) => false,
            _ => true,
        },
        (Unknown::Policer(of), C::Policer(control)) => match control {
            PolicerControl::Modify { id, .. } | PolicerControl::Delete { id } => {
                *id == u32::from(of)
            }
            PolicerControl::Add { .. } => false,
        },
        (Unknown::BucketDepth(of), C::Shaper(control)) => match control {
            ShaperControl::Modify { id, .. } | ShaperControl::Delete { id } => *id == u32::from(of),
            ShaperControl::Add { .. } => false,
        },
        (
            Unknown::CodelTimes(of),
            C::Queue(QueueControl::Modify { id, .. } | QueueControl::Delete { id, .. }),
        )
        | (
            Unknown::Policer(of) | Unknown::BucketDepth(of),
            C::Queue(QueueControl::Delete { id, .. }),
        ) => *id == u32::from(of),
        _ => false,
    }
}

fn classifiers_agree(ours: &Classifier, theirs: &Classifier) -> bool {
    match (ours, theirs) {
        (Classifier::Osi(ours), Classifier::Osi(theirs)) => ours.filters == theirs.filters,
        _ => ours.kind() == theirs.kind(),
    }
}

/// Reports have the kind of a queue, the rate of its shaper and whether it has a policer.
fn queues_agree(ours: &QueueSet, theirs: &QueueSet) -> bool {
    let kind = |set: &QueueSet| match &set.discipline {
        QueueDiscipline::Codel(codel) => Some(codel.ecn),
        _ => None,
    };
    let rate = |set: &QueueSet| set.shaper.map(|shaper| shaper.rate_kbps);
    ours.first == theirs.first
        && kind(ours) == kind(theirs)
        && rate(ours) == rate(theirs)
        && ours.policer.is_some() == theirs.policer.is_some()
}
