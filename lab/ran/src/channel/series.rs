//! An MCS or CQI per period.

use std::sync::Arc;

use crate::error::{ConfigError, ensure};

/// Value after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtEnd {
    /// The first value again.
    Loop,
    /// The last value for ever.
    Hold,
}

/// SNR of a channel that can be given, in dB.
pub const SNR_DB: std::ops::RangeInclusive<f64> = -50.0..=80.0;

impl AtEnd {
    /// Index of the value at `now_us` among `len` values of `period_us` each; neither is 0.
    pub(super) fn index(self, now_us: u64, period_us: u64, len: usize) -> usize {
        let period = now_us / period_us;
        let len = len as u64;
        let at = match self {
            Self::Loop => period % len,
            Self::Hold => period.min(len - 1),
        };
        at as usize
    }
}

/// Refuses an empty series and a period of 0.
pub(super) fn check(period_us: u64, len: usize, what: &str) -> Result<(), ConfigError> {
    ensure(period_us > 0, "channel.period_us", 0, "1 or more")?;
    ensure(len > 0, "channel.values", "an empty list", format!("at least one {what}"))
}

/// MCS values, each for one period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McsSeries {
    period_us: u64,
    values: Arc<[u8]>,
    at_end: AtEnd,
}

impl McsSeries {
    /// A series; [`Cell`](crate::Cell) checks the values against its MCS table.
    ///
    /// # Errors
    /// [`ConfigError`] for an empty list or a period of 0.
    pub fn new(
        period_us: u64,
        values: impl Into<Arc<[u8]>>,
        at_end: AtEnd,
    ) -> Result<Self, ConfigError> {
        let values = values.into();
        check(period_us, values.len(), "MCS")?;
        Ok(Self { period_us, values, at_end })
    }

    /// The values in order.
    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// The MCS at `now_us`.
    pub fn at(&self, now_us: u64) -> u8 {
        self.values[self.at_end.index(now_us, self.period_us, self.values.len())]
    }
}

/// MCS of each CQI of 1 to 15, in place of the standard's.
pub type CqiToMcs = [u8; 15];

/// CQI values, each for one period: what a UE reported (36.213 §7.2.3, 38.214 §5.2.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CqiSeries {
    period_us: u64,
    values: Arc<[u8]>,
    at_end: AtEnd,
    cqi_to_mcs: Option<CqiToMcs>,
}

impl CqiSeries {
    /// A series of CQI 0 (out of range: nothing can be sent) to 15; without `cqi_to_mcs` the
    /// mapping is [`mcs_of_cqi`](crate::phy::cqi::mcs_of_cqi).
    ///
    /// # Errors
    /// [`ConfigError`] for an empty list, a CQI above 15 or a period of 0.
    pub fn new(
        period_us: u64,
        values: impl Into<Arc<[u8]>>,
        at_end: AtEnd,
        cqi_to_mcs: Option<CqiToMcs>,
    ) -> Result<Self, ConfigError> {
        let values = values.into();
        check(period_us, values.len(), "CQI")?;
        if let Some(at) = values.iter().position(|cqi| *cqi > 15) {
            let path = format!("channel.values[{at}]");
            return Err(ConfigError::new(path, values[at], "CQI 0 to 15"));
        }
        Ok(Self { period_us, values, at_end, cqi_to_mcs })
    }

    /// The values in order.
    pub fn values(&self) -> &[u8] {
        &self.values
    }

    /// Length of a period.
    pub(super) fn period_us(&self) -> u64 {
        self.period_us
    }

    /// The scheduler's own mapping.
    pub fn cqi_to_mcs(&self) -> Option<&CqiToMcs> {
        self.cqi_to_mcs.as_ref()
    }

    /// The CQI at `now_us`.
    pub fn at(&self, now_us: u64) -> u8 {
        self.values[self.at_end.index(now_us, self.period_us, self.values.len())]
    }
}

/// Measured SNR in dB, each value for one period.
#[derive(Debug, Clone, PartialEq)]
pub struct SnrSeries {
    period_us: u64,
    values_db: Arc<[f64]>,
    at_end: AtEnd,
}

impl SnrSeries {
    /// SNR per `period_us`.
    ///
    /// # Errors
    /// [`ConfigError`] for no values, a period of 0 or an SNR outside -50 to 80 dB.
    pub fn new(
        period_us: u64,
        values_db: impl Into<Arc<[f64]>>,
        at_end: AtEnd,
    ) -> Result<Self, ConfigError> {
        let values_db = values_db.into();
        check(period_us, values_db.len(), "SNR")?;
        for (at, value) in values_db.iter().enumerate() {
            let path = format!("channel.values[{at}]");
            ensure(SNR_DB.contains(value), path, value, "-50 to 80 dB")?;
        }
        Ok(Self { period_us, values_db, at_end })
    }

    /// Length of a period.
    pub(super) fn period_us(&self) -> u64 {
        self.period_us
    }

    /// SNR in dB at `now_us`.
    pub fn at(&self, now_us: u64) -> f64 {
        self.values_db[self.at_end.index(now_us, self.period_us, self.values_db.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_loops_or_holds() {
        let looped = McsSeries::new(1000, [6, 12, 18], AtEnd::Loop).unwrap();
        let held = CqiSeries::new(1000, [6, 12, 15], AtEnd::Hold, None).unwrap();
        let times = [0, 999, 1000, 2999, 3000, 10_000, u64::MAX];
        assert_eq!(times.map(|t| looped.at(t))[..6], [6, 6, 12, 18, 6, 12]);
        assert_eq!(times.map(|t| held.at(t)), [6, 6, 12, 15, 15, 15, 15]);
    }

    #[test]
    fn an_empty_series_and_a_period_of_zero_are_refused() {
        let empty = McsSeries::new(1000, [], AtEnd::Loop).unwrap_err().to_string();
        assert_eq!(empty, "channel.values: an empty list; expected at least one MCS");
        let still = McsSeries::new(0, [1], AtEnd::Loop).unwrap_err().to_string();
        assert_eq!(still, "channel.period_us: 0; expected 1 or more");
        let cqi = |values: Vec<u8>| CqiSeries::new(1, values, AtEnd::Loop, None).unwrap_err();
        assert_eq!(
            cqi(vec![]).to_string(),
            "channel.values: an empty list; expected at least one CQI"
        );
        let high = cqi(vec![0, 15, 16]).to_string();
        assert_eq!(high, "channel.values[2]: 16; expected CQI 0 to 15");
    }
}
