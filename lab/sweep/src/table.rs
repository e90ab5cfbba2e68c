//! `runs.parquet`, `runs.csv` and `runs.json`: a row per run and subject.

use std::path::Path;

use lab_recording::Format;
use lab_recording::sheet::{Cells, Field, Kind, Sheet};
use serde_json::Value;

use super::SweepError;
use super::axis::label;
use super::measures::Measures;
use super::plan::{Plan, PlannedRun};

/// Rows of a row group.
const ROWS_PER_GROUP: usize = 1 << 16;
/// The table is small: it is written in every format.
const FORMATS: [Format; 3] = [Format::Parquet, Format::Csv, Format::Json];

/// What came of a run.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// What it measured, or why it failed.
    pub(crate) measures: Result<Vec<Measures>, String>,
    /// Whether it was found finished.
    pub(crate) is_resumed: bool,
}

/// A row: a run with one of its subjects, or with its error.
struct Row<'a> {
    run: &'a PlannedRun,
    measures: Option<&'a Measures>,
    error: Option<&'a str>,
}

/// Writes the tables.
pub(crate) fn write(out: &Path, plan: &Plan, outcomes: &[Outcome]) -> Result<(), SweepError> {
    let mut rows = Vec::new();
    for (run, outcome) in plan.runs.iter().zip(outcomes) {
        match &outcome.measures {
            Ok(measures) => rows.extend(measures.iter().map(|measures| Row {
                run,
                measures: Some(measures),
                error: None,
            })),
            Err(error) => rows.push(Row { run, measures: None, error: Some(error) }),
        }
    }
    let names = measure_names(&rows);
    let kinds: Vec<Kind> = (0..plan.axes.len()).map(|axis| kind(plan, axis)).collect();
    let mut fields: Vec<Field> = plan
        .axes
        .iter()
        .zip(&kinds)
        .map(|(axis, kind)| Field::optional(axis.path(), *kind))
        .collect();
    fields.extend([
        Field::always("seed", Kind::Int),
        Field::always("run", Kind::Text),
        Field::optional("error", Kind::Text),
        Field::optional("scope", Kind::Text),
        Field::optional("name", Kind::Text),
    ]);
    fields.extend(names.iter().map(|name| Field::optional(name, Kind::Float)));
    let mut sheet = Sheet::create(out, "runs", &fields, &FORMATS)?;
    for group in rows.chunks(ROWS_PER_GROUP) {
        sheet.append(&columns(group, &kinds, &names))?;
    }
    Ok(sheet.finish()?)
}

/// Names of all measures in the order of their first occurrence.
fn measure_names(rows: &[Row<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in rows.iter().filter_map(|row| row.measures).flat_map(|m| &m.values) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// Type of the column of an axis: that which all its values have.
fn kind(plan: &Plan, axis: usize) -> Kind {
    let mut values = plan.runs.iter().filter_map(|run| run.values.get(axis));
    if values.clone().all(Value::is_i64) {
        Kind::Int
    } else if values.all(Value::is_number) {
        Kind::Float
    } else {
        Kind::Text
    }
}

fn columns(rows: &[Row<'_>], kinds: &[Kind], names: &[String]) -> Vec<Cells> {
    let axis = |(axis, kind): (usize, &Kind)| {
        let values = rows.iter().map(|row| row.run.values.get(axis));
        match kind {
            Kind::Int => Cells::Int(values.map(|value| value.and_then(Value::as_i64)).collect()),
            Kind::Float => {
                Cells::Float(values.map(|value| value.and_then(Value::as_f64)).collect())
            }
            Kind::Text => Cells::Text(values.map(|value| value.map(label)).collect()),
        }
    };
    let mut columns: Vec<Cells> = kinds.iter().enumerate().map(axis).collect();
    let text =
        |text: &dyn Fn(&Row<'_>) -> Option<String>| Cells::Text(rows.iter().map(text).collect());
    columns.push(Cells::Int(rows.iter().map(|row| Some(row.run.seed as i64)).collect()));
    columns.push(text(&|row| Some(row.run.name.clone())));
    columns.push(text(&|row| row.error.map(str::to_owned)));
    columns.push(text(&|row| Some(row.measures?.subject.0.to_string())));
    columns.push(text(&|row| Some(row.measures?.subject.1.clone())));
    columns.extend(names.iter().map(|name| {
        let value = |row: &Row<'_>| {
            let mut values = row.measures?.values.iter();
            values.find(|(known, _)| known == name).map(|(_, value)| *value)
        };
        Cells::Float(rows.iter().map(value).collect())
    }));
    columns
}
