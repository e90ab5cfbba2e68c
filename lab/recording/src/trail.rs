//! A run in bins of 100 ms, for plots.

use lab_world::BearerSample;

/// Width of a point in time.
pub(super) const BIN_US: u64 = 100_000;

/// Points of the bearers together, one per 100 ms.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub(super) points: Vec<Point>,
}

/// What happened within one bin, over all bearers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Point {
    /// Largest age of the head of an RLC buffer.
    pub(super) hol_us: u64,
    /// Largest sum of the RLC buffers.
    pub(super) rlc_bytes: u64,
    /// Largest sum of the pipelines' backlogs.
    pub(super) tc_bytes: u64,
    /// Cumulative at the end of the bin.
    pub(super) cell_used_prb: u64,
    /// Cumulative at the end of the bin.
    pub(super) cell_available_prb: u64,
}

impl Trail {
    /// Adds rows in order of time; rows of one instant must not be split over calls.
    pub(super) fn add(&mut self, rows: &[BearerSample]) {
        for instant in rows.chunk_by(|a, b| a.time_us == b.time_us) {
            let index = (instant[0].time_us / BIN_US) as usize;
            if self.points.len() <= index {
                let last = self.points.last().copied().unwrap_or_default();
                let still = Point { hol_us: 0, rlc_bytes: 0, tc_bytes: 0, ..last };
                self.points.resize(index + 1, still);
            }
            let point = &mut self.points[index];
            let rlc_bytes = instant.iter().map(|r| u64::from(r.rlc_occupancy_bytes)).sum();
            let tc_bytes = instant.iter().map(|r| r.tc_backlog_bytes).sum();
            point.rlc_bytes = point.rlc_bytes.max(rlc_bytes);
            point.tc_bytes = point.tc_bytes.max(tc_bytes);
            point.hol_us = instant.iter().map(|r| r.hol_us).fold(point.hol_us, u64::max);
            point.cell_used_prb = instant[0].cell.used_prb;
            point.cell_available_prb = instant[0].cell.available_prb;
        }
    }

    /// Used share of the PRBs in each bin, percent.
    pub(super) fn used_rb_pct(&self) -> Vec<f64> {
        let mut before = Point::default();
        let share = |point: &Point| {
            let used = point.cell_used_prb.saturating_sub(before.cell_used_prb);
            let there = point.cell_available_prb.saturating_sub(before.cell_available_prb);
            before = *point;
            if there == 0 { 0.0 } else { used as f64 * 100.0 / there as f64 }
        };
        self.points.iter().map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_world::CellSample;

    #[test]
    fn bins_keep_the_worst_and_the_share_of_their_own_prbs() {
        let row = |time_us, hol_us, used_prb| BearerSample {
            time_us,
            hol_us,
            rlc_occupancy_bytes: 10,
            cell: CellSample { used_prb, available_prb: time_us / 1000 },
            ..BearerSample::default()
        };
        let mut trail = Trail::default();
        trail.add(&[row(50_000, 7, 10), row(50_000, 3, 10), row(99_000, 1, 99)]);
        trail.add(&[row(199_000, 0, 149)]);
        assert_eq!(trail.points[0].hol_us, 7);
        assert_eq!(trail.points[0].rlc_bytes, 20);
        assert_eq!(trail.used_rb_pct(), [100.0, 50.0]);
    }
}
