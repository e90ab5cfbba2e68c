//! Tables of sweeps, in the formats of those of runs.

use std::path::PathBuf;

use lab_recording::sheet::{Cells, Field, Kind, Sheet};
use lab_recording::{Format, RecordingError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::scenario::unwritten;

/// Name, type (`int`, `float` or `text`), whether a row may lack it, values.
type Column<'py> = (String, String, bool, Bound<'py, PyAny>);

fn read((name, kind, optional, values): Column<'_>) -> PyResult<(Field, Cells)> {
    let (kind, cells) = match kind.as_str() {
        "int" => (Kind::Int, Cells::Int(values.extract()?)),
        "float" => (Kind::Float, Cells::Float(values.extract()?)),
        "text" => (Kind::Text, Cells::Text(values.extract()?)),
        _ => {
            let message = format!("'{kind}': no such type; expected int, float or text");
            return Err(PyValueError::new_err(message));
        }
    };
    Ok((Field { name, kind, optional }, cells))
}

#[pyfunction]
pub(crate) fn write_table(
    py: Python<'_>,
    folder: PathBuf,
    name: &str,
    columns: Vec<Column<'_>>,
) -> PyResult<()> {
    let columns: PyResult<Vec<(Field, Cells)>> = columns.into_iter().map(read).collect();
    let (fields, cells): (Vec<Field>, Vec<Cells>) = columns?.into_iter().unzip();
    py.detach(|| -> Result<(), RecordingError> {
        let formats = [Format::Parquet, Format::Csv, Format::Json];
        let mut sheet = Sheet::create(&folder, name, &fields, &formats)?;
        sheet.append(&cells)?;
        sheet.finish()
    })
    .map_err(unwritten)
}
