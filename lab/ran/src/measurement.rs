//! Measurements of a UE that lead to handover: layer 3 filter (38.331 §5.5.3.2) and event A3 (§5.5.4.4).

use crate::error::{ConfigError, ensure};

/// Floor of a measurement, dB: the lowest SNR that a series may give.
const LOWEST_DB: f64 = -50.0;

/// Event A3, "neighbour becomes amount of offset better than PCell", and the filter before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct A3Config {
    /// `a3-Offset`, dB.
    pub offset_db: f64,
    /// `hysteresis`, dB.
    pub hysteresis_db: f64,
    /// `timeToTrigger`: how long the entering condition holds before the UE reports.
    pub time_to_trigger_us: u64,
    /// `filterCoefficient` k of the layer 3 filter; 0 does not filter.
    pub filter_k: u8,
}

impl A3Config {
    /// Checks every field.
    ///
    /// # Errors
    /// [`ConfigError`] with the path of the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (offset, hysteresis) = (self.offset_db, self.hysteresis_db);
        ensure((-15.0..=15.0).contains(&offset), "a3.offset_db", offset, "-15 to 15 dB")?;
        ensure((0.0..=15.0).contains(&hysteresis), "a3.hysteresis_db", hysteresis, "0 to 15 dB")?;
        ensure(self.filter_k <= 19, "a3.filter_k", self.filter_k, "0 to 19")
    }
}

/// Measurements of one UE in several cells of a carrier.
///
/// The quantity is the SNR: on one carrier the UE's noise is the same for all cells, so that a difference of
/// SNR is one of RSRP (38.215 §5.1.1) as well.
#[derive(Debug, Clone)]
pub struct Measurements {
    config: A3Config,
    cells: Vec<Measured>,
}

#[derive(Debug, Clone, Default)]
struct Measured {
    /// Sum of the SNRs of this period, not in dB, and their number.
    sum: f64,
    samples: u32,
    /// Fₙ of the layer 3 filter, dB.
    filtered_db: Option<f64>,
    /// Time since which the entering condition has held.
    entered_us: Option<u64>,
}

impl Measurements {
    /// Measurements of a valid configuration in `cells` cells, none made.
    pub fn new(config: A3Config, cells: usize) -> Self {
        Self { config, cells: vec![Measured::default(); cells] }
    }

    /// Adds a sample of a synchronisation signal of a cell to this period.
    pub fn sample(&mut self, cell: usize, snr_db: f64) {
        let Some(measured) = self.cells.get_mut(cell) else { return };
        measured.sum += libm::exp10(snr_db.max(LOWEST_DB) / 10.0);
        measured.samples += 1;
    }

    /// Ends a measurement period at `now_us`: layer 1 gives the mean of the samples (38.215 §5.1.1,
    /// "linear average"), layer 3 filters it, and the entering condition of A3 is evaluated for each
    /// neighbour of `serving`. Returns when time-to-trigger expires of a neighbour that now enters.
    pub fn end_period(&mut self, serving: usize, now_us: u64) -> Option<u64> {
        let A3Config { offset_db, hysteresis_db, time_to_trigger_us, filter_k } = self.config;
        // §5.5.3.2: a = 1/2^(k/4).
        let weight = libm::exp2(-f64::from(filter_k) / 4.0);
        for measured in self.cells.iter_mut().filter(|measured| measured.samples > 0) {
            let mean_db = 10.0 * libm::log10(measured.sum / f64::from(measured.samples));
            let before_db = measured.filtered_db.unwrap_or(mean_db);
            measured.filtered_db = Some((1.0 - weight) * before_db + weight * mean_db);
            (measured.sum, measured.samples) = (0.0, 0);
        }
        let serving_db = self.filtered_db(serving)?;
        let mut enters = false;
        for (cell, measured) in self.cells.iter_mut().enumerate() {
            // Inequality A3-1; the offsets of frequencies and cells are 0.
            let is_better = measured
                .filtered_db
                .is_some_and(|neighbour_db| neighbour_db - hysteresis_db > serving_db + offset_db);
            if cell == serving || !is_better {
                measured.entered_us = None;
            } else if measured.entered_us.is_none() {
                measured.entered_us = Some(now_us);
                enters = true;
            }
        }
        enters.then_some(now_us + time_to_trigger_us)
    }

