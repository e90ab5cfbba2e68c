//! Prints the vectors of annex B, a line each; `tests/v0_mapping.rs` compares them with
//! `e2sm-tc-spec/vectors/v0_mapping.jsonl`.
//!
//! - `control`: each v0 control of `vectors/v0.jsonl` on a pipeline of eight CoDel queues, and on one
//!   of two queues with a filter.
//! - `lower`: a v1 pipeline as the state of a v0 node and the controls that lead there from the one
//!   `before` (null: the safe pipeline), in groups that may be in flight at once.
//! - `lift`: v0 indications in order, the pipeline that the last shows, and its v1 status on a node
//!   that was led to `pipeline` (null: whose pipeline is known from reports alone).

#![allow(clippy::expect_used, reason = "the inputs are below")]

use std::io::Write as _;

use e2sm_tc::v0::{IndicationMessage, decode_control, encode};
use e2sm_tc::v1::{Pipeline, PipelineChange};
use serde_json::{Value, json};
use tc_pipelines::templates::{NAMES, Template, by_name};
use tc_pipelines::{candidate, limits, v0};

const CONTROLS: &str = include_str!("../../vectors/v0.jsonl");

#[allow(dead_code, reason = "the test takes the vectors alone")]
fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    vectors().iter().try_for_each(|vector| writeln!(out, "{vector}"))
}

/// All vectors of annex B.
pub(crate) fn vectors() -> Vec<Value> {
    let mut vectors = controls();
    vectors.extend(lowerings());
    vectors.extend(liftings());
    vectors
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn template(name: &str, parameters: Value) -> Pipeline {
    Template::parse(name, parameters).expect("parameters").pipeline().expect("a pipeline")
}

fn controls() -> Vec<Value> {
    let bases = [
        ("fq_codel", json!({"queues": 8, "scheduler": "round_robin"})),
        ("segregate_greedy", json!({"greedy": [flow()], "scheduler": "strict_priority"})),
    ];
    let everything = limits::everything();
    let mut vectors = Vec::new();
    for line in CONTROLS.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let (Some("control"), Some(hex)) = (vector["kind"].as_str(), vector["hex"].as_str()) else {
            continue;
        };
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex"))
            .collect();
        let control = decode_control(&bytes).expect("a control");
        for (name, parameters) in &bases {
            let before = template(name, parameters.clone());
            let mut made = json!({
                "kind": "control",
                "control": vector["name"],
                "template": name,
                "parameters": parameters,
            });
            match v0::edits(&before, &control) {
                Err(error) => made["refused"] = json!(error.to_string()),
                Ok(edits) => {
                    made["edits"] = json!(edits);
                    let change = PipelineChange::Delta(edits);
                    let after = candidate(&before, &before, &before, &change, &everything)
                        .and_then(|after| limits::check(&after, &everything).map(|()| after));
                    match after {
                        Ok(after) => made["after"] = json!(after),
                        Err(error) => made["refused"] = json!(error.to_string()),
                    }
                }
            }
            vectors.push(made);
        }
    }
    vectors
}

fn flow() -> Value {
    json!({
        "source": "203.0.113.7", "destination": "10.45.0.2", "source_port": 443,
        "destination_port": 51_000, "protocol": 6
    })
}

/// Two FIFOs in turn, but for the stages that are given.
fn two_queues(changes: Value) -> Value {
    let mut pipeline = json!({
        "name": "two_queues",
        "classifier": {"round_robin": {"first": 0, "count": 2}},
        "queues": [queues(0, 2, json!({}))],
        "scheduler": "round_robin",
        "pacer": "bdp5g",
        "buffer": {"packets": 10_000, "bytes": 32_000_000, "overflow": "tail"},
    });
    patch(&mut pipeline, changes);
    pipeline
}

fn queues(first: u16, count: u16, changes: Value) -> Value {
    let mut set = json!({
        "first": first, "count": count, "discipline": {"fifo": {"drop": "tail"}},
        "limit_packets": null, "limit_bytes": null, "policer": null, "shaper": null,
    });
    patch(&mut set, changes);
    set
}

