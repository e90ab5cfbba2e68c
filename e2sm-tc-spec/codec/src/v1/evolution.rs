//! A later version of the service model, as `tests/test_evolution.py` declares it in ASN.1: what it
//! adds, messages of this version are encoded alike, and `tests/evolution.jsonl` holds messages that
//! an independent compiler encodes as it does.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "declared like the model, for these tests alone"
)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::model::{
    BearerId, Classifier, FifoDrop, FlowInventory, Holder, Pacer, PipelineStatus, Policer,
    Quantity, QueueId, Scheduler, Shaper,
};
use super::per::*;
use crate::error::{DecodeError, EncodeError, Problem, Violation};

/// Replaces the check of the model: indexes may also be left free.
const fn in_order(indexes: &[u64]) {
    let mut index = 1;
    while index < indexes.len() {
        assert!(indexes[index - 1] < indexes[index], "numbered in order, on each side of `...`");
        index += 1;
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Pipeline { ...
        name: String as Visible<1, 64>,
        classifier: Classifier,
        queues: Vec<QueueSet> as ListOf<QueueSet, 1, 256>,
        scheduler: Scheduler,
        pacer: Pacer,
        buffer: BufferLimit,
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct BufferLimit { ...
        packets: u32,
        bytes: u32,
        overflow: Overflow,
    }
}

enumerated! {
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Overflow { ...
        0 "tail" => Tail,
        1 "fattest_head" => FattestHead,
        ...
        0 "oldest" => Oldest,
        1 "youngest" => Youngest,
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct QueueSet { ...
        first: QueueId,
        count: u16 as Int<1, 4096>,
        discipline: QueueDiscipline,
        limit_packets: Option<u32>,
        limit_bytes: Option<u32>,
        policer: Option<Policer>,
        shaper: Option<Shaper>,
    }
}

choice! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum QueueDiscipline { ...
        0 fifo => Fifo {
            drop: FifoDrop,
        },
        1 codel => Codel(Codel),
        2 pie => Pie {
            target_us: u32,
            update_us: u32,
            alpha_milli: u32,
            beta_milli: u32,
            ecn: bool,
        },
        3 red => Red {
            min_bytes: u32,
            max_bytes: u32,
            max_probability_milli: u16 as Int<0, 1000>,
            ecn: bool,
            ...
            gentle: Option<bool>,
        },
        4 cobalt => Cobalt(Codel),
        5 bode => Bode {
            bound_us: u32,
            spare_bytes: Option<u32>,
        },
        6 l4s_marking => L4sMarking {
            threshold_us: u32,
            ramp_us: u32,
        },
        7 dual_pi2 => DualPi2 {
            target_us: u32,
            update_us: u32,
            coupling_milli: u32,
        },
        ...
        0 adaptive_codel => AdaptiveCodel(AdaptiveCodel),
        // Indexes before this one are for the disciplines that this version gets.
        40 prophet => Prophet {
            horizon_us: u32 where 1..=10_000_000,
            ...
            patience_us: Option<u32>,
        },
        41 asleep => Asleep,
        42 second_codel => SecondCodel(Codel),
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct AdaptiveCodel { ...
        target_us: u32,
        max_target_us: u32,
        interval_us: u32,
        ecn: bool,
        bound_us: Option<u32>,
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Codel { ...
        target_us: u32,
        interval_us: u32,
        ecn: bool,
        ce_threshold_us: Option<u32>,
        l4s: bool,
        ...
        memory_bytes: Option<u32> where 1..=1_000_000_000,
        note: Option<String> as Option<Utf8<255>>,
    }
}

choice! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum ControlOutcome { ...
        0 accepted => Accepted {
            revision: u32,
            lease_ms: Option<u32> as Option<Int<1, 0xffff_ffff>>,
        },
        1 refused => Refused {
            cause: Cause,
            element: String as Utf8<255>,
            detail: String as Utf8<1023>,
            revision: Option<u32>,
            holder: Option<Holder>,
            ...
            retry_ms: Option<u32>,
        },
        ...
        0 deferred => Deferred {
            until_ms: u32,
        },
    }
}

enumerated! {
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Cause { ...
        0 "unknown_bearer" => UnknownBearer,
        1 "stale_revision" => StaleRevision,
        2 "unknown_queue" => UnknownQueue,
        3 "unknown_filter" => UnknownFilter,
        4 "duplicate_id" => DuplicateId,
        5 "out_of_range" => OutOfRange,
        6 "inconsistent" => Inconsistent,
        7 "unsupported" => Unsupported,
        8 "capacity" => Capacity,
        9 "malformed" => Malformed,
        10 "not_owner" => NotOwner,
        ...
        0 "unknown_qos_flow" => UnknownQosFlow,
        1 "overload" => Overload,
    } else {
        "other" => Other
    }
}

choice! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum IndicationMessage { ...
        0 pipeline_status => PipelineStatus(Vec<PipelineStatus> as ReportOf<PipelineStatus, 0, 4096>),
        1 flow_inventory => FlowInventory(Vec<FlowInventory> as ReportOf<FlowInventory, 0, 4096>),
        2 events => Events(Vec<Event> as ReportOf<Event, 0, 4096>),
    }
}

sequence! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Event { ...
        bearer: BearerId,
        at_us: u64,
        kind: EventKind,
    }
}

choice! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    pub enum EventKind { ...
        0 pipeline_changed => PipelineChanged {
            revision: u32,
            name: String as Visible<1, 64>,
        },
        1 lease_expired => LeaseExpired {
            revision: u32,
        },
        2 threshold_crossed => ThresholdCrossed {
            quantity: Quantity,
            value: u32,
        },
        3 bearer_added => BearerAdded,
        4 bearer_removed => BearerRemoved,
        5 pacing_changed => PacingChanged {
            by_forecast: bool,
        },
        ...
        0 queue_full => QueueFull {
            queues: Vec<QueueId> as ListOf<QueueId, 0, 16384>,
        },
    }
}

