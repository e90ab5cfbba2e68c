//! F1-U of a bearer in a split gNB: packets down and up, RLC status or delivery status to the CU.
//!
//! The CU numbers packets; the DU detects losses by the numbers, and PDCP of the UE waits for them.

use ran::f1u::delivery_status::{MAX_LOST_RANGES, sn24};
use ran::pdcp::HEADER_BYTES as PDCP_HEADER_BYTES;
use ran::{
    BearerIndex, Cell, ConfigError, DeliveryStatus, DeliveryTracker, F1Config, F1Path, NrUReceiver,
    Unconfirmed,
};
use tc_rf::{RlcStatus, SduDelays};

use super::packet::GnbPacket;
use lab_scenario::{RlcStatusReporting, Split};

/// A frame about a bearer from DU to CU.
#[derive(Clone, Debug)]
pub(super) enum FromDu {
    /// RLC status.
    Rlc(RlcStatus),
    /// Downlink data delivery status (38.425 §5.4.2).
    Delivery {
        made_us: u64,
        frame: Vec<u8>,
        /// Whether there was downlink since the previous frame: the CU knows the cell's TDD pattern
        /// from F1 setup.
        dl_opportunity: bool,
        tti_us: u32,
    },
}

/// Both ends of a bearer on F1-U.
#[derive(Clone, Debug)]
pub(crate) struct F1Bearer {
    down: F1Path,
    up: F1Path,
    uplink: F1Path,
    down_us: u64,
    /// Period of delivery status; `None` if the CU gets RLC status instead.
    period_us: Option<u64>,
    rlc_status_mode: RlcStatusReporting,
    /// RLC status after the last slot, accumulated since the last answer to a query.
    latest: Option<RlcStatus>,
    tracker: DeliveryTracker,
    next_number: u64,
    /// Bytes sent so far.
    sent_bytes: u64,
    receiver: NrUReceiver,
    next_frame_us: u64,
    dl_opportunity: bool,
    /// Time of the latest status received by the CU.
    latest_status_us: u64,
    /// Time at which the bearer entered its DU.
    entered_us: u64,
    /// How much later than its successor a frame may be.
    reordering_us: u32,
    /// Highest delivered number, and the time of the frame that reported it.
    delivered: (Option<u32>, Option<u64>),
    /// Queries and duplicates lost.
    lost_others: u64,
}

impl F1Bearer {
    /// F1-U of bearer number `number`; `None` if the gNB is not split.
    pub(super) fn new(split: &Split, seed: u64, number: u64) -> Result<Option<Self>, ConfigError> {
        let f1 = split.f1;
        let config = F1Config {
            delay_us: split.f1_delay_us,
            jitter_us: f1.jitter_us,
            loss: f1.loss,
            keep_order: f1.keep_order,
        };
        if config == F1Config::default()
            && f1.delivery_status_us.is_none()
            && f1.rlc_status != RlcStatusReporting::Never
        {
            return Ok(None);
        }
        let reordering_us = if f1.keep_order { 0 } else { f1.jitter_us };
        let path = |direction| F1Path::new(config, seed, 3 * number + direction);
        Ok(Some(Self {
            down: path(0)?,
            up: path(1)?,
            uplink: path(2)?,
            down_us: u64::from(split.f1_delay_us),
            period_us: f1.delivery_status_us.map(u64::from),
            rlc_status_mode: f1.rlc_status,
            latest: None,
            tracker: DeliveryTracker::default(),
            next_number: 0,
            sent_bytes: 0,
            receiver: NrUReceiver::new(reordering_us),
            entered_us: 0,
            reordering_us,
            next_frame_us: 0,
            dl_opportunity: false,
            latest_status_us: 0,
            delivered: (None, None),
            lost_others: 0,
        }))
    }

    /// The CU sends a packet; returns its arrival time at the DU, `None` if lost.
    pub(super) fn send(&mut self, packet: &mut GnbPacket, now_us: u64) -> Option<u64> {
        self.sent_bytes += u64::from(packet.len_bytes());
        packet.f1_number = self.next_number;
        packet.sent_bytes = self.sent_bytes;
        if self.period_us.is_some() {
            self.tracker.sent(packet.len_bytes(), now_us);
        }
        self.next_number += 1;
        let at_us = self.down.transit(now_us)?;
        packet.f1_delay_us = u32::try_from(at_us - now_us).unwrap_or(u32::MAX);
        Some(at_us)
    }

