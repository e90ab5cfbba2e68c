//! Results of finished runs on disk, from which an interrupted reproduction resumes.
//!
//! A file is named after the digest of everything its content depends on: the program, the scenario
//! with its seed, the files it reads, the window, and the metrics. A result of another build or
//! another trace is never used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use bounded_input::read_text;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ReproduceError;
use super::floor::FloorOf;
use super::forecasts::Forecasts;
use super::identity;
use super::observe::Observed;
use super::plan::Experiment;
use super::watch::Watch;
use super::xapp::XApp;

/// Largest file with a result.
const MAX_RESULT_BYTES: u64 = 16 << 20;

/// Metrics and curves of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) metrics: BTreeMap<String, Option<f64>>,
    pub(super) curves: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Measured {
    pub(super) fn of(experiment: &Experiment, run: &Observed) -> Self {
        let metrics = experiment.metrics.iter();
        let curves = experiment.curves.iter();
        Self {
            metrics: metrics.map(|(name, measure)| (name.to_owned(), measure.of(run))).collect(),
            curves: curves.map(|(name, series)| (name.to_owned(), series.of(run))).collect(),
        }
    }

    fn fits(&self, experiment: &Experiment) -> bool {
        self.metrics.len() == experiment.metrics.iter().len()
            && self.curves.len() == experiment.curves.iter().len()
            && experiment.metrics.names().all(|name| self.metrics.contains_key(name))
            && experiment.curves.names().all(|name| self.curves.contains_key(name))
    }
}

/// Content of a cache file.
#[derive(Serialize, Deserialize)]
struct CachedRun {
    digest: String,
    experiment: String,
    scheme: String,
    seed: u64,
    measured: Measured,
}

/// Result of a cache lookup.
pub(super) enum Lookup {
    Hit(Measured),
    Miss,
    /// The file is not a valid result, for this reason.
    Corrupt(String),
}

/// The folder of finished runs.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    program: String,
}

/// A run, except for its experiment.
pub(super) struct Identity<'a> {
    pub(super) scheme: &'a str,
    pub(super) seed: u64,
    pub(super) scenario: &'a Value,
    pub(super) watch: Watch,
    pub(super) xapp: Option<&'a XApp>,
    pub(super) forecasts: Option<&'a Forecasts>,
    pub(super) floor: Option<&'a FloorOf>,
}

/// Identifies one run.
pub(super) struct Key<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) scheme: &'a str,
    pub(super) seed: u64,
    pub(super) digest: String,
}

impl Cache {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] if it cannot be created or this program cannot be read.
    pub(super) fn open(folder: PathBuf) -> Result<Self, ReproduceError> {
        lab_recording::make_folder(&folder).map_err(ReproduceError::io(&folder))?;
        Ok(Self { folder, program: identity::program().map_err(ReproduceError::Identity)? })
    }

    /// The key of a run.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] if an input file of the scenario cannot be read.
    pub(super) fn key<'a>(
        &self,
        experiment: &'a Experiment,
        run: Identity<'a>,
        directory: &Path,
    ) -> Result<Key<'a>, ReproduceError> {
        let Identity { scheme, seed, scenario, watch, xapp, forecasts, floor } = run;
        let inputs = identity::inputs(scenario, directory).map_err(ReproduceError::Identity)?;
        let names: Vec<&str> =
            experiment.metrics.names().chain(experiment.curves.names()).collect();
        let whole = json!({
            "program": self.program,
            "experiment": experiment.name,
            "scheme": scheme,
            "seed": seed,
            "scenario": scenario,
            "inputs": inputs,
            "window_us": [watch.from_us, watch.to_us],
            "occupancy": watch.occupancy,
            "xapp": xapp,
            "forecasts": forecasts,
            "floor": floor,
            "taken": names,
        });
        let digest = identity::sha256(whole.to_string());
        Ok(Key { experiment, scheme, seed, digest })
    }

    fn path(&self, key: &Key<'_>) -> PathBuf {
        self.folder.join(format!("{}.json", key.digest))
    }

    pub(super) fn lookup(&self, key: &Key<'_>) -> Lookup {
        let path = self.path(key);
        let text = match read_text(&path, MAX_RESULT_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Lookup::Miss,
            Err(error) => return Lookup::Corrupt(format!("{}: {error}", path.display())),
        };
        let why = match serde_json::from_str::<CachedRun>(&text) {
            Ok(kept) if kept.digest == key.digest && kept.measured.fits(key.experiment) => {
                return Lookup::Hit(kept.measured);
            }
            Ok(_) => "is of another run".to_owned(),
            Err(error) => error.to_string(),
        };
        Lookup::Corrupt(format!("{}: not the result of a run ({why})", path.display()))
    }

    /// Stores a result atomically.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] if it cannot be written.
    pub(super) fn store(&self, key: &Key<'_>, measured: &Measured) -> Result<(), ReproduceError> {
        let kept = json!({
            "digest": key.digest,
            "experiment": key.experiment.name,
            "scheme": key.scheme,
            "seed": key.seed,
            "measured": measured,
        });
        let path = self.path(key);
        write_atomically(&path, &format!("{kept}\n")).map_err(ReproduceError::io(&path))
    }
}

