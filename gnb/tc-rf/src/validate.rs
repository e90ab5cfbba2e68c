//! Whether a pipeline can be installed, before any of it takes effect.
//!
//! What is true of any pipeline the service model says itself ([`e2sm_tc::v1::Validate`]). Here is
//! what is true of this RAN function: the kinds it has, how much it holds, and the parameters with
//! which it keeps its promises.

mod discipline;
mod pacer;

use std::fmt::Display;
use std::ops::RangeInclusive;

use e2sm_tc::v1::{
    BearerForecast, Cause, Classifier, Invalid, Pipeline, PipelineEdit, QueueSet, Scheduler,
    Validate,
};

use crate::PipelineError;
use crate::capabilities::{CLASSIFIERS, MAX_FILTERS, PACERS, QUEUES, SCHEDULERS};

pub(crate) type Result<T = ()> = std::result::Result<T, PipelineError>;

/// A quantum below this makes DRR go round too often per packet; Linux has the same bound.
const QUANTUM_BYTES: RangeInclusive<u32> = 256..=1 << 20;
/// A limit below one packet of the MTU would let none of that length through, ever.
const LIMIT_BYTES: RangeInclusive<u32> = crate::queue::MTU_BYTES..=u32::MAX;
/// Queued packets are counted in 32 bits, with one more on its way in.
const BUFFER_PACKETS: RangeInclusive<u32> = 1..=u32::MAX / 2;

/// Checks a whole pipeline.
pub(crate) fn check(pipeline: &Pipeline) -> Result {
    check_kinds(pipeline)?;
    check_capacity(&pipeline.classifier)?;
    pipeline.validate().map_err(|invalid| refused("", invalid))?;
    for (i, set) in pipeline.queues.iter().enumerate() {
        check_set(&format!("queues[{i}]"), set)?;
    }
    check_scheduler(&pipeline.scheduler)?;
    pacer::check(&pipeline.pacer)?;
    within("buffer.packets", pipeline.buffer.packets, BUFFER_PACKETS)?;
    within("buffer.bytes", pipeline.buffer.bytes, LIMIT_BYTES)
}

/// Checks what can be said of an edit without the pipeline it is applied to; `path` is where it
/// stands in the transaction.
pub(crate) fn check_edit(path: &str, edit: &PipelineEdit) -> Result {
    if let PipelineEdit::AddQueues(set) | PipelineEdit::ModifyQueues(set) = edit {
        check_set_kind(&format!("{path}.{}", edit.kind()), set)?;
    }
    edit.validate().map_err(|invalid| refused(path, invalid))
}

/// Checks a forecast; elements are named from the forecast on.
pub(crate) fn check_forecast(forecast: &BearerForecast) -> Result {
    forecast.validate().map_err(|invalid| refused("", invalid))
}

/// What the service model says of an element, with its place in the transaction.
fn refused(path: &str, invalid: Invalid) -> PipelineError {
    let Invalid { element, cause, expected, found } = invalid;
    let element = match (path, element.as_str()) {
        ("", _) => element,
        (_, "") => path.to_owned(),
        _ => format!("{path}.{element}"),
    };
    PipelineError::new(cause, element, format!("{found}, expected {expected}"))
}

fn check_kinds(pipeline: &Pipeline) -> Result {
    for (i, set) in pipeline.queues.iter().enumerate() {
        check_set_kind(&format!("queues[{i}]"), set)?;
    }
    available("classifier", pipeline.classifier.kind(), &CLASSIFIERS)?;
    available("scheduler", pipeline.scheduler.kind(), &SCHEDULERS)?;
    available("pacer", pipeline.pacer.kind(), &PACERS)
}

fn check_set_kind(path: &str, set: &QueueSet) -> Result {
    available(&format!("{path}.discipline"), set.discipline.kind(), &QUEUES)
}

fn available(stage: &str, kind: &str, kinds: &[&str]) -> Result {
    if kinds.contains(&kind) {
        return Ok(());
    }
    let detail = format!("{kind} is not available; expected one of {}", kinds.join(", "));
    Err(PipelineError::new(Cause::Unsupported, format!("{stage}.{kind}"), detail))
}

fn check_capacity(classifier: &Classifier) -> Result {
    match classifier {
        Classifier::Osi(osi) if osi.filters.len() > usize::from(MAX_FILTERS) => {
            Err(PipelineError::new(
                Cause::Capacity,
                "classifier.osi.filters",
                format!("{} filters, expected at most {MAX_FILTERS}", osi.filters.len()),
            ))
        }
        _ => Ok(()),
    }
}

fn check_set(path: &str, set: &QueueSet) -> Result {
    if let Some(limit) = set.limit_bytes {
        within(&format!("{path}.limit_bytes"), limit, LIMIT_BYTES)?;
    }
    discipline::check(&format!("{path}.discipline.{}", set.discipline.kind()), &set.discipline)
}

fn check_scheduler(scheduler: &Scheduler) -> Result {
    match scheduler {
        Scheduler::DeficitRoundRobin { quantum_bytes }
        | Scheduler::Weighted { quantum_bytes, .. } => {
            let path = format!("scheduler.{}.quantum_bytes", scheduler.kind());
            within(&path, *quantum_bytes, QUANTUM_BYTES)
        }
        _ => Ok(()),
    }
}

fn within<T: PartialOrd + Display>(path: &str, value: T, range: RangeInclusive<T>) -> Result {
    if range.contains(&value) {
        return Ok(());
    }
    Err(PipelineError::new(
        Cause::OutOfRange,
        path,
        format!("{value}, expected {}..={}", range.start(), range.end()),
    ))
}
