//! Output files of a run: `summary.json`, `curves.json`, the tables `bearers`, `flows` and, if enabled,
//! `packets` in the chosen [`Format`]s, `report.html`.
//!
//! They depend on scenario, seed and program alone: neither on the folder nor on the time of day.

mod curves;
mod flent;
mod format;
mod html;
pub mod plots;
pub mod sheet;
mod tables;
mod trail;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use curves::Curves;
pub use format::Format;
pub use html::{STYLE, escape};
use lab_world::table::{BEARER_COLUMNS, PACKET_COLUMNS};
use lab_world::{BearerSample, PacketSample, World};
use tables::Rows;
use trail::Trail;

/// Failure to write the output of a run.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or folder.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table.
    #[error("{}: {message}", path.display())]
    Table {
        /// Which.
        path: PathBuf,
        /// Why.
        message: String,
    },
}

impl RecordingError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn table(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        move |error| Self::Table { path: path.to_owned(), message: error.to_string() }
    }
}

/// What is written of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Formats of the tables.
    pub formats: Vec<Format>,
    /// Whether there is a table of packets.
    pub packets: bool,
}

impl Default for Contents {
    fn default() -> Self {
        Self { formats: vec![Format::Parquet], packets: false }
    }
}

/// Writes a run down as it goes. Rows are kept in memory between two calls of
/// [`record`](Self::record) alone.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    formats: Vec<Format>,
    bearers: Rows<BearerSample>,
    packets: Option<Rows<PacketSample>>,
    trail: Trail,
}

impl Recorder {
    /// Makes the folder and begins the tables.
    ///
    /// # Errors
    /// When the folder or a file in it cannot be made.
    pub fn begin(
        folder: &Path,
        contents: &Contents,
        world: &mut World,
    ) -> Result<Self, RecordingError> {
        let Contents { formats, packets } = contents;
        make_folder(folder).map_err(RecordingError::io(folder))?;
        world.record_series(true);
        world.record_packets(*packets);
        Ok(Self {
            folder: folder.to_owned(),
            formats: formats.clone(),
            bearers: Rows::create(folder, "bearers", BEARER_COLUMNS, formats)?,
            packets: packets
                .then(|| Rows::create(folder, "packets", PACKET_COLUMNS, formats))
                .transpose()?,
            trail: Trail::default(),
        })
    }

    /// Takes what happened since the last call. Call it each [`CHUNK_US`] or so.
    ///
    /// # Errors
    /// When a table cannot be written.
    pub fn record(&mut self, world: &mut World) -> Result<(), RecordingError> {
        let rows = world.take_series();
        self.trail.add(&rows);
        self.bearers.append(&rows)?;
        if let Some(packets) = &mut self.packets {
            packets.append(&world.take_packets())?;
        }
        Ok(())
    }

    /// Closes the tables and writes summary and report.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self, world: &mut World) -> Result<(), RecordingError> {
        self.record(world)?;
        self.bearers.finish()?;
        if let Some(packets) = self.packets {
            packets.finish()?;
        }
        tables::write_flows(&self.folder, world, &self.formats)?;
        if self.formats.contains(&Format::Flent) {
            flent::write(&self.folder.join("flows.flent.gz"), world)?;
        }
        let summary = world.summary();
        write_json(&self.folder.join(SUMMARY_FILE), summary.to_json())?;
        let curves = Curves::of(world, &self.trail);
        write_json(&self.folder.join(Curves::FILE), curves.to_json())?;
        let page = html::page(&summary, &self.trail, world);
        write(&self.folder.join("report.html"), &page)
    }
}

/// Virtual time between two calls of [`Recorder::record`], µs; in Parquet the length of a row group.
pub const CHUNK_US: u64 = 1_000_000;

/// Makes a folder for results, and those above it.
///
/// # Errors
/// It cannot be made; of a file in its place the error says that a folder was expected.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            io::Error::new(error.kind(), "is not a folder; expected one, or none yet")
        }
        _ => error,
    })
}

/// A value with enough significant digits to tell results apart.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() >= 100.0 {
        format!("{value:.1}")
    } else if value.abs() >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// Name of the file with the summary of a run.
const SUMMARY_FILE: &str = "summary.json";

fn write_json(path: &Path, text: serde_json::Result<String>) -> Result<(), RecordingError> {
    let text = text.map_err(|error| RecordingError::Table {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    write(path, &text)
}

fn write(path: &Path, text: &str) -> Result<(), RecordingError> {
    fs::write(path, text).map_err(RecordingError::io(path))
}
