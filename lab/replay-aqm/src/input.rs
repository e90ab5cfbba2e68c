//! A case as it is read, and what is wrong with one.

use std::ops::RangeInclusive;

use e2sm_tc::json::in_words;
use e2sm_tc::v1::{BufferLimit, Overflow, QueueId, QueueSet, Scheduler};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tc_rf::Ecn;

/// Longest IP packet.
const SIZE_BYTES: RangeInclusive<u32> = 1..=65_535;

/// A case of either form. Other keys at its top level are notes and are not read.
#[derive(Clone, Debug)]
pub(super) enum Case {
    /// One of three kinds of queue.
    Kind(KindCase),
    /// Any queues and scheduler, in the words of the service model.
    Model(ModelCase),
}

/// A queue and what happens to it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct KindCase {
    pub(super) queue: Queue,
    pub(super) events: Vec<Event>,
}

/// Stages 3 to 5 of a pipeline and what happens to them.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ModelCase {
    pub(super) queues: Vec<QueueSet>,
    #[serde(default = "round_robin")]
    pub(super) scheduler: Scheduler,
    #[serde(default = "buffer")]
    pub(super) buffer: BufferLimit,
    /// Seed of the disciplines' random numbers.
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) events: Vec<Event>,
}

fn round_robin() -> Scheduler {
    Scheduler::RoundRobin
}

fn buffer() -> BufferLimit {
    BufferLimit { packets: limit_pkts(), bytes: u32::MAX, overflow: Overflow::Tail }
}

/// Kinds of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Fifo,
    Codel,
    FqCodel,
}

/// Parameters. The defaults are those of RFC 8289 §4.4 and RFC 8290 §5.2.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Queue {
    pub(super) kind: Kind,
    #[serde(default = "target_us")]
    pub(super) target_us: u32,
    #[serde(default = "interval_us")]
    pub(super) interval_us: u32,
    #[serde(default = "mtu_bytes")]
    pub(super) mtu_bytes: u32,
    #[serde(default = "limit_pkts")]
    pub(super) limit_pkts: u32,
    #[serde(default)]
    pub(super) ecn: bool,
    #[serde(default)]
    pub(super) ce_threshold_us: Option<u32>,
    #[serde(default)]
    pub(super) l4s: bool,
    #[serde(default = "quantum_bytes")]
    pub(super) quantum_bytes: u32,
}

fn target_us() -> u32 {
    5_000
}

fn interval_us() -> u32 {
    100_000
}

fn mtu_bytes() -> u32 {
    1_500
}

fn limit_pkts() -> u32 {
    10_240
}

fn quantum_bytes() -> u32 {
    1_514
}

/// An arrival or a number of dequeues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    pub(super) t_us: u64,
    pub(super) enq: Option<Enqueue>,
    pub(super) deq: Option<u32>,
}

/// An arriving packet.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Enqueue {
    pub(super) flow: u32,
    pub(super) size: u32,
    #[serde(default)]
    pub(super) ecn: Codepoint,
    /// Its queue by id, where there are queues to choose from; the first when absent.
    #[serde(default)]
    pub(super) queue: Option<QueueId>,
}

/// ECN codepoints.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Codepoint {
    #[default]
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

impl From<Codepoint> for Ecn {
    fn from(codepoint: Codepoint) -> Self {
        match codepoint {
            Codepoint::NotEct => Self::NotEct,
            Codepoint::Ect0 => Self::Ect0,
            Codepoint::Ect1 => Self::Ect1,
            Codepoint::Ce => Self::Ce,
        }
    }
}

impl Case {
    /// A case, or the place of what is wrong with it and why.
    pub(super) fn parse(value: Value) -> Result<Self, String> {
        // The derived reader would take an array for a struct.
        if !value.is_object() {
            return Err("line: expected a JSON object".to_owned());
        }
        let (kind, model) = (value.get("queue").is_some(), value.get("queues").is_some());
        match (kind, model) {
            (true, true) => Err("queues: beside queue, expected one of them".to_owned()),
            (_, false) => {
                let case: KindCase = read(value)?;
                case.check()?;
                Ok(Self::Kind(case))
            }
            (false, true) => {
                let case: ModelCase = read(value)?;
                case.check()?;
                Ok(Self::Model(case))
            }
        }
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => "line".to_owned(),
            path => path,
        };
        format!("{path}: {}", in_words(&error.into_inner().to_string()))
    })
}

impl KindCase {
    fn check(&self) -> Result<(), String> {
        let queue = &self.queue;
        within("queue.interval_us", queue.interval_us, &(1..=u32::MAX))?;
        within("queue.limit_pkts", queue.limit_pkts, &(1..=u32::MAX / 2))?;
        within("queue.quantum_bytes", queue.quantum_bytes, &(1..=u32::MAX))?;
        check_events(&self.events)?;
        let placed = |event: &Event| event.enq.is_some_and(|enq| enq.queue.is_some());
        match self.events.iter().position(placed) {
            Some(i) => Err(format!("events[{i}].enq.queue: expected only with queues")),
            None => Ok(()),
        }
    }
}

impl ModelCase {
    fn check(&self) -> Result<(), String> {
        if let Some(i) = self.queues.iter().position(|set| set.policer.is_some()) {
            return Err(format!("queues[{i}].policer: expected none, stage 2 is not replayed"));
        }
        check_events(&self.events)?;
        for (i, event) in self.events.iter().enumerate() {
            let Some(queue) = event.enq.and_then(|enq| enq.queue) else { continue };
            let there = |set: &QueueSet| {
                (u32::from(set.first)..u32::from(set.first) + u32::from(set.count))
                    .contains(&u32::from(queue))
            };
            if !self.queues.iter().any(there) {
                return Err(format!("events[{i}].enq.queue: {queue}, expected one of queues"));
            }
        }
        Ok(())
    }
}

fn check_events(events: &[Event]) -> Result<(), String> {
    let mut last_us = 0;
    for (i, event) in events.iter().enumerate() {
        if event.t_us < last_us {
            return Err(format!(
                "events[{i}].t_us: {}, expected at least {last_us} as before",
                event.t_us
            ));
        }
        last_us = event.t_us;
        match (&event.enq, event.deq) {
            (Some(enq), None) => {
                within(&format!("events[{i}].enq.size"), enq.size, &SIZE_BYTES)?;
            }
            (None, Some(_)) => {}
            (Some(_), Some(_)) => {
                return Err(format!("events[{i}]: enq and deq, expected one of them"));
            }
            (None, None) => {
                return Err(format!("events[{i}]: expected enq or deq"));
            }
        }
    }
    Ok(())
}

fn within(path: &str, value: u32, range: &RangeInclusive<u32>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{path}: {value}, expected {}..={}", range.start(), range.end()))
}
