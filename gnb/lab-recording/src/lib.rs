//! Output files of a run: `summary.json`, `bearers.parquet`, `flows.parquet`, `packets.parquet` if
//! enabled, and `report.html`.

mod html;
pub mod plots;
mod tables;
mod trail;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), source }
    }

    fn table(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        move |error| Self::Table { path: path.to_owned(), message: error.to_string() }
    }
}

/// Writes a run down as it goes. Rows are kept in memory between two calls of
/// [`record`](Self::record) alone.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    command: String,
    bearers: Rows<BearerSample>,
    packets: Option<Rows<PacketSample>>,
    trail: Trail,
}

impl Recorder {
    /// Makes the folder and begins the tables. `command` is how the run was asked for.
    ///
    /// # Errors
    /// When the folder or a file in it cannot be made.
    pub fn begin(
        folder: &Path,
        command: &str,
        world: &mut World,
        packets: bool,
    ) -> Result<Self, RecordingError> {
        fs::create_dir_all(folder).map_err(RecordingError::io(folder))?;
        world.record_series(true);
        world.record_packets(packets);
        Ok(Self {
            folder: folder.to_owned(),
            command: command.to_owned(),
            bearers: Rows::create(folder, "bearers", BEARER_COLUMNS)?,
            packets: packets
                .then(|| Rows::create(folder, "packets", PACKET_COLUMNS))
                .transpose()?,
            trail: Trail::default(),
        })
    }

    /// Takes what happened since the last call. Call it each second or so of virtual time.
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
        tables::write_flows(&self.folder.join("flows.parquet"), world)?;
        let path = self.folder.join("summary.json");
        let summary = world.summary().to_json(&self.command).map_err(|error| {
            RecordingError::Table { path: path.clone(), message: error.to_string() }
        })?;
        write(&path, &summary)?;
        let page = html::page(&world.summary(), &self.trail, world, &self.command);
        write(&self.folder.join("report.html"), &page)
    }
}

fn write(path: &Path, text: &str) -> Result<(), RecordingError> {
    fs::write(path, text).map_err(RecordingError::io(path))
}
