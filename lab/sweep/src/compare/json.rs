//! A comparison as JSON.

use lab_batch::Estimate;
use serde_json::{Map, Value};

use super::comparison::{Comparison, Row};

/// All measures as a JSON array, one per line.
pub fn json(comparison: &Comparison) -> String {
    let rows: Vec<String> = comparison.rows.iter().map(|row| line(comparison, row)).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn line(comparison: &Comparison, row: &Row) -> String {
    let contender = &comparison.contenders[row.contender];
    let axes: Map<String, Value> = contender.axes.iter().cloned().collect();
    let (scope, name) = &row.subject;
    let interval = |estimate: &Estimate| {
        let ends = estimate.interval();
        [ends.map(|(low, _)| low), ends.map(|(_, high)| high)]
    };
    serde_json::json!({
        "run": contender.label,
        "axes": axes,
        "scope": scope,
        "name": name,
        "measure": row.measure,
        "seeds": row.estimate.n,
        "mean": row.estimate.mean,
        "ci95": interval(&row.estimate),
        "difference": row.difference.map(|difference| difference.mean),
        "difference_ci95": row.difference.as_ref().map(interval),
    })
    .to_string()
}
