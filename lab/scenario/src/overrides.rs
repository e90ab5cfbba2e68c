//! `--set path=value`: one element of a scenario replaced before it is checked.

use std::str::FromStr;

use serde_json::Value;

/// Most keys and indices of a path. Scenarios are not nested as deeply; recursion over a tree that is
/// could exhaust the stack.
const MAX_STEPS: usize = 32;

/// An override such as `cell.n_prb=51`, `flows[0].congestion_control=reno` or, for every element of a
/// list, `ues[*].drbs[*].pipeline=low_latency`.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    path: String,
    steps: Vec<Step>,
    value: Value,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
    /// Every element of a list.
    Each,
}

impl Override {
    /// Replaces the element at `path`.
    ///
    /// # Errors
    /// A message if `path` is malformed.
    pub fn new(path: &str, value: Value) -> Result<Self, String> {
        let steps = parse_path(path).ok_or_else(|| {
            format!(
                "'{path}': expected a path such as cell.n_prb or flows[0].start_s, of at most \
                 {MAX_STEPS} keys and indices"
            )
        })?;
        Ok(Self { path: path.to_owned(), steps, value })
    }

    /// The path as given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value that replaces the element.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Sets the value; missing mappings on the path are created, list elements must exist.
    ///
    /// # Errors
    /// A message that names the step that does not exist.
    pub fn apply(&self, root: &mut Value) -> Result<(), String> {
        put(root, &self.steps, &self.value)
    }

    /// Whether the element at `path`, as in a [`Violation`](super::Violation), is within the replaced
    /// one or around it.
    pub fn concerns(&self, path: &str) -> bool {
        let Some(steps) = parse_path(path) else { return false };
        self.steps.iter().zip(&steps).all(|(own, other)| match (own, other) {
            (Step::Each, Step::Index(_)) => true,
            (own, other) => own == other,
        })
    }
}

fn put(place: &mut Value, steps: &[Step], value: &Value) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *place = value.clone();
        return Ok(());
    };
    if place.is_null() {
        *place = Value::Object(serde_json::Map::new());
    }
    match (step, place) {
        (Step::Key(key), Value::Object(map)) => {
            put(map.entry(key.clone()).or_insert(Value::Null), rest, value)
        }
        (Step::Index(index), Value::Array(list)) => {
            let length = list.len();
            let element = list
                .get_mut(*index)
                .ok_or_else(|| format!("[{index}] is not there; the list has {length}"))?;
            put(element, rest, value)
        }
        (Step::Each, Value::Array(list)) if list.is_empty() => {
            Err("[*] is of an empty list".to_owned())
        }
        (Step::Each, Value::Array(list)) => {
            list.iter_mut().try_for_each(|element| put(element, rest, value))
        }
        (Step::Key(key), _) => Err(format!("'{key}' is not within a mapping")),
        (Step::Index(index), _) => Err(format!("[{index}] is not within a list")),
        (Step::Each, _) => Err("[*] is not within a list".to_owned()),
    }
}

impl FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected PATH=VALUE such as cell.n_prb=51 or flows[0].start_s=2";
        let (path, value) = text.split_once('=').ok_or_else(|| format!("'{text}': {expected}"))?;
        let value = if value.is_empty() {
            Value::Null
        } else {
            serde_saphyr::from_str(value)
                .map_err(|_| format!("'{text}': the value is not YAML; {expected}"))?
        };
        Self::new(path, value)
    }
}

fn parse_path(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, indices) = part.find('[').map_or((part, ""), |at| part.split_at(at));
        if !key.is_empty() {
            steps.push(Step::Key(key.to_owned()));
        } else if indices.is_empty() || steps.is_empty() {
            return None;
        }
        let mut rest = indices;
        while !rest.is_empty() {
            let (index, tail) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match index {
                "*" => Step::Each,
                number => Step::Index(number.parse().ok()?),
            });
            rest = tail;
        }
    }
    (steps.len() <= MAX_STEPS).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_elements_are_replaced() {
        let mut root = json!({"flows": [{"start_s": 0}], "cell": {"n_prb": 106}});
        for text in ["flows[0].start_s=2.5", "cell.n_prb=51", "split.f1_delay_us=10000"] {
            text.parse::<Override>().unwrap().apply(&mut root).unwrap();
        }
        let expected = json!({
            "flows": [{"start_s": 2.5}],
            "cell": {"n_prb": 51},
            "split": {"f1_delay_us": 10000}
        });
        assert_eq!(root, expected);
    }

    #[test]
    fn a_star_replaces_in_every_element_of_a_list() {
        let mut root = json!({"ues": [{"drbs": [{}, {"id": 2}]}, {"drbs": [{}]}], "flows": []});
        let set = |text: &str, root: &mut Value| text.parse::<Override>().unwrap().apply(root);
        set("ues[*].drbs[*].pipeline=low_latency", &mut root).unwrap();
        let drb = json!({"pipeline": "low_latency"});
        let second = json!({"id": 2, "pipeline": "low_latency"});
        let expected =
            json!({"ues": [{"drbs": [drb.clone(), second]}, {"drbs": [drb]}], "flows": []});
        assert_eq!(root, expected);
        assert_eq!(set("flows[*].start_s=1", &mut root).unwrap_err(), "[*] is of an empty list");
        assert_eq!(set("ues[*][*]=1", &mut root).unwrap_err(), "[*] is not within a list");
    }

    #[test]
    fn an_override_concerns_what_is_within_or_around_its_element() {
        let change = "ues[*].channel.fixed_mcs=4".parse::<Override>().unwrap();
        for path in ["ues[3].channel.fixed_mcs", "ues[0].channel", "ues[0].channel.fixed_mcs.a"] {
            assert!(change.concerns(path), "{path}");
        }
        for path in ["ues[0].drbs", "cell", "flows[0].channel"] {
            assert!(!change.concerns(path), "{path}");
        }
    }

    #[test]
    fn a_missing_list_element_is_named() {
        let mut root = json!({"flows": []});
        let error = "flows[3].name=x".parse::<Override>().unwrap().apply(&mut root).unwrap_err();
        assert_eq!(error, "[3] is not there; the list has 0");
    }

    #[test]
    fn a_path_deeper_than_any_scenario_is_refused() {
        let deep = |steps: usize| format!("{}=1", vec!["a"; steps].join("."));
        let mut root = json!({});
        deep(MAX_STEPS).parse::<Override>().unwrap().apply(&mut root).unwrap();
        for steps in [MAX_STEPS + 1, 50_000] {
            let error = deep(steps).parse::<Override>().unwrap_err();
            assert!(error.ends_with("of at most 32 keys and indices"), "{error}");
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        for text in ["cell", "=3", "[0]=1", "a[x]=1", "a..b=1", "a[0=1"] {
            assert!(text.parse::<Override>().is_err(), "{text}");
        }
    }
}
