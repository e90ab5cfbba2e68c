//! The newest forecast of a bearer's RLC, and interpolation between its points.
//!
//! Occupancy and limit are linear between points (stolidis2024
//! §III-C: `x = xₙ + (xₙ₊₁ − xₙ)/(tₙ₊₁ − tₙ) · (t − tₙ)`), so is the sum of what is drained; before the
//! first point and after the last the nearest counts.

use e2sm_tc::v1::{BearerForecast, CumulatedDrain};

use super::RlcStatus;

/// Most points stored; the limit of E2SM-TC.
const MAX_POINTS: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    /// Time of the newest sample the forecast rests on.
    origin_us: u64,
    first_us: u64,
    step_us: u64,
    occupancy_bytes: Vec<u32>,
    limit_bytes: Vec<u32>,
    /// Bytes drained in the step that ends at each point.
    drain_bytes: Vec<u32>,
    /// Whether the forecast has a drain of its own.
    has_drain: bool,
    cumulated: Option<CumulatedDrain>,
}

impl Feed {
    /// Takes in a forecast that was checked; its times are in the clock of the pacer.
    pub(super) fn set(&mut self, forecast: &BearerForecast) {
        let copy = |to: &mut Vec<u32>, from: &[u32]| {
            to.clear();
            to.extend(from.iter().take(MAX_POINTS));
        };
        self.origin_us = forecast.origin_us;
        self.first_us = forecast.origin_us.saturating_add(u64::from(forecast.horizon_start_us));
        self.step_us = u64::from(forecast.step_us.max(1));
        copy(&mut self.occupancy_bytes, &forecast.occupancy_bytes);
        copy(&mut self.limit_bytes, &forecast.limit_bytes);
        copy(&mut self.drain_bytes, &forecast.drain_bytes);
        self.cumulated.clone_from(&forecast.cumulated_drain);
        self.has_drain = !self.drain_bytes.is_empty();
        if !self.has_drain {
            // stolidis2024 forecasts limit and occupancy under DRQL, whose buffer is filled to the
            // limit each step: what is then left below the limit was drained.
            let left = self.limit_bytes.iter().zip(&self.occupancy_bytes);
            self.drain_bytes.extend(left.map(|(limit, left)| limit.saturating_sub(*left)));
        }
    }

    /// One quantile of the cumulated drain, linear between the nearest levels; `None` if the forecast has none
    /// or the level is not between its levels.
    pub(super) fn sums(&self, level_milli: u16) -> Option<Sums> {
        let CumulatedDrain { points_us, levels_milli, bytes } = self.cumulated.as_ref()?;
        let above = levels_milli.partition_point(|level| *level < level_milli);
        let upper = *levels_milli.get(above)?;
        let (below, share) = match above.checked_sub(1) {
            _ if upper == level_milli => (above, 0.0),
            Some(below) => {
                let lower = levels_milli[below];
                (below, f64::from(level_milli - lower) / f64::from(upper - lower))
            }
            None => return None,
        };
        let rows = points_us.iter().zip(bytes.chunks_exact(levels_milli.len()));
        let sum = |row: &[u32]| {
            let (low, high) = (f64::from(row[below]), f64::from(row[above]));
            low + share * (high - low)
        };
        Some(Sums(rows.map(|(us, row)| (u64::from(*us), sum(row))).collect()))
    }

    pub(super) fn origin_us(&self) -> u64 {
        self.origin_us
    }

    /// Time of the first point, and what the RLC holds then.
    pub(super) fn first(&self) -> Option<(u64, u32)> {
        self.occupancy_bytes.first().map(|bytes| (self.first_us, *bytes))
    }

    /// What the RLC held at the origin, if the first point is there and no limit is forecast, by which
    /// a forecast decides alone.
    pub(super) fn status(&self) -> Option<RlcStatus> {
        let (at_us, occupancy_bytes) = self.first()?;
        if at_us != self.origin_us || !self.limit_bytes.is_empty() {
            return None;
        }
        let tti_us = u32::try_from(self.step_us).unwrap_or(u32::MAX);
        let dl_opportunity = true;
        Some(RlcStatus { at_us, occupancy_bytes, tti_us, dl_opportunity, ..RlcStatus::default() })
    }

