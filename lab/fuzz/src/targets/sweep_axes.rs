//! Axes of a sweep, PATH=VALUES as of `--over`. An axis has at least one value and none twice; its values
//! written one by one give the same axis. The input as PATH=VALUE, as of `--set`, changes a scenario or is
//! refused.

use std::collections::HashSet;
use std::sync::LazyLock;

use lab_scenario::Override;
use lab_sweep::Axis;
use serde_json::Value;

/// Values that are written and read again; a range has many alike.
const MOST: usize = 64;

static DEFAULT: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../scenarios/default.yaml");
    serde_saphyr::from_str(text).expect("YAML")
});

pub(crate) fn check(input: &[u8]) {
    let mut tree = DEFAULT.clone();
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(change) = text.parse::<Override>() {
        assert!(change.concerns(change.path()), "{text}");
        let _ = change.apply(&mut tree);
    }
    let Ok(axis) = text.parse::<Axis>() else { return };
    let written: Vec<String> = axis.values().iter().map(ToString::to_string).collect();
    let known: HashSet<&String> = written.iter().collect();
    assert!(!written.is_empty() && known.len() == written.len(), "{text}: {written:?}");
    // YAML wants other characters escaped than JSON.
    let is_plain = |value: &str| value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let values: Vec<&String> = written.iter().filter(|value| is_plain(value)).take(MOST).collect();
    for value in values {
        let again = format!("{}={value}", axis.path());
        match again.parse::<Axis>() {
            Ok(same) => assert_eq!(same.values()[0].to_string(), *value, "{again}"),
            Err(error) => panic!("{again}: {error}"),
        }
    }
}