/// A line of a file of vectors.
#[derive(Deserialize)]
struct Vector {
    name: String,
    kind: String,
    hex: String,
    value: Value,
}

fn vectors(path: &str) -> Vec<Vector> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn encoded<M: Type<M>>(message: &M) -> Vec<u8> {
    let mut writer = Writer::default();
    M::put(message, &mut writer).unwrap();
    writer.finish()
}

fn decoded<M: Type<M>>(bytes: &[u8]) -> Result<(M, bool), DecodeError> {
    let mut reader = Reader::new(bytes);
    let message = M::get(&mut reader)?;
    Ok((message, reader.finish()?))
}

fn agrees<M: Type<M> + Serialize + DeserializeOwned>(vector: &Vector) {
    let bytes = bytes_of(&vector.hex);
    let message: M = serde_json::from_value(vector.value.clone()).unwrap();
    assert_eq!(encoded(&message), bytes, "{}", vector.name);
    let (message, of_later_version) = decoded::<M>(&bytes).unwrap();
    assert_eq!(serde_json::to_value(message).unwrap(), vector.value, "{}", vector.name);
    assert!(!of_later_version, "{}", vector.name);
}

/// How many vectors of the file are of the messages that the later version declares here.
fn all_agree(path: &str) -> usize {
    let mut vectors = vectors(path);
    // A discipline that this version got is not declared here again.
    let other = |kind: &&&str| !QueueDiscipline::KINDS.contains(*kind);
    for kind in super::QueueDiscipline::KINDS.iter().filter(other) {
        vectors.retain(|vector| !vector.value.to_string().contains(&format!("\"{kind}\"")));
    }
    let of = |kind| vectors.iter().filter(move |vector| vector.kind == kind);
    of("pipeline").for_each(agrees::<Pipeline>);
    of("control-outcome").for_each(agrees::<ControlOutcome>);
    of("indication").for_each(agrees::<IndicationMessage>);
    ["pipeline", "control-outcome", "indication"].map(|kind| of(kind).count()).iter().sum()
}

