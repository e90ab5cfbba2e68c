//! Files that never end, never begin, or are no files.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use bounded_input::{FileError, Line, drain, read_file, read_line, read_text};
use rustix::fs::{FileType, Mode, mknodat};

fn refusal(path: &Path, max_bytes: u64) -> String {
    read_file(path, max_bytes).unwrap_err().to_string()
}

#[test]
fn a_file_of_exactly_the_bound_is_read_and_one_byte_more_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read_file(&path, 5).unwrap(), b"12345");
    assert_eq!(refusal(&path, 4), "is larger than 4 bytes; expected at most that");
}

#[test]
fn devices_that_never_end_are_refused_unread() {
    for device in ["/dev/zero", "/dev/urandom", "/dev/full", "/dev/null"] {
        assert_eq!(refusal(Path::new(device), 10), "is a device; expected a regular file");
    }
}

#[test]
fn a_fifo_without_a_writer_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(refusal(&path, 10), "is a FIFO; expected a regular file");
}

#[test]
fn directories_sockets_and_missing_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(refusal(folder.path(), 10), "is a directory; expected a regular file");
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(refusal(&socket, 10).starts_with("cannot be opened: "));
    let error = read_file(&folder.path().join("missing"), 10).unwrap_err();
    assert!(error.is_missing(), "{error}");
    assert!(error.to_string().ends_with("; expected a readable file"), "{error}");
}

#[test]
fn the_size_that_the_system_reports_is_not_trusted() {
    // Files of /proc have the size 0.
    let maps = Path::new("/proc/self/maps");
    assert_eq!(fs::metadata(maps).unwrap().len(), 0);
    assert_eq!(refusal(maps, 16), "is larger than 16 bytes; expected at most that");
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_up_to_the_bound() {
    /// Appends to the file as many bytes as are read of it.
    struct Growing(File, File);
    impl Read for Growing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1.write_all(&vec![b'x'; into.len()])?;
            self.0.read(into)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let append = OpenOptions::new().append(true).create(true).open(&path).unwrap();
    let growing = Growing(File::open(&path).unwrap(), append);
    assert!(matches!(drain(growing, 100_000), Err(FileError::TooLarge(100_000))));
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, b"ab\xff").unwrap();
    let error = read_text(&path, 10).unwrap_err();
    assert_eq!(error.to_string(), "not UTF-8 at byte 2; expected text");
}

#[test]
fn lines_are_read_up_to_their_bound_and_longer_ones_are_passed_over() {
    let mut reader = BufReader::with_capacity(2, &b"1234\n12345\n\n1234"[..]);
    let mut line = Vec::new();
    let mut next = || {
        let found = read_line(&mut reader, &mut line, 4).unwrap();
        (found, String::from_utf8(line.clone()).unwrap())
    };
    assert_eq!(next(), (Line::Whole, "1234".to_owned()));
    assert_eq!(next(), (Line::TooLong, String::new()));
    assert_eq!(next(), (Line::Whole, String::new()));
    assert_eq!(next(), (Line::Whole, "1234".to_owned()));
    assert_eq!(next(), (Line::End, String::new()));
}

#[test]
fn an_endless_line_is_not_kept() {
    let endless = io::repeat(b'x').take(50_000_000);
    let mut line = Vec::new();
    let found = read_line(&mut BufReader::new(endless), &mut line, 1_000).unwrap();
    assert_eq!(found, Line::TooLong);
    assert!(line.capacity() < 10_000, "{}", line.capacity());
}
