//! A run of a sweep as a message: what another machine needs to make it, to the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use lab_batch::identity;
use lab_recording::{Contents, Format};
use lab_scenario::LoadedScenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SweepError;
use super::make::make;
use super::state::Identity;

/// A run to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Folder that the run belongs into.
    pub folder: PathBuf,
    /// Files that its scenario reads.
    pub inputs: Vec<Input>,
    /// Digest of everything that it depends on; also in its `run.json`.
    digest: String,
    /// Digest of the program that wrote this.
    program: String,
    formats: Vec<String>,
    packets: bool,
    /// The scenario file, for errors.
    file: String,
    scenario: Value,
}

/// A file that the scenario of a run reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path in the scenario.
    path: String,
    /// Where it is, seen from the machine of the sweep.
    pub source: PathBuf,
    /// Name in the folder of inputs of the machine that makes the run: the same for the same content.
    pub name: String,
}

impl Input {
    fn new(path: &str, sha256: &str, directory: &Path) -> Self {
        let source = directory.join(path);
        // The end of a name says how a trace is compressed.
        let end = source.extension().and_then(|end| end.to_str());
        let name = end.map_or_else(|| sha256.to_owned(), |end| format!("{sha256}.{end}"));
        Self { path: path.to_owned(), source, name }
    }
}

impl Order {
    /// The order of a run whose scenario is `tree` and reads `inputs`, path and digest, relative to
    /// `directory`.
    pub(crate) fn new(
        folder: PathBuf,
        tree: Value,
        inputs: &BTreeMap<String, String>,
        directory: &Path,
        file: &str,
        identity: &Identity,
    ) -> Self {
        let digest = identity.digest(&tree, inputs);
        let inputs =
            inputs.iter().map(|(path, sha256)| Input::new(path, sha256, directory)).collect();
        let Identity { program, formats, packets } = identity.clone();
        let file = file.to_owned();
        Self { folder, inputs, digest, program, formats, packets, file, scenario: tree }
    }

    /// Reads an order: a JSON object.
    ///
    /// # Errors
    /// [`SweepError::Order`].
    pub fn parse(text: &str) -> Result<Self, SweepError> {
        serde_json::from_str(text).map_err(|error| SweepError::Order(error.to_string()))
    }

    /// Makes the run in `out`, with its input files by name in `inputs`. Returns whether it was made,
    /// not stopped.
    ///
    /// # Errors
    /// [`SweepError::OtherBuild`] if this program is not the one that wrote the order,
    /// [`SweepError::Order`] if an input file has another content, [`SweepError::Scenario`] or
    /// [`SweepError::Run`] if the scenario cannot be run, or an error of files.
    pub fn make(&self, inputs: &Path, out: &Path, stop: &AtomicBool) -> Result<bool, SweepError> {
        let Self { digest, formats, packets, file, .. } = self;
        if identity::program()? != self.program {
            return Err(SweepError::OtherBuild);
        }
        let (mut digests, mut places) = (BTreeMap::new(), BTreeMap::new());
        for input in &self.inputs {
            let place = inputs.join(&input.name);
            digests.insert(input.path.clone(), identity::input(&place)?);
            places.insert(input.path.clone(), place.display().to_string());
        }
        let own =
            Identity { program: self.program.clone(), formats: formats.clone(), packets: *packets };
        if own.digest(&self.scenario, &digests) != *digest {
            let message = "its digest is not that of its scenario and input files".to_owned();
            return Err(SweepError::Order(message));
        }
        let formats = formats.iter().map(|name| name.parse());
        let formats: Vec<Format> = formats.collect::<Result<_, _>>().map_err(SweepError::Order)?;
        let mut tree = self.scenario.clone();
        identity::relocate(&mut tree, &places);
        let loaded = LoadedScenario::from_value(tree, file, Path::new(""), &[])?;
        make(&loaded, digest, out, &Contents { formats, packets: *packets }, stop)
    }
}
