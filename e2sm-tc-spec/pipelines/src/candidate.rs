//! The pipeline that a change would lead to. Nothing takes effect here.

use e2sm_tc::v1::{
    Capabilities, Cause, Classifier, Pipeline, PipelineChange, PipelineEdit, QueueSet,
};

use crate::PipelineError;
use crate::limits::{Result, check_edit};

/// The pipeline after `change` on a node of these capabilities; each edit is checked, the whole is
/// not yet: see [`limits::check`](crate::limits::check).
///
/// # Errors
/// For an edit that makes no sense, or that does not fit the pipeline it is applied to. The element
/// is a path from the transaction's `change` on.
pub fn candidate(
    current: &Pipeline,
    safe: &Pipeline,
    initial: &Pipeline,
    change: &PipelineChange,
    capabilities: &Capabilities,
) -> Result<Pipeline> {
    match change {
        PipelineChange::Safe => Ok(safe.clone()),
        PipelineChange::Initial => Ok(initial.clone()),
        PipelineChange::Replace(pipeline) => Ok(pipeline.clone()),
        PipelineChange::Delta(edits) => {
            let mut pipeline = current.clone();
            for (i, edit) in edits.iter().enumerate() {
                apply(&mut pipeline, edit, &format!("delta[{i}]"), capabilities)?;
            }
            Ok(pipeline)
        }
    }
}

/// Applies one edit; `path` is where the edit stands in the transaction.
fn apply(
    pipeline: &mut Pipeline,
    edit: &PipelineEdit,
    path: &str,
    capabilities: &Capabilities,
) -> Result {
    check_edit(path, edit, capabilities)?;
    match edit {
        PipelineEdit::SetClassifier(classifier) => pipeline.classifier = classifier.clone(),
        PipelineEdit::AddFilter { position, filter } => {
            let path = format!("{path}.add_filter");
            let osi = osi_filters(pipeline, &path)?;
            if osi.iter().any(|other| other.id == filter.id) {
                return Err(PipelineError::new(
                    Cause::DuplicateId,
                    format!("{path}.filter.id"),
                    format!("filter {} is there already; expected a free id", filter.id),
                ));
            }
            let at = usize::from(*position);
            if at > osi.len() {
                return Err(PipelineError::new(
                    Cause::OutOfRange,
                    format!("{path}.position"),
                    format!("{at}, expected 0..={}", osi.len()),
                ));
            }
            osi.insert(at, filter.clone());
        }
        PipelineEdit::RemoveFilter(id) => {
            let path = format!("{path}.remove_filter");
            let osi = osi_filters(pipeline, &path)?;
            let at = osi.iter().position(|filter| filter.id == *id).ok_or_else(|| {
                PipelineError::new(
                    Cause::UnknownFilter,
                    path,
                    format!("there is no filter {id}; expected one of this classifier"),
                )
            })?;
            osi.remove(at);
        }
        PipelineEdit::AddQueues(set) => {
            let path = format!("{path}.add_queues");
            if let Some(id) = ids(set.first, set.count).find(|&id| has_queue(pipeline, id)) {
                return Err(PipelineError::new(
                    Cause::DuplicateId,
                    path,
                    format!("queue {id} is there already; expected free ids"),
                ));
            }
            insert(&mut pipeline.queues, set.clone());
        }
        PipelineEdit::ModifyQueues(set) => {
            let path = format!("{path}.modify_queues");
            take_queues(pipeline, set.first, set.count, &path)?;
            insert(&mut pipeline.queues, set.clone());
        }
        PipelineEdit::RemoveQueues(target) => {
            take_queues(pipeline, target.first, target.count, &format!("{path}.remove_queues"))?;
        }
        PipelineEdit::SetScheduler(scheduler) => pipeline.scheduler = scheduler.clone(),
        PipelineEdit::SetPacer(pacer) => pipeline.pacer = *pacer,
        PipelineEdit::SetBuffer(buffer) => pipeline.buffer = *buffer,
        PipelineEdit::SetName(name) => pipeline.name.clone_from(name),
    }
    Ok(())
}

fn osi_filters<'a>(
    pipeline: &'a mut Pipeline,
    path: &str,
) -> Result<&'a mut Vec<e2sm_tc::v1::Filter>> {
    match &mut pipeline.classifier {
        Classifier::Osi(osi) => Ok(&mut osi.filters),
        _ => Err(PipelineError::new(
            Cause::Inconsistent,
            path,
            "the classifier has no filters; expected the OSI classifier",
        )),
    }
}

fn ids(first: u16, count: u16) -> impl Iterator<Item = u32> {
    u32::from(first)..u32::from(first) + u32::from(count)
}

/// One past the last id of a set.
fn end(set: &QueueSet) -> u32 {
    u32::from(set.first) + u32::from(set.count)
}

fn has_queue(pipeline: &Pipeline, id: u32) -> bool {
    pipeline.queues.iter().any(|set| (u32::from(set.first)..end(set)).contains(&id))
}

fn insert(sets: &mut Vec<QueueSet>, set: QueueSet) {
    let at = sets.partition_point(|other| other.first < set.first);
    sets.insert(at, set);
}

/// Removes a run of queues, which must all be there, splitting the sets it cuts.
fn take_queues(pipeline: &mut Pipeline, first: u16, count: u16, path: &str) -> Result {
    if let Some(id) = ids(first, count).find(|&id| !has_queue(pipeline, id)) {
        return Err(PipelineError::new(
            Cause::UnknownQueue,
            path,
            format!("there is no queue {id}; expected queues of this pipeline"),
        ));
    }
    let cut = u32::from(first)..u32::from(first) + u32::from(count);
    let mut kept = Vec::with_capacity(pipeline.queues.len() + 1);
    for set in pipeline.queues.drain(..) {
        let (start, stop) = (u32::from(set.first), end(&set));
        for part in [start..stop.min(cut.start), start.max(cut.end)..stop] {
            if part.start < part.end {
                kept.push(QueueSet {
                    first: part.start as u16,
                    count: (part.end - part.start) as u16,
                    ..set.clone()
                });
            }
        }
    }
    kept.sort_by_key(|set| set.first);
    pipeline.queues = kept;
    Ok(())
}
