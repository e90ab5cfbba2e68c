//! F1-U of a bearer: packets down and up, RLC state or delivery status to the CU.
//!
//! Where CU and DU are one, none of this is in the way. Apart, the CU numbers what it sends; the DU
//! finds from the numbers what was lost, and PDCP at the UE waits for it.

use ran::f1u::delivery_status::{MAX_LOST_RANGES, sn24};
use ran::{
    BearerIndex, Cell, ConfigError, DeliveryStatus, DeliveryTracker, F1Config, F1Path, NrUReceiver,
};
use tc_rf::{RlcStatus, SduDelays};

use super::packet::GnbPacket;
use lab_scenario::{RlcStatusReporting, Split};

/// What a DU sends to its CU about a bearer.
#[derive(Clone, Debug)]
pub(super) enum FromDu {
    /// The state of the RLC as it was.
    Rlc(RlcStatus),
    /// A delivery status frame.
    Delivery {
        made_us: u64,
        frame: Vec<u8>,
        /// Whether there was downlink since the frame before: the CU knows the cell's TDD pattern
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
    /// None where the CU is told the state of the RLC itself.
    period_us: Option<u64>,
    told: RlcStatusReporting,
    /// The state of the RLC after the last slot, with what the slots had since the last answer.
    latest: Option<RlcStatus>,
    tracker: DeliveryTracker,
    next_number: u64,
    /// Bytes sent so far, for packets to carry.
    sent_bytes: u64,
    receiver: NrUReceiver,
    next_frame_us: u64,
    dl_opportunity: bool,
    heard_us: u64,
    /// Highest delivered, and when the frame that told was made.
    delivered: (Option<u32>, Option<u64>),
}

impl F1Bearer {
    /// F1-U of bearer number `number`; `None` where CU and DU are one.
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
        let path = |direction| F1Path::new(config, seed, 3 * number + direction);
        Ok(Some(Self {
            down: path(0)?,
            up: path(1)?,
            uplink: path(2)?,
            down_us: u64::from(split.f1_delay_us),
            period_us: f1.delivery_status_us.map(u64::from),
            told: f1.rlc_status,
            latest: None,
            tracker: DeliveryTracker::default(),
            next_number: 0,
            sent_bytes: 0,
            receiver: NrUReceiver::new(if f1.keep_order { 0 } else { f1.jitter_us }),
            next_frame_us: 0,
            dl_opportunity: false,
            heard_us: 0,
            delivered: (None, None),
        }))
    }

    /// The CU sends a packet; when it reaches the DU, or `None` when it is lost.
    pub(super) fn send(&mut self, packet: &mut GnbPacket, now_us: u64) -> Option<u64> {
        self.sent_bytes += u64::from(packet.len_bytes());
        packet.f1_number = self.next_number;
        packet.f1_sent_bytes = self.sent_bytes;
        if self.period_us.is_some() {
            self.tracker.sent(packet.len_bytes(), now_us);
        }
        self.next_number += 1;
        self.down.transit(now_us)
    }

    /// A packet of the UE that is at the DU at `at_us`; when it is at the CU.
    pub(super) fn send_up(&mut self, at_us: u64) -> Option<u64> {
        self.uplink.transit(at_us)
    }

    /// COUNT of a packet that arrives at the DU.
    pub(super) fn arrive(&mut self, number: u64, next_count: u64, now_us: u64) -> u64 {
        self.receiver.receive(number, next_count, now_us)
    }

    /// The RLC took a packet.
    pub(super) fn taken(&mut self, number: u64, count: u64) {
        if self.period_us.is_some() {
            self.receiver.enqueued(number, count);
        }
    }

    /// The DU discarded packets that it had not begun to send.
    pub(super) fn discarded(&mut self, next_count: u64) {
        self.receiver.recalled(next_count);
    }

    /// A discarded packet is in the CU's queue again.
    pub(super) fn recalled(&mut self, number: u64) {
        if self.period_us.is_some() {
            self.tracker.recalled(number);
        }
    }

    /// The frame that the DU sends after a slot, if it sends one, and when it reaches the CU.
    pub(super) fn report(
        &mut self,
        status: &RlcStatus,
        cell: &Cell<GnbPacket>,
        place: BearerIndex,
    ) -> Option<(u64, FromDu)> {
        let now_us = status.at_us;
        let Some(period_us) = self.period_us else {
            return match self.told {
                RlcStatusReporting::EachSlot => {
                    Some((self.up.transit(now_us)?, FromDu::Rlc(*status)))
                }
                RlcStatusReporting::OnRequest => {
                    self.keep(status);
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
        };
        let frame = FromDu::Delivery {
            made_us: now_us,
            frame: frame.encode(),
            dl_opportunity: std::mem::take(&mut self.dl_opportunity),
            tti_us: status.tti_us,
        };
        Some((self.up.transit(now_us)?, frame))
    }

    /// Keeps the state of the RLC until the CU asks.
    fn keep(&mut self, status: &RlcStatus) {
        let mut kept = *status;
        if let Some(before) = &self.latest {
            kept.dl_opportunity |= before.dl_opportunity;
            kept.removed = before.removed;
            kept.removed.merge(&status.removed);
        }
        self.latest = Some(kept);
    }

    /// The CU queries the RLC status at `now_us`: when the query reaches the DU; `None` if it is lost.
    pub(super) fn query(&mut self, now_us: u64) -> Option<u64> {
        self.down.transit(now_us)
    }

    /// The DU answers a query at `now_us`: when the answer reaches the CU; `None` if it is lost or there
    /// was no slot yet.
    pub(super) fn answer(&mut self, now_us: u64) -> Option<(u64, FromDu)> {
        let status = self.latest.as_mut()?;
        let frame = FromDu::Rlc(*status);
        status.dl_opportunity = false;
        status.removed = SduDelays::default();
        Some((self.up.transit(now_us)?, frame))
    }

    /// The RLC status in a frame that reached the CU; `None` if a later one arrived before.
    pub(super) fn rlc_status(&mut self, frame: &FromDu, is_am: bool) -> Option<RlcStatus> {
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
        if status.at_us < self.heard_us {
            return None;
        }
        self.heard_us = status.at_us;
        Some(status)
    }

    /// Frames lost so far: packets towards the UE, and packets of the UE.
    pub(super) fn lost_packets(&self) -> (u64, u64) {
        (self.down.lost_frames(), self.uplink.lost_frames())
    }
}

/// Delays in the terms of the pacers.
pub(super) fn narrowed(removed: &ran::SduDelays) -> SduDelays {
    let narrow = |delay_us: u64| u32::try_from(delay_us).unwrap_or(u32::MAX);
    SduDelays {
        count: removed.count,
        sum_us: removed.sum_us,
        min_us: narrow(removed.min_us),
        max_us: narrow(removed.max_us),
    }
}
