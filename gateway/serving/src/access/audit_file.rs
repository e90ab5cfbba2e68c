//! The file of the audit log: whole lines, over full disks and rotations.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

/// A file that lines are appended to.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    file: File,
    /// Whether the file ends within a line: the disk was full.
    is_unfinished: bool,
    has_failed: bool,
}

impl AuditFile {
    /// Creates the file if there is none.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = append_to(path)?;
        Ok(Self { path: path.to_owned(), file, is_unfinished: false, has_failed: false })
    }

    /// Appends a line. The first of failures in a row is logged.
    pub(super) fn append(&mut self, line: &str) -> io::Result<()> {
        let appended = self.follow().and_then(|()| self.write(line));
        if let Err(error) = &appended
            && !self.has_failed
        {
            let file = self.path.display();
            tracing::error!(%error, %file, "audit log not written");
        }
        self.has_failed = appended.is_err();
        appended
    }

    /// Opens a new file of the name for further lines after a rotation by renaming.
    fn follow(&mut self) -> io::Result<()> {
        let here = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = append_to(&self.path)?;
        self.is_unfinished = false;
        Ok(())
    }

    /// One write: lines of several processes do not mix.
    fn write(&mut self, line: &str) -> io::Result<()> {
        let start = if self.is_unfinished { "\n" } else { "" };
        let bytes = format!("{start}{line}\n").into_bytes();
        let written = self.file.write(&bytes)?;
        if written < bytes.len() {
            // The beginning of the line stays: others may append to the file.
            self.is_unfinished |= written > 0;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.is_unfinished = false;
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    // NONBLOCK: a FIFO that nobody reads is an error instead of a wait.
    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
    Ok(rustix::fs::open(path, flags, mode)?.into())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn lines_go_to_the_file_again_once_it_can_be_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, room) = (folder.path().join("audit.jsonl"), folder.path().join("room.jsonl"));
        symlink("/dev/full", &path).expect("a link");
        let mut file = AuditFile::open(&path).expect("opened");
        let error = file.append("lost").expect_err("a full device");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        fs::remove_file(&path).expect("removed");
        symlink(&room, &path).expect("a link");
        file.append("kept").expect("there is room again");
        assert_eq!(fs::read_to_string(&room).expect("the file"), "kept\n");
    }

    #[test]
    fn a_line_cut_by_a_full_disk_is_ended_before_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let mut file = AuditFile::open(&path).expect("opened");
        file.append("first").expect("written");
        file.file.write_all(b"cut").expect("written");
        file.is_unfinished = true;
        file.append("second").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "first\ncut\nsecond\n");
    }

    #[test]
    fn a_file_that_was_renamed_is_followed_by_a_new_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.1"));
        let mut file = AuditFile::open(&path).expect("opened");
        file.append("old").expect("written");
        fs::rename(&path, &moved).expect("moved");
        file.append("new").expect("written");
        assert_eq!(fs::read_to_string(&moved).expect("the file"), "old\n");
        assert_eq!(fs::read_to_string(&path).expect("the file"), "new\n");
    }

    #[test]
    fn a_fifo_that_nobody_reads_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fifo");
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a FIFO");
        assert!(AuditFile::open(&path).is_err());
    }
}
