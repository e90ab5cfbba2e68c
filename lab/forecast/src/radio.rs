//! Forecasters that know the radio in advance: bounds of what any forecast can be worth to a pacer.
//!
//! They need a radio whose capacity does not depend on what is sent, such as a recorded one, and a UE
//! that has all of it.

use std::sync::Arc;

use e2sm_tc::v1::CumulatedDrain;
use lab_world::clairvoyant::Slot;

use super::{Forecaster, Horizon, Points, RlcSample};

/// What DRQL leaves in the buffer.
const MTU_BYTES: u64 = 1_500;

/// Capacity of a radio over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Start of each slot and the capacity up to its end, in order of time.
    until: Arc<[(u64, u64)]>,
}

impl Capacity {
    /// The capacity of slots in order of time.
    pub fn new(slots: &[Slot]) -> Self {
        let mut sum_bytes = 0;
        let until = slots.iter().map(|slot| {
            sum_bytes += u64::from(slot.capacity_bytes);
            (slot.time_us, sum_bytes)
        });
        Self { until: until.collect() }
    }

    /// Bytes of the slots that start after `after_us` and no later than `until_us`.
    pub fn bytes_between(&self, after_us: u64, until_us: u64) -> u64 {
        self.bytes_until(until_us).saturating_sub(self.bytes_until(after_us))
    }

    fn bytes_until(&self, us: u64) -> u64 {
        let later = self.until.partition_point(|(start_us, _)| *start_us <= us);
        later.checked_sub(1).map_or(0, |last| self.until[last].1)
    }
}

/// Levels of a cumulated drain that is certain: all have the same bytes.
const CERTAIN_MILLI: [u16; 2] = [1, 999];

/// Upper bound: returns what the radio will carry in each step, as limit what it will carry in the next
/// step plus one MTU, and what it will carry until each of `sums_us`. It is right while the RLC is not
/// empty.
#[derive(Clone, Debug)]
pub struct TrueFuture {
    capacity: Capacity,
    sums_us: Vec<u32>,
    newest: Option<RlcSample>,
}

impl TrueFuture {
    /// Forecasts of a radio with this capacity; its cumulated drain at `sums_us` after a sample.
    pub fn new(capacity: Capacity, sums_us: Vec<u32>) -> Self {
        Self { capacity, sums_us, newest: None }
    }

    fn cumulated(&self, origin_us: u64) -> CumulatedDrain {
        let until = |us: u32| self.capacity.bytes_between(origin_us, origin_us + u64::from(us));
        let sums = self.sums_us.iter().map(|us| u32::try_from(until(*us)).unwrap_or(u32::MAX));
        CumulatedDrain {
            points_us: self.sums_us.clone(),
            levels_milli: CERTAIN_MILLI.to_vec(),
            bytes: sums.flat_map(|sum| [sum; CERTAIN_MILLI.len()]).collect(),
        }
    }
}

impl Forecaster for TrueFuture {
    fn observe(&mut self, sample: &RlcSample) {
        self.newest = Some(*sample);
    }

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let Some(newest) = &self.newest else { return false };
        let step_us = u64::from(horizon.step_us);
        for time_us in horizon.times_us() {
            let next_us = time_us.saturating_add(step_us);
            let next_bytes = self.capacity.bytes_between(time_us, next_us);
            let limit_bytes = u32::try_from(next_bytes + MTU_BYTES).unwrap_or(u32::MAX);
            let sample = RlcSample { limit_bytes, ..*newest };
            let from_us = time_us.saturating_sub(step_us);
            points.push(&sample, self.capacity.bytes_between(from_us, time_us));
        }
        points.cumulated_drain = Some(self.cumulated(horizon.origin_us));
        true
    }
}

/// Knows the distribution of what the radio carries, and not when: at any time its mean as drain, and
/// as limit what keeps the share of the capacity lost within a bound, as if windows were independent.
#[derive(Clone, Debug)]
pub struct Marginal {
    mean_bytes_per_s: f64,
    limit_bytes: u32,
    newest: Option<RlcSample>,
}

impl Marginal {
    /// Forecasts of a radio from one time to a later one, for packets that arrive `lead_us` after
    /// what is known of the RLC, and a share of the capacity that may be lost, 0 to 1.
    pub fn new(
        capacity: &Capacity,
        (from_us, to_us): (u64, u64),
        lead_us: u64,
        tti_us: u64,
        lost_share: f64,
    ) -> Self {
        let window_us = lead_us + tti_us;
        let last_us = to_us.saturating_sub(window_us).max(from_us);
        let windows = (from_us..=last_us).step_by(tti_us.max(1) as usize);
        let sums = windows.map(|us| capacity.bytes_between(us, us + window_us)).collect();
        let stock_bytes = least_stock_bytes(sums, lost_share);
        let length_s = to_us.saturating_sub(from_us).max(1) as f64 / 1e6;
        let mean_bytes_per_s = capacity.bytes_between(from_us, to_us) as f64 / length_s;
        let expected_bytes = mean_bytes_per_s * lead_us as f64 / 1e6;
        let limit_bytes = (stock_bytes as f64 - expected_bytes).max(MTU_BYTES as f64) as u32;
        Self { mean_bytes_per_s, limit_bytes, newest: None }
    }
}

