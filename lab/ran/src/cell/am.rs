//! RLC-AM in a cell: PDUs in transit to the UE, and status reports in transit to the DU.
//!
//! A PDU waits here until the UE receives it, so that a status report covers the PDUs received by its
//! uplink slot.

use std::collections::VecDeque;

use super::{BearerIndex, Cell, Delivery};
use crate::Sdu;
use crate::rlc::SduDelays;
use crate::rlc::am::{AmConfig, AmReceiver, AmTransmitter, AmdPdu, StatusPdu};
use crate::rlc::um::Payload;
use crate::rlc::um::pdu::mac_subheader_bytes;
use crate::uplink::{ControlGrant, Uplink};

/// Both ends of an RLC-AM bearer and the PDUs in transit.
#[derive(Debug, Clone)]
pub(super) struct AmEntity<P> {
    pub(super) tx: AmTransmitter<P>,
    pub(super) rx: AmReceiver<P>,
    t_status_prohibit_us: u64,
    /// PDUs in transit with the time the UE receives them.
    air: VecDeque<(u64, AmdPdu)>,
    /// PUSCH of the next status report.
    grant: Option<ControlGrant>,
    /// Time at which t-StatusProhibit expires.
    prohibit_until_us: u64,
    /// Status reports in transit with the time the DU receives them, and their bytes.
    reports: VecDeque<(u64, StatusPdu, u32)>,
    status_pdu_at_us: Option<u64>,
    removed: SduDelays,
    radio_link_failures: u64,
    /// Reused to avoid allocations.
    pub(super) made: Vec<AmdPdu>,
}

/// Status reports received by the DU in a slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reported {
    pub(super) pdus: u64,
    pub(super) bytes: u64,
    /// Bytes with MAC subheaders.
    pub(super) block_bytes: u64,
    /// Radio link failures.
    pub(super) failures: u64,
}

impl<P> AmEntity<P> {
    pub(super) fn new(config: &AmConfig, limit_packets: u32, limit_bytes: u32) -> Self {
        Self {
            tx: AmTransmitter::new(config, limit_packets, limit_bytes),
            rx: AmReceiver::new(config),
            t_status_prohibit_us: u64::from(config.t_status_prohibit_us),
            air: VecDeque::new(),
            grant: None,
            prohibit_until_us: 0,
            reports: VecDeque::new(),
            status_pdu_at_us: None,
            removed: SduDelays::default(),
            radio_link_failures: 0,
            made: Vec::new(),
        }
    }

    /// Sends a PDU, which the UE receives at `at_us`; times must not decrease between calls.
    pub(super) fn send(&mut self, at_us: u64, pdu: AmdPdu) {
        self.air.push_back((at_us, pdu));
    }

    /// Time at which the DU received the last status report.
    pub(super) fn status_pdu_at_us(&self) -> Option<u64> {
        self.status_pdu_at_us
    }

    /// Delays of SDUs removed since the previous call.
    pub(super) fn take_removed(&mut self) -> SduDelays {
        std::mem::take(&mut self.removed)
    }

    pub(super) fn radio_link_failures(&self) -> u64 {
        self.radio_link_failures
    }

    /// SDUs not delivered to PDCP, sent or not.
    pub(super) fn undelivered(&self) -> usize {
        self.tx.undelivered() + self.rx.held_payloads()
    }

    /// The start of a slot: status reports are received, sent and requested, in this order.
    /// `deliver` gets the SDUs that a re-establishment delivers.
    pub(super) fn begin_slot(
        &mut self,
        now_us: u64,
        uplink: &mut Uplink,
        mut deliver: impl FnMut(u64, Payload<P>),
    ) -> Reported {
        let mut reported = Reported::default();
        while let Some((at_us, status, bytes)) = self.next_report(now_us) {
            let Self { tx, removed, .. } = self;
            let outcome = tx.receive_status(&status, at_us, |delay_us| removed.add(delay_us));
            self.status_pdu_at_us = Some(at_us);
            reported.pdus += 1;
            reported.bytes += u64::from(bytes);
            reported.block_bytes += u64::from(bytes + mac_subheader_bytes(bytes));
            if outcome.max_retx_reached {
                self.fail_radio_link(&mut deliver);
                reported.failures += 1;
            }
        }
        if self.tx.expire(now_us) {
            self.fail_radio_link(&mut deliver);
            reported.failures += 1;
        }
        if let Some(grant) = self.grant.take_if(|grant| grant.start_us <= now_us)
            && let Uplink::Recorded(uplink) = uplink
            && let Some((status, bytes)) = self.make_status(grant.start_us, grant.most_bytes)
        {
            uplink.displace_data(bytes + mac_subheader_bytes(bytes));
            self.status_sent(grant.arrives_us, status, bytes);
        }
        if self.grant.is_none() && self.is_status_due(now_us) {
            match uplink {
                Uplink::Scheduled(uplink) => uplink.want_control(now_us),
                Uplink::Recorded(uplink) => self.grant = Some(uplink.grant_control(now_us)),
            }
        }
        reported
    }