    /// The bearer moves to another DU at `now_us`: a tunnel of its own begins there. The CU sends `packets`
    /// again first.
    pub(super) fn enter_du(&mut self, packets: u64, now_us: u64) {
        self.receiver = NrUReceiver::after_recovery(self.reordering_us, packets);
        self.tracker = DeliveryTracker::default();
        self.next_number = 0;
        self.latest = None;
        self.entered_us = now_us;
        self.delivered = (None, None);
        self.dl_opportunity = false;
    }

    /// The CU sends a packet again that the former DU has not delivered; returns its number and its arrival
    /// time at the DU, `None` if lost.
    pub(super) fn send_again(
        &mut self,
        again: &mut Unconfirmed<GnbPacket>,
        now_us: u64,
    ) -> (u64, Option<u64>) {
        let number = self.next_number;
        self.next_number += 1;
        if self.period_us.is_some() {
            self.tracker.sent(again.bytes - PDCP_HEADER_BYTES, now_us);
        }
        let at_us = self.down.transit(now_us);
        match &mut again.sdu {
            Some(packet) => {
                packet.f1_number = number;
                let delay_us = at_us.map_or(0, |at_us| at_us - now_us);
                packet.f1_delay_us = u32::try_from(delay_us).unwrap_or(u32::MAX);
            }
            None => self.lost_others += u64::from(at_us.is_none()),
        }
        (number, at_us)
    }

    /// An uplink packet reaches the DU at `at_us`; returns its arrival time at the CU, `None` if lost.
    pub(super) fn send_up(&mut self, at_us: u64) -> Option<u64> {
        self.uplink.transit(at_us)
    }

    /// A packet arrives at the DU; returns its COUNT.
    pub(super) fn arrive(&mut self, number: u64, next_count: u64, now_us: u64) -> u64 {
        self.receiver.receive(number, next_count, now_us)
    }

    /// The RLC enqueued a packet.
    pub(super) fn enqueued(&mut self, number: u64, count: u64) {
        if self.period_us.is_some() {
            self.receiver.enqueued(number, count);
        }
    }

    /// The DU discarded packets that it had not started to send.
    pub(super) fn discarded(&mut self, next_count: u64) {
        self.receiver.recalled(next_count);
    }

    /// A discarded packet is back in the CU's queue.
    pub(super) fn recalled(&mut self, number: u64) {
        if self.period_us.is_some() {
            self.tracker.recalled(number);
        }
    }

    /// The frame that the DU sends after a slot, if any, and its arrival time at the CU.
    pub(super) fn report(
        &mut self,
        status: &RlcStatus,
        cell: &Cell<GnbPacket>,
        place: BearerIndex,
    ) -> Option<(u64, FromDu)> {
        let now_us = status.at_us;
        let Some(period_us) = self.period_us else {
            return match self.rlc_status_mode {
                RlcStatusReporting::EachSlot => {
                    Some((self.up.transit(now_us)?, FromDu::Rlc(*status)))
                }
                RlcStatusReporting::OnRequest => {
                    self.accumulate(status);
                    None
                }
                RlcStatusReporting::Never => None,
            };
        };
        self.dl_opportunity |= status.dl_opportunity;
        let is_due = now_us >= self.next_frame_us;
        if !is_due && !self.receiver.has_unreported_loss(now_us) {
            return None;
        }
        if is_due {
            self.next_frame_us = (now_us / period_us + 1) * period_us;
        }
        let (sent, acknowledged) = cell.progress(place)?;
        self.receiver.progress(sent, acknowledged);
        let (transmitted, delivered) = self.receiver.highest();
        let lost = self.receiver.take_lost(now_us, MAX_LOST_RANGES);
        let rate =
            u64::from(status.capacity_bytes_per_tti) * 1_000_000 / u64::from(status.tti_us.max(1));
        let frame = DeliveryStatus {
            highest_transmitted: transmitted.map(sn24),
            highest_delivered: delivered.map(sn24),
            is_final: false,
            desired_buffer_bytes: cell.limit_bytes(place)?,
            desired_rate_bytes_per_s: Some(u32::try_from(rate).unwrap_or(u32::MAX)),
            lost: lost.into_iter().map(|(first, last)| (sn24(first), sn24(last))).collect(),
            ..DeliveryStatus::default()
        };
        let frame = FromDu::Delivery {
            made_us: now_us,
            frame: frame.encode(),
            dl_opportunity: std::mem::take(&mut self.dl_opportunity),
            tti_us: status.tti_us,
        };
        Some((self.up.transit(now_us)?, frame))
    }

