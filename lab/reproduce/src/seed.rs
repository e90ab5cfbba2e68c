//! A scenario with another seed.

use serde_json::Value;

pub(super) fn with_seed(scenario: &Value, seed: u64) -> Value {
    let mut scenario = scenario.clone();
    if let Some(map) = scenario.as_object_mut() {
        map.insert("seed".to_owned(), seed.into());
    }
    scenario
}