    fn next_report(&mut self, now_us: u64) -> Option<(u64, StatusPdu, u32)> {
        self.reports.front().filter(|(at_us, ..)| *at_us <= now_us)?;
        self.reports.pop_front()
    }

    /// Whether a status report is triggered and allowed.
    fn is_status_due(&self, now_us: u64) -> bool {
        let triggered = self.rx.status_triggered_since_us().is_some_and(|at_us| at_us <= now_us);
        triggered && now_us >= self.prohibit_until_us
    }

    /// Builds a report that fits `room_bytes` with its MAC subheader (38.322 §5.3.4), and its bytes.
    pub(super) fn make_status(&mut self, now_us: u64, room_bytes: u32) -> Option<(StatusPdu, u32)> {
        if !self.is_status_due(now_us) {
            return None;
        }
        let room_bytes = room_bytes.saturating_sub(mac_subheader_bytes(room_bytes));
        let bytes = self.rx.status_bytes().min(room_bytes);
        let status = self.rx.make_status(room_bytes)?;
        self.prohibit_until_us = now_us + self.t_status_prohibit_us;
        Some((status, bytes))
    }

    /// The DU receives a report at `at_us`.
    pub(super) fn status_sent(&mut self, at_us: u64, status: StatusPdu, bytes: u32) {
        // A block that is sent again arrives behind later ones.
        let at = self.reports.partition_point(|(other_us, ..)| *other_us <= at_us);
        self.reports.insert(at, (at_us, status, bytes));
    }

    /// Radio link failure (38.331 §5.3.10.3): both ends are re-established; PDUs in transit are lost.
    fn fail_radio_link(&mut self, deliver: &mut impl FnMut(u64, Payload<P>)) {
        self.radio_link_failures += 1;
        self.tx.reestablish();
        self.rx.reestablish(deliver);
        self.air.clear();
        self.reports.clear();
        self.grant = None;
        self.prohibit_until_us = 0;
    }

    /// The UE receives PDUs until `until_us`; each completed SDU is passed to `deliver` with its
    /// COUNT and time.
    pub(super) fn receive_until(
        &mut self,
        until_us: u64,
        mut deliver: impl FnMut(u64, Payload<P>, u64),
    ) {
        let Self { tx, rx, air, .. } = self;
        while let Some((at_us, pdu)) = air.front().filter(|(at_us, _)| *at_us <= until_us).copied()
        {
            air.pop_front();
            rx.receive(
                pdu,
                at_us,
                |seq| tx.take_received(seq),
                |count, payload| deliver(count, payload, at_us),
            );
        }
        rx.expire(until_us);
    }
}

impl<P: Sdu> Cell<P> {
    /// AM bearers at the start of a slot, before the MAC schedules: status reports are received by the
    /// DU and sent by the UEs, and timers of the transmitters expire.
    pub(super) fn begin_slot_of_am(&mut self, now_us: u64, out: &mut Vec<Delivery<P>>) {
        let mut bearers = std::mem::take(&mut self.am_bearers);
        let mut wanting = std::mem::take(&mut self.uplink_wanting);
        bearers.retain(|index| {
            let Some(bearer) = self.bearers[*index].as_mut() else { return false };
            let Some(ue) = self.ues[bearer.ue].as_mut() else { return false };
            let before = bearer.demand_bytes();
            let reported = bearer.begin_slot(*index, now_us, &mut ue.uplink, out);
            wanting.extend((!ue.uplink_is_active).then_some(bearer.ue));
            if reported.pdus > 0 {
                ue.counters.count_uplink(reported.block_bytes, reported.bytes, reported.pdus);
            }
            self.totals.radio_link_failures += reported.failures;
            if bearer.demand_bytes() != before {
                self.update_backlog(*index);
            }
            true
        });
        self.am_bearers = bearers;
        for at in wanting.drain(..) {
            self.activate_uplink(at);
        }
        self.uplink_wanting = wanting;
    }

    /// The UEs of AM bearers receive PDUs until `until_us`.
    pub(super) fn receive_am(&mut self, until_us: u64, out: &mut Vec<Delivery<P>>) {
        for index in &self.am_bearers {
            if let Some(bearer) = self.bearers[*index].as_mut() {
                bearer.receive_until(*index, until_us, out);
            }
        }
    }

    /// Updates the backlog of a UE after that of a bearer has changed.
    pub(super) fn update_backlog(&mut self, index: BearerIndex) {
        let Some(at) = self.bearers[index].as_ref().map(|bearer| bearer.ue) else { return };
        let Some(ue) = self.ues[at].as_mut() else { return };
        let bearers = ue.bearers.iter().filter_map(|index| self.bearers[*index].as_ref());
        ue.backlog_bytes = bearers.map(|bearer| bearer.demand_bytes()).sum();
        let is_backlogged = ue.backlog_bytes > 0;
        if is_backlogged != ue.is_backlogged {
            ue.is_backlogged = is_backlogged;
            let backlogged = &mut self.slices[ue.slice].backlogged;
            if is_backlogged {
                backlogged.push_back(at);
            } else {
                backlogged.retain(|other| *other != at);
            }
        }
    }
}
