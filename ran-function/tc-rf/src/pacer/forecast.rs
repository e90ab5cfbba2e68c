//! Forecast pacer: for a CU that is milliseconds ahead of the DU (stolidis2024 §III), in-flight aware.
//!
//! A packet sent now reaches the RLC after the one-way delay of F1-U. The pacer predicts the RLC
//! buffer at that time: the newest RLC status, plus each packet on F1-U when it will arrive, minus
//! what the MAC will pull until then. A packet is released if the predicted buffer then holds no more
//! than its limit. Each status corrects the prediction: what it reports as received is no longer on
//! F1-U.
//!
//! - **Drain and limit** come from the forecast, linear between its points. Without a drain the drain
//!   per step is limit minus occupancy (DRQL as forecast by stolidis2024); without a limit it is what
//!   one TTI can pull ([`Burst`]) plus one MTU, which is what DRQL leaves.
//! - **Lost**: an RLC that runs empty drains less than the radio could carry, and both the forecast and
//!   the mean are of what drained. What was lost while packets were held back is added to either
//!   ([`Drain`]).
//! - **Stale**: persistence replaces the forecast if there is none, if the newest rests on samples
//!   older than `stale_us`, or if a packet would arrive later than one step after its last point. It
//!   uses the mean drain of the last frames, and widens that limit by the mean deviation of the drain
//!   over the time since the status.
//! - **One-way delay**: a packet takes as long down as the status took up ("symmetrical and
//!   bi-directional", stolidis2024 §III-B).
//! - **Correction**: a forecast may be wrong for a long time. The limit is raised when the MAC found
//!   nothing to send while packets were held back, once per round trip, after which an effect shows.
//!   It is lowered by the least that was left beyond one MTU after all TTIs of a second (DQL's hold
//!   time): on a radio that bursts, one TTI takes what another leaves. Where the DU does not report
//!   each TTI, what the TTIs between may take is not left (`unseen_swing`). It restarts when a forecast
//!   replaces persistence or the reverse.
//! - Without a status newer than the forecast the prediction starts from the forecast's occupancy.
//! - A DU that never sent a status, and a forecast of limit and occupancy alone, is stolidis2024's
//!   third set: the forecast is then used [without in-flight correction](super::as_forecast), point
//!   by point.

use super::as_forecast::AsForecast;
use super::burst::Burst;
use super::drain::{Drain, FRAME_US};
use super::feed::Feed;
use super::flight::Flight;
use super::{Algorithm, ReceivedStatus};

/// What DRQL leaves in the buffer.
const MTU_BYTES: f64 = 1_500.0;
/// Gain of the mean time between statuses, as for the [`Burst`].
const MEAN_GAIN: f64 = 1.0 / 8.0;
/// The correction rises by this part of what a TTI can pull, at least by one MTU.
const STEP: f64 = 1.0 / 8.0;
/// How long something must have been left over to be too much.
const SLACK_HOLD_US: u64 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct Forecast {
    stale_us: u64,
    feed: Feed,
    has_feed: bool,
    /// Whether the last status met a forecast that was not stale.
    was_fresh: bool,
    way_us: f64,
    tti_us: u64,
    status_us: Option<u64>,
    /// Mean time between two statuses.
    interval_us: f64,
    /// Capacity at the last status; 0 when unknown.
    capacity_bytes_per_tti: u32,
    drain: Drain,
    burst: Burst,
    /// The RLC buffer as it will be at `level_us`, bytes.
    level: f64,
    level_us: u64,
    correction: Correction,
    /// State that counts until the first status is received.
    without_status: Option<AsForecast>,
}

impl Forecast {
    pub(super) fn new(stale_us: u32, received: Option<&ReceivedStatus>) -> Self {
        let at_us = received.map_or(0, |received| received.status.at_us);
        Self {
            stale_us: u64::from(stale_us),
            feed: Feed::default(),
            has_feed: false,
            was_fresh: false,
            way_us: received.map_or(0.0, |received| received.one_way_us() as f64),
            tti_us: received.map_or(1_000, ReceivedStatus::tti_us),
            status_us: received.map(|received| received.status.at_us),
            interval_us: 0.0,
            capacity_bytes_per_tti: 0,
            drain: Drain::new(received),
            burst: Burst::default(),
            level: received.map_or(0.0, |received| f64::from(received.status.occupancy_bytes)),
            level_us: at_us,
            correction: Correction::new(received.map_or(0, |received| received.at_us)),
            without_status: received.is_none().then(AsForecast::default),
        }
    }

    fn arrival_us(&self, sent_us: u64) -> u64 {
        sent_us.saturating_add(self.way_us as u64)
    }

    /// The forecast where it alone decides.
    fn by_forecast_alone(&self, now_us: u64) -> Option<&AsForecast> {
        self.without_status.as_ref().filter(|_| self.is_fresh(now_us) && !self.feed.has_drain())
    }

