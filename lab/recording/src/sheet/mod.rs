//! A table that is written in several file formats at once.

mod json;
mod parquet;
mod text;

use std::fmt::Debug;
use std::path::Path;

use super::{Format, RecordingError};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// Text.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, with the unit.
    pub name: String,
    /// Type.
    pub kind: Kind,
    /// Whether a row may lack it.
    pub optional: bool,
}

impl Field {
    /// A column that every row has.
    pub fn always(name: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), kind, optional: false }
    }

    /// A column that a row may lack.
    pub fn optional(name: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), kind, optional: true }
    }
}

/// Values of a column for some rows; `None` where a row lacks it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Values of [`Kind::Int`].
    Int(Vec<Option<i64>>),
    /// Values of [`Kind::Float`].
    Float(Vec<Option<f64>>),
    /// Values of [`Kind::Text`].
    Text(Vec<Option<String>>),
}

impl Cells {
    /// The number of rows.
    fn rows(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

/// The file of a table in one format.
trait TableFile: Debug + Send + Sync {
    /// Appends rows, given by column.
    fn append(&mut self, columns: &[Cells]) -> Result<(), RecordingError>;

    /// Closes the file.
    fn finish(self: Box<Self>) -> Result<(), RecordingError>;
}

/// A table being written.
#[derive(Debug)]
pub struct Sheet {
    files: Vec<Box<dyn TableFile>>,
}

impl Sheet {
    /// Begins the files `NAME.parquet`, `NAME.csv` and `NAME.json` of a folder, as far as `formats` has
    /// them.
    ///
    /// # Errors
    /// When a file cannot be created.
    pub fn create(
        folder: &Path,
        name: &str,
        fields: &[Field],
        formats: &[Format],
    ) -> Result<Self, RecordingError> {
        let mut files: Vec<Box<dyn TableFile>> = Vec::new();
        for format in formats {
            let path = folder.join(format!("{name}.{format}"));
            match format {
                Format::Parquet => {
                    files.push(Box::new(parquet::ParquetFile::create(&path, name, fields)?));
                }
                Format::Csv => files.push(Box::new(text::CsvFile::create(&path, fields)?)),
                Format::Json => files.push(Box::new(json::JsonFile::create(&path, fields)?)),
                Format::Flent => {}
            }
        }
        Ok(Self { files })
    }

    /// Appends rows, given by column in the order of the fields; in Parquet they are a row group.
    ///
    /// # Errors
    /// When a file cannot be written, or a column has another type or a missing value that its field
    /// does not have.
    pub fn append(&mut self, columns: &[Cells]) -> Result<(), RecordingError> {
        if columns.first().is_none_or(|column| column.rows() == 0) {
            return Ok(());
        }
        self.files.iter_mut().try_for_each(|file| file.append(columns))
    }

    /// Closes the files.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(self) -> Result<(), RecordingError> {
        self.files.into_iter().try_for_each(|file| file.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_same_rows_in_csv_and_json() {
        let folder = tempfile::tempdir().unwrap();
        let fields = [
            Field::always("flow", Kind::Text),
            Field::always("time_us", Kind::Int),
            Field::optional("goodput_mbps", Kind::Float),
        ];
        let mut sheet =
            Sheet::create(folder.path(), "t", &fields, &[Format::Csv, Format::Json]).unwrap();
        let text = |word: &str| Some(word.to_owned());
        for part in [["a,b", "c"], ["d", "e\"f"]] {
            let columns = [
                Cells::Text(part.map(text).to_vec()),
                Cells::Int(vec![Some(1), Some(-2)]),
                Cells::Float(vec![None, Some(0.1)]),
            ];
            sheet.append(&columns).unwrap();
        }
        sheet.finish().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let expected = "flow,time_us,goodput_mbps\n\"a,b\",1,\nc,-2,0.1\nd,1,\n\"e\"\"f\",-2,0.1\n";
        assert_eq!(read("t.csv"), expected);
        let rows: serde_json::Value = serde_json::from_str(&read("t.json")).unwrap();
        let expected = serde_json::json!([
            {"flow": "a,b", "time_us": 1, "goodput_mbps": null},
            {"flow": "c", "time_us": -2, "goodput_mbps": 0.1},
            {"flow": "d", "time_us": 1, "goodput_mbps": null},
            {"flow": "e\"f", "time_us": -2, "goodput_mbps": 0.1},
        ]);
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_table_without_rows_is_valid_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let fields = [Field::always("time_us", Kind::Int)];
        let sheet = Sheet::create(folder.path(), "t", &fields, &Format::ALL).unwrap();
        sheet.finish().unwrap();
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("t.csv"), b"time_us\n");
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&read("t.json")).unwrap(),
            serde_json::json!([])
        );
        assert!(read("t.parquet").starts_with(b"PAR1"));
    }
}
