//! Checks a whole pipeline before any of it takes effect.

mod classifier;
mod queues;

use std::fmt::Display;
use std::ops::RangeInclusive;

use e2sm_tc::v1::{Cause, Pacer, Pipeline, QueueTarget, Scheduler};

use crate::PipelineError;
use crate::capabilities::{Kind, MAX_QUEUES};
use queues::QueueIds;

pub(crate) use queues::check_set;

pub(crate) type Result<T = ()> = std::result::Result<T, PipelineError>;

/// Longest name of a pipeline.
const MAX_NAME: usize = 64;
/// A quantum below this makes DRR go round too often per packet; Linux has the same bound.
const QUANTUM_BYTES: RangeInclusive<u32> = 256..=1 << 20;
/// RFC 791: every host takes datagrams of 68 bytes; jumbo frames end at 9216.
const MTU_BYTES: RangeInclusive<u16> = 68..=9216;

/// Whether this pipeline can be installed.
pub(crate) fn check(pipeline: &Pipeline) -> Result {
    check_name(&pipeline.name)?;
    let ids = queues::check(&pipeline.queues)?;
    classifier::check(&pipeline.classifier, &ids)?;
    check_scheduler(&pipeline.scheduler, &ids)?;
    check_pacer(&pipeline.pacer)?;
    within("buffer.packets", pipeline.buffer.packets, 1..=u32::MAX / 2)?;
    within("buffer.bytes", pipeline.buffer.bytes, 1..=u32::MAX)
}

pub(crate) fn check_name(name: &str) -> Result {
    // What the wire carries of a name (E2SM-TC v1, PipelineName).
    let printable = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if !(1..=MAX_NAME).contains(&name.len()) || !printable {
        return Err(PipelineError::new(
            Cause::OutOfRange,
            "name",
            format!("{name:?}, expected 1 to {MAX_NAME} printable ASCII characters"),
        ));
    }
    Ok(())
}

fn check_scheduler(scheduler: &Scheduler, ids: &QueueIds) -> Result {
    supported("scheduler", scheduler)?;
    match scheduler {
        Scheduler::DeficitRoundRobin { quantum_bytes } => {
            within("scheduler.deficit_round_robin.quantum_bytes", *quantum_bytes, QUANTUM_BYTES)
        }
        Scheduler::StrictPriority { order } => {
            let mut levels = QueueIds::default();
            for (i, target) in order.iter().enumerate() {
                let path = format!("scheduler.strict_priority.order[{i}]");
                check_target(&path, target, ids)?;
                levels.add(&path, target.first, target.count)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check_pacer(pacer: &Pacer) -> Result {
    supported("pacer", pacer)?;
    match pacer {
        Pacer::Drql { mtu_bytes } => within("pacer.drql.mtu_bytes", *mtu_bytes, MTU_BYTES),
        _ => Ok(()),
    }
}

/// A target names 1..=4096 queues and all of them are there.
fn check_target(path: &str, target: &QueueTarget, ids: &QueueIds) -> Result {
    within(&format!("{path}.count"), target.count, 1..=MAX_QUEUES)?;
    match ids.first_missing(target.first, target.count) {
        None => Ok(()),
        Some(id) => Err(PipelineError::new(
            Cause::Inconsistent,
            path,
            format!("there is no queue {id}; expected queues of this pipeline"),
        )),
    }
}

fn supported(stage: &str, kind: &impl Kind) -> Result {
    if kind.is_available() {
        return Ok(());
    }
    Err(PipelineError::new(
        Cause::Unsupported,
        format!("{stage}.{}", kind.name()),
        format!("{} is not available; expected one of {}", kind.name(), {
            kind.available().join(", ")
        }),
    ))
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
