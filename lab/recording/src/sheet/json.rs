//! JSON: an array of objects, one per line.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Cells, Field, TableFile};
use crate::RecordingError;

/// A table.
#[derive(Debug)]
pub(super) struct JsonFile {
    path: PathBuf,
    file: BufWriter<File>,
    /// The names as JSON strings.
    keys: Vec<String>,
    is_empty: bool,
}

impl JsonFile {
    pub(super) fn create(path: &Path, fields: &[Field]) -> Result<Self, RecordingError> {
        let keys =
            fields.iter().map(|field| Value::from(field.name.as_str()).to_string()).collect();
        let file = File::create(path).map(BufWriter::new);
        file.and_then(|mut file| file.write_all(b"[").map(|()| file))
            .map(|file| Self { path: path.to_owned(), file, keys, is_empty: true })
            .map_err(RecordingError::io(path))
    }

    fn rows(&mut self, columns: &[Cells]) -> io::Result<()> {
        for row in 0..columns.first().map_or(0, Cells::rows) {
            self.file.write_all(if self.is_empty { &b"\n{"[..] } else { &b",\n{"[..] })?;
            self.is_empty = false;
            for (index, (key, column)) in self.keys.iter().zip(columns).enumerate() {
                let separator = if index > 0 { ", " } else { "" };
                write!(self.file, "{separator}{key}: {}", value(column, row))?;
            }
            self.file.write_all(b"}")?;
        }
        Ok(())
    }
}

/// A value; null if it is missing or no finite number.
fn value(column: &Cells, row: usize) -> Value {
    match column {
        Cells::Int(values) => values.get(row).copied().flatten().into(),
        Cells::Float(values) => values.get(row).copied().flatten().into(),
        Cells::Text(values) => values.get(row).and_then(Option::as_deref).into(),
    }
}

impl TableFile for JsonFile {
    fn append(&mut self, columns: &[Cells]) -> Result<(), RecordingError> {
        self.rows(columns).map_err(RecordingError::io(&self.path))
    }

    fn finish(mut self: Box<Self>) -> Result<(), RecordingError> {
        self.file
            .write_all(b"\n]\n")
            .and_then(|()| self.file.flush())
            .map_err(RecordingError::io(&self.path))
    }
}
