//! Bytes per bin of time, for throughput over time.

/// First width of a bin.
const INITIAL_BIN_US: u64 = 100_000;
/// Bins kept before neighbours are merged: 409.6 s at 100 ms.
const BIN_LIMIT: usize = 4096;

/// Bytes counted into bins of equal width from time 0 on. When the bins run out, neighbours are
/// merged and the width doubles, so memory is bounded at any length of run.
#[derive(Debug, Clone)]
pub struct ByteBins {
    bin_us: u64,
    bins: Vec<u64>,
    total_bytes: u64,
}

impl Default for ByteBins {
    fn default() -> Self {
        Self { bin_us: INITIAL_BIN_US, bins: Vec::new(), total_bytes: 0 }
    }
}

impl ByteBins {
    /// Counts `bytes` at `now_us`.
    pub fn add(&mut self, now_us: u64, bytes: u64) {
        self.total_bytes += bytes;
        let mut index = now_us / self.bin_us;
        while index >= BIN_LIMIT as u64 {
            self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.bin_us *= 2;
            index = now_us / self.bin_us;
        }
        let index = index as usize;
        if index >= self.bins.len() {
            self.bins.resize(index + 1, 0);
        }
        self.bins[index] += bytes;
    }

    /// Everything counted so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Width of a bin, µs: 100 ms until the run exceeds 409.6 s, then doubled as often as needed.
    pub fn bin_us(&self) -> u64 {
        self.bin_us
    }

    /// Bytes in each bin; bin `i` covers `[i, i + 1) · bin_us`. Ends with the last bin counted in.
    pub fn bins(&self) -> &[u64] {
        &self.bins
    }

    /// Mean rate over the bins that lie wholly in `[from_us, to_us)`, bit/s; 0 if there is none.
    pub fn mean_bps(&self, from_us: u64, to_us: u64) -> f64 {
        let first = from_us.div_ceil(self.bin_us);
        let end = to_us / self.bin_us;
        if end <= first {
            return 0.0;
        }
        let bytes: u64 = self.bins.iter().skip(first as usize).take((end - first) as usize).sum();
        bytes as f64 * 8e6 / ((end - first) * self.bin_us) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_give_the_rate_of_a_phase() {
        let mut bins = ByteBins::default();
        for ms in 0..2_000_u64 {
            bins.add(ms * 1_000, if ms < 1_000 { 1_000 } else { 250 });
        }
        assert!((bins.mean_bps(0, 1_000_000) - 8e6).abs() < 1.0);
        assert!((bins.mean_bps(1_000_000, 2_000_000) - 2e6).abs() < 1.0);
        assert_eq!(bins.mean_bps(50_000, 90_000), 0.0);
        assert_eq!(bins.total_bytes(), 1_250_000);
    }

    #[test]
    fn a_long_run_merges_bins_and_loses_no_byte() {
        let mut bins = ByteBins::default();
        for second in 0..10_000_u64 {
            bins.add(second * 1_000_000, 3);
        }
        assert!(bins.bins().len() <= BIN_LIMIT);
        assert_eq!(bins.bins().iter().sum::<u64>(), 30_000);
        assert_eq!(bins.total_bytes(), 30_000);
        assert!((bins.mean_bps(0, 9_000_000_000) - 24.0).abs() < 0.1);
    }
}
