//! Bounded reading of files, compressed or not.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use bounded_input::{FileError, drain, open_file};

/// Largest scenario file.
pub const MAX_SCENARIO_BYTES: u64 = 1 << 20;
/// Largest trace, after decompression: a day of Mahimahi opportunities at 100 Mbit/s is smaller.
pub const MAX_TRACE_BYTES: u64 = 64 << 20;
/// Memory to decompress `.xz`, KiB: that of the highest preset, `xz -9`, is 65 MiB. The header of a
/// file of a few bytes may ask for 4 GiB.
const MAX_XZ_MEMORY_KIB: u32 = 80 << 10;

/// Reads a regular file of at most `limit` bytes; `.gz` and `.xz` are decompressed, and the limit
/// applies to the bytes before and after.
///
/// # Errors
/// [`FileError`].
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open_file(path)?.take(limit.saturating_add(1));
    decompress(BufReader::new(file), path.extension().and_then(|name| name.to_str()), limit)
}

/// Reads at most `limit` bytes, decompressed if the extension of the file's name says so.
///
/// # Errors
/// [`FileError::Read`] or [`FileError::TooLarge`].
pub fn decompress(
    file: impl BufRead,
    extension: Option<&str>,
    limit: u64,
) -> Result<Vec<u8>, FileError> {
    match extension {
        Some("gz") => drain(flate2::bufread::MultiGzDecoder::new(file), limit),
        Some("xz") => {
            drain(lzma_rust2::XzReader::new_mem_limit(file, true, MAX_XZ_MEMORY_KIB), limit)
        }
        _ => drain(file, limit),
    }
}
