//! An MCS per period of time.

use std::sync::Arc;

use crate::config::ConfigError;

/// What follows the last value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtEnd {
    /// The first value again.
    Loop,
    /// The last value for ever.
    Hold,
}

/// MCS values, each for one period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McsSeries {
    period_us: u64,
    values: Arc<[u8]>,
    at_end: AtEnd,
}

impl McsSeries {
    /// A series; the cell checks the values against its MCS table.
    ///
    /// # Errors
    /// [`ConfigError`] when there is no value or the period is 0.
    pub fn new(
        period_us: u64,
        values: impl Into<Arc<[u8]>>,
        at_end: AtEnd,
    ) -> Result<Self, ConfigError> {
        let values = values.into();
        if period_us == 0 {
            return Err(ConfigError::new("channel.period_us", 0, "1 or more"));
        }
        if values.is_empty() {
            return Err(ConfigError::new("channel.values", "an empty list", "at least one MCS"));
        }
        Ok(Self { period_us, values, at_end })
    }

    /// The values in order.
    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// The MCS at `now_us`.
    pub fn at(&self, now_us: u64) -> u8 {
        let period = now_us / self.period_us;
        let len = self.values.len() as u64;
        let at = match self.at_end {
            AtEnd::Loop => period % len,
            AtEnd::Hold => period.min(len - 1),
        };
        self.values[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_loops_or_holds() {
        let looped = McsSeries::new(1000, [6, 12, 18], AtEnd::Loop).unwrap();
        let held = McsSeries::new(1000, [6, 12, 18], AtEnd::Hold).unwrap();
        let at = |series: &McsSeries| [0, 999, 1000, 2999, 3000, 10_000].map(|t| series.at(t));
        assert_eq!(at(&looped), [6, 6, 12, 18, 6, 12]);
        assert_eq!(at(&held), [6, 6, 12, 18, 18, 18]);
    }

    #[test]
    fn an_empty_series_and_a_period_of_nothing_are_refused() {
        let empty = McsSeries::new(1000, [], AtEnd::Loop).unwrap_err().to_string();
        assert_eq!(empty, "channel.values: an empty list; expected at least one MCS");
        let still = McsSeries::new(0, [1], AtEnd::Loop).unwrap_err().to_string();
        assert_eq!(still, "channel.period_us: 0; expected 1 or more");
    }
}
