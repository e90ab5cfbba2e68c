//! Prints the vectors of annex A: a template with parameters, its pipeline as JSON and as aligned
//! PER. `tests/templates.rs` holds them against `e2sm-tc-spec/vectors/templates.jsonl`.

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
    cases.extend([
        ("bdp_only", json!({"drop": "head", "pacer": "drql", "buffer": {"packets": 500}})),
        ("bdp_only", json!({"pacer": {"dyn_rlc": {"target_us": 5_000}}})),
        ("fq_codel", json!({"queues": 8, "scheduler": "round_robin"})),
        ("fq_codel", json!({"codel": {"target_us": 6_000, "interval_us": 120_000, "ecn": false}})),
        ("segregate_greedy", json!({"greedy": [flow, ping], "scheduler": "strict_priority"})),
        (
            "flow_slicing",
            json!({"slices": [{
                "flows": [flow],
                "shaper": {"rate_kbps": 8_000, "burst_bytes": 10_000, "group": null}
            }]}),
        ),
        ("bode_diffserv", json!({"classes": [{"dscps": [46], "bound_us": 20_000}]})),
        ("sojourn", json!({"bulk_bound_us": 300_000, "queues": 512})),
    ]);
    cases
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for (template, parameters) in cases() {
        let pipeline = Template::parse(template, parameters.clone())?.pipeline()?;
        let bytes = e2sm_tc::v1::encode(&pipeline)?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let line = json!({
            "template": template, "parameters": parameters, "pipeline": pipeline, "hex": hex
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
