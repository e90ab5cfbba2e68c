//! The published vectors: every message and every alternative of every choice at least once.

mod pipelines;
mod v0;
mod v1;

use std::io::{self, Write};

use e2sm_tc::json::{Encoding, Kind, to_json};
use serde::Serialize;

use crate::to_hex;

/// Names, encodes and writes out messages.
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

impl<W: Write> Vectors<W> {
    fn v0<M: e2sm_tc::v0::Message + Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        message: &M,
    ) -> io::Result<()> {
        let bytes = e2sm_tc::v0::encode(message).map_err(io::Error::other)?;
        self.line(kind, name, &bytes, message)
    }

    fn v1<M: e2sm_tc::v1::Message + Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        message: &M,
    ) -> io::Result<()> {
        let bytes = e2sm_tc::v1::encode(message).map_err(io::Error::other)?;
        self.line(kind, name, &bytes, message)
    }

    fn line<M: Serialize>(
        &mut self,
        kind: Kind,
        name: &str,
        bytes: &[u8],
        message: &M,
    ) -> io::Result<()> {
        let (hex, value) = (to_hex(bytes), to_json(message).map_err(io::Error::other)?);
        writeln!(
            self.output,
            "{{\"name\": \"{name}\", \"kind\": \"{kind}\", \"hex\": \"{hex}\", \"value\": {value}}}"
        )
    }
}
