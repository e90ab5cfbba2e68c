//! Prints the vectors of annex B: each v0 control of `vectors/v0.jsonl` on a pipeline of eight CoDel
//! queues, and on one of two queues with a filter. `tests/v0_mapping.rs` holds them against
//! `e2sm-tc-spec/vectors/v0_mapping.jsonl`.

use std::io::Write as _;

use e2sm_tc::v0::decode_control;
use e2sm_tc::v1::PipelineChange;
use serde_json::{Value, json};
use tc_pipelines::templates::Template;
use tc_pipelines::{candidate, limits, v0};

const CONTROLS: &str = include_str!("../../vectors/v0.jsonl");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let flow = json!({
        "source": "203.0.113.7", "destination": "10.45.0.2", "source_port": 443,
        "destination_port": 51_000, "protocol": 6
    });
    let bases = [
        ("fq_codel", json!({"queues": 8, "scheduler": "round_robin"})),
        ("segregate_greedy", json!({"greedy": [flow], "scheduler": "strict_priority"})),
    ];
    let everything = limits::everything();
    let mut out = std::io::stdout().lock();
    for line in CONTROLS.lines() {
        let vector: Value = serde_json::from_str(line)?;
        let (Some("control"), Some(hex)) = (vector["kind"].as_str(), vector["hex"].as_str()) else {
            continue;
        };
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16))
            .collect::<Result<_, _>>()?;
        let control = decode_control(&bytes)?;
        for (template, parameters) in &bases {
            let before = Template::parse(template, parameters.clone())?.pipeline()?;
            let mut told = json!({
                "control": vector["name"], "template": template, "parameters": parameters
            });
            match v0::edits(&before, &control) {
                Err(error) => told["refused"] = json!(error.to_string()),
                Ok(edits) => {
                    told["edits"] = json!(edits);
                    let change = PipelineChange::Delta(edits);
                    let after = candidate(&before, &before, &change, &everything)
                        .and_then(|after| limits::check(&after, &everything).map(|()| after));
                    match after {
                        Ok(after) => told["after"] = json!(after),
                        Err(error) => told["refused"] = json!(error.to_string()),
                    }
                }
            }
            writeln!(out, "{told}")?;
        }
    }
    Ok(())
}
