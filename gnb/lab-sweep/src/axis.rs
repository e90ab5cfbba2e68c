//! `--over path=values`: an axis of a sweep.

use std::collections::HashSet;
use std::str::FromStr;

use lab_scenario::Override;
use serde_json::Value;

use super::range;

/// An element of the scenario and the values that it takes in turn, such as
/// `ues[*].channel.fixed_mcs=4..20..4` or `ues[*].drbs[*].pipeline=fq_codel,sojourn`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    settings: Vec<Override>,
    path: String,
}

impl Axis {
    /// Path of the element.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The element set to each value, in the order given.
    pub fn settings(&self) -> &[Override] {
        &self.settings
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected PATH=VALUES such as cell.n_prb=51,106 or cell.n_prb=24..106..12";
        let (path, values) = text.split_once('=').ok_or_else(|| format!("'{text}': {expected}"))?;
        let (mut settings, mut known) = (Vec::new(), HashSet::new());
        for item in items(values) {
            let item = item.trim();
            if item.is_empty() {
                return Err(format!("'{text}': a value is missing; {expected}"));
            }
            let more = match range::expand(item).map_err(|error| format!("{path}: {error}"))? {
                Some(values) => values
                    .into_iter()
                    .map(|value| Override::new(path, value))
                    .collect::<Result<Vec<_>, _>>()?,
                None => vec![format!("{path}={item}").parse::<Override>()?],
            };
            for setting in more {
                if !known.insert(setting.value().to_string()) {
                    let value = label(setting.value());
                    return Err(format!("{path}: the value {value} is there twice"));
                }
                settings.push(setting);
            }
        }
        Ok(Self { settings, path: path.to_owned() })
    }
}

/// The parts between commas that are in no brackets and no quotes.
fn items(text: &str) -> Vec<&str> {
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0i32);
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) => quote = (character != open).then_some(open),
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            (None, _) => {}
        }
    }
    found.push(&text[begin..]);
    found
}

/// A value as text: words without quotes, everything else as JSON.
pub(crate) fn label(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(text: &str) -> Value {
        let axis = text.parse::<Axis>().unwrap();
        axis.settings().iter().map(|setting| setting.value().clone()).collect()
    }

    #[test]
    fn lists_ranges_and_mappings_are_values() {
        assert_eq!(values("cell.n_prb=24,51..53,106"), json!([24, 51, 52, 53, 106]));
        assert_eq!(
            values("ues[*].drbs[*].pipeline=fq_codel, sojourn"),
            json!(["fq_codel", "sojourn"])
        );
        assert_eq!(
            values("p={template: sojourn, bulk_bound_us: 1},'a,b',[1, 2],true"),
            json!([{"template": "sojourn", "bulk_bound_us": 1}, "a,b", [1, 2], true])
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_axis_with_values_or_an_error(text in "[a-z.*0-9\\[\\]{}'\",= -]{0,40}") {
            if let Ok(axis) = text.parse::<Axis>() {
                proptest::prop_assert!(!axis.settings().is_empty());
                proptest::prop_assert!(axis.settings().iter().all(|one| one.path() == axis.path()));
            }
        }
    }

    #[test]
    fn malformed_axes_are_told() {
        for (text, said) in [
            ("cell.n_prb", "expected PATH=VALUES"),
            ("cell.n_prb=", "a value is missing"),
            ("cell.n_prb=1,,2", "a value is missing"),
            ("cell.n_prb=1,2,1", "cell.n_prb: the value 1 is there twice"),
            ("cell.n_prb=9..1", "cell.n_prb: '9..1': it ends before it begins"),
            ("a..b=1", "expected a path such as"),
        ] {
            let error = text.parse::<Axis>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
