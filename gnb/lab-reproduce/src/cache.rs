//! Results of finished runs on disk, so that an interrupted reproduction goes on where it stopped.
//!
//! A file is named after the digest of all that decides its contents: the program, the scenario
//! with its seed, the files it reads, the window, and what was taken of the run. A result of
//! another build or another trace is never used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Experiment, FloorOf, Forecasts, Observed, ReproduceError, Watch, XApp};

/// What is kept of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) metrics: BTreeMap<String, Option<f64>>,
    pub(super) curves: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Measured {
    pub(super) fn of(experiment: &Experiment, run: &Observed) -> Self {
        let metric = |metric: &super::Metric| (metric.name.to_owned(), metric.of(run));
        let curve = |curve: &super::Curve| (curve.name.to_owned(), curve.of(run));
        Self {
            metrics: experiment.metrics.iter().map(metric).collect(),
            curves: experiment.curves.iter().map(curve).collect(),
        }
    }

    fn fits(&self, experiment: &Experiment) -> bool {
        self.metrics.len() == experiment.metrics.len()
            && self.curves.len() == experiment.curves.len()
            && experiment.metrics.iter().all(|metric| self.metrics.contains_key(metric.name))
            && experiment.curves.iter().all(|curve| self.curves.contains_key(curve.name))
    }
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    digest: String,
    experiment: String,
    scheme: String,
    seed: u64,
    measured: Measured,
}

/// What a file of the cache says.
pub(super) enum Found {
    /// The result.
    Result(Measured),
    /// There is none.
    Nothing,
    /// There is a file, but it is no result: why not.
    Corrupt(String),
}

/// The folder of finished runs.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    program: String,
}

/// What is run, beside the experiment it belongs to.
pub(super) struct Identity<'a> {
    pub(super) scheme: &'a str,
    pub(super) seed: u64,
    pub(super) scenario: &'a Value,
    pub(super) watch: Watch,
    pub(super) xapp: Option<&'a XApp>,
    pub(super) forecasts: Option<&'a Forecasts>,
    pub(super) floor: Option<FloorOf>,
}

/// Names one run.
pub(super) struct Key<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) scheme: &'a str,
    pub(super) seed: u64,
    pub(super) digest: String,
}

impl Cache {
    /// Makes the folder if need be.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] when it cannot be made, or this program cannot be read.
    pub(super) fn open(folder: PathBuf) -> Result<Self, ReproduceError> {
        fs::create_dir_all(&folder).map_err(ReproduceError::io(&folder))?;
        let this = std::env::current_exe()
            .map_err(ReproduceError::io(Path::new("path of this program")))?;
        let bytes = fs::read(&this).map_err(ReproduceError::io(&this))?;
        Ok(Self { folder, program: hex(&Sha256::digest(bytes)) })
    }

    /// The key of a run.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] when a file that the scenario reads cannot be read.
    pub(super) fn key<'a>(
        &self,
        experiment: &'a Experiment,
        run: Identity<'a>,
        directory: &Path,
    ) -> Result<Key<'a>, ReproduceError> {
        let Identity { scheme, seed, scenario, watch, xapp, forecasts, floor } = run;
        let mut paths = Vec::new();
        collect_paths(scenario, &mut paths);
        let mut inputs = BTreeMap::new();
        for path in paths {
            let file = directory.join(path);
            let bytes = fs::read(&file).map_err(ReproduceError::io(&file))?;
            inputs.insert(path, hex(&Sha256::digest(bytes)));
        }
        let names: Vec<&str> = experiment
            .metrics
            .iter()
            .map(|metric| metric.name)
            .chain(experiment.curves.iter().map(|curve| curve.name))
            .collect();
        let identity = json!({
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
        let digest = hex(&Sha256::digest(identity.to_string()));
        Ok(Key { experiment, scheme, seed, digest })
    }

    fn path(&self, key: &Key<'_>) -> PathBuf {
        self.folder.join(format!("{}.json", key.digest))
    }

    pub(super) fn find(&self, key: &Key<'_>) -> Found {
        let path = self.path(key);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Found::Nothing,
            Err(error) => return Found::Corrupt(format!("{}: {error}", path.display())),
        };
        let why = match serde_json::from_str::<Kept>(&text) {
            Ok(kept) if kept.digest == key.digest && kept.measured.fits(key.experiment) => {
                return Found::Result(kept.measured);
            }
            Ok(_) => "is of another run".to_owned(),
            Err(error) => error.to_string(),
        };
        Found::Corrupt(format!("{}: not the result of a run ({why})", path.display()))
    }

    /// Keeps a result; whoever reads the folder sees the whole file or none.
    ///
    /// # Errors
    /// [`ReproduceError::Io`] when it cannot be written.
    pub(super) fn keep(&self, key: &Key<'_>, measured: &Measured) -> Result<(), ReproduceError> {
        let kept = json!({
            "digest": key.digest,
            "experiment": key.experiment.name,
            "scheme": key.scheme,
            "seed": key.seed,
            "measured": measured,
        });
        let path = self.path(key);
        let part = path.with_extension(format!("{}.part", std::process::id()));
        fs::write(&part, format!("{kept}\n")).map_err(ReproduceError::io(&part))?;
        fs::rename(&part, &path).map_err(ReproduceError::io(&path))
    }
}

/// Values of all keys named `path`: the files a scenario reads.
fn collect_paths<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(path) if key == "path" => found.push(path),
                    _ => collect_paths(inner, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| collect_paths(inner, found)),
        _ => {}
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Deploys, Flows, Metric};

    const WATCH: Watch = Watch { from_us: 0, to_us: 1, occupancy: false };

    fn identity(seed: u64, scenario: &Value, watch: Watch) -> Identity<'_> {
        Identity { scheme: "s", seed, scenario, watch, xapp: None, forecasts: None, floor: None }
    }

    fn experiment() -> Experiment {
        Experiment {
            metrics: vec![Metric::goodput("goodput", Flows::default())],
            ..Experiment::new("e", "§1", "t")
        }
    }

    #[test]
    fn what_was_kept_is_found_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().to_owned()).unwrap();
        let experiment = experiment();
        let nothing = json!({});
        let key = cache.key(&experiment, identity(1, &nothing, WATCH), Path::new("")).unwrap();
        assert!(matches!(cache.find(&key), Found::Nothing));
        let value = 0.1 + 0.2;
        let mut measured = Measured::default();
        measured.metrics.insert("goodput".to_owned(), Some(value));
        cache.keep(&key, &measured).unwrap();
        let Found::Result(found) = cache.find(&key) else { panic!("not found") };
        assert_eq!(found.metrics["goodput"].map(f64::to_bits), Some(value.to_bits()));
    }

    #[test]
    fn all_that_decides_a_result_is_in_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("cells")).unwrap();
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
    fn a_damaged_file_is_told_from_a_result() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().to_owned()).unwrap();
        let experiment = experiment();
        let nothing = json!({});
        let key = cache.key(&experiment, identity(1, &nothing, WATCH), Path::new("")).unwrap();
        cache.keep(&key, &Measured::default()).unwrap();
        let Found::Corrupt(other) = cache.find(&key) else { panic!("lacks its metric") };
        assert!(other.contains("of another run"), "{other}");
        fs::write(cache.path(&key), "{\"digest\": ").unwrap();
        let Found::Corrupt(why) = cache.find(&key) else { panic!("half a file") };
        assert!(why.contains(&key.digest) && why.contains("not the result of a run"), "{why}");
    }
}
