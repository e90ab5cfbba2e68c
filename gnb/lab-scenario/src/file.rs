//! Bounded reading of files, compressed or not.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Largest scenario file.
pub const MAX_SCENARIO_BYTES: u64 = 1 << 20;
/// Largest trace, after decompression: a day of Mahimahi opportunities at 100 Mbit/s is smaller.
pub const MAX_TRACE_BYTES: u64 = 64 << 20;

/// Reads a file of at most `limit` bytes; `.gz` and `.xz` are decompressed, and the limit applies to
/// the decompressed bytes.
///
/// # Errors
/// A sentence that says what is wrong and what was expected.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err("is a directory; expected a file".to_owned());
    }
    let file = BufReader::new(file);
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => drain(flate2::bufread::MultiGzDecoder::new(file), limit),
        Some("xz") => drain(lzma_rust2::XzReader::new(file, true), limit),
        _ => drain(file, limit),
    }
}

fn drain(reader: impl Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {limit} bytes"));
    }
    Ok(bytes)
}