fn patch(value: &mut Value, changes: Value) {
    if let (Some(value), Value::Object(changes)) = (value.as_object_mut(), changes) {
        value.extend(changes);
    }
}

fn codel(target_us: u32) -> Value {
    json!({"codel": {"target_us": target_us, "interval_us": 100_000, "ecn": true,
        "ce_threshold_us": null, "l4s": false}})
}

/// Filters as what they match and the queue it goes to.
fn osi(rules: &[(Value, u16)], default: u16) -> Value {
    let filters: Vec<Value> = rules
        .iter()
        .enumerate()
        .map(|(id, (rule, queue))| {
            json!({"id": 7 * id, "match": rule, "target": {"first": queue, "count": 1}})
        })
        .collect();
    json!({"osi": {"filters": filters, "default": {"first": default, "count": 1}}})
}

fn host(address: &str) -> Value {
    json!({"v4": {"address": address, "length": 32}})
}

/// A pipeline that uses all that v0 has: its queue ids have gaps and its default is not the lowest.
fn everything_v0_has() -> Value {
    two_queues(json!({
        "name": "everything_v0_has",
        "classifier": osi(&[
            (json!({"source": host("203.0.113.7"), "protocol": 17}), 30),
            (json!({"destination_port": {"low": 443, "high": 443}}), 4),
        ], 12),
        "queues": [
            queues(4, 1, json!({
                "discipline": codel(5_000),
                "shaper": {"rate_kbps": 8_000, "burst_bytes": 10_000, "group": null},
            })),
            queues(12, 1, json!({
                "policer": {"rate_kbps": 9_000, "burst_bytes": 11_250,
                    "exceed": {"deviate": {"queue": 30}}},
            })),
            queues(30, 1, json!({
                "policer": {"rate_kbps": 100, "burst_bytes": 3_000, "exceed": "drop"},
            })),
        ],
        "scheduler": {"strict_priority": {"order": [{"first": 30, "count": 1}]}},
    }))
}

