//! Distributions of sojourn times, merged over flows and runs.

use std::collections::BTreeMap;

/// Most points of a drawn distribution.
const MAX_POINTS: usize = 400;

/// Packets by sojourn time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// Packets of each time in µs.
    packets: BTreeMap<u64, u64>,
}

impl Distribution {
    /// Adds packets by time in µs.
    pub(crate) fn add(&mut self, steps: &[(u64, u64)]) {
        for (us, packets) in steps {
            *self.packets.entry(*us).or_default() += packets;
        }
    }

    /// Adds the packets of another distribution.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (us, packets) in &other.packets {
            *self.packets.entry(*us).or_default() += packets;
        }
    }

    /// All packets.
    pub(crate) fn packets(&self) -> u64 {
        self.packets.values().sum()
    }

    /// Mean; 0 without packets.
    pub(crate) fn mean_us(&self) -> f64 {
        let sum: f64 = self.packets.iter().map(|(us, packets)| *us as f64 * *packets as f64).sum();
        sum / self.packets().max(1) as f64
    }

    /// The time that a fraction of all packets do not exceed, by nearest rank; 0 without packets.
    pub(crate) fn quantile_us(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.packets() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let reached = self.packets.iter().find(|(_, packets)| {
            below += **packets;
            below >= rank
        });
        reached.or(self.packets.last_key_value()).map_or(0, |(us, _)| *us)
    }

    /// The distribution function: time in ms and share of the packets that do not exceed it.
    pub(crate) fn cdf(&self) -> Vec<(f64, f64)> {
        let total = self.packets() as f64;
        let (mut below, mut points) = (0u64, Vec::new());
        for (us, packets) in &self.packets {
            let before = points.last().map_or(-1.0, |(_, share)| *share);
            below += packets;
            let share = below as f64 / total;
            // Close points are one on paper; the last is always there.
            if share - before >= 1.0 / MAX_POINTS as f64 || below == total as u64 {
                points.push((*us as f64 / 1e3, share));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_distributions_count_all_packets() {
        let mut all = Distribution::default();
        all.add(&[(0, 50), (1_000, 45)]);
        let mut other = Distribution::default();
        other.add(&[(1_000, 4), (9_000, 1)]);
        all.merge(&other);
        assert_eq!(all.packets(), 100);
        assert_eq!(
            [0.0, 0.5, 0.51, 0.99, 1.0].map(|q| all.quantile_us(q)),
            [0, 0, 1_000, 1_000, 9_000]
        );
        assert!((all.mean_us() - 580.0).abs() < 1e-9);
        assert_eq!(all.cdf(), [(0.0, 0.5), (1.0, 0.99), (9.0, 1.0)]);
        assert_eq!(Distribution::default().quantile_us(0.5), 0);
        assert!(Distribution::default().cdf().is_empty());
    }

    #[test]
    fn a_drawn_distribution_is_bounded_and_ends_at_one() {
        let mut all = Distribution::default();
        all.add(&(0..50_000).map(|us| (us, 1)).collect::<Vec<_>>());
        let points = all.cdf();
        assert!(points.len() <= MAX_POINTS + 2, "{}", points.len());
        assert_eq!(points.last().unwrap().1, 1.0);
    }
}
