//! Files that are there as a whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

/// Writes a file so that an interrupt leaves the old one or the new one.
///
/// # Errors
/// When the file or its temporary neighbour cannot be written.
pub fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, text)?;
    fs::rename(&part, path)
}
