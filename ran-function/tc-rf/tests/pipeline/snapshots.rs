//! Timelines of each discipline under one arrival pattern, compared with committed files.
//!
//! `SOJOURN_UPDATE_SNAPSHOTS=1 cargo test --release -p tc-rf --test pipeline snapshots` writes them
//! anew; a change of a timeline is a change of an algorithm, so look at the difference before
//! committing.

use std::fmt::Write as _;
use std::path::Path;

use crate::util::aqm::disciplines;
use crate::util::*;
use e2sm_tc::v1::{Ecn, Pipeline, QueueSet, Scheduler};
use tc_rf::queueing::{QueueState, Queues, StateValue};

/// Two seconds: a burst of 60 packets, then 11 packets per 10 ms against 10 served, then half the
/// load; each third packet ECT(1) and each fourth ECT(0); both queues in turn.
fn timeline(discipline: e2sm_tc::v1::QueueDiscipline) -> String {
    let pipeline = Pipeline {
        queues: vec![QueueSet { discipline, limit_packets: Some(90), ..fifo(0, 2) }],
        scheduler: Scheduler::RoundRobin,
        ..by_port(2)
    };
    let mut queues = Queues::from_model(&pipeline, 1).expect("a good pipeline");
    let mut number = 0;
    let mut lines = Vec::new();
    for ms in 0..2_000u64 {
        let now_us = ms * 1_000;
        let arrivals = match ms {
            0 => 60,
            1..1_200 => 1 + u64::from(ms % 10 == 0),
            _ => ms % 2,
        };
        for _ in 0..arrivals {
            let ecn = match number % 12 {
                0 | 3 | 6 | 9 => Ecn::Ect1,
                4 | 8 => Ecn::Ect0,
                _ => Ecn::NotEct,
            };
            let arriving = TestPacket { ecn, ..packet(0, 1_200, number) };
            let queue = (number % 2) as usize;
            number += 1;
            assert!(queues.enqueue(queue, arriving, now_us, &mut ()).is_ok());
        }
        let _ = queues.dequeue(now_us + 500, &mut ());
        if ms % 50 == 49 {
            queues.advance(now_us + 500);
            lines.push(line(&queues, now_us + 500));
        }
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// Integers only: probabilities and averages in millionths of millionths.
fn line(queues: &Queues<TestPacket>, now_us: u64) -> String {
    let mut line = format!(r#"{{"t_us":{now_us},"queues":["#);
    for index in 0..queues.len() {
        let queue = queues.state(index).expect("a queue");
        let QueueState { backlog_packets, stats, .. } = queue;
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(
            line,
            r#"{comma}{{"packets":{backlog_packets},"out":{},"drops":{},"marks":{},"step":{},"sojourn_us":{},"state":{}}}"#,
            stats.forwarded_packets,
            stats.dropped_packets,
            stats.marked_packets,
            stats.threshold_marked_packets,
            stats.last_sojourn_us,
            state(&queue),
        );
    }
    line + "]}"
}

fn state(queue: &QueueState) -> String {
    let numbers = queue.aqm.report(&queue.discipline).into_iter().map(|(_, value)| match value {
        StateValue::Flag(flag) => i64::from(flag),
        StateValue::Integer(number) => number,
        StateValue::Real(number) => (number * 1e12).round() as i64,
    });
    format!("{:?}", numbers.collect::<Vec<_>>()).replace(' ', "")
}

#[test]
fn timelines_are_as_committed() {
    let update = std::env::var_os("SOJOURN_UPDATE_SNAPSHOTS").is_some_and(|value| value == "1");
    for (name, discipline) in disciplines() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.json"));
        let now = timeline(discipline);
        if update {
            std::fs::write(&path, now).expect("the file can be written");
            continue;
        }
        let committed = std::fs::read_to_string(&path).expect("a committed snapshot");
        for (line, (is, was)) in now.lines().zip(committed.lines()).enumerate() {
            assert_eq!(is, was, "{name}, line {}", line + 1);
        }
        assert_eq!(now.len(), committed.len(), "{name}");
    }
}
