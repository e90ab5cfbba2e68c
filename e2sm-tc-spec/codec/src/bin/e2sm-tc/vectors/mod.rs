//! The published vectors: every message and every alternative at least once.

mod pipelines;
mod v0;
mod v1;

use std::io::{self, Write};

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
