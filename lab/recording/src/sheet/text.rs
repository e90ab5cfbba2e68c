//! CSV.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lab_world::table::csv_field;

use super::{Cells, Field, TableFile};
use crate::RecordingError;

/// A table with a header.
#[derive(Debug)]
pub(super) struct CsvFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl CsvFile {
    pub(super) fn create(path: &Path, fields: &[Field]) -> Result<Self, RecordingError> {
        let header: Vec<_> = fields.iter().map(|field| csv_field(&field.name)).collect();
        let file = File::create(path).map(BufWriter::new);
        file.and_then(|mut file| writeln!(file, "{}", header.join(",")).map(|()| file))
            .map(|file| Self { path: path.to_owned(), file })
            .map_err(RecordingError::io(path))
    }

    fn rows(&mut self, columns: &[Cells]) -> io::Result<()> {
        for row in 0..columns.first().map_or(0, Cells::rows) {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    self.file.write_all(b",")?;
                }
                match column {
                    Cells::Int(values) => put(&mut self.file, values.get(row)),
                    Cells::Float(values) => put(&mut self.file, values.get(row)),
                    Cells::Text(values) => {
                        let text = values.get(row).and_then(Option::as_deref).map(csv_field);
                        put(&mut self.file, Some(&text))
                    }
                }?;
            }
            self.file.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// A value; nothing if it is missing.
fn put(
    file: &mut impl io::Write,
    value: Option<&Option<impl std::fmt::Display>>,
) -> io::Result<()> {
    value.and_then(Option::as_ref).map_or(Ok(()), |value| write!(file, "{value}"))
}

impl TableFile for CsvFile {
    fn append(&mut self, columns: &[Cells]) -> Result<(), RecordingError> {
        self.rows(columns).map_err(RecordingError::io(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<(), RecordingError> {
        self.file.flush().map_err(RecordingError::io(&self.path))
    }
}