fn lowerings() -> Vec<Value> {
    let fair = json!(template("fq_codel", json!({"queues": 8, "scheduler": "round_robin"})));
    let slower = json!(template(
        "fq_codel",
        json!({"queues": 8, "scheduler": "round_robin",
            "codel": {"target_us": 10_000, "interval_us": 100_000, "ecn": true}})
    ));
    let greedy = json!(template(
        "segregate_greedy",
        json!({"greedy": [flow()], "scheduler": "strict_priority"})
    ));
    let fifo = json!(template("bdp_only", json!({})));
    let mut cases = vec![
        ("a hash over eight CoDel queues", Value::Null, fair.clone()),
        ("what is in force is not sent again", fair.clone(), fair.clone()),
        ("another target of CoDel", fair.clone(), slower),
        ("queues are added before and removed after their use", fair, greedy.clone()),
        ("back to one FIFO", greedy.clone(), fifo),
        ("all that v0 has", greedy, everything_v0_has()),
        (
            "an OSI classifier without filters",
            Value::Null,
            two_queues(json!({
                "classifier": osi(&[], 1),
            })),
        ),
        ("round robin after filters", everything_v0_has(), two_queues(json!({}))),
    ];
    let refused = [
        json!({"scheduler": {"deficit_round_robin": {"quantum_bytes": 1514}}}),
        json!({"pacer": {"drql": {"mtu_bytes": 1500}}}),
        json!({"classifier": {"l4s_ecn": {
            "l4s": {"first": 0, "count": 1}, "classic": {"first": 1, "count": 1}}}}),
        json!({"queues": [queues(0, 2, json!({"discipline": {"bode": {"bound_us": 10}}}))]}),
        json!({"queues": [queues(0, 2, json!({"discipline": {"fifo": {"drop": "head"}}}))]}),
        json!({"queues": [queues(0, 1, json!({})), queues(1, 1, json!({"limit_packets": 5}))]}),
        json!({"queues": [queues(0, 2, json!({"discipline": codel(1_500)}))]}),
        json!({"queues": [queues(0, 2, json!({"discipline": {"codel": {"target_us": 5_000,
            "interval_us": 100_000, "ecn": true, "ce_threshold_us": 1_000, "l4s": false}}}))]}),
        json!({"queues": [queues(0, 2, json!({"policer":
            {"rate_kbps": 9_000, "burst_bytes": 3_000, "exceed": "drop"}}))]}),
        json!({"queues": [queues(0, 2, json!({"policer":
            {"rate_kbps": 9_000, "burst_bytes": 11_250, "exceed": {"remark": {"dscp": 8}}}}))]}),
        json!({"queues": [queues(0, 2, json!({"shaper":
            {"rate_kbps": 8_000, "burst_bytes": 10_000, "group": 3}}))]}),
        json!({"queues": [queues(0, 2, json!({"shaper":
            {"rate_kbps": 8_000, "burst_bytes": 10_001, "group": null}}))]}),
        json!({"classifier": osi(&[(json!({"source": {"v6": {"address": "::1", "length": 128}}}),
            1)], 0)}),
        json!({"classifier": osi(&[(json!({}), 0), (json!({"source": {"v4":
            {"address": "10.0.0.0", "length": 8}}}), 1)], 0)}),
        json!({"classifier": osi(&[(json!({"destination_port": {"low": 1, "high": 2}}), 1)], 0)}),
        json!({"classifier": osi(&[(json!({"dscp": 46}), 1)], 0)}),
        json!({"classifier": {"round_robin": {"first": 0, "count": 1}}}),
        json!({"classifier": {"stochastic_hash": {"target": {"first": 0, "count": 2},
            "perturbation": 1, "ways": 1}}}),
        json!({"classifier": {"stochastic_hash": {"target": {"first": 0, "count": 2},
            "perturbation": null, "ways": 2}}}),
        json!({"scheduler": {"strict_priority": {"order": [{"first": 0, "count": 2}]}}}),
        json!({"queues": [queues(0, 65, json!({}))]}),
        json!({"queues": [queues(0, 1, json!({})), queues(0, 1, json!({}))]}),
    ];
    let plain = refused.into_iter().map(|changes| ("refused", Value::Null, two_queues(changes)));
    cases.extend(plain);
    // Templates with their defaults: an operator sees which of them a v0 node can have.
    let templates = NAMES.into_iter().filter_map(|name| Some((name, by_name(name)?)));
    cases.extend(templates.map(|(name, pipeline)| (name, Value::Null, json!(pipeline))));
    cases.into_iter().map(|(name, before, pipeline)| lowering(name, &before, &pipeline)).collect()
}

const BASE: u16 = 0;
const MAX_QUEUES: u16 = 64;
const MAX_FILTERS: u16 = 64;

fn lowered(pipeline: &Value) -> Result<v0::NodeState, v0::UnsupportedInV0> {
    if pipeline.is_null() {
        return Ok(v0::NodeState::safe(BASE));
    }
    let pipeline: Pipeline = serde_json::from_value(pipeline.clone()).expect("a pipeline");
    v0::lower(&pipeline, BASE, &v0::capabilities(MAX_QUEUES, MAX_FILTERS))
}

fn lowering(name: &str, before: &Value, pipeline: &Value) -> Value {
    let mut made = json!({
        "kind": "lower", "name": name, "before": before, "pipeline": pipeline,
        "base": BASE, "max_queues": MAX_QUEUES, "max_filters": MAX_FILTERS,
    });
    match lowered(pipeline) {
        Ok(state) => {
            let start = lowered(before).expect("a pipeline that v0 expresses");
            let groups = v0::plan(&start, &state)
                .and_then(|controls| v0::groups(&start, controls))
                .expect("a plan");
            let encoded = groups.iter().map(|group| {
                group.iter().map(|control| hex(&encode(control).expect("encodable"))).collect()
            });
            made["controls"] = json!(encoded.collect::<Vec<Vec<_>>>());
            made["state"] = json!(state);
        }
        Err(v0::UnsupportedInV0(error)) => {
            made["refused"] = json!({
                "cause": error.cause, "element": error.element, "detail": error.detail
            });
        }
    }
    made
}

