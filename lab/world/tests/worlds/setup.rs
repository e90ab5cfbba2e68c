//! Scenarios from text, traces and controls for the tests.

use std::path::{Path, PathBuf};

use e2sm_tc::v1::{self, BearerId, ControlMessage, PipelineChange, Transaction, UeId};
use lab_scenario::LoadedScenario;
use lab_world::{ControlReply, RanFunction, World};
use tempfile::TempDir;

/// RNTI of the UE of `default.yaml`.
pub(crate) const RNTI: u16 = 17921;

/// A scenario from YAML text.
pub(crate) fn load(text: &str) -> LoadedScenario {
    LoadedScenario::from_yaml(text, "scenario.yaml", Path::new(""), &[]).unwrap()
}

/// A folder with a Mahimahi trace, and the override that makes it the channel of the UE.
pub(crate) fn trace(lines: impl Iterator<Item = String>, more: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.down");
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    (folder, mahimahi(&path, more))
}

/// The override that makes a trace the channel of the UE.
pub(crate) fn mahimahi(path: &Path, more: &str) -> String {
    format!("ues[0].channel={{mahimahi: {{path: {}{more}}}}}", path.display())
}

/// A trace in the folder shared between checkouts; skips the test if it is absent.
pub(crate) fn shared_trace(name: &str) -> Option<PathBuf> {
    let root = std::env::var("SOJOURN_SHARED").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = root.join("traces").join(name);
    if !file.is_file() {
        println!("skipped: no trace at {}", file.display());
        return None;
    }
    Some(file)
}

/// The bearer of `default.yaml`.
pub(crate) fn bearer() -> BearerId {
    BearerId { ue: UeId::Rnti(RNTI), drb: 1 }
}

/// A transaction that replaces the pipeline of the bearer by a template.
pub(crate) fn replace(template: &str) -> Transaction {
    Transaction {
        bearer: bearer(),
        expected_revision: None,
        lease_ms: None,
        owner: None,
        as_safe: false,
        dry_run: false,
        change: PipelineChange::Replace(tc_rf::templates::by_name(template).unwrap()),
    }
}

/// Header and message of a control of TC v1.
pub(crate) fn encode(style: u8, message: &ControlMessage) -> (Vec<u8>, Vec<u8>) {
    let header = v1::encode(&v1::ControlHeader { style, correlation_id: 1 }).unwrap();
    (header, v1::encode(message).unwrap())
}

/// Applies a control of TC v1.
pub(crate) fn control(world: &mut World, style: u8, message: &ControlMessage) -> ControlReply {
    let (header, message) = encode(style, message);
    world.control(RanFunction::TcV1.oid(), &header, &message).unwrap()
}
