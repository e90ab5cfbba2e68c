//! `--over path=values`: an axis of a sweep.

use std::collections::HashSet;
use std::str::FromStr;

use lab_scenario::Override;
use serde_json::Value;

use super::range::{self, MAX_VALUES};

/// An element of the scenario and the values that it takes in turn, such as
/// `ues[*].channel.fixed_mcs=4..20..4` or `ues[*].drbs[*].pipeline=fq_codel,low_latency`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    element: Override,
    values: Vec<Value>,
}

impl Axis {
    /// Path of the element.
    pub fn path(&self) -> &str {
        self.element.path()
    }

    /// The values in the order given: at least one, none twice.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The element set to a value, by the value's number.
    pub(crate) fn setting(&self, number: usize) -> Option<Override> {
        Override::new(self.path(), self.values.get(number)?.clone()).ok()
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected PATH=VALUES such as cell.n_prb=51,106 or cell.n_prb=24..106..12";
        let (path, given) = text.split_once('=').ok_or_else(|| format!("'{text}': {expected}"))?;
        let element = Override::new(path, Value::Null)?;
        let (mut values, mut known) = (Vec::new(), HashSet::new());
        for item in items(given) {
            let item = item.trim();
            if item.is_empty() {
                return Err(format!("'{text}': a value is missing; {expected}"));
            }
            let more = match range::expand(item).map_err(|error| format!("{path}: {error}"))? {
                Some(values) => values,
                None => vec![format!("{path}={item}").parse::<Override>()?.value().clone()],
            };
            if values.len() + more.len() > MAX_VALUES {
                return Err(format!("{path}: more than {MAX_VALUES} values"));
            }
            for value in more {
                if !known.insert(value.to_string()) {
                    return Err(format!("{path}: the value {} is there twice", label(&value)));
                }
                values.push(value);
            }
        }
        Ok(Self { element, values })
    }
}

/// The parts between commas that are in no brackets and no quotes. As in YAML, a quote begins a value,
/// after another it goes on, and between double quotes a backslash is before a character that ends nothing.
fn items(text: &str) -> Vec<&str> {
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0i32);
    let (mut quote, mut is_escaped, mut before) = (None, false, ',');
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) => quote = (character != open).then_some(open),
            (None, '"' | '\'') if matches!(before, ',' | '[' | '{' | ':' | '\'') => {
                quote = Some(character);
            }
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth <= 0 => {
                found.push(&text[begin..at]);
                begin = at + 1;
            }
            (None, _) => {}
        }
        if !character.is_whitespace() {
            before = character;
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
        text.parse::<Axis>().unwrap().values().to_vec().into()
    }

    #[test]
    fn lists_ranges_and_mappings_are_values() {
        assert_eq!(values("cell.n_prb=24,51..53,106"), json!([24, 51, 52, 53, 106]));
        assert_eq!(
            values("ues[*].drbs[*].pipeline=fq_codel, low_latency"),
            json!(["fq_codel", "low_latency"])
        );
        assert_eq!(
            values("p={template: low_latency, bulk_bound_us: 1},'a,b',[1, 2],true"),
            json!([{"template": "low_latency", "bulk_bound_us": 1}, "a,b", [1, 2], true])
        );
        assert_eq!(
            values(r#"p="a\",b", 'it'',s', its',{a: "]"}"#),
            json!(["a\",b", "it',s", "its'", {"a": "]"}])
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_axis_with_values_or_an_error(text in "[a-z.*0-9\\[\\]{}'\",= -]{0,40}") {
            if let Ok(axis) = text.parse::<Axis>() {
                proptest::prop_assert!(!axis.values().is_empty());
                for (number, value) in axis.values().iter().enumerate() {
                    let setting = axis.setting(number);
                    proptest::prop_assert_eq!(setting.as_ref().map(Override::value), Some(value));
                }
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
            ("a=1..90000,100001..190000", "a: more than 100000 values"),
        ] {
            let error = text.parse::<Axis>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
