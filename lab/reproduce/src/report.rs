//! Output of a reproduction: text, JSON rows, and a page with plots.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table as TextTable};

use super::rows::{Row, Table};
use super::run::Reproduction;
use super::{ReproduceError, page};

/// Tables for a terminal, with seed and command line.
pub fn text(reproduction: &Reproduction, command: &str) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for done in &reproduction.tables {
        let experiment = &done.experiment;
        let _ = writeln!(
            out,
            "{}/{} ({}): {}\n{}",
            reproduction.paper.name,
            experiment.name,
            experiment.source,
            experiment.title,
            text_table(done),
        );
        for missing in &done.missing {
            let _ = writeln!(out, "not run: {missing}");
        }
        let seeds = match done.repeats {
            1 => format!("seed {}", reproduction.seed),
            n => format!(
                "mean of seeds {} to {}",
                reproduction.seed,
                reproduction.seed.wrapping_add(u64::from(n) - 1)
            ),
        };
        let _ = writeln!(out, "{seeds}; gnb-lab {}; {command}\n", env!("CARGO_PKG_VERSION"));
    }
    out
}

fn text_table(table: &Table) -> String {
    let mut text = TextTable::new();
    let columns =
        ["metric", "scheme", "unit", "paper", "here", "ratio", "paper is", "least … greatest"];
    text.load_style(ASCII_MARKDOWN).set_header(columns);
    for row in &table.rows {
        let labels = [&row.metric, &row.scheme, &row.unit].map(String::clone);
        text.add_row(labels.into_iter().chain(row.values()));
    }
    for column in text.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text.to_string()
}

/// Writes all rows as a JSON array, one row per line.
///
/// # Errors
/// [`ReproduceError::Io`].
pub fn write_json(path: &Path, reproductions: &[Reproduction]) -> Result<(), ReproduceError> {
    fs::write(path, json(reproductions)).map_err(ReproduceError::io(path))
}

fn json(reproductions: &[Reproduction]) -> String {
    let rows: Vec<String> = reproductions
        .iter()
        .flat_map(|reproduction| {
            let rows = reproduction.tables.iter().flat_map(|table| &table.rows);
            rows.map(|row| line(reproduction, row))
        })
        .collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn line(reproduction: &Reproduction, row: &Row) -> String {
    let mut value = serde_json::json!(row);
    if let Some(object) = value.as_object_mut() {
        object.insert("source".to_owned(), reproduction.paper.name.clone().into());
        object.insert("seed".to_owned(), reproduction.seed.into());
    }
    value.to_string()
}

/// Writes `rows.json`, `report.html` and a file per plot to the folder.
///
/// # Errors
/// [`ReproduceError::Io`].
pub fn write_report(
    folder: &Path,
    reproduction: &Reproduction,
    command: &str,
) -> Result<(), ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io(folder))?;
    write_json(&folder.join("rows.json"), std::slice::from_ref(reproduction))?;
    let plots = page::plots(reproduction);
    for (name, svg) in &plots {
        let path = folder.join(format!("{name}.svg"));
        fs::write(&path, svg).map_err(ReproduceError::io(&path))?;
    }
    let path = folder.join("report.html");
    fs::write(&path, page::page(reproduction, &plots, command)).map_err(ReproduceError::io(&path))
}
