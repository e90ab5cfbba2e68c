//! One column of a table that a measurement tool wrote: a value per row, at equal intervals.

use std::io::BufRead;

use super::TraceError;
use super::lines::{Lines, fields, header, place, wrong};

/// Most rows that are read.
pub const MAX_ROWS: usize = 10_000_000;

/// How a missing value is replaced: the phone reported none, for example on another network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The previous value, or at the beginning the first one.
    #[default]
    Hold,
    /// An outage: nothing can be sent.
    Outage,
}

impl Missing {
    /// The values with the missing ones replaced: `None` only for [`Missing::Outage`].
    pub fn fill(self, values: &[Option<f64>]) -> Vec<Option<f64>> {
        match self {
            Self::Outage => values.to_vec(),
            Self::Hold => {
                let mut last = values.iter().copied().find_map(|value| value);
                let held = values.iter().map(|value| {
                    last = value.or(last);
                    last
                });
                held.collect()
            }
        }
    }
}

/// Reads `column` of a table whose first line names the columns. A value that is empty, `-`, `nan` or `NA` is missing.
///
/// # Errors
/// [`TraceError`] with line, column and value.
pub fn read_column(reader: impl BufRead, column: &str) -> Result<Vec<Option<f64>>, TraceError> {
    let mut lines = Lines::new(reader);
    let names = header(&mut lines)?;
    let at = place(&names, column)?;
    let mut values = Vec::new();
    while let Some(row) = lines.next()? {
        if row.trim().is_empty() {
            continue;
        }
        let text = fields(&row, &names, lines.line)?[at];
        if values.len() == MAX_ROWS {
            let found = format!("line {}: more than {MAX_ROWS} rows", lines.line);
            return Err(TraceError::invalid(found, "a shorter table"));
        }
        let is_missing = matches!(text.to_ascii_lowercase().as_str(), "" | "-" | "nan" | "na");
        values.push(if is_missing { None } else { Some(number(text, column, lines.line)?) });
    }
    if values.iter().all(Option::is_none) {
        let found = format!("no value in column '{column}'");
        return Err(TraceError::invalid(found, "at least one row with one"));
    }
    Ok(values)
}

fn number(text: &str, column: &str, line: usize) -> Result<f64, TraceError> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| wrong(line, column, text, "a number, or nothing for a missing one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_read_by_its_name() {
        let text = "time,sinr, rsrp\n0,12.5,-90\n\n1,,-91\n2,NaN,-92\n3,-3,-93\r\n";
        let sinr = read_column(text.as_bytes(), "sinr").unwrap();
        assert_eq!(sinr, [Some(12.5), None, None, Some(-3.0)]);
        assert_eq!(read_column(text.as_bytes(), "rsrp").unwrap()[3], Some(-93.0));
    }

    #[test]
    fn errors_name_line_column_and_value() {
        for (text, expected) in [
            ("", "empty; expected a line that names the columns"),
            ("a,b\n1,2\n", "line 1: no column 'sinr'; expected it among the names"),
            ("sinr\n1,2\n", "line 2: 2 fields; expected 1, as many as line 1 names"),
            (
                "sinr\nhigh\n",
                "line 2, column 'sinr': 'high'; expected a number, or nothing for a missing one",
            ),
            ("sinr\ninf\n", "line 2, column 'sinr': 'inf'; expected a number, or"),
            ("sinr\n-\n", "no value in column 'sinr'; expected at least one row with one"),
        ] {
            let error = read_column(text.as_bytes(), "sinr").unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }
}
