//! Verdicts and windows by the quick path of a quiet report, against a count over all reports kept.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use proptest::prelude::*;
use rlc_windows::{Fields, Objective, Taken, Violations, Windows};

const FIELDS: Fields = Fields {
    record: 32,
    pdu_bytes: 0,
    occupancy_bytes: 4,
    mean_sojourn: 8,
    head_of_line_age: 16,
    rnti: 20,
    rbid: 24,
    most_records: 214,
};
const DEPTH: usize = 64;
const OBJECTIVE: Objective = Objective {
    bound_ms: 10.0,
    percentile: 80.0,
    window_ms: 20,
    confirm_ms: 3,
    clear_ratio: 0.7,
    clear_ms: 5,
};

#[derive(Debug, Clone)]
struct Bearer {
    rnti: u32,
    hol_us: u32,
    mean_us: f64,
    pdu_bytes: u32,
    occupancy_bytes: u32,
}

fn message(bearers: &[Bearer]) -> Vec<u8> {
    let mut bytes = u32::try_from(bearers.len()).unwrap().to_le_bytes().to_vec();
    for bearer in bearers {
        bytes.extend(bearer.pdu_bytes.to_le_bytes());
        bytes.extend(bearer.occupancy_bytes.to_le_bytes());
        bytes.extend(bearer.mean_us.to_le_bytes());
        bytes.extend(bearer.hol_us.to_le_bytes());
        bytes.extend(bearer.rnti.to_le_bytes());
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    }
    bytes.extend([0; 8]);
    bytes
}

/// One bearer judged from all its reports, the newest in front.
#[derive(Default)]
struct Oracle {
    sojourns_us: VecDeque<f32>,
    violating: bool,
    /// Times at which the counter had moved, from the first report on, and its last value.
    served_us: Vec<i64>,
    counter: Option<u32>,
    /// What the sojourn in the pipeline is without pauses.
    pipeline_queued_us: f32,
}

impl Oracle {
    /// Part of the last `waited_us` outside the last gap of 20 ms or more, and the one that lasts.
    fn queued_us(&self, waited_us: f32, now_us: i64) -> f32 {
        let mut gaps = self.served_us.windows(2).map(|pair| (pair[0], pair[1]));
        let is_pause = |(from, to): &(i64, i64)| to - from >= 20_000;
        let last = gaps.rfind(is_pause);
        let present = Some((*self.served_us.last().unwrap(), now_us)).filter(is_pause);
        let came_us = now_us - waited_us as i64;
        let overlaps = [last, present].into_iter().flatten();
        let paused_us: i64 = overlaps.map(|(from, to)| (to - from.max(came_us)).max(0)).sum();
        (waited_us - paused_us as f32).max(0.0)
    }

    fn set_pipeline_us(&mut self, pipeline_us: f32, now_us: i64) {
        self.pipeline_queued_us = self.queued_us(pipeline_us, now_us);
    }

    fn judge(&mut self, bearer: &Bearer, pipeline_us: f32, now_us: i64) -> (bool, bool) {
        let Bearer { hol_us, mean_us, pdu_bytes, .. } = *bearer;
        let before = self.counter.replace(pdu_bytes);
        if before.is_none_or(|before| pdu_bytes.wrapping_sub(before).cast_signed() > 0) {
            self.served_us.push(now_us);
        }
        let bound_us = 10_000.0;
        let now = hol_us as f32 + pipeline_us;
        self.sojourns_us.push_front(now);
        let run =
            |is: &dyn Fn(f32) -> bool| self.sojourns_us.iter().take_while(|us| is(**us)).count();
        let over = run(&|us| us > bound_us);
        let above = self.sojourns_us.iter().take(20).filter(|us| **us > bound_us).count();
        let confirmed = over >= 3 || above > 4 || mean_us as f32 + pipeline_us > bound_us;
        let (mut began, mut ended) = (false, false);
        if self.violating {
            // Counted from the begin of the violation or of the window on, whichever is later.
            ended = run(&|us| us <= 7_000.0) >= 5;
        } else {
            let queued_us = self.queued_us(hol_us as f32, now_us) + self.pipeline_queued_us;
            began = over > 0 && confirmed && queued_us > bound_us;
        }
        self.violating = (self.violating || began) && !ended;
        (began, ended)
    }
}

prop_compose! {
    fn bearer(rnti: u32)(
        hol_us in prop_oneof![3 => 0u32..9_000, 1 => 9_000u32..40_000],
        mean_us in prop_oneof![5 => 0.0..9_000.0, 1 => 9_000.0..20_000.0],
        pdu_bytes in any::<u32>(),
        occupancy_bytes in 0u32..100_000,
    ) -> Bearer {
        Bearer { rnti, hol_us, mean_us, pdu_bytes, occupancy_bytes }
    }
}

proptest! {
    #[test]
    fn a_verdict_is_that_of_all_reports(
        // Long quiet stretches between: then no counter moves.
        series in prop::collection::vec((bearer(1), bearer(2), 0.0f32..4_000.0, 0usize..30), 1..40),
    ) {
        let mut windows = Windows::new(DEPTH, 1_000, 200, FIELDS);
        let mut oracles = [Oracle::default(), Oracle::default()];
        let quiet = [1, 2].map(|rnti| Bearer {
            rnti, hol_us: 500, mean_us: 500.0, pdu_bytes: 0, occupancy_bytes: 0,
        });
        let (mut at_us, mut pipelines_us) = (0, [0.0; 2]);
        for (one, other, pipeline_us, pause) in series {
            let mut reports = vec![[one, other]];
            reports.resize(pause + 1, quiet.clone());
            for bearers in reports {
                at_us += 1_000;
                let found = match windows.take(at_us, &message(&bearers)).unwrap() {
                    Taken::Quiet => Violations::default(),
                    Taken::Judged(found) => found,
                    Taken::Changed(changes) => {
                        for slot in &changes.new {
                            windows.watch(*slot, Some(&OBJECTIVE));
                        }
                        windows.judge()
                    }
                    Taken::Late => unreachable!("each is newer than the last"),
                };
                for (slot, oracle) in oracles.iter_mut().enumerate() {
                    let (began, ended) = oracle.judge(&bearers[slot], pipelines_us[slot], at_us);
                    prop_assert_eq!(began, found.began.contains(&slot));
                    prop_assert_eq!(ended, found.ended.contains(&slot));
                    prop_assert_eq!(oracle.violating, windows.violates(slot));
                }
            }
            windows.set_pipeline_us(0, pipeline_us);
            oracles[0].set_pipeline_us(pipeline_us, at_us);
            pipelines_us[0] = pipeline_us;
        }
    }

    #[test]
    fn any_message_is_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0u32..9) {
        let mut windows = Windows::new(8, 1_000, 3, FIELDS);
        let mut counted = count.to_le_bytes().to_vec();
        counted.extend(&bytes);
        for (at_us, message) in [(1, &bytes), (2, &counted), (3, &counted)] {
            match windows.take(at_us, message) {
                Ok(Taken::Changed(changes)) => {
                    for code in changes.gone {
                        windows.forget(code);
                    }
                    windows.judge();
                }
                Ok(_) => {}
                Err(error) => prop_assert_eq!(error.bytes, message.len()),
            }
        }
        for slot in 0..windows.capacity() + 1 {
            windows.drain_kbps(slot, 0);
            windows.sojourn_percentile(slot, 0, 95.0);
            windows.share_of_drain(slot, 0);
            windows.lowest_kbps(slot, 100_000);
            windows.serving_kbps(slot);
        }
    }
}
