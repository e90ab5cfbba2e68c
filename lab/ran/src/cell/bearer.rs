//! A bearer: transmitter in the DU, receiver and PDCP in the UE.

use either::Either;

use super::am::{AmEntity, Reported};
use super::{BearerIndex, Delivery};
use crate::Sdu;
use crate::config::BearerConfig;
use crate::mac::prioritisation::{Bucket, whole_packets};
use crate::pdcp::{self, Reordering};
use crate::rlc::am::StatusPdu;
use crate::rlc::delays::SojournWindow;
use crate::rlc::report::{RlcReport, count};
use crate::rlc::um::pdu::mac_subheader_bytes;
use crate::rlc::um::{Payload, UmReceiver, UmTransmitter};
use crate::rlc::{RlcMode, RlcPdu, SduDelays, Unconfirmed};
use crate::uplink::Uplink;

/// RLC entities of both ends.
#[derive(Debug, Clone)]
pub(super) enum Entity<P> {
    Um { tx: UmTransmitter<P>, rx: UmReceiver<P> },
    Am(Box<AmEntity<P>>),
}

#[derive(Debug, Clone)]
pub(super) struct Bearer<P> {
    /// Index of its UE.
    pub(super) ue: usize,
    pub(super) rnti: u16,
    pub(super) config: BearerConfig,
    pub(super) entity: Entity<P>,
    pub(super) pdcp: Reordering<P>,
    /// Cumulative fields only.
    counters: RlcReport,
    sojourn: SojournWindow,
    /// Whether it is in the cell's list of running timers.
    pub(super) in_timers: bool,
    /// Transport block bytes for the SDUs above the RLC, when last queried.
    pub(super) upper_bytes: u64,
    /// Its bucket in the downlink, and what it has of the block being built before channels of lower
    /// priority.
    bucket: Bucket,
    pub(super) first_bytes: u32,
}

/// Destination of the PDUs of a transport block.
pub(super) enum Block<'a, P> {
    /// The UE, which receives them at this time; delivered SDUs go into the list.
    Decoded { at_us: u64, out: &'a mut Vec<Delivery<P>> },
    /// The HARQ process, for a retransmission.
    Failed { kept: &'a mut Vec<(BearerIndex, RlcPdu<P>)> },
}

/// Content of a transport block from one bearer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pulled {
    /// Bytes of the block.
    pub(super) used: u32,
    pub(super) pdus: u64,
    pub(super) pdu_bytes: u64,
}

impl<P: Sdu> Bearer<P> {
    pub(super) fn new(ue: usize, rnti: u16, config: BearerConfig) -> Self {
        let (packets, bytes) = (config.limit_packets, config.limit_bytes);
        let entity = match config.mode {
            RlcMode::Um(um) => Entity::Um {
                tx: UmTransmitter::new(um.sn_length, packets, bytes),
                rx: UmReceiver::new(um),
            },
            RlcMode::Am(am) => Entity::Am(Box::new(AmEntity::new(&am, packets, bytes))),
        };
        Self {
            ue,
            rnti,
            entity,
            pdcp: Reordering::new(config.t_reordering_us),
            counters: RlcReport::default(),
            sojourn: SojournWindow::default(),
            in_timers: false,
            upper_bytes: 0,
            bucket: Bucket::default(),
            first_bytes: 0,
            config,
        }
    }

    pub(super) fn is_am(&self) -> bool {
        matches!(self.entity, Entity::Am(_))
    }

    /// Transport block bytes for everything in the RLC and above that may be sent.
    pub(super) fn demand_bytes(&self) -> u64 {
        self.rlc_demand_bytes() + self.upper_bytes
    }

    /// Transport block bytes for everything in the RLC that may be sent.
    pub(super) fn rlc_demand_bytes(&self) -> u64 {
        match &self.entity {
            Entity::Um { tx, .. } => tx.demand_bytes(),
            Entity::Am(am) => am.tx.demand_bytes(),
        }
    }

