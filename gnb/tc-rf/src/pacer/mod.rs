//! Stage 6: how much the RLC buffer is given, one algorithm per file.
//!
//! All pacers answer one question: may a packet of this length go down now? They learn from
//! [`RlcStatus`]. A TTI without downlink (an uplink slot of TDD) drains nothing and is no sample of
//! the bandwidth: BDP pacers and DRQL look only at TTIs that carried downlink, and time that passes
//! meanwhile earns no more than one TTI's (or update's) worth of bytes.
//!
//! Two things hold for all of them, whatever the algorithm says:
//! - Without an RLC status for [`STATUS_STALE_US`] everything passes.
//! - A packet that waits above an RLC with nothing in it, on its way to it or unacknowledged goes
//!   down after [`EMPTY_TTIS`] TTIs: no arithmetic stalls a bearer.

mod as_forecast;
mod bdp5g;
mod bdp5g_prototype;
mod bdp_rate;
mod burst;
mod dql;
mod drql;
mod dyn_rlc;
mod e5g_bdp;
mod ebb;
mod feed;
mod flight;
mod forecast;
mod frame_rate;
mod just_in_time;
mod meter;
mod questions;
mod regular;
mod rlc_status;
#[cfg(test)]
mod testing;
mod upf_sdap;

use e2sm_tc::v1;

use crate::BlockRoom;

use bdp5g::Bdp5g;
use bdp5g_prototype::Bdp5gPrototype;
use dql::Dql;
use drql::Drql;
use dyn_rlc::DynRlc;
use e5g_bdp::E5gBdp;
use ebb::Ebb;
use feed::Feed;
use flight::{Flight, InFlight};
use forecast::Forecast;
use just_in_time::JustInTime;
use meter::DrainMeter;
use questions::{Questions, Verdict};
pub use rlc_status::{RlcStatus, SduDelays};
use upf_sdap::UpfSdap;

/// How often a held packet is tried again in a TTI of 1 ms (irazabal2021 §V-A); shorter TTIs are
/// divided alike. Arrivals and RLC status reports are occasions as well.
const POLL_PERIOD_US: u64 = 200;

/// Without an RLC status for this long a pacer lets everything pass: a bearer whose feedback broke
/// falls back to what the gNB does without traffic control instead of stalling.
pub(crate) const STATUS_STALE_US: u64 = 100_000;

/// TTIs in a row that found nothing to send although a packet waited above, before one goes down
/// against the algorithm's word.
const EMPTY_TTIS: u32 = 4;

/// An RLC status as the CU has it.
#[derive(Clone, Copy, Debug)]
struct Heard {
    status: RlcStatus,
    /// When the CU heard it.
    at_us: u64,
    /// What was on F1-U when the DU took it.
    in_flight: InFlight,
}

impl Heard {
    /// Bytes in the RLC buffer or on the way to it.
    fn held_bytes(&self) -> u64 {
        u64::from(self.status.occupancy_bytes) + self.in_flight.bytes
    }

    /// SDUs in the RLC, unacknowledged ones included, or on the way to it.
    fn held_packets(&self) -> u64 {
        u64::from(self.status.occupancy_packets)
            + u64::from(self.status.unacknowledged_packets)
            + self.in_flight.packets
    }

    fn tti_us(&self) -> u64 {
        u64::from(self.status.tti_us.max(1))
    }

    /// To the DU and back, the way down taken to be as long as the way the status came.
    fn round_trip_us(&self) -> u64 {
        2 * self.way_us().min(STATUS_STALE_US)
    }

    /// How long the status took.
    fn way_us(&self) -> u64 {
        self.at_us.saturating_sub(self.status.at_us)
    }
}

/// What a pacer's algorithm is asked.
trait Algorithm {
    /// An RLC status was heard.
    fn status(&mut self, heard: &Heard);
    /// What is on F1-U, after a status; for those that care when each packet arrives.
    fn in_flight(&mut self, _flight: &Flight, _now_us: u64) {}
    /// A packet went down.
    fn sent(&mut self, len_bytes: u64, now_us: u64);
    /// Whether a packet of this length may go down now.
    fn may_send(&mut self, len_bytes: u64, now_us: u64) -> bool;
    /// Until when time alone may change the answer from no to yes.
    fn grows_until_us(&self) -> u64 {
        0
    }
    /// How many bytes it lets stand in the RLC buffer for a whole TTI.
    fn limit_bytes(&self) -> u64;
}