/// Writes a file so that an interrupt leaves the old one or the new one.
///
/// # Errors
/// When the file or its temporary neighbour cannot be written.
fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, text)?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::flows::Flows;
    use crate::measure::Measure;
    use crate::xapp::Deploys;

    const WATCH: Watch = Watch { from_us: 0, to_us: 1, occupancy: false };

    fn identity(seed: u64, scenario: &Value, watch: Watch) -> Identity<'_> {
        Identity { scheme: "s", seed, scenario, watch, xapp: None, forecasts: None, floor: None }
    }

    fn experiment() -> Experiment {
        let goodput = Measure::Goodput { flows: Flows::default(), within_s: None };
        let metrics = [("goodput".to_owned(), goodput)].into_iter().collect();
        Experiment { name: "e".to_owned(), metrics, ..Experiment::default() }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("runs")).unwrap();
        (folder, cache)
    }

    #[test]
    fn a_stored_result_is_found_bit_for_bit() {
        let (_folder, cache) = cache();
        let (experiment, scenario) = (experiment(), json!({}));
        let key = cache.key(&experiment, identity(1, &scenario, WATCH), Path::new("")).unwrap();
        assert!(matches!(cache.lookup(&key), Lookup::Miss));
        let value = 0.1 + 0.2;
        let mut measured = Measured::default();
        measured.metrics.insert("goodput".to_owned(), Some(value));
        cache.store(&key, &measured).unwrap();
        let Lookup::Hit(found) = cache.lookup(&key) else { panic!("not found") };
        assert_eq!(found.metrics["goodput"].map(f64::to_bits), Some(value.to_bits()));
    }

    #[test]
    fn everything_that_determines_a_result_is_in_its_digest() {
        let (folder, cache) = cache();
        let trace = folder.path().join("trace");
        let experiment = experiment();
        let digest = |seed, scenario: Value, watch| {
            let run = identity(seed, &scenario, watch);
            cache.key(&experiment, run, folder.path()).unwrap().digest
        };
        fs::write(&trace, "1\n").unwrap();
        let reads = || json!({"channel": [{"path": "trace"}]});
        let mut all = vec![
            digest(1, json!({}), WATCH),
            digest(2, json!({}), WATCH),
            digest(1, json!({"a": 1}), WATCH),
            digest(1, json!({}), Watch { to_us: 2, ..WATCH }),
            digest(1, reads(), WATCH),
        ];
        fs::write(&trace, "2\n").unwrap();
        all.push(digest(1, reads(), WATCH));
        let deploys = |when| {
            let pipeline = tc_rf::templates::transparent();
            let xapp = XApp { rnti: 1, drb: 1, when, pipeline };
            let nothing = json!({});
            let run = Identity { xapp: Some(&xapp), ..identity(1, &nothing, WATCH) };
            cache.key(&experiment, run, folder.path()).unwrap().digest
        };
        all.push(deploys(Deploys::At(1)));
        all.push(deploys(Deploys::At(2)));
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(digest(1, json!({}), WATCH), all[0]);
    }

    #[test]
    fn a_damaged_file_is_not_a_result() {
        let (_folder, cache) = cache();
        let (experiment, scenario) = (experiment(), json!({}));
        let key = cache.key(&experiment, identity(1, &scenario, WATCH), Path::new("")).unwrap();
        cache.store(&key, &Measured::default()).unwrap();
        let Lookup::Corrupt(other) = cache.lookup(&key) else { panic!("lacks its metric") };
        assert!(other.contains("of another run"), "{other}");
        fs::write(cache.path(&key), "{\"digest\": ").unwrap();
        let Lookup::Corrupt(why) = cache.lookup(&key) else { panic!("half a file") };
        assert!(why.contains(&key.digest) && why.contains("not the result of a run"), "{why}");
    }
}