    /// Whether the forecast covers a packet that is sent now. Before the first status there is no
    /// other input, and its last point is used until it is stale.
    fn is_fresh(&self, now_us: u64) -> bool {
        let lasts_until_us = self.feed.last_us().saturating_add(self.feed.step_us());
        self.has_feed
            && now_us.saturating_sub(self.feed.origin_us()) <= self.stale_us
            && (self.without_status.is_some() || self.arrival_us(now_us) <= lasts_until_us)
    }

    /// What the MAC can pull from one time to a later one, as known at `now_us`.
    fn drained(&self, from_us: u64, to_us: u64, now_us: u64) -> f64 {
        let forecast =
            if self.is_fresh(now_us) { self.feed.drained_bytes(from_us, to_us) } else { None };
        let length_us = to_us.saturating_sub(from_us) as f64;
        forecast.unwrap_or(self.drain.mean * length_us) + self.drain.lost * length_us
    }

    /// The buffer's level when something sent at `now_us` arrives.
    fn level_at(&self, arrival_us: u64, now_us: u64) -> f64 {
        (self.level - self.drained(self.level_us, arrival_us, now_us)).max(0.0)
    }

    fn arrives(&mut self, bytes: u64, arrival_us: u64, now_us: u64) {
        self.level = self.level_at(arrival_us, now_us) + bytes as f64;
        self.level_us = self.level_us.max(arrival_us);
    }

    /// The most the buffer shall hold at `arrival_us`.
    fn limit(&self, arrival_us: u64, now_us: u64) -> f64 {
        let own = self.burst.bytes() as f64 + MTU_BYTES;
        let limit = if self.is_fresh(now_us) {
            self.feed.limit_bytes(arrival_us).unwrap_or(own)
        } else {
            let known_us = self.status_us.unwrap_or(now_us);
            own + self.drain.deviation * arrival_us.saturating_sub(known_us) as f64
        };
        (limit + self.correction.bytes).max(MTU_BYTES)
    }
}

impl Algorithm for Forecast {
    fn status(&mut self, received: &ReceivedStatus) {
        let status = &received.status;
        self.without_status = None;
        let way_us = received.one_way_us() as f64;
        let first = self.status_us.is_none();
        let mut ttis = 1;
        if let Some(before_us) = self.status_us {
            let interval_us = status.at_us.saturating_sub(before_us);
            self.interval_us += MEAN_GAIN * (interval_us as f64 - self.interval_us);
            ttis = (interval_us / received.tti_us().max(1)).max(1);
        }
        self.capacity_bytes_per_tti = status.capacity_bytes_per_tti;
        self.way_us += if first { 1.0 } else { MEAN_GAIN } * (way_us - self.way_us);
        self.tti_us = received.tti_us();
        self.status_us = Some(status.at_us);
        if self.was_fresh != self.is_fresh(received.at_us) {
            self.was_fresh = !self.was_fresh;
            self.correction = Correction::new(received.at_us);
        }
        let limited = self.correction.is_limited(self.round_trip_us(), received.at_us);
        let held_bytes = self.drain.status(received, limited);
        if status.dl_opportunity {
            let left_bytes = u64::from(status.occupancy_bytes);
            // Of TTIs between two statuses only the sum is known.
            self.burst.tti(held_bytes.saturating_sub(left_bytes) / ttis, status, limited);
            let step = (STEP * self.burst.bytes() as f64).max(MTU_BYTES);
            let most = self.burst.bytes() as f64
                + self.drain.mean.max(MTU_BYTES / FRAME_US as f64) * self.round_trip_us() as f64;
            let left = (f64::from(status.occupancy_bytes) - self.unseen_swing()).max(0.0);
            self.correction.tti(received.at_us, left, limited, step, most, self.round_trip_us());
        }
        self.level = f64::from(status.occupancy_bytes);
        self.level_us = status.at_us;
    }

    /// What is still on F1-U, oldest first, after [`status`](Algorithm::status).
    fn in_flight(&mut self, flight: &Flight, now_us: u64) {
        for (at_us, bytes) in flight.iter() {
            let arrival_us = self.arrival_us(at_us).max(self.level_us);
            self.arrives(bytes, arrival_us, now_us);
        }
    }

    fn sent(&mut self, len_bytes: u64, now_us: u64) {
        self.drain.sent(len_bytes);
        if let Some(without_status) = &mut self.without_status {
            without_status.sent(&self.feed, len_bytes, now_us);
        }
        self.arrives(len_bytes, self.arrival_us(now_us), now_us);
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        let alone = self.by_forecast_alone(now_us);
        if let Some(may) = alone.and_then(|state| state.may_send(&self.feed, len_bytes, now_us)) {
            return may;
        }
        let arrival_us = self.arrival_us(now_us);
        let level = self.level_at(arrival_us, now_us);
        let may = level < 1.0 || level + len_bytes as f64 <= self.limit(arrival_us, now_us);
        if !may {
            self.correction.limited_us = Some(now_us);
        }
        may
    }