/// One queue of an indication, as the JSON of `vectors/v0.jsonl` has it.
fn reported(id: u32, changes: Value) -> Value {
    let meter = json!({"bnd_flt": 0.0, "time_window_ms": 100});
    let mut queue = json!({
        "type": "CODEL", "bytes": 0, "pkts": 0, "bytes_fwd": 0, "pkts_fwd": 0, "dropped_pkts": 0,
        "avg_sojourn_time": 0.0, "last_sojourn_time": 0,
    });
    let mut entry = json!({
        "shp": {"id": id, "active": 0, "max_rate_kbps": 0, "mtr": meter},
        "plc": {"id": id, "mtr": meter, "dropped_pkts": 0, "marked_pkts": 0,
            "max_rate_kbps": 0.0, "active": 0, "dst_id": id, "dev_id": id},
    });
    for stage in ["shp", "plc"] {
        patch(&mut entry[stage], changes[stage].clone());
    }
    patch(&mut queue, changes["queue"].clone());
    entry["queue"] = queue;
    entry
}

fn indication(queues: &[Value], changes: Value) -> Value {
    let mut message = json!({
        "sch": {"type": "RR"},
        "pcr": {"type": "5G_BDP", "id": 0, "mtr": {"bnd_flt": 20_000.0, "time_window_ms": 100}},
        "cls": {"type": "STO", "dummy": 0},
        "q": queues,
        "tstamp": 1_000_000,
    });
    patch(&mut message, changes);
    message
}