/// The pacer in force with what all of them need.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    model: v1::Pacer,
    kind: Kind,
    last: Option<Heard>,
    /// When the last status or forecast came, or the pacer was installed.
    fed_us: u64,
    flight: Flight,
    /// The newest forecast; kept for a forecast pacer to come.
    feed: Option<Box<Feed>>,
    meter: DrainMeter,
    /// Whether a packet was kept back since the last status.
    kept_back: bool,
    /// TTIs in a row that found nothing to send while a packet was kept back.
    empty_ttis: u32,
    /// Where the DU is asked before each packet; none where it tells by itself.
    questions: Option<Questions>,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Bdp5g(Bdp5g),
    Bdp5gPrototype(Bdp5gPrototype),
    E5gBdp(E5gBdp),
    Drql(Drql),
    Dql(Dql),
    DynRlc(DynRlc),
    Ebb(Ebb),
    UpfSdap(UpfSdap),
    Forecast(Box<Forecast>),
    JustInTime(Box<JustInTime>),
}

impl Kind {
    /// The pipeline has been validated.
    fn new(model: &v1::Pacer, heard: Option<&Heard>) -> Self {
        match *model {
            v1::Pacer::None => Self::None,
            v1::Pacer::Bdp5g => Self::Bdp5g(Bdp5g::new(heard)),
            v1::Pacer::Bdp5gPrototype => Self::Bdp5gPrototype(Bdp5gPrototype::new(heard)),
            v1::Pacer::E5gBdp => Self::E5gBdp(E5gBdp::new(heard)),
            v1::Pacer::Drql { mtu_bytes } => Self::Drql(Drql::new(mtu_bytes, heard)),
            v1::Pacer::Dql { min_bytes, max_bytes } => {
                Self::Dql(Dql::new(min_bytes, max_bytes, heard))
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
                Self::DynRlc(DynRlc::new(parameters, heard))
            }
            v1::Pacer::Ebb { target_us } => Self::Ebb(Ebb::new(target_us, heard)),
            v1::Pacer::UpfSdap => Self::UpfSdap(UpfSdap::new(heard)),
            v1::Pacer::Forecast { stale_us } => {
                Self::Forecast(Box::new(Forecast::new(stale_us, heard)))
            }
            v1::Pacer::JustInTime => Self::JustInTime(Box::new(JustInTime::new(heard))),
        }
    }

    /// None where everything passes.
    fn algorithm(&self) -> Option<&dyn Algorithm> {
        Some(match self {
            Self::None => return None,
            Self::Bdp5g(pacer) => pacer,
            Self::Bdp5gPrototype(pacer) => pacer,
            Self::E5gBdp(pacer) => pacer,
            Self::Drql(pacer) => pacer,
            Self::Dql(pacer) => pacer,
            Self::DynRlc(pacer) => pacer,
            Self::Ebb(pacer) => pacer,
            Self::UpfSdap(pacer) => pacer,
            Self::Forecast(pacer) => pacer.as_ref(),
            Self::JustInTime(pacer) => pacer.as_ref(),
        })
    }

    /// The forecast pacer, or the one that stands in where a MAC does not ask.
    fn forecast_mut(&mut self) -> Option<&mut Forecast> {
        match self {
            Self::Forecast(pacer) => Some(pacer.as_mut()),
            Self::JustInTime(pacer) => Some(pacer.fallback_forecast()),
            _ => None,
        }
    }

    /// The forecast pacer where one decides now.
    fn forecast_at(&self, now_us: u64) -> Option<&Forecast> {
        match self {
            Self::Forecast(pacer) => Some(pacer.as_ref()),
            Self::JustInTime(pacer) => pacer.fallback_forecast_at(now_us),
            _ => None,
        }
    }

