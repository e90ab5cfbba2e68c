//! Builds the channels of a scenario and reads their trace files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ran::channel::measured::read_column;
use ran::channel::series::SNR_DB;
use ran::tbs::TbsConfig;
use ran::{CqiSeries, GaussMarkov, MahimahiTrace, McsSeries, RateSeries, SnrSeries, UccTrace};

use super::moving;
use lab_scenario::{
    Channel, MAX_TRACE_BYTES, Missing, Quantity, UccColumn, Violation, read_bounded,
};

/// Builds channels; a file shared by several UEs is read once.
pub(super) struct Channels {
    directory: PathBuf,
    tbs: TbsConfig,
    n_prb: u16,
    mahimahi: HashMap<String, MahimahiTrace>,
    ucc: HashMap<(String, ran::UccColumn), UccTrace>,
}

const SECOND_US: u64 = 1_000_000;

/// Thermal noise in a subcarrier of 30 kHz and a noise figure of 9 dB.
const NOISE_DBM: f64 = -120.0;

impl Channels {
    /// Relative paths start at `directory`; the cell has `n_prb` PRBs and transport block sizes
    /// `tbs`.
    pub(super) fn new(directory: &Path, tbs: TbsConfig, n_prb: u16) -> Self {
        let directory = directory.to_owned();
        Self { directory, tbs, n_prb, mahimahi: HashMap::new(), ucc: HashMap::new() }
    }

    /// Builds the channel at element `path` of the scenario.
    pub(super) fn get(&mut self, channel: &Channel, path: &str) -> Result<ran::Channel, Violation> {
        let invalid = |key: &str, error: &dyn std::fmt::Display| {
            Violation::new(format!("{path}.{key}"), error.to_string())
        };
        match channel {
            Channel::FixedMcs(mcs) => Ok(ran::Channel::FixedMcs(*mcs)),
            Channel::McsSeries(series) => {
                let period_us = u64::from(series.period_ms) * 1000;
                McsSeries::new(period_us, series.values.clone(), at_end(series.at_end))
                    .map(ran::Channel::McsSeries)
                    .map_err(|error| invalid("mcs_series", &error))
            }
            Channel::CqiSeries(series) => {
                let period_us = u64::from(series.period_ms) * 1000;
                let (values, at_end) = (series.values.clone(), at_end(series.at_end));
                CqiSeries::new(period_us, values, at_end, series.cqi_to_mcs)
                    .map(ran::Channel::CqiSeries)
                    .map_err(|error| invalid("cqi_series", &error))
            }
            Channel::RateSeries(series) => {
                let period_us = u64::from(series.period_ms) * 1000;
                RateSeries::new(period_us, &series.values_kbps, at_end(series.at_end))
                    .map(ran::Channel::Rate)
                    .map_err(|error| invalid("rate_series", &error))
            }
            Channel::SnrSeries(series) => {
                let period_us = u64::from(series.period_ms) * 1000;
                SnrSeries::new(period_us, series.values_db.as_slice(), at_end(series.at_end))
                    .map(ran::Channel::SnrSeries)
                    .map_err(|error| invalid("snr_series", &error))
            }
            Channel::MeasuredCsv(csv) => self.measured_csv(csv, &format!("{path}.measured_csv")),
            Channel::Fading(channel) => Ok(ran::Channel::Fading(moving::fading(channel))),
            Channel::Ideal(channel) => {
                let known = self.get(channel, &format!("{path}.ideal"))?;
                Ok(ran::Channel::Ideal(Box::new(known)))
            }
            Channel::UccCsv(csv) => self.ucc_csv(csv, &format!("{path}.ucc_csv")),
            Channel::Mahimahi(trace) => {
                self.mahimahi(trace, &format!("{path}.mahimahi")).map(ran::Channel::Mahimahi)
            }
            Channel::GaussMarkov(process) => Ok(ran::Channel::GaussMarkov(GaussMarkov {
                mean_snr_db: process.mean_snr_db,
                std_dev_db: process.std_dev_db,
                coherence_us: u64::from(process.coherence_ms) * 1000,
                period_us: u64::from(process.period_ms) * 1000,
            })),
            Channel::Mobility(mobility) => moving::mobility(mobility)
                .chain(self.tbs.max_mcs())
                .map(ran::Channel::Mobility)
                .map_err(|error| invalid("mobility", &error)),
        }
    }

    /// The opportunities at element `path` of the scenario.
    pub(super) fn mahimahi(
        &mut self,
        trace: &lab_scenario::Mahimahi,
        path: &str,
    ) -> Result<MahimahiTrace, Violation> {
        let read = self.mahimahi_file(&trace.path, &format!("{path}.path"))?;
        Ok(match trace.opportunity_bytes {
            Some(bytes) => read.with_opportunity_bytes(bytes),
            None => read,
        })
    }

