//! Lines of a stream.

use std::io::{self, BufRead, Read as _};

/// What [`read_line`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Whole,
    /// A line of more than the allowed bytes; it was passed over.
    TooLong,
    /// No further line.
    End,
}

/// Reads the next line into `line`, without its line feed; a longer one than `max_bytes` is read to its
/// end and not kept.
///
/// # Errors
/// Those of the reader.
pub fn read_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    max_bytes: u64,
) -> io::Result<Line> {
    line.clear();
    // One more for the line feed.
    let read = reader.take(max_bytes.saturating_add(1)).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Line::Whole);
    }
    if read as u64 <= max_bytes {
        return Ok(if read == 0 { Line::End } else { Line::Whole });
    }
    line.clear();
    reader.skip_until(b'\n')?;
    Ok(Line::TooLong)
}
