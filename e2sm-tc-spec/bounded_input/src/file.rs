//! Files. The bound holds while reading: a file may grow, and those of /proc have the size 0.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Why a file cannot be used, and what was expected; the caller adds its name.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It does not exist, or may not be opened.
    #[error("cannot be opened: {0}; expected a readable file")]
    Open(#[source] io::Error),
    /// A directory, a FIFO, a device or a socket.
    #[error("is {0}; expected a regular file")]
    Kind(&'static str),
    /// Its content is of another kind than text, such as an archive.
    #[error("is {0}; expected text, plain or packed by gzip or xz")]
    Content(&'static str),
    /// It failed while it was read.
    #[error("cannot be read: {0}; expected a readable file")]
    Read(#[source] io::Error),
    /// It has more bytes than this.
    #[error("is larger than {0} bytes; expected at most that")]
    TooLarge(u64),
    /// Not UTF-8 from this byte on.
    #[error("not UTF-8 at byte {0}; expected text")]
    NotText(usize),
}

impl FileError {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Open(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Opens a regular file for reading; never waits.
///
/// # Errors
/// [`FileError::Open`] or [`FileError::Kind`].
pub fn open_file(path: &Path) -> Result<File, FileError> {
    // Without NONBLOCK opening a FIFO waits for a writer; a terminal must not become the
    // controlling one.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| FileError::Open(errno.into()))?;
    let file = File::from(file);
    let kind = file.metadata().map_err(FileError::Open)?.file_type();
    if kind.is_file() { Ok(file) } else { Err(FileError::Kind(name(kind))) }
}

fn name(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "no regular file"
    }
}

/// The content of a regular file of at most `max_bytes`.
///
/// # Errors
/// [`FileError`], except for [`FileError::NotText`].
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    drain(open_file(path)?, max_bytes)
}

/// The content of a regular file of at most `max_bytes` of UTF-8.
///
/// # Errors
/// [`FileError`].
pub fn read_text(path: &Path, max_bytes: u64) -> Result<String, FileError> {
    String::from_utf8(read_file(path, max_bytes)?)
        .map_err(|error| FileError::NotText(error.utf8_error().valid_up_to()))
}

/// Reads to the end, at most `max_bytes`.
///
/// # Errors
/// [`FileError::Read`] or [`FileError::TooLarge`].
pub fn drain(reader: impl Read, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let mut content = Vec::new();
    reader.take(max_bytes.saturating_add(1)).read_to_end(&mut content).map_err(FileError::Read)?;
    if content.len() as u64 > max_bytes {
        return Err(FileError::TooLarge(max_bytes));
    }
    Ok(content)
}
