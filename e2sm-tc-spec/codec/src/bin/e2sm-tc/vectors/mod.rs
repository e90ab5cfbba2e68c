//! The published vectors: every message and every alternative at least once.

mod pipelines;
mod v0;
mod v1;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use e2sm_tc::EncodeError;
use e2sm_tc::json::{Encoding, Kind, to_json};
use serde::Serialize;

use crate::to_hex;

/// Writes messages as vectors.
pub(crate) struct Vectors<W> {
    output: W,
}

pub(crate) fn write(encoding: Encoding, output: impl Write) -> io::Result<()> {
    let mut vectors = Vectors { output };
    match encoding {
        Encoding::V0 => v0::all(&mut vectors),
        Encoding::V1 => v1::all(&mut vectors),
    }
}

/// Appends to a file the vectors that it lacks.
///
/// # Errors
/// A vector of the file that is not among the vectors as it stands there; the file is then left as
/// it is.
pub(crate) fn append(encoding: Encoding, file: &Path) -> io::Result<()> {
    let mut printed = Vec::new();
    write(encoding, &mut printed)?;
    let printed = String::from_utf8(printed).map_err(io::Error::other)?;
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("--append-to {}: {error}", file.display()))
    };
    let published = std::fs::read_to_string(file).map_err(named)?;
    let known: HashSet<&str> = published.lines().collect();
    for (index, line) in published.lines().enumerate() {
        if !printed.lines().any(|now| now == line) {
            let place = format!("{}:{}", file.display(), index + 1);
            return Err(io::Error::other(format!(
                "{place}: this published vector is now another; expected that what was added stands \
                 behind the extension markers (E2SM-TC v1, clause 12)"
            )));
        }
    }
    let mut output = std::fs::OpenOptions::new().append(true).open(file).map_err(named)?;
    let new = printed.lines().filter(|line| !known.contains(line));
    new.map(|line| format!("{line}\n")).try_for_each(|line| output.write_all(line.as_bytes()))
}

impl<W: Write> Vectors<W> {
    fn v0<M: e2sm_tc::v0::Message + Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        message: &M,
    ) -> io::Result<()> {
        self.line(kind, name, e2sm_tc::v0::encode(message), message)
    }

    fn v1<M: e2sm_tc::v1::Message + Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        message: &M,
    ) -> io::Result<()> {
        self.line(kind, name, e2sm_tc::v1::encode(message), message)
    }

    fn line<M: Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        encoded: Result<Vec<u8>, EncodeError>,
        message: &M,
    ) -> io::Result<()> {
        let hex = to_hex(&encoded.map_err(io::Error::other)?);
        let value = to_json(message).map_err(io::Error::other)?;
        writeln!(
            self.output,
            "{{\"name\": \"{name}\", \"kind\": \"{kind}\", \"hex\": \"{hex}\", \"value\": {value}}}"
        )
    }
}