    /// Stores the RLC status until the next query.
    fn accumulate(&mut self, status: &RlcStatus) {
        let mut latest = *status;
        if let Some(before) = &self.latest {
            latest.dl_opportunity |= before.dl_opportunity;
            latest.removed = before.removed;
            latest.removed.merge(&status.removed);
        }
        self.latest = Some(latest);
    }

    /// The CU queries the RLC status; returns the arrival time at the DU, `None` if lost.
    pub(super) fn query(&mut self, now_us: u64) -> Option<u64> {
        let at_us = self.down.transit(now_us);
        self.lost_others += u64::from(at_us.is_none());
        at_us
    }

    /// The DU answers a query; returns the arrival time at the CU and the frame, `None` if it is lost or
    /// before the first slot.
    pub(super) fn answer(&mut self, now_us: u64) -> Option<(u64, FromDu)> {
        let status = self.latest.as_mut()?;
        let frame = FromDu::Rlc(*status);
        status.dl_opportunity = false;
        status.removed = SduDelays::default();
        Some((self.up.transit(now_us)?, frame))
    }

    /// The RLC status in a frame that reached the CU; `None` if a later one has arrived already.
    pub(super) fn rlc_status(&mut self, frame: &FromDu, is_am: bool) -> Option<RlcStatus> {
        let made_us = match frame {
            FromDu::Rlc(status) => status.at_us,
            FromDu::Delivery { made_us, .. } => *made_us,
        };
        if made_us < self.entered_us {
            return None;
        }
        let status = match frame {
            FromDu::Rlc(status) => *status,
            FromDu::Delivery { made_us, frame, dl_opportunity, tti_us } => {
                let frame = DeliveryStatus::decode(frame).ok()?;
                let known = self.tracker.on_delivery_status(&frame, is_am, *made_us, self.down_us);
                if is_am && frame.highest_delivered != self.delivered.0 {
                    self.delivered = (frame.highest_delivered, Some(*made_us));
                }
                let rate = u64::from(frame.desired_rate_bytes_per_s.unwrap_or(0));
                let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
                RlcStatus {
                    at_us: *made_us,
                    occupancy_bytes: narrow(known.in_rlc_bytes),
                    occupancy_packets: known.in_rlc_packets,
                    capacity_bytes_per_tti: narrow(rate * u64::from(*tti_us) / 1_000_000),
                    tti_us: *tti_us,
                    dl_opportunity: *dl_opportunity,
                    unacknowledged_packets: known.unacknowledged_packets,
                    unacknowledged_bytes: narrow(known.unacknowledged_bytes),
                    removed: narrowed(&known.removed),
                    status_pdu_at_us: self.delivered.1,
                    received_bytes: Some(known.received_bytes),
                }
            }
        };
        if status.at_us < self.latest_status_us {
            return None;
        }
        self.latest_status_us = status.at_us;
        Some(status)
    }

    /// Downlink and uplink packets lost so far.
    pub(super) fn lost_packets(&self) -> (u64, u64) {
        (self.down.lost_frames() - self.lost_others, self.uplink.lost_frames())
    }
}

/// Converts delays to the pacers' type.
pub(super) fn narrowed(removed: &ran::SduDelays) -> SduDelays {
    let narrow = |delay_us: u64| u32::try_from(delay_us).unwrap_or(u32::MAX);
    SduDelays {
        count: removed.count,
        sum_us: removed.sum_us,
        min_us: narrow(removed.min_us),
        max_us: narrow(removed.max_us),
    }
}
