//! Soft combining of the transmissions of a block.

use super::LinkTables;

/// How a receiver combines the transmissions of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Combining {
    /// Each transmission repeats the same coded bits: SNRs add.
    Chase,
    /// Each transmission has further coded bits (redundancy versions 0, 2, 3, 1 of 38.214
    /// §5.1.2.1): the rate falls, at the mean of the SNRs, and bits repeat where the circular
    /// buffer ends.
    #[default]
    IncrementalRedundancy,
}

/// A transport block at its receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reception {
    mcs: u8,
    bits: u32,
    transmissions: u8,
    /// Sum of the SNRs, linear.
    snr_sum: f64,
    /// Error rate after the transmissions so far.
    error_rate: f64,
}

impl Reception {
    /// A block of `bits` that has not been sent.
    pub(crate) fn new(mcs: u8, bits: u32) -> Self {
        Self { mcs, bits, transmissions: 0, snr_sum: 0.0, error_rate: 1.0 }
    }

    /// Adds a transmission at `snr_db`; returns the probability that the block still fails, given
    /// that it has failed so far.
    pub(crate) fn add(&mut self, tables: &LinkTables, combining: Combining, snr_db: f64) -> f64 {
        self.transmissions = self.transmissions.saturating_add(1);
        self.snr_sum += libm::exp10(snr_db / 10.0);
        let code = tables.code(self.mcs);
        let before = self.error_rate;
        let after = match combining {
            Combining::Chase => code.curve(self.bits).error_rate(10.0 * libm::log10(self.snr_sum)),
            Combining::IncrementalRedundancy => {
                let mean_db = 10.0 * libm::log10(self.snr_sum / f64::from(self.transmissions));
                let (code, gain_db) = code.with_increments(self.transmissions, self.bits);
                code.curve(self.bits).error_rate(mean_db + gain_db)
            }
        };
        // What fails after this transmission also failed before it.
        self.error_rate = after.min(before);
        if before > 0.0 { self.error_rate / before } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CellConfig;

    fn rates(combining: Combining, mcs: u8, snr_db: [f64; 4]) -> [f64; 4] {
        let cell = CellConfig::nr_n78_106prb();
        let tables = LinkTables::new(&cell.tbs, cell.n_prb, 0.1, None);
        let mut block = Reception::new(mcs, 20_000);
        snr_db.map(|snr_db| {
            block.add(&tables, combining, snr_db);
            block.error_rate
        })
    }

    #[test]
    fn two_transmissions_at_the_same_snr_gain_three_decibels_by_chase() {
        let cell = CellConfig::nr_n78_106prb();
        let tables = LinkTables::new(&cell.tbs, cell.n_prb, 0.1, None);
        let half_db = tables.code(10).curve(20_000).snr_db_at(0.5);
        let [first, second, ..] = rates(Combining::Chase, 10, [half_db - 3.0103; 4]);
        assert!(first > 0.999 && (second - 0.5).abs() < 0.01, "{first} {second}");
    }

    #[test]
    fn increments_gain_at_least_as_much_as_repetition_at_high_rates() {
        let cell = CellConfig::nr_n78_106prb();
        let tables = LinkTables::new(&cell.tbs, cell.n_prb, 0.1, None);
        for mcs in [8, 10, 19, 27] {
            let snr_db = tables.code(mcs).curve(20_000).snr_db_at(0.5) - 4.0;
            let chase = rates(Combining::Chase, mcs, [snr_db; 4]);
            let increments = rates(Combining::IncrementalRedundancy, mcs, [snr_db; 4]);
            assert!(increments[1] <= chase[1] + 1e-9, "{mcs}: {increments:?} {chase:?}");
            assert!(chase.is_sorted_by(|a, b| a >= b) && increments.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn a_block_that_cannot_be_received_fails_each_time() {
        let bad = rates(Combining::IncrementalRedundancy, 27, [-20.0; 4]);
        assert!(bad.iter().all(|rate| *rate > 0.999), "{bad:?}");
        let good = rates(Combining::Chase, 0, [30.0; 4]);
        assert!(good[0] < 1e-12, "{good:?}");
    }
}