    fn grows_until_us(&self) -> u64 {
        // Time drains the copy until a TTI without status would; where there is none, it comes to
        // further points.
        let points_us = self.without_status.map_or(0, |_| self.feed.last_us());
        self.level_us.saturating_add(FRAME_US).max(points_us)
    }

    fn limit_bytes(&self) -> u64 {
        self.limit(self.level_us, self.level_us.saturating_sub(self.way_us as u64)) as u64
    }

    fn forecast(&mut self, feed: &Feed, flight: &Flight) -> bool {
        self.feed.clone_from(feed);
        self.has_feed = true;
        if self.status_us.is_none_or(|at_us| at_us < feed.origin_us())
            && let Some((first_us, occupancy_bytes)) = feed.first()
        {
            self.level = f64::from(occupancy_bytes);
            self.level_us = first_us;
            self.status_us = Some(feed.origin_us());
            let later = flight.iter().filter(|(at_us, _)| self.arrival_us(*at_us) > first_us);
            for (at_us, bytes) in later.collect::<Vec<_>>() {
                self.arrives(bytes, self.arrival_us(at_us), at_us);
            }
        }
        true
    }

    fn by_forecast(&self, now_us: u64) -> Option<bool> {
        Some(self.is_fresh(now_us))
    }
}

impl Forecast {
    /// How far the buffer may fall below its level at a status before the next one. TTIs between
    /// two statuses are not seen, and a status in step with the TDD pattern always sees the same
    /// one. A drain that is on for a share of the time departs from its mean by at most
    /// mean · (1 - share) per interval.
    fn unseen_swing(&self) -> f64 {
        let unseen_us = (self.interval_us - self.tti_us as f64).max(0.0);
        let most = f64::from(self.capacity_bytes_per_tti) / self.tti_us as f64;
        let share = if most > 0.0 { (self.drain.mean / most).min(1.0) } else { 0.0 };
        self.drain.mean * (1.0 - share) * unseen_us
    }

    /// Time from a decision to the status that shows its effect.
    fn round_trip_us(&self) -> u64 {
        2 * self.way_us as u64 + self.tti_us
    }
}

/// What is added to the limit because of what the MAC found.
#[derive(Clone, Debug)]
struct Correction {
    bytes: f64,
    /// Time at which a packet was last held back.
    limited_us: Option<u64>,
    /// Time at which it was last raised; what the MAC finds for a round trip after is of before.
    raised_us: u64,
    slack_since_us: u64,
    least_left: f64,
}

impl Correction {
    fn new(now_us: u64) -> Self {
        Self {
            bytes: 0.0,
            limited_us: None,
            raised_us: now_us,
            slack_since_us: now_us,
            least_left: f64::MAX,
        }
    }

    fn is_limited(&self, round_trip_us: u64, now_us: u64) -> bool {
        self.limited_us.is_some_and(|at_us| now_us.saturating_sub(at_us) <= round_trip_us)
    }

    /// Adjusts after a TTI with downlink.
    fn tti(
        &mut self,
        now_us: u64,
        left: f64,
        limited: bool,
        step: f64,
        most: f64,
        round_trip_us: u64,
    ) {
        let since = |at_us: u64| now_us.checked_sub(at_us).unwrap_or(u64::MAX);
        self.least_left = self.least_left.min(left);
        if left == 0.0 && limited && since(self.raised_us) >= round_trip_us {
            self.bytes += step;
            self.raised_us = now_us;
            self.slack_since_us = now_us;
            self.least_left = f64::MAX;
        } else if since(self.slack_since_us) >= SLACK_HOLD_US {
            self.bytes -= (self.least_left - MTU_BYTES).max(0.0);
            self.slack_since_us = now_us;
            self.least_left = f64::MAX;
        }
        self.bytes = self.bytes.clamp(-most, most);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::received;
    use super::*;

    /// The limit after 0.9 s of a radio that drains 2000 bytes each ms from a full buffer, with a
    /// status each of these times, in turn.
    fn limit_bytes(intervals_ms: &[u64]) -> u64 {
        let mut pacer = Forecast::new(500_000, None);
        let mut at_ms = 0;
        for interval_ms in intervals_ms.iter().cycle() {
            pacer.sent(2_000 * interval_ms, 1_000 * at_ms);
            at_ms += interval_ms;
            pacer.status(&received(1_000 * at_ms, 60_000));
            if at_ms >= 900 {
                break;
            }
        }
        pacer.limit_bytes()
    }

    #[test]
    fn how_often_the_du_reports_does_not_change_what_a_tti_pulls() {
        let each_tti = limit_bytes(&[1]);
        assert_eq!(limit_bytes(&[20]), each_tti);
        assert_eq!(limit_bytes(&[10, 40, 15, 60]), each_tti);
    }
}