    /// The neighbour that triggers a report at `now_us`: the best of those whose entering condition has held
    /// for time-to-trigger.
    pub fn triggered(&self, now_us: u64) -> Option<usize> {
        let held = |measured: &Measured| {
            let since_us = measured.entered_us?;
            let is_due = since_us + self.config.time_to_trigger_us <= now_us;
            measured.filtered_db.filter(|_| is_due)
        };
        let due = self.cells.iter().enumerate();
        let due = due.filter_map(|(cell, measured)| Some((cell, held(measured)?)));
        due.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(cell, _)| cell)
    }

    /// The UE is in another cell: no event is entered (§5.5.6.1); filters go on.
    pub fn handed_over(&mut self) {
        self.cells.iter_mut().for_each(|measured| measured.entered_us = None);
    }

    /// Filtered measurement of a cell, dB; `None` before the first.
    pub fn filtered_db(&self, cell: usize) -> Option<f64> {
        self.cells.get(cell)?.filtered_db
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_US: u64 = 200_000;

    const CONFIG: A3Config =
        A3Config { offset_db: 3.0, hysteresis_db: 1.0, time_to_trigger_us: 160_000, filter_k: 0 };

    /// SNR of the neighbours of cell 0, which has 10 dB, per period; the time at which a report is
    /// triggered, and of which cell.
    fn report(config: A3Config, neighbours_db: &[&[f64]]) -> Option<(u64, usize)> {
        let mut measurements = Measurements::new(config, neighbours_db.len() + 1);
        let mut due_us: Option<u64> = None;
        for at in 0..neighbours_db[0].len() {
            let now_us = (at as u64 + 1) * PERIOD_US;
            if let Some(at_us) = due_us.filter(|at_us| *at_us < now_us) {
                if let Some(cell) = measurements.triggered(at_us) {
                    return Some((at_us, cell));
                }
                due_us = None;
            }
            measurements.sample(0, 10.0);
            for (cell, values) in neighbours_db.iter().enumerate() {
                measurements.sample(cell + 1, values[at]);
            }
            due_us = measurements.end_period(0, now_us).or(due_us);
        }
        None
    }

    #[test]
    fn a_report_is_triggered_when_the_condition_has_held_for_time_to_trigger() {
        // 14 dB are offset and hysteresis over 10 dB, 14.1 dB more.
        assert_eq!(report(CONFIG, &[&[14.0; 9]]), None);
        let steps = [10.0, 10.0, 14.1, 14.1, 14.1];
        assert_eq!(report(CONFIG, &[&steps]), Some((600_000 + 160_000, 1)));
    }

    #[test]
    fn a_condition_that_ends_within_time_to_trigger_begins_anew() {
        let config = A3Config { time_to_trigger_us: 480_000, ..CONFIG };
        // It holds at 600 and 800 ms, not at 1000 ms, and from 1200 ms on.
        let steps = [10.0, 10.0, 15.0, 15.0, 14.0, 15.0, 15.0, 15.0, 15.0, 15.0];
        assert_eq!(report(config, &[&steps]), Some((1_200_000 + 480_000, 1)));
    }

    #[test]
    fn the_best_of_several_neighbours_is_reported() {
        let low = [15.0; 4];
        let high = [16.0; 4];
        assert_eq!(report(CONFIG, &[&low, &high]), Some((360_000, 2)));
        assert_eq!(report(CONFIG, &[&high, &low]), Some((360_000, 1)));
    }

    #[test]
    fn the_filter_halves_the_distance_each_period_with_k_4() {
        let config = A3Config { filter_k: 4, ..CONFIG };
        let mut measurements = Measurements::new(config, 2);
        let mut filtered = Vec::new();
        for (at, snr_db) in [0.0, 16.0, 16.0, 16.0].into_iter().enumerate() {
            measurements.sample(0, 10.0);
            measurements.sample(1, snr_db);
            measurements.end_period(0, at as u64 * PERIOD_US);
            filtered.push(measurements.filtered_db(1).unwrap());
        }
        let expected = [0.0, 8.0, 12.0, 14.0];
        for (got, expected) in filtered.into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-9, "{got} dB, expected {expected} dB");
        }
    }

    #[test]
    fn layer_1_averages_power_not_decibels() {
        let mut measurements = Measurements::new(CONFIG, 1);
        for snr_db in [20.0, f64::NEG_INFINITY] {
            measurements.sample(0, snr_db);
        }
        measurements.end_period(0, PERIOD_US);
        let mean_db = measurements.filtered_db(0).unwrap();
        assert!((mean_db - 16.99).abs() < 0.01, "{mean_db} dB");
    }

    #[test]
    fn a_handover_leaves_no_event_entered() {
        let mut measurements = Measurements::new(CONFIG, 2);
        measurements.sample(0, 10.0);
        measurements.sample(1, 20.0);
        assert_eq!(measurements.end_period(0, PERIOD_US), Some(360_000));
        assert_eq!(measurements.triggered(360_000), Some(1));
        measurements.handed_over();
        assert_eq!(measurements.triggered(360_000), None);
        assert_eq!(measurements.filtered_db(1).map(f64::round), Some(20.0));
    }

    #[test]
    fn values_out_of_range_are_named() {
        for (config, part) in [
            (A3Config { offset_db: 16.0, ..CONFIG }, "a3.offset_db: 16"),
            (A3Config { hysteresis_db: -1.0, ..CONFIG }, "a3.hysteresis_db: -1"),
            (A3Config { filter_k: 20, ..CONFIG }, "a3.filter_k: 20"),
        ] {
            let error = config.validate().unwrap_err().to_string();
            assert!(error.starts_with(part), "{error}");
        }
    }
}
