//! Base stock: order up to what drains, with probability p, until what is ordered now can drain.
//!
//! The CU is a store that orders from afar: what it sends is delivered to the RLC after the one-way delay
//! T_c of F1-U, and it learns of sales, what the MAC pulled, after the same time upwards. "The CU would have to
//! wait for 2·T_c" (stolidis2024 §III-B) is the lead time. The order-up-to policy is that of inventory
//! theory (Arrow, Harris and Marschak, "Optimal Inventory Policy", Econometrica 19(3), 1951; Scarf 1960
//! proves its form): whenever the inventory position is below S, order the difference. With a lead time it is
//! the position that counts, not what is on hand (Karlin and Scarf 1958), and demand that finds the shelf empty
//! is lost, for which it stays near the best where a loss costs much (Huh, Janakiraman, Muckstadt and
//! Rusmevichientong, Management Science 55(3), 2009).
//!
//! - **Inventory position**: bytes sent that are not reported as drained, in the RLC and on F1-U.
//! - **Lead time**: from the newest RLC status to the end of the first TTI after the arrival of a packet
//!   sent now, 2·T_c and a TTI where each TTI is reported. A status that does not come lengthens it.
//! - **S**: the quantile p of the drain summed over the lead time, from the forecast's
//!   [`CumulatedDrain`](e2sm_tc::v1::CumulatedDrain). Where the forecast rests on samples older than the status,
//!   the spread is that of a window of the same length and its place that of the median.
//! - **p**: the newsvendor's ratio of costs, that of a byte which the radio could have carried to that of
//!   both this and a byte that waits.
//! - **Bound**: with `bound_us` S is no more than what drains at the median until then, but at least the median
//!   of the lead time: less would leave the radio idle every other time.
//! - **Whole packets**: one is sent while the position is below S, so that it exceeds S by less than one.
//! - **Without a forecast** that is fresh, reaches the end of the lead time, has p and the median between its
//!   levels and promises a drain at all, it is [`Bdp5g`].

use super::bdp5g::Bdp5g;
use super::drain::FRAME_US;
use super::feed::{Feed, Sums};
use super::flight::Flight;
use super::{Algorithm, ReceivedStatus};

/// Gain of the mean one-way delay, as in the forecast pacer.
const MEAN_GAIN: f64 = 1.0 / 8.0;
const MEDIAN_MILLI: u16 = 500;

/// Parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    /// Age of a forecast's newest sample from which on it is not used.
    pub(super) stale_us: u64,
    /// p in thousandths.
    pub(super) level_milli: u16,
    /// Time within which what is sent shall have left the RLC at the median.
    pub(super) bound_us: Option<u64>,
}

/// The newest forecast as far as this pacer uses it.
#[derive(Clone, Debug)]
struct Demand {
    origin_us: u64,
    at_level: Sums,
    median: Sums,
}

#[derive(Clone, Debug)]
pub(super) struct BaseStock {
    parameters: Parameters,
    demand: Option<Demand>,
    without_forecast: Bdp5g,
    way_us: f64,
    tti_us: u64,
    /// When the DU took the newest status.
    status_us: Option<u64>,
    /// When the CU received it.
    received_us: u64,
    /// Inventory position, bytes.
    position_bytes: u64,
}

impl BaseStock {
    pub(super) fn new(parameters: Parameters, received: Option<&ReceivedStatus>) -> Self {
        Self {
            parameters,
            demand: None,
            without_forecast: Bdp5g::new(received),
            way_us: received.map_or(0.0, |received| received.one_way_us() as f64),
            tti_us: received.map_or(1_000, ReceivedStatus::tti_us),
            status_us: received.map(|received| received.status.at_us),
            received_us: received.map_or(0, |received| received.at_us),
            position_bytes: received.map_or(0, ReceivedStatus::held_bytes),
        }
    }

    /// S in bytes; `None` where no forecast says it.
    fn stock_bytes(&self, now_us: u64) -> Option<f64> {
        let Demand { origin_us, at_level, median } = self.demand.as_ref()?;
        let status_us = self.status_us?;
        if now_us.saturating_sub(*origin_us) > self.parameters.stale_us {
            return None;
        }
        let age_us = now_us.saturating_sub(status_us);
        let arrival_us = age_us.saturating_add(self.way_us as u64);
        let lead_us = (arrival_us / self.tti_us + 1).saturating_mul(self.tti_us);
        // The window begins with the status, which may be newer than the sample of the forecast.
        let begin_us = status_us.saturating_sub(*origin_us);
        let until = |sums: &Sums, us: u64| sums.within(begin_us.saturating_add(us));
        let between = until(median, lead_us)? - until(median, 0)?;
        let stock = between + at_level.within(lead_us)? - median.within(lead_us)?;
        let Some(bound_us) = self.parameters.bound_us else { return Some(stock) };
        let longest_us = age_us.saturating_add(bound_us).max(lead_us);
        let most = median.extended(begin_us.saturating_add(longest_us)) - until(median, 0)?;
        Some(stock.min(most))
    }
}

impl Algorithm for BaseStock {
    fn status(&mut self, received: &ReceivedStatus) {
        let way_us = received.one_way_us() as f64;
        let gain = if self.status_us.is_none() { 1.0 } else { MEAN_GAIN };
        self.way_us += gain * (way_us - self.way_us);
        self.tti_us = received.tti_us();
        self.status_us = Some(received.status.at_us);
        self.received_us = received.at_us;
        self.position_bytes = received.held_bytes();
        self.without_forecast.status(received);
    }

    fn sent(&mut self, len_bytes: u64, now_us: u64) {
        self.position_bytes = self.position_bytes.saturating_add(len_bytes);
        self.without_forecast.sent(len_bytes, now_us);
    }

    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool {
        match self.stock_bytes(now_us) {
            Some(stock) => (self.position_bytes as f64) < stock,
            None => self.without_forecast.may_send(len_bytes, now_us),
        }
    }

    fn grows_until_us(&self) -> u64 {
        // Each TTI without status lengthens the lead time, and the stock with it.
        self.received_us.saturating_add(FRAME_US).max(self.without_forecast.grows_until_us())
    }

    fn limit_bytes(&self) -> u64 {
        match self.stock_bytes(self.received_us) {
            Some(stock) => stock as u64,
            None => self.without_forecast.limit_bytes(),
        }
    }

    fn forecast(&mut self, feed: &Feed, _flight: &Flight) -> bool {
        let sums = |level_milli| feed.sums(level_milli).filter(Sums::promise);
        let both = sums(self.parameters.level_milli).zip(sums(MEDIAN_MILLI));
        self.demand =
            both.map(|(at_level, median)| Demand { origin_us: feed.origin_us(), at_level, median });
        // Without statuses the position is unknown.
        false
    }

    fn by_forecast(&self, now_us: u64) -> Option<bool> {
        Some(self.stock_bytes(now_us).is_some())
    }
}
