//! Stage 6: how much is forwarded to the RLC buffer, one algorithm per file.
//!
//! A pacer decides one thing: may a packet of this length be forwarded now? Its input is
//! [`RlcStatus`]. A TTI without downlink (an uplink slot of TDD) drains nothing and is no sample of
//! the bandwidth: BDP pacers and DRQL use only TTIs that carried downlink, and the time in between
//! earns no more than one TTI's (or update's) worth of bytes.
//!
//! Two rules hold for every [`Algorithm`]:
//! - Without an RLC status for [`STATUS_STALE_US`] everything passes.
//! - A forecast without a limit that begins at its origin says what the RLC held then. For pacers that
//!   use forecasts it is the status of a DU that sends none.
//! - A packet that waits while nothing is in the RLC, on F1-U or unacknowledged is forwarded after
//!   [`EMPTY_TTIS`] TTIs, so that no estimate can stall a bearer.

mod algorithm;
mod as_forecast;
mod base_stock;
mod bdp5g;
mod bdp5g_prototype;
mod bdp_rate;
mod burst;
mod dql;
mod drain;
mod drql;
mod dyn_rlc;
mod e5g_bdp;
mod ebb;
mod feed;
mod flight;
mod forecast;
mod frame_rate;
mod held_sdus;
mod just_in_time;
mod meter;
mod regular;
mod rlc_status;
#[cfg(test)]
mod testing;
mod upf_sdap;

use e2sm_tc::v1;

use algorithm::{Algorithm, ReceivedStatus, STATUS_STALE_US};
use feed::Feed;
use flight::Flight;
use meter::DrainMeter;
pub use rlc_status::{BlockRoom, BufferStatus, NextBlock, RlcStatus, SduDelays};

/// How often a held packet is tried again in a TTI of 1 ms (irazabal2021 §V-A); shorter TTIs are
/// divided alike. Packet arrivals and RLC status reports trigger a try as well.
const POLL_PERIOD_US: u64 = 200;

/// Consecutive TTIs that found nothing to send although a packet was held back, after which one is
/// forwarded regardless of the algorithm.
const EMPTY_TTIS: u32 = 4;

/// The algorithm of a validated pipeline; `None` where everything passes.
fn algorithm(model: &v1::Pacer, received: Option<&ReceivedStatus>) -> Option<Box<dyn Algorithm>> {
    Some(match *model {
        v1::Pacer::None => return None,
        v1::Pacer::Bdp5g => Box::new(bdp5g::Bdp5g::new(received)),
        v1::Pacer::Bdp5gPrototype => Box::new(bdp5g_prototype::Bdp5gPrototype::new(received)),
        v1::Pacer::E5gBdp => Box::new(e5g_bdp::E5gBdp::new(received)),
        v1::Pacer::Drql { mtu_bytes } => Box::new(drql::Drql::new(mtu_bytes, received)),
        v1::Pacer::Dql { min_bytes, max_bytes } => {
            Box::new(dql::Dql::new(min_bytes, max_bytes, received))
        }
        v1::Pacer::DynRlc {
            interval_us,
            target_us,
            min_sdus,
            max_sdus,
            alpha_milli,
            metric,
            status_gap_beta_milli,
        } => {
            let parameters = dyn_rlc::Parameters {
                interval_us,
                threshold_us: target_us,
                min_sdus,
                max_sdus,
                alpha: f64::from(alpha_milli) / 1000.0,
                metric,
                beta: status_gap_beta_milli.map(|milli| f64::from(milli) / 1000.0),
            };
            Box::new(dyn_rlc::DynRlc::new(parameters, received))
        }
        v1::Pacer::Ebb { target_us } => Box::new(ebb::Ebb::new(target_us, received)),
        v1::Pacer::UpfSdap => Box::new(upf_sdap::UpfSdap::new(received)),
        v1::Pacer::Forecast { stale_us } => Box::new(forecast::Forecast::new(stale_us, received)),
        v1::Pacer::BaseStock { stale_us, level_milli, bound_us } => {
            let parameters = base_stock::Parameters {
                stale_us: u64::from(stale_us),
                level_milli,
                bound_us: bound_us.map(u64::from),
            };
            Box::new(base_stock::BaseStock::new(parameters, received))
        }
        v1::Pacer::JustInTime => Box::new(just_in_time::JustInTime::new(received)),
    })
}