    fn algorithm_mut(&mut self) -> Option<&mut dyn Algorithm> {
        Some(match self {
            Self::None => return None,
            Self::Bdp5g(pacer) => pacer,
            Self::Bdp5gPrototype(pacer) => pacer,
            Self::E5gBdp(pacer) => pacer,
            Self::Drql(pacer) => pacer,
            Self::Dql(pacer) => pacer,
            Self::DynRlc(pacer) => pacer,
            Self::Ebb(pacer) => pacer,
            Self::UpfSdap(pacer) => pacer,
            Self::Forecast(pacer) => pacer.as_mut(),
            Self::JustInTime(pacer) => pacer.as_mut(),
        })
    }
}

impl Pacer {
    pub(crate) fn new(model: &v1::Pacer) -> Self {
        Self {
            model: *model,
            kind: Kind::new(model, None),
            last: None,
            fed_us: 0,
            flight: Flight::default(),
            feed: None,
            meter: DrainMeter::default(),
            kept_back: false,
            empty_ttis: 0,
            questions: None,
        }
    }

    /// Asks before each packet from now on.
    pub(crate) fn ask_before_each_packet(&mut self) {
        self.questions = Some(Questions::default());
    }

    /// Whether a question is to be sent to the DU.
    pub(crate) fn take_question(&mut self) -> bool {
        self.questions.as_mut().is_some_and(Questions::take)
    }

    /// Changes the algorithm; the new one starts from what was last told.
    pub(crate) fn replace(&mut self, model: &v1::Pacer, now_us: u64) {
        if self.model != *model {
            self.model = *model;
            self.start(now_us);
            self.fed_us = now_us;
        }
    }

    fn start(&mut self, now_us: u64) {
        self.kind = Kind::new(&self.model, self.last.as_ref());
        if let Some(algorithm) = self.kind.algorithm_mut() {
            algorithm.in_flight(&self.flight, now_us);
        }
        if let (Some(pacer), Some(feed)) = (self.kind.forecast_mut(), &self.feed) {
            pacer.feed(feed, &self.flight);
        }
    }

    /// The RLC gave back what it had not begun to send. That is no drain: the next status must
    /// not take it for bandwidth. At most one SDU is left, partly sent.
    pub(crate) fn rlc_given_back(&mut self, now_us: u64) {
        if let Some(Heard { status, .. }) = &mut self.last {
            status.occupancy_bytes = 0;
            status.occupancy_packets = 0;
        }
        self.meter.rlc_given_back();
        self.start(now_us);
    }

    pub(crate) fn status(&mut self, status: &RlcStatus, now_us: u64) {
        self.fed_us = now_us;
        if let Some(questions) = &mut self.questions {
            questions.answered();
        }
        self.meter.status(status);
        self.flight.heard(status, now_us);
        let heard = Heard { status: *status, at_us: now_us, in_flight: self.flight.in_flight() };
        let nothing_below = heard.held_bytes() == 0 && heard.held_packets() == 0;
        self.empty_ttis = if nothing_below && self.kept_back { self.empty_ttis + 1 } else { 0 };
        self.kept_back = false;
        if let Some(algorithm) = self.kind.algorithm_mut() {
            algorithm.status(&heard);
            algorithm.in_flight(&self.flight, now_us);
        }
        self.last = Some(heard);
    }

    /// A forecast came, checked, its times in the clock of `now_us`. One older than the last is
    /// passed over.
    pub(crate) fn forecast(&mut self, forecast: &v1::BearerForecast, now_us: u64) {
        if self.feed.as_ref().is_some_and(|feed| forecast.origin_us < feed.origin_us()) {
            return;
        }
        let feed = self.feed.get_or_insert_default();
        feed.set(forecast);
        if let Some(pacer) = self.kind.forecast_mut() {
            pacer.feed(feed, &self.flight);
            self.fed_us = now_us;
        }
    }

    /// Whether a packet of this length may go down now.
    pub(crate) fn may_send(&mut self, len_bytes: u32, now_us: u64) -> bool {
        if self.asked_until_us().is_some_and(|until_us| now_us <= until_us) {
            return false;
        }
        let Some(algorithm) = self.kind.algorithm_mut() else { return true };
        match self.questions.as_mut().map(|questions| questions.ask(now_us)) {
            None if now_us.saturating_sub(self.fed_us) >= STATUS_STALE_US => return true,
            Some(Verdict::Pass) => return true,
            Some(Verdict::Wait) => return false,
            None | Some(Verdict::Decide) => {}
        }
        let may = algorithm.may_send(u64::from(len_bytes), now_us) || self.empty_ttis >= EMPTY_TTIS;
        self.kept_back |= !may;
        if !may && let Some(questions) = &mut self.questions {
            questions.refused(now_us);
        }
        may
    }

