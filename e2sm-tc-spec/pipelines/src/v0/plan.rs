//! The v0 controls that lead from one pipeline to another.
//!
//! v0 changes one stage at a time while packets flow. The order is such that no stage ever sends to,
//! or serves, a missing queue: queues are added before the rules that use them and removed after
//! them. Each pipeline in between is one that a node can run.

use std::collections::BTreeSet;

use e2sm_tc::v0::{
    self, AddClassifier, ClassifierControl, ControlMessage, DeleteClassifier, ModifyClassifier,
    NewFilter, PacerControl, PolicerControl, QueueControl, QueueType, SchedulerControl,
    ShaperControl,
};
use e2sm_tc::v1::{
    Capabilities, Classifier, ExceedAction, Filter, FilterId, Policer, QueueDiscipline, QueueId,
    QueueSet, QueueTarget, Scheduler,
};

use super::controls::ControlError;
use super::lower::{
    self, UnsupportedInV0, catch_all, new_filter, parameters, policer_control, shaper_control,
};
use super::state::{NodeState, Unknown};
use crate::limits;

type Result<T = ()> = std::result::Result<T, ControlError>;

impl From<UnsupportedInV0> for ControlError {
    fn from(error: UnsupportedInV0) -> Self {
        Self::from(error.to_string())
    }
}

/// The controls that make `current` the `target`, empty when nothing is to be done. The queues of
/// the target shall be numbered without gaps from the lowest of `current` on, as
/// [`lower`](super::lower()) numbers them.
///
/// # Errors
/// For a target whose queues are numbered otherwise.
pub fn plan(current: &NodeState, target: &NodeState) -> Result<Vec<ControlMessage>> {
    let mut steps =
        Steps { state: current.clone(), controls: Vec::new(), everything: limits::everything() };
    // An added queue gets the id after the highest, so queues beyond a gap are removed first.
    let numbered = (current.base()..).zip(ids(current));
    let beyond: BTreeSet<_> = numbered.filter(|(next, id)| next != id).map(|pair| pair.1).collect();
    if !beyond.is_empty() {
        steps.park()?;
        steps.retire(&beyond)?;
    }
    steps.add_queues(target)?;
    let doomed: BTreeSet<_> = ids(&steps.state).filter(|id| target.queue(*id).is_none()).collect();
    steps.change_queues(target)?;
    let same_order = steps.state.has(Unknown::Order) == target.has(Unknown::Order);
    if steps.state.pipeline.scheduler != target.pipeline.scheduler || !same_order {
        steps.schedule(&target.pipeline.scheduler)?;
    }
    match &target.pipeline.classifier {
        Classifier::Osi(osi) => {
            steps.rewrite(&osi.filters, |filter| target.has(Unknown::Filter(filter.id)))?;
        }
        // Round robin and hash spread over all queues there are: they wait for the removals.
        _ if !doomed.is_empty() => steps.park()?,
        _ => {}
    }
    steps.retire(&doomed)?;
    steps.spread(&target.pipeline.classifier)?;
    if steps.state.pipeline.pacer != target.pipeline.pacer {
        let content = lower::pacer(&target.pipeline.pacer)?;
        steps.take(ControlMessage::Pacer(PacerControl::Modify(content)))?;
    }
    Ok(steps.controls)
}

/// The controls of a plan for `before`, in order, in groups that may be in flight at once.
///
/// A control sent before the last is answered may find that one refused. It joins the group in
/// flight if a node that took none of the group could take it, so that whichever are refused, what
/// is left is a pipeline that a node can run and that follows from the answers. Removals wait for
/// what leads packets away from the removed, and others wait for them.
///
/// # Errors
/// For controls that are no plan for `before`.
pub fn groups(
    before: &NodeState,
    controls: Vec<ControlMessage>,
) -> Result<Vec<Vec<ControlMessage>>> {
    let mut groups: Vec<Vec<ControlMessage>> = Vec::new();
    let everything = limits::everything();
    let (mut at_start, mut state) = (before.clone(), before.clone());
    for control in controls {
        let after = state.edited(&control, &everything)?;
        match groups.last_mut() {
            Some(group)
                if group.last().map(removes) == Some(removes(&control))
                    && at_start.apply(&control).is_ok() =>
            {
                group.push(control);
            }
            _ => {
                at_start = state;
                groups.push(vec![control]);
            }
        }
        state = after;
    }
    Ok(groups)
}

