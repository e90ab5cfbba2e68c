//! One bearer: transmitter in the DU, receiver and PDCP in the UE.

use super::{BearerIndex, Delivery};
use crate::Sdu;
use crate::config::BearerConfig;
use crate::pdcp::Reordering;
use crate::rlc::counters::RlcCounters;
use crate::rlc::report::RlcReport;
use crate::rlc::sojourn::SojournWindow;
use crate::rlc::um::{SnLength, UmReceiver, UmTransmitter, UmdPdu};
use crate::rlc::{RlcMode, um};

#[derive(Debug, Clone)]
pub(super) struct Bearer<P> {
    /// Index of its UE.
    pub(super) ue: usize,
    pub(super) rnti: u16,
    pub(super) config: BearerConfig,
    pub(super) tx: UmTransmitter<P>,
    rx: UmReceiver<P>,
    pdcp: Reordering<P>,
    counters: RlcCounters,
    sojourn: SojournWindow,
    /// Whether it is in the cell's list of running timers.
    pub(super) is_waiting: bool,
}

impl<P: Sdu> Bearer<P> {
    pub(super) fn new(ue: usize, rnti: u16, config: BearerConfig) -> Self {
        let RlcMode::Um(um) = config.mode;
        Self {
            ue,
            rnti,
            tx: UmTransmitter::new(um.sn_length, config.limit_packets, config.limit_bytes),
            rx: UmReceiver::new(um),
            pdcp: Reordering::new(config.pdcp),
            counters: RlcCounters::default(),
            sojourn: SojournWindow::default(),
            is_waiting: false,
            config,
        }
    }

    fn sn_length(&self) -> SnLength {
        let RlcMode::Um(um) = self.config.mode;
        um.sn_length
    }

    pub(super) fn enqueue(&mut self, sdu: P, now_us: u64) -> Result<(), P> {
        let bytes = sdu.len_bytes().saturating_add(self.config.pdcp.header_bytes());
        self.counters.rxsdu_pkts += 1;
        self.counters.rxsdu_bytes += u64::from(bytes);
        self.tx.enqueue(sdu, bytes, now_us).inspect_err(|_| {
            self.counters.rxsdu_dd_pkts += 1;
            self.counters.rxsdu_dd_bytes += u64::from(bytes);
        })
    }

    /// Counts a packet from the UE; returns the bytes of transport block it took.
    pub(super) fn count_uplink(&mut self, len_bytes: u32) -> u32 {
        let sdu_bytes = len_bytes.saturating_add(self.config.pdcp.header_bytes());
        let pdu_bytes =
            sdu_bytes.saturating_add(um::pdu::header_bytes(self.sn_length(), true, true));
        self.counters.rxpdu_pkts += 1;
        self.counters.rxpdu_bytes += u64::from(pdu_bytes);
        self.counters.txsdu_pkts += 1;
        self.counters.txsdu_bytes += u64::from(sdu_bytes);
        pdu_bytes.saturating_add(um::pdu::mac_subheader_bytes(pdu_bytes))
    }

    /// Pulls up to `grant_bytes`; returns bytes used and PDUs made.
    pub(super) fn pull(
        &mut self,
        grant_bytes: u32,
        now_us: u64,
        mut take: impl FnMut(&mut Receiving<'_, P>, UmdPdu<P>),
    ) -> (u32, u64, u64) {
        let Self { tx, rx, pdcp, counters, sojourn, .. } = self;
        let (mut pdus, mut pdu_bytes_sum) = (0, 0);
        let mut receiving = Receiving { rx, pdcp };
        let used = tx.pull(
            grant_bytes,
            now_us,
            |waited_us| sojourn.add(now_us, waited_us),
            |pdu, pdu_bytes| {
                pdus += 1;
                pdu_bytes_sum += u64::from(pdu_bytes);
                counters.txpdu_segmented += u64::from(!pdu.last);
                take(&mut receiving, pdu);
            },
        );
        counters.txpdu_pkts += pdus;
        counters.txpdu_bytes += pdu_bytes_sum;
        (used, pdus, pdu_bytes_sum)
    }

    pub(super) fn receiving(&mut self) -> Receiving<'_, P> {
        Receiving { rx: &mut self.rx, pdcp: &mut self.pdcp }
    }

    /// Whether a timer of the UE runs.
    pub(super) fn has_running_timer(&self) -> bool {
        self.rx.deadline_us().is_some() || self.pdcp.deadline_us().is_some()
    }

    /// SDUs that reached the UE's RLC and went no further.
    pub(super) fn lost_at_ue(&self) -> u64 {
        self.rx.lost_payloads() + self.pdcp.discarded_packets()
    }

    /// SDUs the UE holds back for others.
    pub(super) fn held_at_ue(&self) -> usize {
        self.rx.held_payloads() + self.pdcp.held_packets()
    }

    pub(super) fn report(&mut self, now_us: u64) -> RlcReport {
        let waited_us = self.tx.head_enqueued_us().map_or(0, |at| now_us.saturating_sub(at));
        RlcReport {
            txbuf_occ_bytes: self.tx.occupancy_bytes(),
            txbuf_occ_pkts: self.tx.occupancy_packets(),
            txsdu_avg_time_to_tx: self.sojourn.mean_us(now_us),
            txsdu_wt_us: u32::try_from(waited_us).unwrap_or(u32::MAX),
            rnti: u32::from(self.rnti),
            mode: self.config.mode.report_code(),
            rbid: self.config.drb,
            ..RlcReport::of_counters(&self.counters)
        }
    }
}

/// The UE's end of a bearer.
pub(super) struct Receiving<'a, P> {
    rx: &'a mut UmReceiver<P>,
    pdcp: &'a mut Reordering<P>,
}

impl<P> Receiving<'_, P> {
    /// A PDU reaches the UE at `at_us`.
    pub(super) fn receive(
        &mut self,
        bearer: BearerIndex,
        pdu: UmdPdu<P>,
        at_us: u64,
        out: &mut Vec<Delivery<P>>,
    ) {
        let Self { rx, pdcp } = self;
        rx.receive(pdu, at_us, |count, payload| {
            pdcp.receive(count, payload, at_us, |payload, delivered_us| {
                out.push(Delivery {
                    bearer,
                    sdu: payload.sdu,
                    enqueued_us: payload.enqueued_us,
                    dequeued_us: payload.dequeued_us,
                    delivered_us,
                });
            });
        });
    }

    /// Time at the UE moves on to `at_us`.
    pub(super) fn expire(&mut self, bearer: BearerIndex, at_us: u64, out: &mut Vec<Delivery<P>>) {
        self.rx.expire(at_us);
        self.pdcp.expire(at_us, |payload, delivered_us| {
            out.push(Delivery {
                bearer,
                sdu: payload.sdu,
                enqueued_us: payload.enqueued_us,
                dequeued_us: payload.dequeued_us,
                delivered_us,
            });
        });
    }
}