    fn mahimahi_file(&mut self, name: &str, path: &str) -> Result<MahimahiTrace, Violation> {
        if let Some(trace) = self.mahimahi.get(name) {
            return Ok(trace.clone());
        }
        let bytes = self.read(name, path)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| wrong(path, name, "not text; expected one integer a line"))?;
        let trace = MahimahiTrace::parse(&text).map_err(|error| wrong(path, name, error))?;
        self.mahimahi.insert(name.to_owned(), trace.clone());
        Ok(trace)
    }

    fn ucc_csv(
        &mut self,
        csv: &lab_scenario::UccCsv,
        path: &str,
    ) -> Result<ran::Channel, Violation> {
        let column = match csv.column {
            UccColumn::Cqi => ran::UccColumn::Cqi,
            UccColumn::Snr => ran::UccColumn::Snr,
            UccColumn::DlBitrate => ran::UccColumn::DlBitrate,
        };
        let path = format!("{path}.path");
        let key = (csv.path.clone(), column);
        if !self.ucc.contains_key(&key) {
            let bytes = self.read(&csv.path, &path)?;
            let trace = UccTrace::read(bytes.as_slice(), column)
                .map_err(|error| wrong(&path, &csv.path, error))?;
            self.ucc.insert(key.clone(), trace);
        }
        let missing = match csv.missing {
            lab_scenario::Missing::Hold => ran::Missing::Hold,
            lab_scenario::Missing::Outage => ran::Missing::Outage,
        };
        let values = self.ucc[&key].filled(missing);
        let at_end = at_end(csv.at_end);
        let made = match column {
            ran::UccColumn::DlBitrate => {
                let kbps = |value: &Option<f64>| value.map_or(0, |kbps| kbps as u32);
                let rates: Vec<u32> = values.iter().map(kbps).collect();
                RateSeries::new(SECOND_US, &rates, at_end).map(ran::Channel::Rate)
            }
            ran::UccColumn::Snr if csv.cqi_to_mcs.is_none() => {
                SnrSeries::new(SECOND_US, snr_or_outage(&values), at_end)
                    .map(ran::Channel::SnrSeries)
            }
            ran::UccColumn::Cqi | ran::UccColumn::Snr => {
                let thresholds_db = ran::phy::cqi::snr_thresholds_db(&self.tbs, self.n_prb);
                let cqi = |value: &Option<f64>| match (value, column) {
                    (None, _) => 0,
                    (Some(snr_db), ran::UccColumn::Snr) => {
                        thresholds_db.partition_point(|threshold| threshold <= snr_db) as u8
                    }
                    (Some(cqi), _) => *cqi as u8,
                };
                let values: Vec<u8> = values.iter().map(cqi).collect();
                CqiSeries::new(SECOND_US, values, at_end, csv.cqi_to_mcs)
                    .map(ran::Channel::CqiSeries)
            }
        };
        made.map_err(|error| wrong(&path, &csv.path, error))
    }

    fn measured_csv(
        &mut self,
        csv: &lab_scenario::MeasuredCsv,
        path: &str,
    ) -> Result<ran::Channel, Violation> {
        let path = format!("{path}.path");
        let bytes = self.read(&csv.path, &path)?;
        let values = read_column(bytes.as_slice(), &csv.column)
            .map_err(|error| wrong(&path, &csv.path, error))?;
        let missing =
            if csv.missing == Missing::Hold { ran::Missing::Hold } else { ran::Missing::Outage };
        let values = missing.fill(&values);
        let period_us = u64::from(csv.period_ms) * 1000;
        let at_end = at_end(csv.at_end);
        let made = if csv.quantity == Quantity::Cqi {
            // An outage is CQI 0.
            let cqi: Vec<u8> = values.iter().map(|value| value.unwrap_or(0.0) as u8).collect();
            CqiSeries::new(period_us, cqi, at_end, None).map(ran::Channel::CqiSeries)
        } else {
            let noise_dbm = match csv.quantity {
                Quantity::RsrpDbm => csv.noise_dbm.unwrap_or(NOISE_DBM),
                Quantity::SnrDb | Quantity::Cqi => 0.0,
            };
            let values: Vec<Option<f64>> =
                values.iter().map(|value| value.map(|value| value - noise_dbm)).collect();
            let values = snr_or_outage(&values);
            SnrSeries::new(period_us, values, at_end).map(ran::Channel::SnrSeries)
        };
        made.map_err(|error| wrong(&path, &csv.path, error))
    }

    fn read(&self, name: &str, path: &str) -> Result<Vec<u8>, Violation> {
        read_bounded(&self.directory.join(Path::new(name)), MAX_TRACE_BYTES)
            .map_err(|message| wrong(path, name, message))
    }
}

/// SNR within what a channel accepts; an outage is the lowest, at which no CQI is reported.
fn snr_or_outage(values_db: &[Option<f64>]) -> Vec<f64> {
    let (lowest_db, highest_db) = (*SNR_DB.start(), *SNR_DB.end());
    let snr_db = |value: &Option<f64>| {
        value.map_or(lowest_db, |value_db| value_db.clamp(lowest_db, highest_db))
    };
    values_db.iter().map(snr_db).collect()
}

fn wrong(path: &str, file: &str, message: impl std::fmt::Display) -> Violation {
    Violation::new(path, format!("{file}: {message}"))
}

fn at_end(at_end: lab_scenario::AtEnd) -> ran::AtEnd {
    match at_end {
        lab_scenario::AtEnd::Loop => ran::AtEnd::Loop,
        lab_scenario::AtEnd::Hold => ran::AtEnd::Hold,
    }
}
