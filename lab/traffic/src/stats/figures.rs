//! Figures of an application's quality of experience: named numbers with the unit in the name.

use serde::{Serialize, Serializer};

use super::{DelayRecorder, DelaySummary};

/// Named numbers in a fixed order, such as `mos`, `page_load_p95_s` or `stalled_s`.
///
/// Serialises as a map. Non-finite numbers, which JSON cannot represent, are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(Vec<(String, f64)>);

impl Figures {
    /// Adds a number; `name` ends in the unit.
    pub fn push(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.0.push((name.to_owned(), value));
        }
    }

    /// Adds mean, median, percentiles and maximum of a delay in ms as `NAME_mean_ms` and so on;
    /// nothing if there is no sample.
    pub fn push_delay_ms(&mut self, name: &str, delay: &DelayRecorder) {
        self.push_delay(name, "ms", 1e3, delay.summary());
    }

    /// Adds delays as [`push_delay_ms`](Self::push_delay_ms) does, in seconds.
    pub fn push_delay_s(&mut self, name: &str, delay: &DelayRecorder) {
        self.push_delay(name, "s", 1e6, delay.summary());
    }

    fn push_delay(&mut self, name: &str, unit: &str, us: f64, delay: DelaySummary) {
        if delay.count == 0 {
            return;
        }
        let parts = [
            ("mean", delay.mean_us),
            ("p50", delay.p50_us as f64),
            ("p95", delay.p95_us as f64),
            ("p99", delay.p99_us as f64),
            ("max", delay.max_us as f64),
        ];
        for (part, value_us) in parts {
            self.push(&format!("{name}_{part}_{unit}"), value_us / us);
        }
    }

    /// The number of that name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Names and numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Whether there are no figures.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_in_order_without_what_is_no_number() {
        let mut figures = Figures::default();
        figures.push("mos", 4.25);
        figures.push("ratio", f64::NAN);
        let mut delay = DelayRecorder::new();
        figures.push_delay_ms("frame_delay", &delay);
        delay.record(0, 20_000);
        figures.push_delay_s("page_load", &delay);
        let json = serde_json::to_string(&figures).unwrap();
        assert!(json.starts_with(r#"{"mos":4.25,"page_load_mean_s":0.02,"page_load_p50_s":0.0"#));
        assert_eq!(figures.get("page_load_max_s"), Some(0.02));
        assert_eq!(figures.get("ratio"), None);
    }
}