#[test]
fn messages_of_this_version_are_encoded_alike_by_the_later_one() {
    assert!(all_agree("vectors/v1.jsonl") > 50);
}

#[test]
fn messages_of_the_later_version_are_as_the_independent_compiler_encodes_them() {
    assert!(all_agree("tests/evolution.jsonl") > 10);
}

#[test]
fn names_of_later_alternatives_and_values_follow() {
    assert_eq!(
        QueueDiscipline::KINDS[8..],
        ["adaptive_codel", "prophet", "asleep", "second_codel"]
    );
    assert_eq!(QueueDiscipline::Asleep.kind(), "asleep");
    assert_eq!(Overflow::KINDS, ["tail", "fattest_head", "oldest", "youngest"]);
    assert_eq!((Cause::Other.kind(), Cause::KINDS.contains(&"other")), ("other", false));
}

#[test]
fn ranges_of_later_components_and_alternatives_are_checked() {
    let element = |discipline| QueueDiscipline::check(&discipline).unwrap_err().element;
    let prophet = QueueDiscipline::Prophet { horizon_us: 0, patience_us: None };
    assert_eq!(element(prophet), "prophet.horizon_us");
    let codel = Codel {
        target_us: 1,
        interval_us: 1,
        ecn: false,
        ce_threshold_us: None,
        l4s: false,
        memory_bytes: Some(0),
        note: None,
    };
    assert_eq!(element(QueueDiscipline::Codel(codel)), "codel.memory_bytes");
}

fn events(queues: usize) -> IndicationMessage {
    let bearer = BearerId { ue: super::UeId::Rnti(1), drb: 1 };
    let kinds = [
        EventKind::BearerAdded,
        EventKind::QueueFull { queues: vec![7; queues] },
        EventKind::BearerRemoved,
    ];
    IndicationMessage::Events(kinds.map(|kind| Event { bearer, at_us: 9, kind }).to_vec())
}

/// An open type of 16384 octets or more comes in fragments (X.691 §11.9.3.8).
#[test]
fn long_additions_are_fragmented_and_skipped() {
    for queues in [0, 1, 8_190, 8_191, 16_384] {
        let bytes = encoded(&events(queues));
        assert_eq!(decoded(&bytes).unwrap(), (events(queues), false), "{queues}");
        let (known, of_later_version) = decoded::<super::IndicationMessage>(&bytes).unwrap();
        let super::IndicationMessage::Events(known) = known else { panic!("{known:?}") };
        let kinds: Vec<_> = known.iter().map(|event| event.kind.kind()).collect();
        assert_eq!((kinds, of_later_version), (vec!["bearer_added", "bearer_removed"], true));
    }
    // 16384 queue ids and their number: two units, then the rest.
    let bytes = encoded(&events(16_384));
    assert_eq!(bytes.iter().filter(|byte| **byte == 0xc2).count(), 1);
}

#[test]
fn an_open_type_is_read_to_its_end_and_no_further() {
    let mut writer = Writer::default();
    writer.open_type(|writer| u32::put(&5, writer)).unwrap();
    let whole = writer.finish();
    assert_eq!(whole, [2, 0x00, 0x05]);
    let read = |bytes: &[u8]| Reader::new(bytes).open_type(u32::get).map_err(|e| e.problem);
    assert_eq!(read(&whole), Ok(5));
    assert_eq!(read(&[3, 0x00, 0x05, 0x00]), Err(Problem::TrailingBytes { bytes: 1 }));
    assert!(matches!(read(&[1, 0x00]), Err(Problem::Truncated { .. })));
    assert!(matches!(read(&[2, 0x00]), Err(Problem::Truncated { .. })));
    assert!(matches!(read(&[0]), Err(Problem::NotCanonical { .. })));
    assert!(matches!(read(&[0xc0, 0]), Err(Problem::NotCanonical { .. })));
    // NULL is one octet of zero.
    let nothing = |bytes: &[u8]| Reader::new(bytes).open_type(|_| Ok(())).is_ok();
    assert_eq!([nothing(&[1, 0]), nothing(&[1, 1]), nothing(&[0])], [true, false, false]);
}

