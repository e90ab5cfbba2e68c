//! Prints the vectors of annex A: a template with parameters, its pipeline as JSON and as aligned
//! PER. `tests/templates.rs` compares them with `e2sm-tc-spec/vectors/templates.jsonl`.

#![allow(clippy::expect_used, reason = "the inputs are below")]

use std::io::Write as _;

use serde_json::{Value, json};
use tc_pipelines::templates::{NAMES, Template};

/// A greedy flow over TCP and a rule by DSCP, where a template takes some.
fn cases() -> Vec<(&'static str, Value)> {
    let flow = json!({
        "source": "203.0.113.7", "destination": "10.45.0.2", "source_port": 443,
        "destination_port": 51_000, "protocol": 6
    });
    let ping = json!({
        "source": "2001:db8::7", "destination": "2001:db8::2", "source_port": 0,
        "destination_port": 0, "protocol": 58
    });
    let mut cases: Vec<_> = NAMES.into_iter().map(|name| (name, json!({}))).collect();
    let codel = json!({"target_us": 6_000, "interval_us": 120_000, "ecn": false});
    let buffer = json!({"packets": 500, "bytes": 1_000_000});
    cases.extend([
        ("bdp_only", json!({"drop": "head", "pacer": "drql", "buffer": {"packets": 500}})),
        ("bdp_only", json!({"pacer": {"dyn_rlc": {"target_us": 5_000}}})),
        ("fq_codel", json!({"queues": 8, "scheduler": "round_robin"})),
        ("fq_codel", json!({"codel": codel})),
        ("fq_codel", json!({"quantum_bytes": 300, "pacer": "none", "buffer": buffer})),
        (
            "drql_forecast",
            json!({"queues": 8, "quantum_bytes": 300, "codel": codel, "stale_us": 100_000,
                "buffer": buffer}),
        ),
        ("segregate_greedy", json!({"greedy": [flow, ping], "scheduler": "strict_priority"})),
        (
            "segregate_greedy",
            json!({"greedy": [flow], "codel": codel, "quantum_bytes": 300, "pacer": "e5g_bdp",
                "buffer": buffer}),
        ),
        (
            "flow_slicing",
            json!({"slices": [{
                "flows": [flow],
                "shaper": {"rate_kbps": 8_000, "burst_bytes": 10_000, "group": null}
            }], "pacer": {"ebb": {"target_us": 3_000}}, "buffer": buffer}),
        ),
        (
            "l4s",
            json!({"classic_target_us": 20_000, "classic_update_us": 16_000,
                "coupling_milli": 1_500, "time_shift_us": 40_000, "pacer": "upf_sdap",
                "buffer": buffer}),
        ),
        ("l4s", json!({"classic_protection_pct": 6})),
        (
            "fq_l4s",
            json!({"queues": 8, "threshold_us": 1_000, "quantum_bytes": 300, "codel": codel,
                "pacer": "dql", "buffer": buffer}),
        ),
        ("cake_diffserv", json!({"queues": 8, "codel": codel, "pacer": "none", "buffer": buffer})),
        (
            "bode_diffserv",
            json!({"classes": [{"dscps": [46], "bound_us": 20_000}], "pacer": "bdp5g_prototype",
                "buffer": buffer}),
        ),
        (
            "low_latency",
            json!({"target_us": 10_000, "max_target_us": 50_000, "interval_us": 100_000, "ecn": false,
                "bulk_bound_us": null, "queues": 512, "isolation": "flows", "inelastic": null}),
        ),
        (
            "low_latency",
            json!({"bulk_bound_us": 100_000, "quantum_bytes": 600, "threshold_us": 1_000, "pacer": "forecast",
                "inelastic": {"part_milli": 700, "qfis": [1, 2]}, "buffer": buffer}),
        ),
        (
            "classes",
            json!({"classes": [
                {"matches": [{"qfi": 5}, {"dscp": 46, "ecn": "ect1"}], "guaranteed_kbps": 4_000,
                    "maximum_kbps": 8_000, "bound_us": 20_000},
                {"matches": [{"protocol": 6, "source_port": {"low": 80, "high": 80}}], "weight": 3,
                    "codel": codel},
                {"matches": [{"dscp": 18}], "fifo": true}
            ], "rest_weight": 2, "bulk_bound_us": null, "queues": 8}),
        ),
        (
            "classes",
            json!({"classes": [{"matches": [{"dscp": 8}]}], "maximum_kbps": 20_000, "codel": codel,
                "quantum_bytes": 600, "threshold_us": 1_000, "pacer": "bdp5g", "buffer": buffer}),
        ),
        (
            "base_stock",
            json!({"queues": 8, "quantum_bytes": 600, "f1_delay_us": 40_000, "goodput_floor_milli": 950,
                "bulk_delay_us": 200_000, "stale_us": 100_000, "ecn": false, "buffer": buffer}),
        ),
    ]);
    cases
}

#[allow(dead_code, reason = "the test takes the vectors alone")]
fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    vectors().iter().try_for_each(|vector| writeln!(out, "{vector}"))
}

/// All vectors of annex A.
pub(crate) fn vectors() -> Vec<Value> {
    let made = |(template, parameters): (&str, Value)| {
        let parsed = Template::parse(template, parameters.clone()).expect("parameters");
        let pipeline = parsed.pipeline().expect("a pipeline");
        let bytes = e2sm_tc::v1::encode(&pipeline).expect("encodable");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({"template": template, "parameters": parameters, "pipeline": pipeline, "hex": hex})
    };
    cases().into_iter().map(made).collect()
}
