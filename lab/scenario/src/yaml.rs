//! YAML text as a value, and its errors in words for whoever wrote the text.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_saphyr::Error;

/// Parses YAML into a tree of values or a type of its own.
///
/// # Errors
/// One line: what is wrong, where, what was expected.
pub fn parse_yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let is_yaml = serde_saphyr::from_str::<IgnoredAny>(text).is_ok();
        format!("{}{}", if is_yaml { "" } else { "not YAML: " }, reason(&error))
    })
}

fn reason(error: &Error) -> String {
    let place = error.location().map_or_else(String::new, |location| {
        format!("line {} column {}: ", location.line(), location.column())
    });
    match error.without_snippet() {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map_or_else(String::new, |key| format!(" '{key}'"));
            format!("{place}the key{key} is there twice; expected each key once")
        }
        Error::Budget { .. } => {
            format!("{place}too many elements, nested or through aliases; expected a smaller file")
        }
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_named_with_its_place() {
        let error = parse_yaml::<Value>("a: 1\nb: {c: 2}\na: 3\n").unwrap_err();
        assert_eq!(
            error,
            "not YAML: line 3 column 1: the key 'a' is there twice; expected each key once"
        );
    }

    #[test]
    fn too_many_elements_are_reported_without_the_parsers_terms() {
        let error = parse_yaml::<Value>(&format!("a: [{}]", "x, ".repeat(300_000))).unwrap_err();
        assert!(error.starts_with("not YAML: line "), "{error}");
        assert!(
            error
                .ends_with("too many elements, nested or through aliases; expected a smaller file"),
            "{error}"
        );
    }

    #[test]
    fn yaml_of_another_shape_is_not_called_no_yaml() {
        let error = parse_yaml::<u32>("\n[1]").unwrap_err();
        assert!(error.starts_with("expected ") && error.contains("line 2"), "{error}");
    }

    #[test]
    fn other_errors_are_the_parsers_first_line() {
        let error = parse_yaml::<Value>("a: [1").unwrap_err();
        assert!(error.starts_with("not YAML: ") && error.lines().count() == 1, "{error}");
    }
}