#[test]
fn indexes_and_presence_bits_of_additions_have_one_form() {
    for index in [0, 1, 63, 64, 255, 256, 70_000] {
        let mut writer = Writer::default();
        writer.normally_small(index).unwrap();
        let bytes = writer.finish();
        assert_eq!(Reader::new(&bytes).normally_small().unwrap(), index);
    }
    // 63 after a length, two octets for 64.
    assert!(Reader::new(&[0x80, 1, 63]).normally_small().is_err());
    assert!(Reader::new(&[0x80, 2, 0, 64]).normally_small().is_err());
    for count in [1, 2, 64, 65, 200] {
        let present: Vec<bool> = (0..count).map(|index| index + 1 == count).collect();
        let mut writer = Writer::default();
        writer.additions(&present).unwrap();
        let bytes = writer.finish();
        let mut additions = Reader::new(&bytes).additions(true).unwrap();
        let read: Vec<bool> = (0..count).map(|_| additions.next_present()).collect();
        assert_eq!(read, present);
    }
    // No addition present.
    assert!(Reader::new(&[0b0000_0000, 0]).additions(true).is_err());
    // 64 additions in the form of more.
    assert!(Reader::new(&[0x80, 64, 1, 1, 1, 1, 1, 1, 1, 1]).additions(true).is_err());
}

/// Each element that only the later version has, with its path.
fn additions_in(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    const ADDED: [&str; 10] = [
        "oldest",
        "youngest",
        "prophet",
        "asleep",
        "second_codel",
        "gentle",
        "memory_bytes",
        "note",
        "deferred",
        "queue_full",
    ];
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if ADDED.contains(&name.as_str()) {
                    found.insert(format!("{path}.{name}"));
                } else {
                    additions_in(member, &format!("{path}.{name}"), found);
                }
            }
        }
        Value::Array(members) => {
            let each = members.iter().enumerate();
            each.for_each(|(i, member)| additions_in(member, &format!("{path}[{i}]"), found));
        }
        Value::String(name) if ADDED.contains(&name.as_str()) => {
            found.insert(path.to_owned());
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_later_version_reads_what_it_writes(pipeline in Pipeline::strategy()) {
        let bytes = encoded(&pipeline);
        prop_assert_eq!(decoded::<Pipeline>(&bytes).unwrap(), (pipeline.clone(), false));
        let json = serde_json::to_value(&pipeline).unwrap();
        prop_assert_eq!(serde_json::from_value::<Pipeline>(json).unwrap(), pipeline);
    }

    /// This version reads all but the added components, or names the first alternative or value that
    /// it does not know; it never reads one as another.
    #[test]
    fn this_version_reads_what_it_knows_or_names_what_it_does_not(pipeline in Pipeline::strategy()) {
        let json = serde_json::to_value(&pipeline).unwrap();
        let mut added = BTreeSet::new();
        additions_in(&json, "", &mut added);
        match decoded::<super::Pipeline>(&encoded(&pipeline)) {
            Ok((known, of_later_version)) => {
                prop_assert_eq!(of_later_version, !added.is_empty());
                let mut without = json;
                remove_components(&mut without);
                prop_assert_eq!(serde_json::to_value(known).unwrap(), without);
            }
            Err(error) => {
                prop_assert_eq!(error.cause(), super::Cause::Unsupported);
                let path = format!(".{}", error.element);
                prop_assert!(added.iter().any(|found| found.starts_with(&path)), "{path} {added:?}");
            }
        }
    }
}

/// Removes the components that this version skips.
fn remove_components(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["gentle", "memory_bytes", "note"] {
                members.remove(name);
            }
            members.values_mut().for_each(remove_components);
        }
        Value::Array(members) => members.iter_mut().for_each(remove_components),
        _ => {}
    }
}