    /// Until when a MAC that asks is taken to ask again.
    fn asked_until_us(&self) -> Option<u64> {
        match &self.kind {
            Kind::JustInTime(pacer) => pacer.asked_until_us(),
            _ => None,
        }
    }

    /// A packet came to be queued.
    pub(crate) fn arrived(&mut self, flow_hash: u64, len_bytes: u32, now_us: u64) {
        if let Kind::JustInTime(pacer) = &mut self.kind {
            pacer.arrived(flow_hash, len_bytes, now_us);
        }
    }

    /// The MAC asks what there is to send; whether packets then come as it pulls.
    pub(crate) fn asked(&mut self, now_us: u64) -> bool {
        let Kind::JustInTime(pacer) = &mut self.kind else { return false };
        pacer.asked(now_us);
        // Nothing is kept back from a MAC that can have all of it.
        self.kept_back = false;
        self.empty_ttis = 0;
        true
    }

    /// Whether a packet of this length goes into the block that the MAC builds.
    pub(crate) fn may_pull(&mut self, len_bytes: u32, room: &BlockRoom, now_us: u64) -> bool {
        match &mut self.kind {
            Kind::JustInTime(pacer) => pacer.may_pull(len_bytes, room, now_us),
            _ => false,
        }
    }

    /// A packet went down.
    pub(crate) fn sent(&mut self, len_bytes: u32, now_us: u64) {
        let len_bytes = u64::from(len_bytes);
        self.empty_ttis = 0;
        if let Some(questions) = &mut self.questions {
            questions.sent();
        }
        self.meter.sent(len_bytes);
        self.flight.sent(len_bytes, now_us);
        if let Some(algorithm) = self.kind.algorithm_mut() {
            algorithm.sent(len_bytes, now_us);
        }
    }

    /// When a packet that is held now should be tried again. Once a pacer has given all it gives
    /// for a TTI only the next status changes its mind.
    pub(crate) fn next_poll_us(&self, now_us: u64) -> u64 {
        if let Some(until_us) = self.asked_until_us().filter(|until_us| now_us <= *until_us) {
            return until_us.saturating_add(1);
        }
        let asked_us = self.questions.and_then(|questions| questions.since_us());
        let stale_us = asked_us.unwrap_or(self.fed_us).saturating_add(STATUS_STALE_US);
        if now_us >= stale_us {
            return now_us;
        }
        let Some(algorithm) = self.kind.algorithm() else { return now_us };
        if now_us >= algorithm.grows_until_us() {
            return stale_us;
        }
        let tti_us = self.last.map_or(1000, |heard| heard.tti_us());
        let period_us = (POLL_PERIOD_US * tti_us / 1000).clamp(1, POLL_PERIOD_US);
        (now_us / period_us + 1).saturating_mul(period_us)
    }

    /// How many bytes it lets stand in the RLC buffer for a whole TTI; absent without a limit.
    pub(crate) fn limit_bytes(&self) -> Option<u32> {
        let bytes = self.kind.algorithm()?.limit_bytes();
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// Whether it goes by a forecast now, not by what it measures itself; absent where the pacer in
    /// force takes no forecasts.
    pub(crate) fn by_forecast(&self, now_us: u64) -> Option<bool> {
        self.kind.forecast_at(now_us).map(|pacer| pacer.is_fresh(now_us))
    }

    pub(crate) fn report(&self, now_us: u64) -> v1::PacerStatus {
        v1::PacerStatus {
            drain_kbps: self.meter.drain_kbps(),
            rlc_occupancy_bytes: self.last.map_or(0, |heard| heard.status.occupancy_bytes),
            forwarded_bytes: self.flight.total_bytes(),
            limit_bytes: self.limit_bytes(),
            by_forecast: self.by_forecast(now_us),
        }
    }
}
