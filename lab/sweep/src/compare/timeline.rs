//! Values in bins of equal width from virtual time 0 on.

/// Sums of values per bin, over flows or runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timeline {
    bin_us: u64,
    sums: Vec<f64>,
    /// Runs added, of a mean over runs.
    runs: u32,
}

impl Timeline {
    /// Adds values. Of two widths the wider counts: widths are equal or multiples of each other.
    pub(super) fn add(&mut self, bin_us: u64, values: Vec<f64>) {
        let values = if self.sums.is_empty() || bin_us >= self.bin_us {
            self.sums = widen(std::mem::take(&mut self.sums), self.bin_us, bin_us);
            self.bin_us = bin_us;
            values
        } else {
            widen(values, bin_us, self.bin_us)
        };
        if self.sums.len() < values.len() {
            self.sums.resize(values.len(), 0.0);
        }
        for (sum, value) in self.sums.iter_mut().zip(values) {
            *sum += value;
        }
    }

    /// Width of a bin and the sums.
    pub(super) fn sums(self) -> (u64, Vec<f64>) {
        (self.bin_us, self.sums)
    }

    /// Adds a run of this length; bins without a value are zero to its end.
    pub(super) fn add_run(&mut self, (bin_us, mut values): (u64, Vec<f64>), duration_s: f64) {
        if bin_us == 0 {
            return;
        }
        let bins = (duration_s * 1e6 / bin_us as f64).ceil() as usize;
        if values.len() < bins {
            values.resize(bins, 0.0);
        }
        self.add(bin_us, values);
        self.runs += 1;
    }

    /// Mean over the runs: middle of a bin in s, value.
    pub(super) fn means(&self) -> Vec<(f64, f64)> {
        let bin_s = self.bin_us as f64 / 1e6;
        let mean = |(bin, sum): (usize, &f64)| {
            ((bin as f64 + 0.5) * bin_s, sum / f64::from(self.runs.max(1)))
        };
        self.sums.iter().enumerate().map(mean).collect()
    }
}

/// Means over wider bins.
fn widen(values: Vec<f64>, from_us: u64, to_us: u64) -> Vec<f64> {
    let per_bin = to_us.checked_div(from_us).unwrap_or(1).max(1) as usize;
    if per_bin == 1 {
        return values;
    }
    values.chunks(per_bin).map(|part| part.iter().sum::<f64>() / per_bin as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_with_wider_bins_are_added_at_their_width() {
        for order in [[0, 1], [1, 0]] {
            let mut all = Timeline::default();
            for which in order {
                match which {
                    0 => all.add(100, vec![1.0, 3.0, 5.0]),
                    _ => all.add(200, vec![10.0]),
                }
            }
            assert_eq!(all.sums(), (200, vec![12.0, 2.5]), "{order:?}");
        }
    }

    #[test]
    fn a_mean_over_runs_counts_quiet_ends() {
        let mut all = Timeline::default();
        all.add_run((100_000, vec![4.0, 4.0]), 0.2);
        all.add_run((100_000, vec![2.0]), 0.2);
        let points = all.means();
        assert_eq!(points.iter().map(|(_, y)| *y).collect::<Vec<_>>(), [3.0, 2.0]);
        assert!((points[0].0 - 0.05).abs() < 1e-9);
    }
}