    /// Whether the forecast has a drain of its own; else it follows from limit and occupancy.
    pub(super) fn has_drain(&self) -> bool {
        self.has_drain
    }

    /// Occupancy at `at_us`; `None` outside the feed.
    pub(super) fn occupancy_bytes(&self, at_us: u64) -> Option<f64> {
        interpolate(&self.occupancy_bytes, self.position(at_us))
    }

    /// Time of the newest point that is no later than `at_us`; the first one's time before it, and
    /// after the last one as if there were more.
    pub(super) fn point_before_us(&self, at_us: u64) -> u64 {
        let after_us = at_us.saturating_sub(self.first_us);
        self.first_us.saturating_add(after_us - after_us % self.step_us.max(1))
    }

    /// Time of the last point.
    pub(super) fn last_us(&self) -> u64 {
        let steps = self.occupancy_bytes.len().saturating_sub(1) as u64;
        self.first_us.saturating_add(steps.saturating_mul(self.step_us))
    }

    /// Time between points.
    pub(super) fn step_us(&self) -> u64 {
        self.step_us
    }

    /// Limit at `at_us`; `None` outside the feed.
    pub(super) fn limit_bytes(&self, at_us: u64) -> Option<f64> {
        interpolate(&self.limit_bytes, self.position(at_us))
    }

    /// Steps from the first point to `at_us`.
    fn position(&self, at_us: u64) -> f64 {
        let steps = |us: u64| us as f64 / self.step_us as f64;
        if at_us >= self.first_us {
            steps(at_us - self.first_us)
        } else {
            -steps(self.first_us - at_us)
        }
    }

    /// Bytes drained from one time to a later one; `None` without drain in the feed.
    pub(super) fn drained_bytes(&self, from_us: u64, to_us: u64) -> Option<f64> {
        if self.drain_bytes.is_empty() {
            return None;
        }
        let until = |us| self.drained_until(self.position(us));
        Some((until(to_us) - until(from_us)).max(0.0))
    }

    /// Sum of the drain since one step before the first point, at a position in steps.
    fn drained_until(&self, position: f64) -> f64 {
        let steps = position + 1.0;
        let (Some(first), Some(last)) = (self.drain_bytes.first(), self.drain_bytes.last()) else {
            return 0.0;
        };
        if steps <= 0.0 {
            return steps * f64::from(*first);
        }
        let whole = (steps as usize).min(self.drain_bytes.len());
        let sum: u64 = self.drain_bytes[..whole].iter().map(|bytes| u64::from(*bytes)).sum();
        let rate = self.drain_bytes.get(whole).unwrap_or(last);
        sum as f64 + (steps - whole as f64) * f64::from(*rate)
    }
}

/// Bytes drained until each point after an origin, in order of time.
#[derive(Clone, Debug)]
pub(super) struct Sums(Vec<(u64, f64)>);

impl Sums {
    /// Whether anything drains at all.
    pub(super) fn promise(&self) -> bool {
        self.0.last().is_some_and(|(_, bytes)| *bytes > 0.0)
    }

    /// Bytes until `us` after the origin, on the line between points; `None` after the last.
    pub(super) fn within(&self, us: u64) -> Option<f64> {
        let next = self.0.partition_point(|(point_us, _)| *point_us < us);
        let (to_us, to) = *self.0.get(next)?;
        let (from_us, from) = next.checked_sub(1).map_or((0, 0.0), |before| self.0[before]);
        if to_us == us || to_us <= from_us {
            return Some(to);
        }
        Some(from + (to - from) * (us - from_us) as f64 / (to_us - from_us) as f64)
    }

    /// The same, after the last point at the mean rate until it.
    pub(super) fn extended(&self, us: u64) -> f64 {
        let (last_us, last) = self.0.last().copied().unwrap_or_default();
        self.within(us).unwrap_or(last * us as f64 / last_us.max(1) as f64)
    }
}