/// The pacer in force: its algorithm and the state that all algorithms share.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    model: v1::Pacer,
    algorithm: Option<Box<dyn Algorithm>>,
    last: Option<ReceivedStatus>,
    /// Time at which the last status or forecast arrived, or the pacer was installed.
    fed_us: u64,
    flight: Flight,
    /// The newest forecast, also for a forecast pacer that is installed later.
    feed: Option<Box<Feed>>,
    /// Whether the DU itself sends statuses.
    du_reports: bool,
    meter: DrainMeter,
    /// Whether a packet was held back since the last status.
    held_back: bool,
    /// Consecutive TTIs that found nothing to send while a packet was held back.
    empty_ttis: u32,
}

impl Pacer {
    pub(crate) fn new(model: &v1::Pacer) -> Self {
        Self {
            model: *model,
            algorithm: algorithm(model, None),
            last: None,
            fed_us: 0,
            flight: Flight::default(),
            feed: None,
            du_reports: false,
            meter: DrainMeter::default(),
            held_back: false,
            empty_ttis: 0,
        }
    }

    /// Changes the algorithm; the new one starts from the last status.
    pub(crate) fn replace(&mut self, model: &v1::Pacer, now_us: u64) {
        if self.model != *model {
            self.model = *model;
            self.start(now_us);
            self.fed_us = now_us;
        }
    }

    fn start(&mut self, now_us: u64) {
        self.algorithm = algorithm(&self.model, self.last.as_ref());
        if let Some(algorithm) = &mut self.algorithm {
            algorithm.in_flight(&self.flight, now_us);
            if let Some(feed) = &self.feed {
                algorithm.forecast(feed, &self.flight);
            }
        }
    }

    /// The RLC returned the SDUs that it had not begun to send. That is no drain: the next status
    /// must not count it as bandwidth. At most one SDU is left, partly sent.
    pub(crate) fn rlc_recalled(&mut self, now_us: u64) {
        if let Some(ReceivedStatus { status, .. }) = &mut self.last {
            status.occupancy_bytes = 0;
            status.occupancy_packets = 0;
        }
        self.meter.rlc_recalled();
        self.start(now_us);
    }

    /// Another RLC is below from now on, which holds nothing and whose radio is another: estimates begin
    /// anew, and a forecast of the former is none of this one.
    pub(crate) fn rlc_replaced(&mut self, now_us: u64) {
        self.last = None;
        self.feed = None;
        self.du_reports = false;
        self.fed_us = now_us;
        self.meter = DrainMeter::default();
        (self.held_back, self.empty_ttis) = (false, 0);
        self.start(now_us);
    }

    pub(crate) fn status(&mut self, status: &RlcStatus, now_us: u64) {
        self.du_reports = true;
        self.take_status(status, now_us);
    }

    fn take_status(&mut self, status: &RlcStatus, now_us: u64) {
        self.fed_us = now_us;
        self.meter.status(status);
        self.flight.on_status(status, now_us);
        let in_flight = self.flight.in_flight();
        let received = ReceivedStatus { status: *status, at_us: now_us, in_flight };
        let nothing_below = received.held_bytes() == 0 && received.held_packets() == 0;
        self.empty_ttis = if nothing_below && self.held_back { self.empty_ttis + 1 } else { 0 };
        self.held_back = false;
        if let Some(algorithm) = &mut self.algorithm {
            algorithm.status(&received);
            algorithm.in_flight(&self.flight, now_us);
        }
        self.last = Some(received);
    }

    /// The last status and the MAC's last query are `age_us` old at `now_us`, if not less: the radio's
    /// time, in which they are due, may lag behind the clock.
    pub(crate) fn status_age(&mut self, age_us: u64, now_us: u64) {
        let at_us = now_us.saturating_sub(age_us);
        self.fed_us = self.fed_us.max(at_us);
        if let Some(algorithm) = &mut self.algorithm {
            algorithm.query_counts_from(at_us);
        }
    }

    /// Takes in a validated forecast, its times in the clock of `now_us`. One older than the last is
    /// ignored.
    pub(crate) fn forecast(&mut self, forecast: &v1::BearerForecast, now_us: u64) {
        if self.feed.as_ref().is_some_and(|feed| forecast.origin_us < feed.origin_us()) {
            return;
        }
        let feed = self.feed.get_or_insert_default();
        feed.set(forecast);
        let status = feed.status().filter(|_| !self.du_reports);
        if !self.algorithm.as_mut().is_some_and(|algorithm| algorithm.forecast(feed, &self.flight))
        {
            return;
        }
        self.fed_us = now_us;
        if let Some(status) = status {
            self.take_status(&status, now_us);
        }
    }

