//! Rows for a terminal.

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table as TextTable};

use super::{Row, Table};

/// Significant digits: enough to tell schemes apart.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(0.0) => "0".to_owned(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// Least and greatest, where there are several.
pub(super) fn range(row: &Row) -> String {
    match (row.min, row.max) {
        (Some(min), Some(max)) if row.repeats > 1 => {
            format!("{} … {}", number(Some(min)), number(Some(max)))
        }
        _ => String::new(),
    }
}

/// The rows of an experiment.
pub(super) fn of(table: &Table) -> String {
    let mut text = TextTable::new();
    text.load_style(ASCII_MARKDOWN).set_header([
        "metric",
        "scheme",
        "unit",
        "paper",
        "here",
        "ratio",
        "least … greatest",
    ]);
    for row in &table.rows {
        text.add_row(vec![
            row.metric.clone(),
            row.scheme.clone(),
            row.unit.clone(),
            number(row.paper),
            number(row.here),
            row.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}")),
            range(row),
        ]);
    }
    for column in text.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text.to_string()
}