fn interpolate(points: &[u32], position: f64) -> Option<f64> {
    let last = points.len().checked_sub(1)?;
    let position = position.clamp(0.0, last as f64);
    let below = position as usize;
    let (low, high) = (f64::from(points[below]), f64::from(points[(below + 1).min(last)]));
    Some(low + (high - low) * (position - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2sm_tc::v1::{BearerId, UeId};

    fn feed(limit_bytes: &[u32], drain_bytes: &[u32]) -> Feed {
        let mut feed = Feed::default();
        feed.set(&BearerForecast {
            bearer: BearerId { ue: UeId::Rnti(1), drb: 1 },
            origin_us: 100_000,
            horizon_start_us: 10_000,
            step_us: 1_000,
            occupancy_bytes: vec![1_500; limit_bytes.len().max(drain_bytes.len())],
            limit_bytes: limit_bytes.to_vec(),
            drain_bytes: drain_bytes.to_vec(),
            cumulated_drain: None,
        });
        feed
    }

    #[test]
    fn between_points_the_limit_is_on_the_line_between_them() {
        let feed = feed(&[1_000, 3_000, 2_000], &[]);
        let limit = |us| feed.limit_bytes(us).unwrap();
        assert_eq!(limit(110_000), 1_000.0);
        assert_eq!(limit(110_250), 1_500.0);
        assert_eq!(limit(111_000), 3_000.0);
        assert_eq!(limit(111_500), 2_500.0);
        assert_eq!((limit(0), limit(u64::MAX)), (1_000.0, 2_000.0), "beyond, the nearest point");
    }

    #[test]
    fn drain_is_summed_over_parts_of_steps() {
        // 1000 in (109, 110] ms, 2000 in (110, 111] ms, 0 in (111, 112] ms.
        let feed = feed(&[], &[1_000, 2_000, 0]);
        let drained = |from, to| feed.drained_bytes(from, to).unwrap();
        assert_eq!(drained(109_000, 112_000), 3_000.0);
        assert_eq!(drained(109_500, 110_250), 500.0 + 500.0);
        assert_eq!(drained(100_000, 109_000), 9_000.0, "before, at the first rate");
        assert_eq!(drained(111_000, 200_000), 0.0, "after, at the last");
        assert_eq!(drained(112_000, 109_000), 0.0, "not backwards");
    }

    #[test]
    fn without_drain_it_is_what_the_limit_left_of_the_occupancy() {
        let feed = feed(&[6_000, 1_000], &[]);
        assert_eq!(feed.drained_bytes(109_000, 110_000), Some(4_500.0));
        assert_eq!(feed.drained_bytes(110_000, 111_000), Some(0.0), "less than is there: nothing");
    }

    #[test]
    fn a_feed_of_occupancy_alone_says_nothing_else() {
        let mut feed = feed(&[], &[]);
        feed.occupancy_bytes = vec![700];
        assert_eq!(feed.first(), Some((110_000, 700)));
        assert_eq!(feed.limit_bytes(110_000), None);
        assert_eq!(feed.drained_bytes(0, u64::MAX), None);
        assert!(feed.sums(500).is_none());
    }

    #[test]
    fn a_quantile_of_the_cumulated_drain_is_on_the_line_between_levels_and_between_points() {
        let mut feed = feed(&[], &[]);
        feed.cumulated = Some(CumulatedDrain {
            points_us: vec![1_000, 3_000],
            levels_milli: vec![500, 900],
            bytes: vec![100, 300, 500, 700],
        });
        let median = feed.sums(500).unwrap();
        let within = |us| median.within(us).unwrap();
        assert_eq!((within(0), within(500), within(1_000)), (0.0, 50.0, 100.0));
        assert_eq!((within(2_000), within(3_000), median.within(3_001)), (300.0, 500.0, None));
        assert_eq!(median.extended(6_000), 1_000.0, "as fast as until the last point");
        assert_eq!(feed.sums(600).unwrap().within(1_000), Some(150.0));
        assert_eq!(feed.sums(900).unwrap().within(3_000), Some(700.0));
        assert!(feed.sums(499).is_none() && feed.sums(901).is_none(), "beyond its levels");
    }
}
