//! Stage 6: how much the RLC buffer is given, one algorithm per file.
//!
//! All pacers answer one question: may a packet of this length go down now? They learn from
//! [`RlcStatus`]. A TTI without downlink (an uplink slot of TDD) drains nothing and is no sample of
//! the bandwidth: BDP pacers and DRQL look only at TTIs that carried downlink, and time that passes
//! meanwhile earns no more than one TTI's (or update's) worth of bytes.

mod bdp5g;
mod drql;
mod e5g_bdp;
mod meter;
mod none;

use e2sm_tc::v1;

use bdp5g::Bdp5g;
use drql::Drql;
use e5g_bdp::E5gBdp;
use meter::DrainMeter;

/// How often a held packet is tried again in a TTI of 1 ms (irazabal2021 §V-A); shorter TTIs are
/// divided alike. Arrivals and RLC status reports are occasions as well.
const POLL_PERIOD_US: u64 = 200;

/// Without an RLC status for this long a pacer lets everything pass: a bearer whose feedback broke
/// falls back to what the gNB does without traffic control instead of stalling.
pub(crate) const STATUS_STALE_US: u64 = 100_000;

/// State of the bearer's RLC buffer as the DU took it, right after the MAC pulled for a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RlcStatus {
    /// When the DU took it.
    pub at_us: u64,
    /// Bytes left in the RLC buffer.
    pub occupancy_bytes: u32,
    /// SDUs left in the RLC buffer.
    pub occupancy_packets: u32,
    /// What the MAC could pull per TTI at the present MCS; 0 when unknown.
    pub capacity_bytes_per_tti: u32,
    /// Length of a TTI (slot).
    pub tti_us: u32,
    /// Whether this TTI carried downlink for the cell: not in an uplink slot of TDD, nor in a
    /// millisecond without a transmission opportunity of a recorded channel.
    pub dl_opportunity: bool,
}

/// The pacer in force with what all of them need.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    model: v1::Pacer,
    kind: Kind,
    last_status: Option<RlcStatus>,
    /// When the last status came, or the pacer was installed.
    fed_us: u64,
    meter: DrainMeter,
    forwarded_bytes: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Bdp5g(Bdp5g),
    E5gBdp(E5gBdp),
    Drql(Drql),
}

impl Kind {
    /// The pipeline has been validated: what is not here is refused before.
    fn new(model: &v1::Pacer, status: Option<&RlcStatus>) -> Self {
        match model {
            v1::Pacer::Bdp5g => Self::Bdp5g(Bdp5g::new(status)),
            v1::Pacer::E5gBdp => Self::E5gBdp(E5gBdp::new(status)),
            v1::Pacer::Drql { mtu_bytes } => Self::Drql(Drql::new(*mtu_bytes, status)),
            _ => Self::None,
        }
    }
}

impl Pacer {
    pub(crate) fn new(model: &v1::Pacer) -> Self {
        Self {
            model: *model,
            kind: Kind::new(model, None),
            last_status: None,
            fed_us: 0,
            meter: DrainMeter::default(),
            forwarded_bytes: 0,
        }
    }

    /// Changes the algorithm; the new one starts from the RLC occupancy last told.
    pub(crate) fn replace(&mut self, model: &v1::Pacer, now_us: u64) {
        if self.model != *model {
            self.model = *model;
            self.kind = Kind::new(model, self.last_status.as_ref());
            self.fed_us = now_us;
        }
    }

    /// The RLC gave back what it had not begun to send. That is no drain: the next status must
    /// not take it for bandwidth. At most one SDU is left, partly sent.
    pub(crate) fn rlc_given_back(&mut self) {
        if let Some(status) = &mut self.last_status {
            status.occupancy_bytes = 0;
            status.occupancy_packets = 0;
        }
        self.meter.rlc_given_back();
        self.kind = Kind::new(&self.model, self.last_status.as_ref());
    }

    pub(crate) fn status(&mut self, status: &RlcStatus, now_us: u64) {
        self.fed_us = now_us;
        self.meter.status(status);
        if status.dl_opportunity {
            match &mut self.kind {
                Kind::None => none::status(),
                Kind::Bdp5g(pacer) => pacer.status(status),
                Kind::E5gBdp(pacer) => pacer.status(status),
                Kind::Drql(pacer) => pacer.status(status),
            }
        }
        self.last_status = Some(*status);
    }

    /// Whether a packet of this length may go down now.
    pub(crate) fn may_send(&mut self, len_bytes: u32, now_us: u64) -> bool {
        if self.is_stale(now_us) {
            return true;
        }
        let len_bytes = u64::from(len_bytes);
        match &mut self.kind {
            Kind::None => none::may_send(),
            Kind::Bdp5g(pacer) => pacer.may_send(len_bytes, now_us),
            Kind::E5gBdp(pacer) => !pacer.limit_reached(len_bytes, now_us),
            Kind::Drql(pacer) => pacer.may_send(len_bytes),
        }
    }

    fn is_stale(&self, now_us: u64) -> bool {
        now_us.saturating_sub(self.fed_us) >= STATUS_STALE_US
    }

    /// A packet went down.
    pub(crate) fn sent(&mut self, len_bytes: u32) {
        let len_bytes = u64::from(len_bytes);
        self.forwarded_bytes += len_bytes;
        self.meter.sent(len_bytes);
        match &mut self.kind {
            Kind::None => {}
            Kind::Bdp5g(pacer) => pacer.sent(len_bytes),
            Kind::E5gBdp(pacer) => pacer.sent(len_bytes),
            Kind::Drql(pacer) => pacer.sent(len_bytes),
        }
    }

    /// When a packet that is held now should be tried again. Once a pacer has given all it gives
    /// for a TTI only the next status changes its mind.
    pub(crate) fn next_poll_us(&self, now_us: u64) -> u64 {
        let stale_us = self.fed_us.saturating_add(STATUS_STALE_US);
        if now_us >= stale_us {
            return now_us;
        }
        let grows_until_us = match &self.kind {
            Kind::None => return now_us,
            Kind::Bdp5g(pacer) => pacer.grows_until_us(),
            Kind::E5gBdp(pacer) => pacer.grows_until_us(),
            Kind::Drql(_) => 0,
        };
        if now_us >= grows_until_us {
            return stale_us;
        }
        let tti_us = self.last_status.map_or(1000, |status| u64::from(status.tti_us));
        let period_us = (POLL_PERIOD_US * tti_us / 1000).clamp(1, POLL_PERIOD_US);
        (now_us / period_us + 1) * period_us
    }

    /// How many bytes it lets stand in the RLC buffer for a whole TTI; absent without a limit.
    pub(crate) fn limit_bytes(&self) -> Option<u32> {
        let bytes = match &self.kind {
            Kind::None => return None,
            Kind::Bdp5g(pacer) => pacer.limit_bytes(),
            Kind::E5gBdp(pacer) => pacer.limit_bytes(),
            Kind::Drql(pacer) => pacer.limit_bytes(),
        };
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    pub(crate) fn report(&self) -> v1::PacerStatus {
        v1::PacerStatus {
            drain_kbps: self.meter.drain_kbps(),
            rlc_occupancy_bytes: self.last_status.map_or(0, |status| status.occupancy_bytes),
            forwarded_bytes: self.forwarded_bytes,
        }
    }
}
