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

const GZIP: &[u8] = b"\x1f\x8b";
const XZ: &[u8] = b"\xfd7zXZ\0";
/// First bytes of what users take for text.
const OTHERS: [(&[u8], &str); 8] = [
    (b"PK\x03\x04", "a ZIP archive"),
    (b"BZh", "packed by bzip2"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"PAR1", "Parquet"),
    (b"SQLite format 3", "a database of SQLite"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
];

/// Reads a regular file of at most `limit` bytes; gzip and xz are decompressed, and the limit
/// applies to the bytes before and after.
///
/// # Errors
/// [`FileError`].
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open_file(path)?.take(limit.saturating_add(1));
    decompress(BufReader::new(file), limit)
}

/// Reads at most `limit` bytes, decompressed if the first of them are those of gzip or xz.
///
/// # Errors
/// [`FileError::Read`], [`FileError::TooLarge`], or [`FileError::Content`] for a known kind that is not
/// text.
pub fn decompress(mut file: impl BufRead, limit: u64) -> Result<Vec<u8>, FileError> {
    let start = file.fill_buf().map_err(FileError::Read)?;
    if start.starts_with(GZIP) {
        drain(flate2::bufread::MultiGzDecoder::new(file), limit)
    } else if start.starts_with(XZ) {
        drain(lzma_rust2::XzReader::new_mem_limit(file, true, MAX_XZ_MEMORY_KIB), limit)
    } else if let Some((_, kind)) = OTHERS.iter().find(|(bytes, _)| start.starts_with(bytes)) {
        Err(FileError::Content(kind))
    } else {
        drain(file, limit)
    }
}
