//! Runs of consecutive queue ids: overlap and coverage.

use crate::v1::model::{Cause, QueueId, QueueTarget};

use super::Invalid;

/// First and last id of a run.
pub(super) type Run = (u32, u32);

pub(super) fn run(first: QueueId, count: u16) -> Run {
    let first = u32::from(first);
    (first, first + u32::from(count.max(1)) - 1)
}

/// Used queue ids, as disjoint runs in order.
#[derive(Debug, Default)]
pub(super) struct QueueIds {
    runs: Vec<Run>,
}

impl QueueIds {
    /// Adds a run; its ids must be unused and in range.
    pub(super) fn add(&mut self, first: QueueId, count: u16) -> Result<(), Invalid> {
        let (low, high) = run(first, count);
        if high > u32::from(QueueId::MAX) {
            let found = format!("{low}..={high}");
            return Err(
                Invalid::new(Cause::OutOfRange, "queue ids up to 65535", found).within("count")
            );
        }
        let at = self.runs.partition_point(|known| known.1 < low);
        match self.runs.get(at) {
            Some(taken) if taken.0 <= high => {
                let expected = format!("queue ids other than {}..={}", taken.0, taken.1);
                let found = format!("{low}..={high}");
                Err(Invalid::new(Cause::DuplicateId, expected, found).within("first"))
            }
            _ => {
                self.runs.insert(at, (low, high));
                Ok(())
            }
        }
    }

    /// Number of ids.
    pub(super) fn len(&self) -> u32 {
        self.runs.iter().map(|(low, high)| high - low + 1).sum()
    }

    /// Refuses a target with a queue that does not exist.
    pub(super) fn must_cover(&self, target: QueueTarget) -> Result<(), Invalid> {
        let (mut low, high) = run(target.first, target.count);
        let at = self.runs.partition_point(|known| known.1 < low);
        for known in self.runs.iter().skip(at) {
            if known.0 > low {
                break;
            }
            if known.1 >= high {
                return Ok(());
            }
            low = known.1 + 1;
        }
        let expected = "queues of the pipeline";
        let found = format!("queue {low}, which does not exist");
        Err(Invalid::new(Cause::Inconsistent, expected, found))
    }

    /// Refuses a queue that does not exist.
    pub(super) fn must_hold(&self, queue: QueueId) -> Result<(), Invalid> {
        self.must_cover(QueueTarget { first: queue, count: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(runs: &[(u16, u16)]) -> QueueIds {
        let mut ids = QueueIds::default();
        for (first, count) in runs {
            ids.add(*first, *count).unwrap();
        }
        ids
    }

    #[test]
    fn a_target_may_span_adjacent_sets_but_not_a_gap() {
        let ids = ids(&[(10, 5), (0, 4), (4, 4)]);
        assert_eq!(ids.len(), 13);
        ids.must_cover(QueueTarget { first: 0, count: 8 }).unwrap();
        ids.must_cover(QueueTarget { first: 12, count: 3 }).unwrap();
        let gap = ids.must_cover(QueueTarget { first: 6, count: 6 }).unwrap_err();
        assert_eq!(gap.found, "queue 8, which does not exist");
        assert!(ids.must_hold(15).is_err());
    }

    #[test]
    fn runs_that_overlap_or_leave_the_id_space_are_refused() {
        let mut ids = ids(&[(10, 5)]);
        assert_eq!(ids.add(14, 1).unwrap_err().cause, Cause::DuplicateId);
        assert_eq!(ids.add(5, 6).unwrap_err().cause, Cause::DuplicateId);
        assert_eq!(ids.add(65_535, 2).unwrap_err().cause, Cause::OutOfRange);
        ids.add(65_535, 1).unwrap();
        ids.add(15, 1).unwrap();
    }
}
