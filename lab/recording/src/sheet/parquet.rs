//! Parquet.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Cells, Field, Kind, TableFile};
use crate::RecordingError;

/// A table, a row group at a time.
#[derive(Debug)]
pub(super) struct ParquetFile {
    path: PathBuf,
    optional: Vec<bool>,
    writer: SerializedFileWriter<File>,
}

impl ParquetFile {
    pub(super) fn create(
        path: &Path,
        name: &str,
        fields: &[Field],
    ) -> Result<Self, RecordingError> {
        let schema = schema(name, fields).map_err(RecordingError::table(path))?;
        let file = File::create(path).map_err(RecordingError::io(path))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(RecordingError::table(path))?;
        let optional = fields.iter().map(|field| field.optional).collect();
        Ok(Self { path: path.to_owned(), optional, writer })
    }

    fn row_group(&mut self, columns: &[Cells]) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (column, optional) in columns.iter().zip(&self.optional) {
            let Some(mut writer) = group.next_column()? else { break };
            match (writer.untyped(), column) {
                (ColumnWriter::Int64ColumnWriter(writer), Cells::Int(values)) => {
                    let (present, levels) = split(values, *optional);
                    writer.write_batch(&present, levels.as_deref(), None)?;
                }
                (ColumnWriter::DoubleColumnWriter(writer), Cells::Float(values)) => {
                    let (present, levels) = split(values, *optional);
                    writer.write_batch(&present, levels.as_deref(), None)?;
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Text(values)) => {
                    let (present, levels) = split(values, *optional);
                    let present: Vec<_> =
                        present.iter().map(|text| ByteArray::from(text.as_str())).collect();
                    writer.write_batch(&present, levels.as_deref(), None)?;
                }
                _ => return Err(ParquetError::General("column of another type".to_owned())),
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// The values that are there, and for an optional column the definition level of each row.
fn split<T: Clone>(values: &[Option<T>], optional: bool) -> (Vec<T>, Option<Vec<i16>>) {
    let levels = optional.then(|| values.iter().map(|value| i16::from(value.is_some())).collect());
    (values.iter().flatten().cloned().collect(), levels)
}

fn schema(name: &str, fields: &[Field]) -> Result<Type, ParquetError> {
    let column = |field: &Field| {
        let (physical, converted) = match field.kind {
            Kind::Int => (Physical::INT64, ConvertedType::NONE),
            Kind::Float => (Physical::DOUBLE, ConvertedType::NONE),
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let repetition = if field.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(&field.name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    };
    let columns = fields.iter().map(column).collect::<Result<_, _>>()?;
    Type::group_type_builder(name).with_fields(columns).build()
}

impl TableFile for ParquetFile {
    fn append(&mut self, columns: &[Cells]) -> Result<(), RecordingError> {
        self.row_group(columns).map_err(RecordingError::table(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<(), RecordingError> {
        self.writer.finish().map(|_| ()).map_err(RecordingError::table(&self.path))
    }
}
