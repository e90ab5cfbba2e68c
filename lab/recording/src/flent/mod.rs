//! `flows.flent.gz`: the flows of a run as a data file of flent, format version 4.
//!
//! The names of series are those of flent's tests `tcp_ndown` and `ping`, so their plots find them: bulk
//! downloads are `TCP download::1` and so on, the first ping is `Ping (ms) ICMP`. Which flow of the
//! scenario a series is says `SERIES_META`. Other flows have series of their own names.

mod iso_time;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use lab_world::World;
use serde_json::{Map, Value, json};

use self::iso_time::iso_time;
use super::RecordingError;

const FORMAT_VERSION: u32 = 4;
const MBITS: &str = "Mbits/s";
const MS: &str = "ms";

/// One series: a value per step, and the samples behind it.
struct Series {
    name: String,
    flow: String,
    kind: &'static str,
    units: &'static str,
    /// `None` in steps without a sample.
    steps: Vec<Option<f64>>,
    raw: Vec<Value>,
}

impl Series {
    fn mean(&self) -> Option<f64> {
        let known: Vec<f64> = self.steps.iter().flatten().copied().collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

/// Steps of equal width from virtual time 0 to the end of the run.
#[derive(Clone, Copy)]
struct Grid {
    epoch_us: u64,
    end_us: u64,
    step_us: u64,
}

impl Grid {
    fn of(world: &World) -> Self {
        // Bins have doubled as often as they had to; the widest are multiples of all others.
        let bins = world.flows().map(|(_, _, flow)| flow.arrivals().goodput().bin_us());
        let step_us = bins.max().unwrap_or(super::trail::BIN_US);
        Self { epoch_us: world.epoch_us(), end_us: world.now_us(), step_us }
    }

    fn steps(&self) -> usize {
        self.end_us.div_ceil(self.step_us) as usize
    }

    /// End of a step, µs.
    fn end_of(&self, step: usize) -> u64 {
        ((step as u64 + 1) * self.step_us).min(self.end_us)
    }

    /// Unix time of a virtual time, s.
    fn unix_s(&self, at_us: u64) -> f64 {
        (self.epoch_us + at_us) as f64 / 1e6
    }

    /// Payload rate, Mbit/s.
    fn goodput(
        &self,
        name: String,
        flow: &str,
        kind: &'static str,
        ends: &traffic::Flow,
    ) -> Series {
        let bytes = ends.arrivals().goodput();
        let per_step = (self.step_us / bytes.bin_us()).max(1) as usize;
        let mut bins = bytes.bins().chunks(per_step).map(|bins| bins.iter().sum::<u64>());
        let (mut steps, mut raw) = (Vec::new(), Vec::new());
        for step in 0..self.steps() {
            let width_us = self.end_of(step) - step as u64 * self.step_us;
            let mbps = bins.next().unwrap_or(0) as f64 * 8.0 / width_us as f64;
            let t = self.unix_s(self.end_of(step));
            raw.push(json!({ "t": t, "val": mbps, "dur": width_us as f64 / 1e6 }));
            steps.push(Some(mbps));
        }
        Series { name, flow: flow.to_owned(), kind, units: MBITS, steps, raw }
    }

    /// Mean delay in each step, ms, of samples (measured at, delay) in µs.
    fn delay(
        &self,
        name: String,
        flow: &str,
        kind: &'static str,
        samples: &[(u64, u64)],
    ) -> Series {
        let mut sums = vec![(0u64, 0u64); self.steps()];
        for (at_us, delay_us) in samples {
            // A sample at the very end belongs to the last step.
            let step = (at_us / self.step_us) as usize;
            if let Some((count, sum)) = sums.get_mut(step.min(self.steps().saturating_sub(1))) {
                *count += 1;
                *sum += delay_us;
            }
        }
        let mean = |(count, sum): (u64, u64)| (count > 0).then(|| sum as f64 / count as f64 / 1e3);
        let sample = |(at_us, delay_us): &(u64, u64)| json!({ "t": self.unix_s(*at_us), "val": *delay_us as f64 / 1e3 });
        Series {
            name,
            flow: flow.to_owned(),
            kind,
            units: MS,
            steps: sums.into_iter().map(mean).collect(),
            raw: samples.iter().map(sample).collect(),
        }
    }
}

/// All series, and how many are bulk downloads.
fn series(world: &World, grid: &Grid) -> (Vec<Series>, usize) {
    let (mut all, mut downloads, mut pings) = (Vec::new(), 0, 0);
    for (flow, kind, ends) in world.flows() {
        match kind {
            "tcp" => {
                downloads += 1;
                all.push(grid.goodput(format!("TCP download::{downloads}"), flow, kind, ends));
            }
            "ping" => {
                pings += 1;
                let name = match pings {
                    1 => "Ping (ms) ICMP".to_owned(),
                    _ => format!("Ping (ms) ICMP {flow} (extra)"),
                };
                let samples = ends.rtt().map(|rtt| rtt.samples()).unwrap_or_default();
                all.push(grid.delay(name, flow, kind, samples));
            }
            _ => {
                all.push(grid.goodput(format!("{flow} goodput"), flow, kind, ends));
                let samples = ends.one_way_delay().samples();
                all.push(grid.delay(format!("{flow} one-way delay"), flow, kind, samples));
            }
        }
    }
    (all, downloads)
}

/// Sum and mean of the downloads in each step, as flent computes them.
fn totals(all: &[Series], downloads: usize) -> Map<String, Value> {
    let mut totals = Map::new();
    let tcp: Vec<&Series> = all.iter().filter(|series| series.kind == "tcp").collect();
    let Some(first) = tcp.first() else { return totals };
    let sums: Vec<f64> = (0..first.steps.len())
        .map(|step| tcp.iter().filter_map(|series| series.steps[step]).sum())
        .collect();
    let means: Vec<f64> = sums.iter().map(|sum| sum / downloads as f64).collect();
    totals.insert("TCP download sum".to_owned(), sums.into());
    totals.insert("TCP download avg".to_owned(), means.into());
    totals
}

fn data(world: &World) -> Value {
    let grid = Grid::of(world);
    let (all, downloads) = series(world, &grid);
    let mut results = totals(&all, downloads);
    let (mut raw_values, mut meta) = (Map::new(), Map::new());
    for series in all {
        let mean = series.mean();
        results.insert(series.name.clone(), series.steps.into());
        raw_values.insert(series.name.clone(), series.raw.into());
        meta.insert(
            series.name,
            json!({
                "FLOW": series.flow,
                "KIND": series.kind,
                "UNITS": series.units,
                "MEAN_VALUE": mean,
            }),
        );
    }
    let x_values: Vec<f64> = (0..grid.steps()).map(|step| grid.end_of(step) as f64 / 1e6).collect();
    let summary = world.summary();
    let time = iso_time(world.epoch_us());
    let length_s = summary.duration_s;
    json!({
        "version": FORMAT_VERSION,
        "x_values": x_values,
        "results": results,
        "raw_values": raw_values,
        "metadata": {
            "NAME": if downloads > 0 { "tcp_ndown" } else { "ping" },
            "TITLE": format!("{}, seed {}", summary.scenario, summary.seed),
            "TIME": time,
            "T0": time,
            "LENGTH": length_s,
            "TOTAL_LENGTH": length_s,
            "STEP_SIZE": grid.step_us as f64 / 1e6,
            "HOST": "server",
            "HOSTS": ["server"],
            "LOCAL_HOST": "ue",
            "NOTE": format!("emulated by gnb-lab {}", env!("CARGO_PKG_VERSION")),
            "FLENT_VERSION": format!("gnb-lab {}", env!("CARGO_PKG_VERSION")),
            "IP_VERSION": 4,
            "TEST_PARAMETERS": { "download_streams": downloads.to_string() },
            "DATA_FILENAME": "flows.flent.gz",
            "SERIES_META": meta,
        },
    })
}

/// Writes the file. Its header has no time, so equal runs give equal bytes.
pub(super) fn write(path: &Path, world: &World) -> Result<(), RecordingError> {
    let text = data(world).to_string();
    let write = || {
        let file = BufWriter::new(File::create(path)?);
        let mut gzip = GzBuilder::new().mtime(0).write(file, Compression::default());
        gzip.write_all(text.as_bytes())?;
        gzip.finish()?.flush()
    };
    write().map_err(RecordingError::io(path))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use lab_scenario::LoadedScenario;

    use super::*;

    #[test]
    fn every_series_has_a_value_or_null_for_each_step() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml");
        let mut world = World::new(&LoadedScenario::from_file(&file, &[]).unwrap()).unwrap();
        world.step_until(1_950_000, &mut |_| {});
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.flent.gz");
        write(&path, &world).unwrap();
        let mut text = String::new();
        let file = std::fs::File::open(&path).unwrap();
        flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let data: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(data["version"], 4);
        let x = data["x_values"].as_array().unwrap();
        assert_eq!((x.len(), x.last().unwrap()), (20, &json!(1.95)));
        let results = data["results"].as_object().unwrap();
        for name in ["TCP download::1", "TCP download sum", "Ping (ms) ICMP", "voip goodput"] {
            assert_eq!(results[name].as_array().unwrap().len(), 20, "{name}");
        }
        let bytes: f64 = data["raw_values"]["TCP download::1"]
            .as_array()
            .unwrap()
            .iter()
            .map(|raw| raw["val"].as_f64().unwrap() * raw["dur"].as_f64().unwrap() * 1e6 / 8.0)
            .sum();
        let sent = world.summary().flows[0].goodput_bytes as f64;
        assert!((bytes - sent).abs() < 1.0, "{bytes} of {sent}");
        let meta = &data["metadata"];
        assert_eq!(meta["NAME"], "tcp_ndown");
        assert_eq!(meta["SERIES_META"]["TCP download::1"]["FLOW"], "bulk");
        let rtt = world.flow("ping").unwrap().rtt().unwrap().samples()[0];
        let first = &data["raw_values"]["Ping (ms) ICMP"][0];
        assert_eq!(first["val"], json!(rtt.1 as f64 / 1e3));
    }
}
