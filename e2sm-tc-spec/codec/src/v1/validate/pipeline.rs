//! Relations between the stages of a pipeline.

use std::collections::HashMap;

use super::runs::{QueueIds, run};
use super::{Invalid, Validate, declared};
use crate::v1::model::{
    Cause, Classifier, ExceedAction, Pipeline, Policer, QueueSet, QueueTarget, Scheduler, Shaper,
};

/// Maximum queues of a pipeline, `maxQueues` of the ASN.1 module.
const MAX_QUEUES: u32 = 4096;

impl Validate for Pipeline {
    fn validate(&self) -> Result<(), Invalid> {
        declared(self)?;
        let ids = queue_ids(&self.queues)?;
        for (index, set) in self.queues.iter().enumerate() {
            deviation(set, &ids).map_err(|invalid| invalid.at_index(index).within("queues"))?;
        }
        shaper_groups(&self.queues)?;
        classifier_targets(&self.classifier, &ids)
            .map_err(|invalid| invalid.within(self.classifier.kind()).within("classifier"))?;
        scheduler_targets(&self.scheduler, &ids)
            .map_err(|invalid| invalid.within(self.scheduler.kind()).within("scheduler"))
    }
}

fn queue_ids(sets: &[QueueSet]) -> Result<QueueIds, Invalid> {
    let mut ids = QueueIds::default();
    for (index, set) in sets.iter().enumerate() {
        ids.add(set.first, set.count)
            .map_err(|invalid| invalid.at_index(index).within("queues"))?;
    }
    if ids.len() > MAX_QUEUES {
        let expected = format!("at most {MAX_QUEUES} queues");
        return Err(Invalid::new(Cause::Capacity, expected, ids.len()).within("queues"));
    }
    Ok(ids)
}

fn deviation(set: &QueueSet, ids: &QueueIds) -> Result<(), Invalid> {
    let Some(Policer { exceed: ExceedAction::Deviate { queue }, .. }) = set.policer else {
        return Ok(());
    };
    let (first, last) = run(set.first, set.count);
    let checked = if (first..=last).contains(&u32::from(queue)) {
        let expected = "a queue outside the policed set";
        Err(Invalid::new(Cause::Inconsistent, expected, queue))
    } else {
        ids.must_hold(queue)
    };
    checked.map_err(|invalid| invalid.within("policer.exceed.deviate.queue"))
}

fn shaper_groups(sets: &[QueueSet]) -> Result<(), Invalid> {
    let mut buckets: HashMap<u16, (u32, u32)> = HashMap::new();
    for (index, set) in sets.iter().enumerate() {
        let Some(Shaper { rate_kbps, burst_bytes, group: Some(group) }) = set.shaper else {
            continue;
        };
        let bucket = *buckets.entry(group).or_insert((rate_kbps, burst_bytes));
        if bucket != (rate_kbps, burst_bytes) {
            let expected = format!("rate and burst {bucket:?} of the others of group {group}");
            let found = format!("{:?}", (rate_kbps, burst_bytes));
            return Err(Invalid::new(Cause::Inconsistent, expected, found)
                .within("shaper")
                .at_index(index)
                .within("queues"));
        }
    }
    Ok(())
}

fn classifier_targets(classifier: &Classifier, ids: &QueueIds) -> Result<(), Invalid> {
    let cover = |target: QueueTarget, component: &str| {
        ids.must_cover(target).map_err(|invalid| invalid.within(component))
    };
    match classifier {
        Classifier::RoundRobin(target) => ids.must_cover(*target),
        Classifier::StochasticHash(hash) | Classifier::HostThenFlow(hash) => {
            cover(hash.target, "target")
        }
        Classifier::Osi(osi) => {
            for (index, filter) in osi.filters.iter().enumerate() {
                cover(filter.target, "target")
                    .map_err(|invalid| invalid.at_index(index).within("filters"))?;
            }
            cover(osi.default, "default")
        }
        Classifier::L4sEcn(l4s) => {
            cover(l4s.l4s, "l4s")?;
            cover(l4s.classic, "classic")
        }
    }
}

fn scheduler_targets(scheduler: &Scheduler, ids: &QueueIds) -> Result<(), Invalid> {
    let mut listed = QueueIds::default();
    for (path, target) in scheduler.targets() {
        listed
            .add(target.first, target.count)
            .and_then(|()| ids.must_cover(target))
            .map_err(|invalid| invalid.within(&path))?;
    }
    Ok(())
}