fn removes(control: &ControlMessage) -> bool {
    matches!(
        control,
        ControlMessage::Queue(QueueControl::Delete { .. })
            | ControlMessage::Classifier(ClassifierControl::Delete(_))
    )
}

impl NodeState {
    fn has(&self, unknown: Unknown) -> bool {
        self.unknown.contains(&unknown)
    }

    fn queue(&self, id: QueueId) -> Option<&QueueSet> {
        let queues = &self.pipeline.queues;
        queues.binary_search_by_key(&id, |set| set.first).ok().map(|at| &queues[at])
    }
}

fn ids(state: &NodeState) -> impl Iterator<Item = QueueId> {
    state.pipeline.queues.iter().map(|set| set.first)
}

/// The controls so far and the pipeline after them.
struct Steps {
    state: NodeState,
    controls: Vec<ControlMessage>,
    everything: Capabilities,
}

impl Steps {
    fn take(&mut self, control: ControlMessage) -> Result {
        self.state = self.state.edited(&control, &self.everything)?;
        self.controls.push(control);
        Ok(())
    }

    fn add_queues(&mut self, target: &NodeState) -> Result {
        for set in &target.pipeline.queues {
            if self.state.queue(set.first).is_some() {
                continue;
            }
            let next = ids(&self.state).last().map_or(0, |highest| u32::from(highest) + 1);
            if u32::from(set.first) != next {
                let detail = format!("queue {} cannot be added; the next id is {next}", set.first);
                return Err(detail.into());
            }
            self.take(ControlMessage::Queue(QueueControl::Add(parameters("", &set.discipline)?)))?;
        }
        Ok(())
    }

    fn change_queues(&mut self, target: &NodeState) -> Result {
        for set in &target.pipeline.queues {
            let (id, number) = (set.first, u32::from(set.first));
            let Some(now) = self.state.queue(id).cloned() else {
                continue;
            };
            let same = |unknown| self.state.has(unknown) == target.has(unknown);
            let same_discipline = now.discipline == set.discipline && same(Unknown::CodelTimes(id));
            let same_policer = now.policer == set.policer && same(Unknown::Policer(id));
            let same_shaper = now.shaper == set.shaper && same(Unknown::BucketDepth(id));
            if !same_discipline {
                let parameters = parameters("", &set.discipline)?;
                self.take(ControlMessage::Queue(QueueControl::Modify { id: number, parameters }))?;
            }
            if !same_policer {
                self.police(id, set.policer.as_ref())?;
            }
            if !same_shaper {
                let control = match &set.shaper {
                    Some(shaper) => shaper_control("", id, shaper)?,
                    None => ShaperControl::Delete { id: number },
                };
                self.take(ControlMessage::Shaper(control))?;
            }
        }
        Ok(())
    }

    fn police(&mut self, queue: QueueId, policer: Option<&Policer>) -> Result {
        let control = match policer {
            Some(policer) => policer_control("", queue, policer)?,
            None => PolicerControl::Delete { id: u32::from(queue) },
        };
        self.take(ControlMessage::Policer(control))
    }

    fn schedule(&mut self, scheduler: &Scheduler) -> Result {
        let content = lower::scheduler_content(scheduler)?;
        self.take(ControlMessage::Scheduler(SchedulerControl::Modify(content)))
    }

    fn classify(&mut self, control: ClassifierControl) -> Result {
        self.take(ControlMessage::Classifier(control))
    }

    /// Sends everything to the lowest queue, so that the others can be removed.
    fn park(&mut self) -> Result {
        let filter = catch_all(self.state.base());
        self.rewrite(&[filter], |_| false)
    }