    /// Whether there is an algorithm: without one everything passes.
    #[inline]
    pub(crate) fn has_algorithm(&self) -> bool {
        self.algorithm.is_some()
    }

    /// Whether a packet of this length may go down now.
    #[inline]
    pub(crate) fn may_send(&mut self, len_bytes: u32, now_us: u64) -> bool {
        !self.has_algorithm() || self.algorithm_may_send(len_bytes, now_us)
    }

    fn algorithm_may_send(&mut self, len_bytes: u32, now_us: u64) -> bool {
        if self.pulled_until_us().is_some_and(|until_us| now_us <= until_us) {
            return false;
        }
        let Some(algorithm) = &mut self.algorithm else { return true };
        if now_us.saturating_sub(self.fed_us) >= STATUS_STALE_US {
            return true;
        }
        let may = algorithm.may_send(u64::from(len_bytes), now_us) || self.empty_ttis >= EMPTY_TTIS;
        self.held_back |= !may;
        may
    }

    fn pulled_until_us(&self) -> Option<u64> {
        self.algorithm.as_ref()?.pulled_until_us()
    }

    /// A packet entered the pipeline.
    #[inline]
    pub(crate) fn arrived(&mut self, flow_hash: u64, len_bytes: u32, now_us: u64) {
        if let Some(algorithm) = &mut self.algorithm {
            algorithm.arrived(flow_hash, len_bytes, now_us);
        }
    }

    /// The MAC queries the buffer status; whether packets are then released per transport block.
    pub(crate) fn buffer_status_queried(&mut self, now_us: u64) -> bool {
        let pulls = self.algorithm.as_mut().is_some_and(|a| a.buffer_status_queried(now_us));
        if pulls {
            // Nothing is held back from a MAC that can pull all of it.
            self.held_back = false;
            self.empty_ttis = 0;
        }
        pulls
    }

    /// Whether a packet of this length goes into the transport block that the MAC builds.
    pub(crate) fn may_pull(&mut self, len_bytes: u32, room: &BlockRoom, now_us: u64) -> bool {
        self.algorithm.as_mut().is_some_and(|algorithm| algorithm.may_pull(len_bytes, room, now_us))
    }

    /// A packet was forwarded.
    #[inline]
    pub(crate) fn sent(&mut self, len_bytes: u32, now_us: u64) {
        let len_bytes = u64::from(len_bytes);
        self.empty_ttis = 0;
        self.meter.sent(len_bytes);
        self.flight.sent(len_bytes, now_us);
        if let Some(algorithm) = &mut self.algorithm {
            algorithm.sent(len_bytes, now_us);
        }
    }

    /// Time at which a packet that is held now should be tried again. Once an algorithm has
    /// released all it releases for a TTI only the next status changes its decision.
    pub(crate) fn next_poll_us(&self, now_us: u64) -> u64 {
        if let Some(until_us) = self.pulled_until_us().filter(|until_us| now_us <= *until_us) {
            return until_us.saturating_add(1);
        }
        let stale_us = self.fed_us.saturating_add(STATUS_STALE_US);
        if now_us >= stale_us {
            return now_us;
        }
        let Some(algorithm) = &self.algorithm else { return now_us };
        if now_us >= algorithm.grows_until_us() {
            return stale_us;
        }
        let tti_us = self.last.map_or(1000, |received| received.tti_us());
        let period_us = (POLL_PERIOD_US * tti_us / 1000).clamp(1, POLL_PERIOD_US);
        (now_us / period_us + 1).saturating_mul(period_us)
    }

    /// Bytes that may stand in the RLC buffer for a whole TTI; `None` without a limit.
    pub(crate) fn limit_bytes(&self) -> Option<u32> {
        let bytes = self.algorithm.as_ref()?.limit_bytes();
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Whether a forecast decides now, as opposed to the pacer's own measurements; `None` if the pacer
    /// in force uses no forecasts.
    pub(crate) fn by_forecast(&self, now_us: u64) -> Option<bool> {
        self.algorithm.as_ref()?.by_forecast(now_us)
    }

    pub(crate) fn report(&self, now_us: u64) -> v1::PacerStatus {
        v1::PacerStatus {
            drain_kbps: self.meter.drain_kbps(),
            rlc_occupancy_bytes: self.last.map_or(0, |received| received.status.occupancy_bytes),
            forwarded_bytes: self.flight.total_bytes(),
            limit_bytes: self.limit_bytes(),
            by_forecast: self.by_forecast(now_us),
        }
    }
}
