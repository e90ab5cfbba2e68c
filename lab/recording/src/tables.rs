//! The tables of a run.

use std::path::Path;

use lab_world::World;
use lab_world::table::{Column, FLOW_COLUMNS};

use super::sheet::{Cells, Field, Kind, Sheet};
use super::{Format, RecordingError};

/// A table of whole numbers.
#[derive(Debug)]
pub(super) struct Rows<R: 'static> {
    sheet: Sheet,
    columns: &'static [Column<R>],
}

impl<R> Rows<R> {
    /// Begins the table `name` in `folder`.
    pub(super) fn create(
        folder: &Path,
        name: &str,
        columns: &'static [Column<R>],
        formats: &[Format],
    ) -> Result<Self, RecordingError> {
        let field = |column: &Column<R>| Field {
            name: column.name.to_owned(),
            kind: Kind::Int,
            optional: column.optional,
        };
        let fields: Vec<Field> = columns.iter().map(field).collect();
        Ok(Self { sheet: Sheet::create(folder, name, &fields, formats)?, columns })
    }

    /// Appends rows.
    pub(super) fn append(&mut self, rows: &[R]) -> Result<(), RecordingError> {
        let cells = |column: &Column<R>| {
            Cells::Int(rows.iter().map(|row| (column.value)(row).map(|v| v as i64)).collect())
        };
        let cells: Vec<Cells> = self.columns.iter().map(cells).collect();
        self.sheet.append(&cells)
    }

    /// Closes the table.
    pub(super) fn finish(self) -> Result<(), RecordingError> {
        self.sheet.finish()
    }
}

/// The table `flows`, a row per sample; in Parquet a row group for each series.
pub(super) fn write_flows(
    folder: &Path,
    world: &World,
    formats: &[Format],
) -> Result<(), RecordingError> {
    let [flow, kind, quantity, time, value] = FLOW_COLUMNS;
    let fields = [
        Field::always(flow, Kind::Text),
        Field::always(kind, Kind::Text),
        Field::always(quantity, Kind::Text),
        Field::always(time, Kind::Int),
        Field::always(value, Kind::Int),
    ];
    let mut sheet = Sheet::create(folder, "flows", &fields, formats)?;
    for series in world.flow_series() {
        let samples = &series.samples;
        let text = |word: &str| Cells::Text(vec![Some(word.to_owned()); samples.len()]);
        let ints = |value: fn(&(u64, u64)) -> u64| {
            Cells::Int(samples.iter().map(|sample| Some(value(sample) as i64)).collect())
        };
        sheet.append(&[
            text(series.flow),
            text(series.kind),
            text(series.quantity),
            ints(|(at_us, _)| *at_us),
            ints(|(_, value)| *value),
        ])?;
    }
    sheet.finish()
}
