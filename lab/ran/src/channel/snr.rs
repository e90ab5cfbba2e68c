//! The SNR of a UE over time: what a gNB does not know but through reports.

use super::fading::{Fading, FadingProcess};
use super::gauss_markov::{GaussMarkov, Process};
use super::series::{CqiSeries, SnrSeries};
use crate::config::CellConfig;
use crate::mac::rbg::GroupSet;
use crate::phy::link::snr_db_of_capacity;
use crate::phy::{Levels, LinkTables, Subbands};
use crate::rng::Rng;

/// State of a UE's SNR.
#[derive(Debug, Clone)]
pub(super) struct Snr {
    source: Source,
    rng: Rng,
    period_us: u64,
    next_us: u64,
    now_db: f64,
    /// Capacities of a channel that is not flat, where the gNB schedules by resource block group.
    selective: Option<Selective>,
}

/// The capacity of each piece of the carrier, nats for each symbol.
#[derive(Debug, Clone)]
struct Selective {
    subbands: Subbands,
    capacities: Vec<f64>,
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

impl Selective {
    /// SNR in dB of a flat carrier with the same capacity.
    fn snr_db(&self) -> f64 {
        snr_db_of_capacity(self.subbands.mean_of_all(&self.capacities))
    }
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

    pub(super) fn fading(
        config: &Fading,
        cell: &CellConfig,
        subbands: Option<Subbands>,
        mut rng: Rng,
        now_us: u64,
    ) -> Self {
        let slot_us = cell.numerology.slot_us();
        let pieces = subbands.map(Subbands::pieces);
        let process = FadingProcess::new(config, cell.bandwidth_hz(), slot_us, pieces, &mut rng);
        let selective = subbands
            .map(|subbands| Selective { subbands, capacities: process.capacities().collect() });
        let now_db = match &selective {
            Some(selective) => selective.snr_db(),
            None => process.snr_db(),
        };
        let source = Source::Fading(Box::new(process));
        Self { selective, ..Self::new(source, rng, config.step_us(slot_us), now_us, now_db) }
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
        Self { source, rng, period_us, next_us, now_db, selective: None }
    }

    /// SNR in dB of the slot up to which it was advanced; minus infinity in an outage.
    pub(super) fn now_db(&self) -> f64 {
        self.now_db
    }

    /// SNR in dB over `groups`, or over the carrier without any.
    pub(super) fn over_db(&self, groups: GroupSet) -> f64 {
        match &self.selective {
            Some(Selective { subbands, capacities }) if !groups.is_empty() => {
                snr_db_of_capacity(subbands.mean_of_groups(groups, capacities))
            }
            _ => self.now_db,
        }
    }

    /// What a UE reports: the CQI of the carrier, and its differences by sub-band.
    pub(super) fn report(&self, tables: &LinkTables) -> (u8, Levels) {
        let wideband = tables.cqi_at(self.now_db);
        let Some(Selective { subbands, capacities }) = &self.selective else {
            return (wideband, Levels::default());
        };
        let levels = (0..subbands.subbands()).fold(Levels::default(), |levels, subband| {
            let snr_db = snr_db_of_capacity(subbands.mean_of_subband(subband, capacities));
            levels.with(subband, tables.cqi_at(snr_db), wideband)
        });
        (wideband, levels)
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
            if let (Some(selective), Source::Fading(process)) = (&mut self.selective, &self.source)
            {
                selective.capacities.clear();
                selective.capacities.extend(process.capacities());
                self.now_db = selective.snr_db();
            }
            let Some(next_us) = self.next_us.checked_add(self.period_us) else { break };
            self.next_us = next_us;
        }
    }
}
