//! Scenario files. What is read is the same when it is read again as JSON.

use std::path::Path;

use lab_scenario::LoadedScenario;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let read = LoadedScenario::from_yaml(text, "scenario.yaml", Path::new(""), &[]);
    if let Err(error) = read {
        assert!(!error.to_string().is_empty());
    }
}