fn liftings() -> Vec<Value> {
    let counted = |id, bytes: u64, packets: u64| {
        reported(id, json!({"queue": {"bytes_fwd": bytes, "pkts_fwd": packets}}))
    };
    let report = |queues: &[Value]| indication(queues, json!({}));
    let any_filter = |id, dst_queue| {
        json!({"id": id, "src_addr": -1, "dst_addr": -1, "src_port": -1, "dst_port": -1,
            "protocol": -1, "l7": 0, "dst_queue": dst_queue})
    };
    vec![
        lifting(
            "counters go on beyond 32 bits",
            Value::Null,
            &[report(&[counted(0, (1 << 32) - 10, 7)]), report(&[counted(0, 90, 8)])],
        ),
        lifting(
            "a queue that is removed and added again counts from 0",
            Value::Null,
            &[
                report(&[counted(0, 100, 1), counted(1, 500, 5)]),
                report(&[counted(0, 100, 1)]),
                report(&[counted(0, 100, 1), counted(1, 1, 1)]),
            ],
        ),
        lifting(
            "a node that restarts counts from 0",
            Value::Null,
            &[report(&[counted(0, 5_000, 5)]), report(&[counted(0, 7, 1)])],
        ),
        lifting(
            "values out of range",
            Value::Null,
            &[indication(
                &[
                    reported(
                        0,
                        json!({"queue":
                    {"pkts_fwd": 1, "avg_sojourn_time": "NaN", "last_sojourn_time": -5}}),
                    ),
                    reported(
                        1,
                        json!({"queue":
                    {"pkts": 2, "bytes": 3_000, "last_sojourn_time": 70_000}}),
                    ),
                ],
                json!({"pcr": {"type": "5G_BDP", "id": 0,
                "mtr": {"bnd_flt": 1e12, "time_window_ms": 100}}}),
            )],
        ),
        lifting(
            "queues have the ids of the v1 pipeline",
            everything_v0_has(),
            &[indication(
                &[counted(0, 1_500, 1), counted(1, 3_000, 2), counted(2, 4_500, 3)],
                json!({"cls": {"type": "OSI", "flt": [any_filter(0, 2), any_filter(1, 1)]}}),
            )],
        ),
        lifting(
            "shaper ids that are not distinct",
            Value::Null,
            &[report(&[counted(7, 1, 1), counted(7, 2, 2), counted(7, 3, 3)])],
        ),
        lifting(
            "marks, policers, shapers and priorities",
            Value::Null,
            &[indication(
                &[
                    json!({"queue": {"type": "ECN_CODEL", "bytes": 9, "pkts": 1, "bytes_fwd": 8,
                    "pkts_fwd": 2, "marked_pkts": 3, "avg_sojourn_time": 700.5,
                    "last_sojourn_time": 900},
                    "plc": reported(0, json!({"plc": {"active": 1, "max_rate_kbps": 9_000.0,
                        "dropped_pkts": 4, "dev_id": 1}}))["plc"],
                    "shp": reported(0, json!({"shp":
                        {"active": 1, "max_rate_kbps": 8_000}}))["shp"]}),
                    reported(
                        1,
                        json!({"queue": {"type": "FIFO"}, "plc":
                    {"active": 1, "max_rate_kbps": 0.25}}),
                    ),
                ],
                json!({"sch": {"type": "PRIO", "q_prio": [1, 0]}, "cls": {"type": "OSI",
                "flt": [any_filter(3, 1)]}}),
            )],
        ),
        lifting(
            "references to queues that do not exist",
            Value::Null,
            &[indication(
                &[
                    reported(
                        0,
                        json!({"plc": {"active": 1, "max_rate_kbps": 9_000.0, "dev_id": 9}}),
                    ),
                    reported(1, json!({})),
                ],
                json!({"sch": {"type": "PRIO", "q_prio": [9, 1]}, "cls": {"type": "OSI",
                "flt": [any_filter(0, 9), any_filter(1, -1)]}}),
            )],
        ),
        lifting(
            "the safe pipeline",
            Value::Null,
            &[indication(
                &[reported(3, json!({"queue": {"type": "FIFO"}}))],
                json!({"cls": {"type": "RR", "dummy": 0}, "pcr": {"type": "DUMMY", "id": 0,
                "mtr": {"bnd_flt": 0.0, "time_window_ms": 100}}}),
            )],
        ),
        lifting("a report without queues", Value::Null, &[report(&[])]),
        lifting(
            "a filter id twice",
            Value::Null,
            &[indication(
                &[reported(0, json!({}))],
                json!({"cls": {"type": "OSI", "flt": [any_filter(1, 0), any_filter(1, 0)]}}),
            )],
        ),
        lifting(
            "a filter id beyond v1's",
            Value::Null,
            &[indication(
                &[reported(0, json!({}))],
                json!({"cls": {"type": "OSI", "flt": [any_filter(70_000, 0)]}}),
            )],
        ),
    ]
}

fn lifting(name: &str, pipeline: Value, indications: &[Value]) -> Value {
    let context = json!({
        "bearer": {"ue": {"rnti": 17}, "drb": 1}, "revision": 4, "lease_left_ms": 900,
        "rlc_occupancy_bytes": 6_000,
    });
    let reports: Vec<IndicationMessage> =
        indications.iter().map(|json| serde_json::from_value(json.clone()).expect("one")).collect();
    let encoded: Vec<_> =
        reports.iter().map(|report| hex(&encode(report).expect("encodable"))).collect();
    let mut made = json!({
        "kind": "lift", "name": name, "pipeline": pipeline, "indications": encoded,
        "context": context,
    });
    let mut counters = v0::Counters::default();
    reports.iter().for_each(|report| counters.take(report));
    let last = reports.last().expect("a report");
    match v0::NodeState::observed(last) {
        Ok(observed) => {
            made["observed"] = json!(observed);
            let state = match pipeline {
                Value::Null => observed,
                pipeline => lowered(&pipeline).expect("a pipeline that v0 expresses"),
            };
            let context = serde_json::from_value(context).expect("a context");
            made["status"] = json!(v0::lift(last, &counters, &state, &context));
        }
        Err(error) => made["refused"] = json!(error.to_string()),
    }
    made
}
