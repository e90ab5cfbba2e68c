//! Queue sets: ids, disciplines, policers and shapers.

use e2sm_tc::v1::{
    Cause, Codel, ExceedAction, Policer, QueueDiscipline, QueueId, QueueSet, Shaper,
};

use super::{Result, supported, within};
use crate::PipelineError;
use crate::capabilities::MAX_QUEUES;

/// Longest target and interval of CoDel: ten seconds.
const MAX_CODEL_US: u32 = 10_000_000;

/// The queue ids of a pipeline as disjoint ranges, sorted.
#[derive(Debug, Default)]
pub(crate) struct QueueIds(Vec<(QueueId, u16)>);

impl QueueIds {
    /// Adds `count` ids from `first`; they must be free.
    pub(crate) fn add(&mut self, path: &str, first: QueueId, count: u16) -> Result {
        let end = u32::from(first) + u32::from(count);
        if end > u32::from(QueueId::MAX) + 1 {
            return Err(PipelineError::new(
                Cause::OutOfRange,
                format!("{path}.count"),
                format!("{first} + {count}, expected queue ids up to {}", QueueId::MAX),
            ));
        }
        let at = self.0.partition_point(|&(f, _)| f < first);
        let clash_before = at
            .checked_sub(1)
            .map(|i| self.0[i])
            .filter(|&(f, c)| u32::from(f) + u32::from(c) > u32::from(first));
        let clash_after = self.0.get(at).filter(|&&(f, _)| u32::from(f) < end);
        if clash_before.is_some() || clash_after.is_some() {
            let id = clash_after.map_or(first, |&(f, _)| f);
            return Err(PipelineError::new(
                Cause::DuplicateId,
                path,
                format!("queue {id} is there already; expected disjoint ids"),
            ));
        }
        self.0.insert(at, (first, count));
        Ok(())
    }

    /// The first id of this run that is not there.
    pub(crate) fn first_missing(&self, first: QueueId, count: u16) -> Option<u32> {
        let end = u32::from(first) + u32::from(count);
        let mut next = u32::from(first);
        for &(f, c) in &self.0 {
            let (start, stop) = (u32::from(f), u32::from(f) + u32::from(c));
            if start <= next && next < stop {
                next = stop;
            }
        }
        (next < end).then_some(next)
    }

    pub(crate) fn contains(&self, id: QueueId) -> bool {
        self.first_missing(id, 1).is_none()
    }
}

/// Checks all sets and returns their ids.
pub(super) fn check(sets: &[QueueSet]) -> Result<QueueIds> {
    if sets.is_empty() {
        let detail = "none, expected at least one queue set";
        return Err(PipelineError::new(Cause::OutOfRange, "queues", detail));
    }
    let mut ids = QueueIds::default();
    for (i, set) in sets.iter().enumerate() {
        let path = format!("queues[{i}]");
        check_set(&path, set)?;
        ids.add(&path, set.first, set.count)?;
    }
    let total: u32 = sets.iter().map(|set| u32::from(set.count)).sum();
    if total > u32::from(MAX_QUEUES) {
        return Err(PipelineError::new(
            Cause::Capacity,
            "queues",
            format!("{total} queues, expected at most {MAX_QUEUES}"),
        ));
    }
    check_across(sets, &ids)?;
    Ok(ids)
}

/// One queue set by itself.
pub(crate) fn check_set(path: &str, set: &QueueSet) -> Result {
    within(&format!("{path}.count"), set.count, 1..=MAX_QUEUES)?;
    supported(&format!("{path}.discipline"), &set.discipline)?;
    if let QueueDiscipline::Codel(codel) = &set.discipline {
        check_codel(&format!("{path}.discipline.codel"), codel)?;
    }
    if let Some(limit) = set.limit_packets {
        within(&format!("{path}.limit_packets"), limit, 1..=u32::MAX)?;
    }
    if let Some(limit) = set.limit_bytes {
        within(&format!("{path}.limit_bytes"), limit, 1..=u32::MAX)?;
    }
    if let Some(policer) = &set.policer {
        check_policer(&format!("{path}.policer"), policer)?;
    }
    if let Some(shaper) = &set.shaper {
        within(&format!("{path}.shaper.rate_kbps"), shaper.rate_kbps, 1..=u32::MAX)?;
        within(&format!("{path}.shaper.burst_bytes"), shaper.burst_bytes, 1..=u32::MAX)?;
    }
    Ok(())
}

fn check_codel(path: &str, codel: &Codel) -> Result {
    within(&format!("{path}.interval_us"), codel.interval_us, 1..=MAX_CODEL_US)?;
    // RFC 8289 §4.4: the target is a fraction of the interval.
    within(&format!("{path}.target_us"), codel.target_us, 1..=codel.interval_us)?;
    if codel.l4s && codel.ce_threshold_us.is_none() {
        return Err(PipelineError::new(
            Cause::Inconsistent,
            format!("{path}.ce_threshold_us"),
            "absent, expected a threshold where l4s is set",
        ));
    }
    Ok(())
}

fn check_policer(path: &str, policer: &Policer) -> Result {
    within(&format!("{path}.rate_kbps"), policer.rate_kbps, 1..=u32::MAX)?;
    within(&format!("{path}.burst_bytes"), policer.burst_bytes, 1..=u32::MAX)?;
    if let ExceedAction::Remark { dscp } = policer.exceed {
        within(&format!("{path}.exceed.remark.dscp"), dscp, 0..=63)?;
    }
    Ok(())
}

/// What sets say about each other: deviation targets and shaper groups.
fn check_across(sets: &[QueueSet], ids: &QueueIds) -> Result {
    let mut groups: Vec<(u16, &Shaper)> = Vec::new();
    for (i, set) in sets.iter().enumerate() {
        if let Some(Policer { exceed: ExceedAction::Deviate { queue }, .. }) = set.policer {
            let path = format!("queues[{i}].policer.exceed.deviate.queue");
            let own = set.first..=set.first + (set.count - 1);
            if !ids.contains(queue) || own.contains(&queue) {
                return Err(PipelineError::new(
                    Cause::Inconsistent,
                    path,
                    format!("{queue}, expected a queue of another set of this pipeline"),
                ));
            }
        }
        let Some(shaper) = &set.shaper else { continue };
        let Some(group) = shaper.group else { continue };
        match groups.iter().find(|(g, _)| *g == group) {
            None => groups.push((group, shaper)),
            Some((_, first)) if *first == shaper => {}
            Some((_, first)) => {
                return Err(PipelineError::new(
                    Cause::Inconsistent,
                    format!("queues[{i}].shaper"),
                    format!(
                        "{} kbit/s and {} bytes, expected {} and {} as elsewhere in group {group}",
                        shaper.rate_kbps, shaper.burst_bytes, first.rate_kbps, first.burst_bytes
                    ),
                ));
            }
        }
    }
    Ok(())
}
