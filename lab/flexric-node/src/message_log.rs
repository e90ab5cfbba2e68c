//! Logs of received and sent messages, a line of hexadecimal digits each.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// Log files; disabled if unset.
#[derive(Debug, Default)]
pub struct MessageLogs {
    /// Received control messages.
    pub controls: Option<MessageLog>,
    /// Sent reports of RLC, MAC and TC.
    pub reports: Option<MessageLog>,
}

/// Writes a message to a log. A failure is logged and disables the log.
pub(crate) fn write(log: &mut Option<MessageLog>, what: &str, message: &[u8]) {
    write_parts(log, what, &[message]);
}

/// Logs as [`write`] does a message in several octet strings; they are separated by spaces.
pub(crate) fn write_parts(log: &mut Option<MessageLog>, what: &str, parts: &[&[u8]]) {
    if let Some(file) = log
        && let Err(error) = file.append_parts(parts)
    {
        tracing::error!(%error, what, "message log not written; later messages are not logged");
        *log = None;
    }
}

/// A file with a line per message.
#[derive(Debug)]
pub struct MessageLog(File);

impl MessageLog {
    /// Creates or truncates the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }

    /// Writes a message and flushes it to the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, message: &[u8]) -> io::Result<()> {
        self.append_parts(&[message])
    }

    /// Appends as [`append`](Self::append) does a message in several octet strings.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append_parts(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let bytes: usize = parts.iter().map(|part| 2 * part.len() + 1).sum();
        let mut line = String::with_capacity(bytes);
        for part in parts {
            if !line.is_empty() {
                line.push(' ');
            }
            for byte in *part {
                // Writing to a string does not fail.
                let _ = write!(line, "{byte:02x}");
            }
        }
        line.push('\n');
        self.0.write_all(line.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_per_message() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("messages.hex");
        let mut log = MessageLog::create(&path).expect("a file");
        log.append(&[0x02, 0x00, 0xff]).expect("written");
        log.append(&[]).expect("written");
        log.append_parts(&[&[0x0a], &[0x0b, 0x0c]]).expect("written");
        assert_eq!(std::fs::read_to_string(path).expect("read"), "0200ff\n\n0a 0b0c\n");
    }
}
