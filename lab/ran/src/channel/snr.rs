//! The SNR of a UE over time: what a gNB does not know but through reports.

use super::fading::{Fading, FadingProcess};
use super::gauss_markov::{GaussMarkov, Process};
use super::series::{CqiSeries, SnrSeries};
use crate::config::CellConfig;
use crate::phy::LinkTables;
use crate::rng::Rng;

/// State of a UE's SNR.
#[derive(Debug, Clone)]
pub(super) struct Snr {
    source: Source,
    rng: Rng,
    period_us: u64,
    next_us: u64,
    now_db: f64,
}

#[derive(Debug, Clone)]
enum Source {
    GaussMarkov(Process),
    Fading(Box<FadingProcess>),
    /// Measured values of SNR.
    Series(SnrSeries),
    /// Reported CQI: the SNR in the middle of each.
    Cqi(CqiSeries),
}

impl Source {
    /// The SNR at `now_us`, of which random sources have one step a call.
    fn next_db(&mut self, rng: &mut Rng, tables: &LinkTables, now_us: u64) -> f64 {
        match self {
            Self::GaussMarkov(process) => {
                process.step(rng);
                process.snr_db()
            }
            Self::Fading(process) => {
                process.step(rng);
                process.snr_db()
            }
            Self::Series(series) => series.at(now_us),
            Self::Cqi(series) => tables.middle_snr_db(series.at(now_us)),
        }
    }
}

impl Snr {
    pub(super) fn gauss_markov(config: &GaussMarkov, mut rng: Rng, now_us: u64) -> Self {
        let process = Process::new(config, &mut rng);
        let now_db = process.snr_db();
        Self::new(Source::GaussMarkov(process), rng, config.period_us, now_us, now_db)
    }

    pub(super) fn fading(config: &Fading, cell: &CellConfig, mut rng: Rng, now_us: u64) -> Self {
        let slot_us = cell.numerology.slot_us();
        let process = FadingProcess::new(config, cell.bandwidth_hz(), slot_us, &mut rng);
        let now_db = process.snr_db();
        let source = Source::Fading(Box::new(process));
        Self::new(source, rng, config.step_us(slot_us), now_us, now_db)
    }

    pub(super) fn series(series: SnrSeries, rng: Rng, now_us: u64) -> Self {
        let (period_us, now_db) = (series.period_us(), series.at(now_us));
        Self::new(Source::Series(series), rng, period_us, now_us, now_db)
    }

    pub(super) fn cqi(series: CqiSeries, tables: &LinkTables, rng: Rng, now_us: u64) -> Self {
        let now_db = tables.middle_snr_db(series.at(now_us));
        let period_us = series.period_us();
        Self::new(Source::Cqi(series), rng, period_us, now_us, now_db)
    }

    fn new(source: Source, rng: Rng, period_us: u64, now_us: u64, now_db: f64) -> Self {
        // Values change at multiples of the period, whenever the UE was added.
        let next_us = (now_us / period_us).saturating_add(1).saturating_mul(period_us);
        Self { source, rng, period_us, next_us, now_db }
    }

    /// SNR in dB of the slot up to which it was advanced; minus infinity in an outage.
    pub(super) fn now_db(&self) -> f64 {
        self.now_db
    }

    /// SNR at `now_us`, which has not come; on a copy if it changes until then.
    pub(super) fn ahead_db(&self, tables: &LinkTables, now_us: u64) -> f64 {
        if now_us < self.next_us {
            return self.now_db;
        }
        let mut ahead = self.clone();
        ahead.advance(tables, now_us);
        ahead.now_db
    }

    /// Advances to `now_us`.
    pub(super) fn advance(&mut self, tables: &LinkTables, now_us: u64) {
        while self.next_us <= now_us {
            self.now_db = self.source.next_db(&mut self.rng, tables, self.next_us);
            let Some(next_us) = self.next_us.checked_add(self.period_us) else { break };
            self.next_us = next_us;
        }
    }
}
