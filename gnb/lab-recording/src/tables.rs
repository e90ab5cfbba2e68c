//! Parquet tables.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::RecordingError;
use lab_world::World;
use lab_world::table::{Column, FLOW_COLUMNS};

/// One column of a row group.
enum Values {
    /// As many as there are rows, or with the rows that lack one left out.
    Int(Vec<i64>, Option<Vec<i16>>),
    Text(Vec<ByteArray>),
}

/// A table being written, a row group at a time.
#[derive(Debug)]
struct Table {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
}

impl Table {
    fn create(path: &Path, schema: &str) -> Result<Self, RecordingError> {
        let schema = parse_message_type(schema).map_err(RecordingError::table(path))?;
        let file = File::create(path).map_err(RecordingError::io(path))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(RecordingError::table(path))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    fn append(&mut self, columns: Vec<Values>) -> Result<(), RecordingError> {
        let path = self.path.clone();
        self.row_group(columns).map_err(RecordingError::table(&path))
    }

    fn row_group(&mut self, columns: Vec<Values>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            let Some(mut writer) = group.next_column()? else { break };
            match (writer.untyped(), column) {
                (ColumnWriter::Int64ColumnWriter(writer), Values::Int(values, levels)) => {
                    writer.write_batch(&values, levels.as_deref(), None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
                    writer.write_batch(&values, None, None)?;
                }
                _ => return Err(ParquetError::General("column of another type".to_owned())),
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<(), RecordingError> {
        self.writer.finish().map(|_| ()).map_err(RecordingError::table(&self.path))
    }
}

/// A table of whole numbers.
#[derive(Debug)]
pub(super) struct Rows<R: 'static> {
    table: Table,
    columns: &'static [Column<R>],
}

impl<R> Rows<R> {
    /// Begins the file `name` of `folder`.
    pub(super) fn create(
        folder: &Path,
        name: &str,
        columns: &'static [Column<R>],
    ) -> Result<Self, RecordingError> {
        let fields: String = columns
            .iter()
            .map(|column| {
                let repetition = if column.optional { "optional" } else { "required" };
                format!("{repetition} int64 {};", column.name)
            })
            .collect();
        let schema = format!("message {name} {{ {fields} }}");
        let table = Table::create(&folder.join(format!("{name}.parquet")), &schema)?;
        Ok(Self { table, columns })
    }

    /// Appends a row group.
    pub(super) fn append(&mut self, rows: &[R]) -> Result<(), RecordingError> {
        if rows.is_empty() {
            return Ok(());
        }
        let values = |column: &Column<R>| {
            let values: Vec<Option<u64>> = rows.iter().map(column.value).collect();
            let levels =
                column.optional.then(|| values.iter().map(|v| i16::from(v.is_some())).collect());
            Values::Int(values.into_iter().flatten().map(|value| value as i64).collect(), levels)
        };
        self.table.append(self.columns.iter().map(values).collect())
    }

    /// Closes the file.
    pub(super) fn finish(self) -> Result<(), RecordingError> {
        self.table.finish()
    }
}

/// `flows.parquet`: a row group for each series.
pub(super) fn write_flows(path: &Path, world: &World) -> Result<(), RecordingError> {
    let [flow, kind, quantity, time, value] = FLOW_COLUMNS;
    let mut table = Table::create(
        path,
        &format!(
            "message flows {{
                required binary {flow} (UTF8);
                required binary {kind} (UTF8);
                required binary {quantity} (UTF8);
                required int64 {time};
                required int64 {value};
            }}"
        ),
    )?;
    for series in world.flow_series() {
        let samples = &series.samples;
        let text = |word: &str| Values::Text(vec![ByteArray::from(word); samples.len()]);
        let ints = |value: fn(&(u64, u64)) -> u64| {
            Values::Int(samples.iter().map(|sample| value(sample) as i64).collect(), None)
        };
        table.append(vec![
            text(series.flow),
            text(series.kind),
            text(series.quantity),
            ints(|(at_us, _)| *at_us),
            ints(|(_, value)| *value),
        ])?;
    }
    table.finish()
}
