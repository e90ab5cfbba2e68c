//! The metrics of the servers as families for Python's registry.

use prometheus_client::{encoding::text::encode, registry::Registry};
use pyo3::prelude::*;
use serving::metrics::ServingMetrics;

/// Label values and value.
type Sample = (Vec<String>, f64);
/// Name without `_total`, kind, text, labels, samples.
pub(crate) type Family = (String, String, String, Vec<String>, Vec<Sample>);

const PREFIX: &str = "sojourn";

/// The metrics of now.
pub(crate) fn families(metrics: &ServingMetrics) -> PyResult<Vec<Family>> {
    let mut registry = Registry::with_prefix(PREFIX);
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry)
        .map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    Ok(parse(&text))
}

/// The families of an exposition of OpenMetrics, of counters and gauges.
fn parse(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap_or((help, ""));
            let help = help.trim_end_matches('.').to_owned();
            families.push((name.to_owned(), String::new(), help, Vec::new(), Vec::new()));
        } else if let (Some(kind), Some(family)) =
            (line.strip_prefix("# TYPE "), families.last_mut())
        {
            family.1 = kind.rsplit(' ').next().unwrap_or_default().to_owned();
        } else if let (false, Some(family)) = (line.starts_with('#'), families.last_mut()) {
            let (labels, value) = labels_of(line);
            family.3 = labels.iter().map(|(name, _)| name.clone()).collect();
            family.4.push((labels.into_iter().map(|(_, value)| value).collect(), value));
        }
    }
    families
}

/// Labels and value of a sample.
fn labels_of(line: &str) -> (Vec<(String, String)>, f64) {
    let end = line.rfind(' ').unwrap_or(line.len());
    let value = line[end..].trim().parse().unwrap_or(f64::NAN);
    let inside = line.find('{').zip(line[..end].rfind('}'));
    let Some((start, stop)) = inside else { return (Vec::new(), value) };
    let mut labels = Vec::new();
    let mut rest = &line[start + 1..stop];
    while let Some((name, quoted)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut characters = quoted.char_indices();
        let mut after = quoted.len();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    after = at + 1;
                    break;
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, escaped)) => text.push(escaped),
                    None => {}
                },
                character => text.push(character),
            }
        }
        labels.push((name.trim_start_matches(',').to_owned(), text));
        rest = &quoted[after..];
    }
    (labels, value)
}
