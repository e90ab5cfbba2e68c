//! The recording of `--out` as `summary.json`, `bearers.csv` and `flows.csv`: the tables of
//! `gnb-lab run` as text, since the node is built without Parquet.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lab_gateway::cli::Failure;
use lab_gateway::{Recording, RecordingError};
use lab_world::World;
use lab_world::table::{BEARER_COLUMNS, FLOW_COLUMNS, csv_field};

/// A recording being written.
#[derive(Debug)]
pub struct CsvRecording {
    folder: PathBuf,
    bearers: BufWriter<File>,
}

impl CsvRecording {
    /// Creates the folder and the table of bearers.
    ///
    /// # Errors
    /// When the folder or the file cannot be created.
    pub fn begin(folder: &Path, world: &mut World) -> Result<Self, Failure> {
        let path = folder.join("bearers.csv");
        let header: Vec<&str> = BEARER_COLUMNS.iter().map(|column| column.name).collect();
        let bearers = fs::create_dir_all(folder)
            .and_then(|()| File::create(&path))
            .map(BufWriter::new)
            .and_then(|mut file| writeln!(file, "{}", header.join(",")).map(|()| file))
            .map_err(failure(&path))?;
        world.record_series(true);
        Ok(Self { folder: folder.to_owned(), bearers })
    }

    fn write_bearers(&mut self, world: &mut World) -> io::Result<()> {
        let mut line = String::new();
        for row in world.take_series() {
            line.clear();
            for (index, column) in BEARER_COLUMNS.iter().enumerate() {
                if index > 0 {
                    line.push(',');
                }
                if let Some(value) = (column.value)(&row) {
                    // Writing to a string does not fail.
                    let _ = write!(line, "{value}");
                }
            }
            writeln!(self.bearers, "{line}")?;
        }
        Ok(())
    }
}

impl Recording<World> for CsvRecording {
    fn write(&mut self, world: &mut World) -> Result<(), RecordingError> {
        Ok(self.write_bearers(world).map_err(failure(&self.folder.join("bearers.csv")))?)
    }

    fn finish(mut self: Box<Self>, world: &mut World) -> Result<(), RecordingError> {
        self.write(world)?;
        self.bearers.flush().map_err(failure(&self.folder.join("bearers.csv")))?;
        let flows = self.folder.join("flows.csv");
        File::create(&flows)
            .and_then(|file| write_flows(BufWriter::new(file), world))
            .map_err(failure(&flows))?;
        let summary = self.folder.join("summary.json");
        let text = world.summary().to_json().map_err(io::Error::from);
        Ok(text.and_then(|text| fs::write(&summary, text)).map_err(failure(&summary))?)
    }
}

fn write_flows(mut file: BufWriter<File>, world: &World) -> io::Result<()> {
    writeln!(file, "{}", FLOW_COLUMNS.join(","))?;
    for series in world.flow_series() {
        let flow = csv_field(series.flow);
        for (time_us, value) in &series.samples {
            writeln!(file, "{flow},{},{},{time_us},{value}", series.kind, series.quantity)?;
        }
    }
    file.flush()
}

fn failure(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Machine(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use lab_scenario::LoadedScenario;

    use super::*;

    #[test]
    fn a_recording_has_a_row_for_each_bearer_and_millisecond() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml");
        let mut world = World::new(&LoadedScenario::from_file(&file, &[]).unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut recording = Box::new(CsvRecording::begin(folder.path(), &mut world).unwrap());
        for end_us in [400_000, 1_000_000] {
            world.step_until(end_us, &mut |_| {});
            recording.write(&mut world).unwrap();
        }
        recording.finish(&mut world).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let bearers = read("bearers.csv");
        let mut lines = bearers.lines();
        assert!(lines.next().unwrap().starts_with("time_us,rnti,drb,rlc_occupancy_bytes"));
        assert_eq!(lines.clone().count(), 1_001, "one bearer, from 0 to 1000 ms");
        assert!(lines.all(|line| line.split(',').count() == BEARER_COLUMNS.len()));
        let flows = read("flows.csv");
        assert!(flows.lines().any(|line| line.starts_with("ping,ping,rtt,")), "{flows}");
        assert!(read("summary.json").contains("\"scenario\": \"default\""));
    }
}
