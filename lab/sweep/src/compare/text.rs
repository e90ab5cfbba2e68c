//! A comparison for a terminal.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use lab_batch::Estimate;
use lab_recording::number;

use super::comparison::{Comparison, Row};
use crate::measures::Subject;

/// Subjects beyond this are in the JSON alone.
const MAX_SUBJECTS: usize = 20;

/// Columns of tables: measures, the first that a subject has, and the heading.
pub(super) const COLUMNS: [(&[&str], &str); 10] = [
    (&["goodput_mbps"], "goodput Mbit/s"),
    (&["sojourn_mean_ms"], "sojourn mean ms"),
    (&["sojourn_p50_ms"], "p50"),
    (&["sojourn_p95_ms"], "p95"),
    (&["sojourn_p99_ms"], "p99"),
    (&["dropped_packets", "lost_packets"], "drops"),
    (&["marked_packets"], "marks"),
    (&["in_time_pct"], "in time %"),
    (&["rpm"], "RPM"),
    (&["loaded_rpm"], "loaded RPM"),
];

/// A table per subject with its common measures: a row per side and another with its difference to the
/// first.
pub fn text(comparison: &Comparison) -> String {
    let subjects: Vec<&[Row]> = comparison.by_subject().collect();
    let mut out: Vec<String> = subjects
        .iter()
        .take(MAX_SUBJECTS)
        .map(|rows| format!("{}\n{}", heading(&rows[0].subject), table(comparison, rows)))
        .collect();
    if subjects.len() > MAX_SUBJECTS {
        out.push(format!("and {} more with --json", subjects.len() - MAX_SUBJECTS));
    }
    let seeds = comparison.rows.iter().map(|row| row.estimate.n).max().unwrap_or(0);
    if seeds > 1 {
        out.push(format!(
            "mean of up to {seeds} seeds ± 95 % confidence interval (Student's t); differences to {}",
            comparison.label(0)
        ));
    }
    out.join("\n")
}

/// What a table is of.
pub(super) fn heading((scope, name): &Subject) -> String {
    if name.is_empty() { scope.to_string() } else { format!("{scope} {name}") }
}

fn table(comparison: &Comparison, rows: &[Row]) -> String {
    let mut table = Table::new();
    let header = std::iter::once("run").chain(COLUMNS.map(|(_, heading)| heading));
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    for contender in 0..comparison.contenders.len() {
        let own: Vec<&Row> = rows.iter().filter(|row| row.contender == contender).collect();
        if own.is_empty() {
            continue;
        }
        table.add_row(cells(comparison.label(contender).to_owned(), |measures| {
            Some(estimate(&find(&own, measures)?.estimate, ""))
        }));
        if contender > 0 {
            table.add_row(cells("  difference".to_owned(), |measures| {
                Some(estimate(find(&own, measures)?.difference.as_ref()?, "+"))
            }));
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn cells(label: String, value: impl Fn(&[&str]) -> Option<String>) -> Vec<String> {
    let values = COLUMNS.map(|(measures, _)| value(measures).unwrap_or_else(|| "–".to_owned()));
    std::iter::once(label).chain(values).collect()
}

/// The row of the first of these measures.
pub(super) fn find<'a>(rows: &[&'a Row], measures: &[&str]) -> Option<&'a Row> {
    rows.iter().find(|row| measures.contains(&row.measure.as_str())).copied()
}

/// A mean with its interval; `sign` goes before what is not negative.
pub(super) fn estimate(estimate: &Estimate, sign: &str) -> String {
    let sign = if estimate.mean < 0.0 { "" } else { sign };
    let mean = number(estimate.mean);
    match estimate.half_width {
        Some(half) => format!("{sign}{mean} ± {}", number(half)),
        None => format!("{sign}{mean}"),
    }
}
