//! `--set path=value`: one element of a scenario replaced before it is checked.

use std::str::FromStr;

use serde_json::Value;

/// An override such as `cell.n_prb=51` or `flows[0].congestion_control=reno`.
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
}

impl Override {
    /// Replaces the element at `path`.
    ///
    /// # Errors
    /// A message if `path` is malformed.
    pub fn new(path: &str, value: Value) -> Result<Self, String> {
        let steps = parse_path(path).ok_or_else(|| {
            format!("'{path}': expected a path such as cell.n_prb or flows[0].start_s")
        })?;
        Ok(Self { path: path.to_owned(), steps, value })
    }

    /// The path as given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Sets the value; missing mappings on the path are created, list elements must exist.
    ///
    /// # Errors
    /// A message that names the step that does not exist.
    pub fn apply(&self, root: &mut Value) -> Result<(), String> {
        let mut place = root;
        for step in &self.steps {
            if place.is_null() {
                *place = Value::Object(serde_json::Map::new());
            }
            place = match (step, place) {
                (Step::Key(key), Value::Object(map)) => {
                    map.entry(key.clone()).or_insert(Value::Null)
                }
                (Step::Index(index), Value::Array(list)) => {
                    let length = list.len();
                    list.get_mut(*index)
                        .ok_or_else(|| format!("[{index}] is not there; the list has {length}"))?
                }
                (Step::Key(key), _) => return Err(format!("'{key}' is not within a mapping")),
                (Step::Index(index), _) => return Err(format!("[{index}] is not within a list")),
            };
        }
        *place = self.value.clone();
        Ok(())
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
            steps.push(Step::Index(index.parse().ok()?));
            rest = tail;
        }
    }
    Some(steps)
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
    fn a_missing_list_element_is_named() {
        let mut root = json!({"flows": []});
        let error = "flows[3].name=x".parse::<Override>().unwrap().apply(&mut root).unwrap_err();
        assert_eq!(error, "[3] is not there; the list has 0");
    }

    #[test]
    fn malformed_paths_are_refused() {
        for text in ["cell", "=3", "[0]=1", "a[x]=1", "a..b=1", "a[0=1"] {
            assert!(text.parse::<Override>().is_err(), "{text}");
        }
    }
}
