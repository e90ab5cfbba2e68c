//! Lines of a trace file, each of bounded length.

use std::io::{BufRead, Read};

use super::TraceError;

/// Longest line accepted.
const MAX_LINE_BYTES: u64 = 4096;

/// Lines of a reader.
pub(super) struct Lines<R> {
    reader: R,
    /// Number of the last line, from 1.
    pub(super) line: usize,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: 0, bytes: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<String>, TraceError> {
        self.line += 1;
        self.bytes.clear();
        let read = (&mut self.reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.bytes);
        match read {
            Ok(0) => Ok(None),
            Ok(read) if read as u64 == MAX_LINE_BYTES && self.bytes.last() != Some(&b'\n') => {
                let message = format!("longer than {MAX_LINE_BYTES} bytes");
                Err(TraceError::read(self.line, &message))
            }
            Ok(_) => Ok(Some(String::from_utf8_lossy(&self.bytes).into_owned())),
            Err(error) => Err(TraceError::read(self.line, &error)),
        }
    }
}

/// Names of the columns, from the first line.
pub(super) fn header<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<String>, TraceError> {
    let expected = "a line that names the columns";
    let line = lines.next()?.ok_or_else(|| TraceError::invalid("empty", expected))?;
    // Editors of Windows write a byte order mark.
    let line = super::without_mark(&line);
    if super::is_json(line) {
        return Err(TraceError::invalid("line 1: JSON", expected));
    }
    Ok(line.split(',').map(|name| name.trim().to_owned()).collect())
}

/// Place of a column among `names`.
pub(super) fn place(names: &[String], column: &str) -> Result<usize, TraceError> {
    names.iter().rposition(|name| name == column).ok_or_else(|| {
        let found = format!("line 1: no column '{column}'");
        TraceError::invalid(found, "it among the names")
    })
}

/// Fields of a row; an error if there are not as many as `names`.
pub(super) fn fields<'a>(
    row: &'a str,
    names: &[String],
    line: usize,
) -> Result<Vec<&'a str>, TraceError> {
    let fields: Vec<&str> = row.split(',').map(str::trim).collect();
    if fields.len() == names.len() {
        return Ok(fields);
    }
    let found = format!("line {line}: {} fields", fields.len());
    Err(TraceError::invalid(found, format!("{}, as many as line 1 names", names.len())))
}

/// An error of a value in `column`.
pub(super) fn wrong(line: usize, column: &str, text: &str, expected: &str) -> TraceError {
    let text: String = text.chars().take(40).collect();
    TraceError::invalid(format!("line {line}, column '{column}': '{text}'"), expected)
}