    /// Makes the filters these, modifying in place those that differ; `unknown` says of which the
    /// rule is an assumption.
    fn rewrite(&mut self, filters: &[Filter], unknown: impl Fn(&Filter) -> bool) -> Result {
        let old = match &self.state.pipeline.classifier {
            Classifier::Osi(osi) => osi.filters.clone(),
            _ => Vec::new(),
        };
        for (old, new) in old.iter().zip(filters) {
            let same = self.state.has(Unknown::Filter(old.id)) == unknown(new);
            if (&old.rule, old.target) == (&new.rule, new.target) && same {
                continue;
            }
            let filter = modified(old.id, &new_filter("", &new.rule, new.target.first)?);
            self.classify(ClassifierControl::Modify(ModifyClassifier::Osi { filter }))?;
        }
        for new in filters.iter().skip(old.len()) {
            let content = new_filter("", &new.rule, new.target.first)?;
            self.classify(ClassifierControl::Add(AddClassifier::Osi(content)))?;
        }
        for old in old.iter().skip(filters.len()).rev() {
            let filter_id = u32::from(old.id);
            self.classify(ClassifierControl::Delete(DeleteClassifier::Osi { filter_id }))?;
        }
        Ok(())
    }

    /// Removes queues that no filter points to, after whatever else refers to them.
    fn retire(&mut self, gone: &BTreeSet<QueueId>) -> Result {
        if let Scheduler::StrictPriority { order } = &self.state.pipeline.scheduler {
            let mut kept = order.clone();
            kept.retain(|target| !gone.contains(&target.first));
            if kept.len() != order.len() {
                self.schedule(&match kept.is_empty() {
                    true => Scheduler::RoundRobin,
                    false => Scheduler::StrictPriority { order: kept },
                })?;
            }
        }
        let deviates = |set: &&QueueSet| {
            matches!(set.policer, Some(Policer { exceed: ExceedAction::Deviate { queue }, .. })
                if gone.contains(&queue))
        };
        let sets = self.state.pipeline.queues.iter();
        for id in sets.filter(deviates).map(|set| set.first).collect::<Vec<_>>() {
            self.police(id, None)?;
        }
        for &id in gone.iter().rev() {
            let queue_type = match self.state.queue(id).map(|set| &set.discipline) {
                Some(QueueDiscipline::Codel(codel)) if codel.ecn => QueueType::EcnCodel,
                Some(QueueDiscipline::Codel(_)) => QueueType::Codel,
                _ => QueueType::Fifo,
            };
            let id = u32::from(id);
            self.take(ControlMessage::Queue(QueueControl::Delete { id, queue_type }))?;
        }
        Ok(())
    }

    /// Sets round robin or hash where that is the target's classifier; either spreads over all the
    /// queues there are when it is set.
    fn spread(&mut self, classifier: &Classifier) -> Result {
        let count = self.state.pipeline.queues.len();
        let all_now = |target: QueueTarget| {
            target.first == self.state.base() && usize::from(target.count) == count
        };
        let now = &self.state.pipeline.classifier;
        let (in_force, modify) = match (classifier, now) {
            (Classifier::RoundRobin(_), _) => (
                matches!(now, Classifier::RoundRobin(target) if all_now(*target)),
                ModifyClassifier::RoundRobin { dummy: 0 },
            ),
            (Classifier::StochasticHash(_), _) => (
                matches!(now, Classifier::StochasticHash(hash) if all_now(hash.target)),
                ModifyClassifier::Stochastic { dummy: 0 },
            ),
            _ => return Ok(()),
        };
        if in_force && !self.state.has(Unknown::Spread) {
            return Ok(());
        }
        self.classify(ClassifierControl::Modify(modify))
    }
}

/// CLS MOD with the content of CLS ADD.
fn modified(id: FilterId, new: &NewFilter) -> v0::Filter {
    v0::Filter {
        id: u32::from(id),
        src_addr: new.src_addr,
        dst_addr: new.dst_addr,
        src_port: new.src_port,
        dst_port: new.dst_port,
        protocol: new.protocol,
        l7: 0,
        dst_queue: new.dst_queue,
    }
}