/// The least number of bytes by which windows that can carry `sums` exceed it by no more than this
/// share of their sum.
fn least_stock_bytes(mut sums: Vec<u64>, lost_share: f64) -> u64 {
    sums.sort_unstable_by(|a, b| b.cmp(a));
    let may_lose = lost_share * sums.iter().sum::<u64>() as f64;
    let mut lost = 0.0;
    // With a stock of the n-th greatest window, the n - 1 greater ones lose their differences.
    for (greater, pair) in (1u32..).zip(sums.windows(2)) {
        let more = f64::from(greater) * (pair[0] - pair[1]) as f64;
        if lost + more > may_lose {
            return pair[0] - ((may_lose - lost) / f64::from(greater)) as u64;
        }
        lost += more;
    }
    sums.last().copied().unwrap_or(0)
}

impl Forecaster for Marginal {
    fn observe(&mut self, sample: &RlcSample) {
        self.newest = Some(*sample);
    }

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let Some(newest) = &self.newest else { return false };
        let drain_bytes = (self.mean_bytes_per_s * f64::from(horizon.step_us) / 1e6).round();
        let sample = RlcSample { limit_bytes: self.limit_bytes, ..*newest };
        (0..horizon.points).for_each(|_| points.push(&sample, drain_bytes as u64));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot each ms from 0 on.
    fn capacity(bytes: &[u32]) -> Capacity {
        let slot = |(time_us, capacity_bytes): (u64, &u32)| Slot {
            time_us,
            capacity_bytes: *capacity_bytes,
        };
        Capacity::new(&(0..).step_by(1_000).zip(bytes).map(slot).collect::<Vec<_>>())
    }

    fn forecast(forecaster: &mut impl Forecaster, first_us: u64, step_us: u32) -> Points {
        let horizon = Horizon { origin_us: 0, first_us, step_us, points: 3 };
        let mut points = Points::default();
        assert!(!forecaster.forecast(&horizon, &mut points), "before the first sample");
        forecaster.observe(&RlcSample { occupancy_bytes: 7, ..RlcSample::default() });
        assert!(forecaster.forecast(&horizon, &mut points));
        points
    }

    #[test]
    fn the_true_future_is_what_the_slots_of_a_step_carry() {
        let capacity = capacity(&[1, 2, 4, 8, 16, 32, 64]);
        assert_eq!(capacity.bytes_between(1_000, 3_000), 4 + 8);
        assert_eq!(capacity.bytes_between(3_000, 1_000), 0);
        let points =
            forecast(&mut TrueFuture::new(capacity.clone(), vec![1_000, 4_000]), 2_000, 1_000);
        let sums = points.cumulated_drain.unwrap();
        assert_eq!((sums.points_us, sums.bytes), (vec![1_000, 4_000], vec![2, 2, 30, 30]));
        assert_eq!(points.drain_bytes, [4, 8, 16]);
        assert_eq!(points.limit_bytes, [1_508, 1_516, 1_532], "the next slot and an MTU");
        assert_eq!(points.occupancy_bytes, [7; 3]);
        let points = forecast(&mut TrueFuture::new(capacity, vec![1_000]), 2_000, 2_000);
        assert_eq!(points.drain_bytes, [2 + 4, 8 + 16, 32 + 64]);
        assert_eq!(points.limit_bytes, [1_524, 1_596, 1_500], "nothing after its end");
    }

    #[test]
    fn a_stock_loses_no_more_than_the_share() {
        // With 50 the greatest loses 50 of 250.
        assert_eq!(least_stock_bytes(vec![0, 50, 100, 50, 50], 0.2), 50);
        assert_eq!(least_stock_bytes(vec![0, 50, 100, 50, 50], 0.1), 75);
        assert_eq!(least_stock_bytes(vec![0, 50, 100, 50, 50], 0.0), 100);
        // 100 - 20 and 3 · 30 of 250 lost: 170.
        assert_eq!(least_stock_bytes(vec![0, 50, 100, 50, 50], 0.68), 20);
        assert_eq!((least_stock_bytes(vec![3, 3], 0.5), least_stock_bytes(vec![], 0.5)), (3, 0));
    }

    #[test]
    fn the_marginal_distribution_says_the_same_at_any_time() {
        // Every fourth slot carries 40 kB: 10 kB per ms on average.
        let bytes: Vec<u32> = (0..400).map(|ms| if ms % 4 == 3 { 40_000 } else { 0 }).collect();
        let mut marginal = Marginal::new(&capacity(&bytes), (0, 400_000), 1_000, 1_000, 0.0);
        let points = forecast(&mut marginal, 2_000, 2_000);
        assert_eq!(points.drain_bytes, [20_000; 3]);
        assert_eq!(points.limit_bytes, [30_000; 3], "a window of 2 ms has 40 kB or nothing");
    }
}