    /// Transport block bytes of each retransmission and SDU, in the order of transmission.
    pub(super) fn block_bytes_of_sdus(&self) -> impl Iterator<Item = u32> + '_ {
        let (um, am) = match &self.entity {
            Entity::Um { tx, .. } => (Some(tx.block_bytes_of_sdus()), None),
            Entity::Am(am) => (None, Some(am.tx.block_bytes_of_sdus())),
        };
        um.into_iter().flatten().chain(am.into_iter().flatten())
    }

    /// Sets what it has of a block with `left_bytes` before channels of lower priority.
    pub(super) fn set_first_bytes(&mut self, left_bytes: u32, now_us: u64) {
        let first_bytes = self.bucket.first_bytes(&self.config.channel, now_us);
        let in_rlc = whole_packets(first_bytes, self.block_bytes_of_sdus());
        let above = first_bytes.saturating_sub(in_rlc).min(self.upper_bytes);
        self.first_bytes = (in_rlc + above).min(u64::from(left_bytes)) as u32;
    }

    /// Takes what a block carried of its share.
    pub(super) fn take_first_bytes(&mut self, used_bytes: u32) {
        self.bucket.take(used_bytes.min(self.first_bytes));
    }

    /// Bytes and SDUs waiting for the MAC.
    pub(super) fn occupancy(&self) -> (u32, u32) {
        match &self.entity {
            Entity::Um { tx, .. } => (tx.occupancy_bytes(), tx.occupancy_packets()),
            Entity::Am(am) => (am.tx.occupancy_bytes(), am.tx.occupancy_packets()),
        }
    }

    /// SDUs that the RLC can take from the layer above and send.
    pub(super) fn room_packets(&self) -> u32 {
        match &self.entity {
            Entity::Um { tx, .. } => tx.room_packets(),
            Entity::Am(am) => am.tx.room_packets(),
        }
    }

    /// Bytes and SDUs that only wait for a status report.
    pub(super) fn unacknowledged(&self) -> (u32, u32) {
        match &self.entity {
            Entity::Um { .. } => (0, 0),
            Entity::Am(am) => (am.tx.unacknowledged_bytes(), am.tx.unacknowledged_packets()),
        }
    }

    pub(super) fn head_enqueued_us(&self) -> Option<u64> {
        match &self.entity {
            Entity::Um { tx, .. } => tx.head_enqueued_us(),
            Entity::Am(am) => am.tx.head_enqueued_us(),
        }
    }

    pub(super) fn status_pdu_at_us(&self) -> Option<u64> {
        match &self.entity {
            Entity::Um { .. } => None,
            Entity::Am(am) => am.status_pdu_at_us(),
        }
    }

    pub(super) fn take_removed(&mut self) -> SduDelays {
        match &mut self.entity {
            Entity::Um { .. } => SduDelays::default(),
            Entity::Am(am) => am.take_removed(),
        }
    }

    pub(super) fn radio_link_failures(&self) -> u64 {
        match &self.entity {
            Entity::Um { .. } => 0,
            Entity::Am(am) => am.radio_link_failures(),
        }
    }

    /// COUNT of the next SDU.
    pub(super) fn next_count(&self) -> u64 {
        match &self.entity {
            Entity::Um { tx, .. } => tx.next_count(),
            Entity::Am(am) => am.tx.next_count(),
        }
    }

    /// Highest COUNT sent in full, and in AM the COUNT below which all SDUs are acknowledged.
    pub(super) fn progress(&self) -> (Option<u64>, Option<u64>) {
        match &self.entity {
            Entity::Um { tx, .. } => (tx.highest_sent_count(), None),
            Entity::Am(am) => {
                let (sent, acknowledged) = am.tx.progress();
                (sent, Some(acknowledged))
            }
        }
    }

    pub(super) fn enqueue(
        &mut self,
        pdcp_count: Option<u64>,
        sdu: P,
        now_us: u64,
    ) -> Result<(), P> {
        let bytes = sdu.len_bytes().saturating_add(pdcp::HEADER_BYTES);
        count(&mut self.counters.rxsdu_pkts, 1u32);
        self.counters.rxsdu_bytes += u64::from(bytes);
        let pdcp_count = pdcp_count.unwrap_or_else(|| self.next_count());
        let enqueued = match &mut self.entity {
            Entity::Um { tx, .. } => tx.enqueue_as(pdcp_count, sdu, bytes, now_us),
            Entity::Am(am) => am.tx.enqueue_as(pdcp_count, sdu, bytes, now_us),
        };
        enqueued.inspect_err(|_| {
            count(&mut self.counters.rxsdu_dd_pkts, 1u32);
            count(&mut self.counters.rxsdu_dd_bytes, bytes);
        })
    }

    /// Enqueues what another entity has not delivered.
    pub(super) fn enqueue_again(
        &mut self,
        again: Unconfirmed<P>,
        now_us: u64,
    ) -> Result<(), Unconfirmed<P>> {
        let Unconfirmed { count: pdcp_count, bytes, sdu } = again;
        match (&mut self.entity, sdu) {
            (Entity::Um { .. }, Some(sdu)) => self
                .enqueue(Some(pdcp_count), sdu, now_us)
                .map_err(|sdu| Unconfirmed { count: pdcp_count, bytes, sdu: Some(sdu) }),
            // RLC-UM has no duplicates.
            (Entity::Um { .. }, None) => Ok(()),
            (Entity::Am(am), sdu) => {
                count(&mut self.counters.rxsdu_pkts, 1u32);
                self.counters.rxsdu_bytes += u64::from(bytes);
                let again = Unconfirmed { count: pdcp_count, bytes, sdu };
                am.tx.enqueue_again(again, now_us).inspect_err(|_| {
                    count(&mut self.counters.rxsdu_dd_pkts, 1u32);
                    count(&mut self.counters.rxsdu_dd_bytes, bytes);
                })
            }
        }
    }

    /// Transport block bytes of a packet from the UE.
    pub(super) fn uplink_block_bytes(&self, len_bytes: u32) -> u32 {
        let sdu_bytes = len_bytes.saturating_add(pdcp::HEADER_BYTES);
        let pdu_bytes = sdu_bytes.saturating_add(self.rlc_header_bytes());
        pdu_bytes.saturating_add(mac_subheader_bytes(pdu_bytes))
    }

    /// Counts a packet from the UE.
    pub(super) fn count_uplink(&mut self, len_bytes: u32) {
        let sdu_bytes = len_bytes.saturating_add(pdcp::HEADER_BYTES);
        let pdu_bytes = sdu_bytes.saturating_add(self.rlc_header_bytes());
        count(&mut self.counters.rxpdu_pkts, 1u32);
        count(&mut self.counters.rxpdu_bytes, pdu_bytes);
        count(&mut self.counters.txsdu_pkts, 1u32);
        self.counters.txsdu_bytes += u64::from(sdu_bytes);
    }

    /// Pulls up to `grant_bytes` into a transport block.
    pub(super) fn pull(
        &mut self,
        index: BearerIndex,
        grant_bytes: u32,
        now_us: u64,
        block: &mut Block<'_, P>,
    ) -> Pulled {
        let Self { entity, pdcp, counters, sojourn, .. } = self;
        let mut pulled = Pulled::default();
        let waited = |waited_us| sojourn.add(now_us, waited_us);
        match entity {
            Entity::Um { tx, rx } => {
                pulled.used = tx.pull(grant_bytes, now_us, waited, |pdu, pdu_bytes| {
                    pulled.pdus += 1;
                    pulled.pdu_bytes += u64::from(pdu_bytes);
                    count(&mut counters.txpdu_segmented, !pdu.last);
                    match block {
                        Block::Failed { kept } => kept.push((index, RlcPdu::Um(pdu))),
                        Block::Decoded { at_us, out } => {
                            let at_us = *at_us;
                            rx.receive(pdu, at_us, |count, payload| {
                                to_pdcp(pdcp, index, count, payload, at_us, out);
                            });
                        }
                    }
                });
            }
            Entity::Am(am) => {
                let before = am.tx.retransmitted();
                let mut made = std::mem::take(&mut am.made);
                pulled.used = am.tx.pull(grant_bytes, now_us, waited, |pdu, pdu_bytes| {
                    pulled.pdus += 1;
                    pulled.pdu_bytes += u64::from(pdu_bytes);
                    count(&mut counters.txpdu_segmented, !pdu.last);
                    made.push(pdu);
                });
                for pdu in made.drain(..) {
                    match block {
                        Block::Failed { kept } => kept.push((index, RlcPdu::Am(pdu))),
                        Block::Decoded { at_us, .. } => am.send(*at_us, pdu),
                    }
                }
                am.made = made;
                let after = am.tx.retransmitted();
                count(&mut counters.txpdu_retx_pkts, after.0 - before.0);
                count(&mut counters.txpdu_retx_bytes, after.1 - before.1);
            }
        }
        count(&mut counters.txpdu_pkts, pulled.pdus);
        count(&mut counters.txpdu_bytes, pulled.pdu_bytes);
        pulled
    }

    /// A PDU of a retransmitted block reaches the UE at `at_us`.
    pub(super) fn receive(
        &mut self,
        index: BearerIndex,
        pdu: RlcPdu<P>,
        at_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let Self { entity, pdcp, .. } = self;
        match (entity, pdu) {
            (Entity::Um { rx, .. }, RlcPdu::Um(pdu)) => {
                rx.receive(pdu, at_us, |count, payload| {
                    to_pdcp(pdcp, index, count, payload, at_us, out);
                });
            }
            (Entity::Am(am), RlcPdu::Am(pdu)) => am.send(at_us, pdu),
            // Entities only send PDUs of their own mode.
            (Entity::Um { .. }, RlcPdu::Am(_)) | (Entity::Am(_), RlcPdu::Um(_)) => {}
        }
    }

    /// Expires timers in the UE of a UM bearer that are due by `at_us`.
    pub(super) fn expire(&mut self, index: BearerIndex, at_us: u64, out: &mut Vec<Delivery<P>>) {
        if let Entity::Um { rx, .. } = &mut self.entity {
            rx.expire(at_us);
            expire_pdcp(&mut self.pdcp, index, at_us, out);
        }
    }

    /// The UE of an AM bearer receives PDUs until `until_us`.
    pub(super) fn receive_until(
        &mut self,
        index: BearerIndex,
        until_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let Self { entity, pdcp, .. } = self;
        if let Entity::Am(am) = entity {
            am.receive_until(until_us, |count, payload, at_us| {
                to_pdcp(pdcp, index, count, payload, at_us, out);
            });
            expire_pdcp(pdcp, index, until_us, out);
        }
    }

    /// The start of a slot for an AM bearer: status reports are received and sent.
    pub(super) fn begin_slot(
        &mut self,
        index: BearerIndex,
        now_us: u64,
        uplink: &mut Uplink,
        out: &mut Vec<Delivery<P>>,
    ) -> Reported {
        let Self { entity, pdcp, counters, .. } = self;
        let Entity::Am(am) = entity else { return Reported::default() };
        let reported = am.begin_slot(now_us, uplink, |count, payload| {
            to_pdcp(pdcp, index, count, payload, now_us, out);
        });
        count(&mut counters.rxpdu_pkts, reported.pdus);
        count(&mut counters.rxpdu_bytes, reported.bytes);
        count(&mut counters.rxpdu_status_pkts, reported.pdus);
        count(&mut counters.rxpdu_status_bytes, reported.bytes);
        reported
    }

    /// A status report of an AM bearer that fits `room_bytes` with its MAC subheader, and its bytes.
    pub(super) fn make_status(&mut self, now_us: u64, room_bytes: u32) -> Option<(StatusPdu, u32)> {
        match &mut self.entity {
            Entity::Um { .. } => None,
            Entity::Am(am) => am.make_status(now_us, room_bytes),
        }
    }

    /// The DU receives a status report at `at_us`.
    pub(super) fn status_sent(&mut self, at_us: u64, status: StatusPdu, bytes: u32) {
        if let Entity::Am(am) = &mut self.entity {
            am.status_sent(at_us, status, bytes);
        }
    }

    /// Whether a timer runs in the UE of a UM bearer.
    pub(super) fn has_running_timer(&self) -> bool {
        match &self.entity {
            Entity::Um { rx, .. } => {
                rx.deadline_us().is_some() || self.pdcp.deadline_us().is_some()
            }
            Entity::Am(_) => false,
        }
    }

    /// SDUs received by the UE and discarded.
    pub(super) fn lost_at_ue(&self) -> u64 {
        self.lost_in_rlc_at_ue() + self.pdcp.discarded_packets()
    }

    /// SDUs that the UE's RLC has discarded.
    pub(super) fn lost_in_rlc_at_ue(&self) -> u64 {
        match &self.entity {
            Entity::Um { rx, .. } => rx.lost_payloads(),
            Entity::Am(_) => 0,
        }
    }

    /// SDUs that the UE's PDCP has not delivered, without those in transport blocks to be sent again.
    pub(super) fn undelivered(&self) -> usize {
        let in_rlc = match &self.entity {
            Entity::Um { tx, rx } => tx.occupancy_packets() as usize + rx.held_payloads(),
            Entity::Am(am) => am.undelivered(),
        };
        in_rlc + self.pdcp.held_packets()
    }

    /// Removes and returns the SDUs of which no byte is sent.
    pub(super) fn take_unsent(&mut self) -> impl ExactSizeIterator<Item = P> + use<P> {
        match &mut self.entity {
            Entity::Um { tx, .. } => Either::Left(tx.take_unsent()),
            Entity::Am(am) => Either::Right(am.tx.take_unsent()),
        }
    }

    /// Every SDU in the DU.
    pub(super) fn into_sdus(self) -> Vec<P> {
        match self.entity {
            Entity::Um { tx, .. } => tx.into_sdus().collect(),
            Entity::Am(am) => am.tx.into_sdus().collect(),
        }
    }

    pub(super) fn report(&mut self, now_us: u64) -> RlcReport {
        let waited_us = self.head_enqueued_us().map_or(0, |at| now_us.saturating_sub(at));
        let (txbuf_occ_bytes, txbuf_occ_pkts) = self.occupancy();
        RlcReport {
            txbuf_occ_bytes,
            txbuf_occ_pkts,
            txsdu_avg_time_to_tx: self.sojourn.mean_us(now_us),
            txsdu_wt_us: u32::try_from(waited_us).unwrap_or(u32::MAX),
            rnti: u32::from(self.rnti),
            mode: self.config.mode.report_code(),
            rbid: self.config.drb,
            ..self.counters
        }
    }
}

/// Passes an SDU to the UE's PDCP, which delivers in order.
pub(super) fn to_pdcp<P>(
    pdcp: &mut Reordering<P>,
    bearer: BearerIndex,
    count: u64,
    payload: Payload<P>,
    at_us: u64,
    out: &mut Vec<Delivery<P>>,
) {
    pdcp.receive(count, payload, at_us, |count, payload, delivered_us| {
        out.push(delivery(bearer, count, payload, delivered_us));
    });
}

fn expire_pdcp<P>(
    pdcp: &mut Reordering<P>,
    bearer: BearerIndex,
    at_us: u64,
    out: &mut Vec<Delivery<P>>,
) {
    pdcp.expire(at_us, |count, payload, delivered_us| {
        out.push(delivery(bearer, count, payload, delivered_us));
    });
}

fn delivery<P>(
    bearer: BearerIndex,
    count: u64,
    payload: Payload<P>,
    delivered_us: u64,
) -> Delivery<P> {
    let Payload { sdu, enqueued_us, dequeued_us } = payload;
    Delivery { bearer, count, sdu, enqueued_us, dequeued_us, delivered_us }
}
