//! Receiving side of RLC-UM (38.322 §5.2.2.2): reassembly in a window, t-Reassembly.

use super::pdu::{Payload, UmdPdu};
use super::{SnLength, UmConfig};
use crate::rlc::ranges::Ranges;

/// Reception state of one SDU.
#[derive(Debug, Clone)]
struct Partial<P> {
    sn: u16,
    count: u64,
    received: Ranges,
    /// Length, once the last segment is received.
    total: Option<u32>,
    payload: Option<Payload<P>>,
    /// Segments of another SDU had the same number.
    mixed: bool,
    /// Delivered; remembered while its number is in the window.
    delivered: bool,
}

/// Order of sequence numbers from the lower edge of the window (38.322 §7.1).
#[derive(Clone, Copy)]
struct ReceiveOrder {
    base: u16,
    modulus: u16,
}

impl ReceiveOrder {
    fn of(self, sn: u16) -> u16 {
        (sn + self.modulus - self.base) & (self.modulus - 1)
    }
}

/// An RLC-UM receiver.
#[derive(Debug, Clone)]
pub struct UmReceiver<P> {
    sn_length: SnLength,
    t_reassembly_us: u64,
    partials: Vec<Partial<P>>,
    /// Storage of an SDU that was delivered, for the next.
    spare: Ranges,
    next_reassembly: u16,
    next_highest: u16,
    timer_trigger: u16,
    timer_expires_us: Option<u64>,
    discarded_pdus: u64,
    discarded_sdus: u64,
    lost_payloads: u64,
}

impl<P> UmReceiver<P> {
    /// A new entity.
    pub fn new(config: UmConfig) -> Self {
        Self {
            sn_length: config.sn_length,
            t_reassembly_us: u64::from(config.t_reassembly_us),
            partials: Vec::new(),
            spare: Ranges::default(),
            next_reassembly: 0,
            next_highest: 0,
            timer_trigger: 0,
            timer_expires_us: None,
            discarded_pdus: 0,
            discarded_sdus: 0,
            lost_payloads: 0,
        }
    }

    /// PDUs discarded because their number was below the window.
    pub fn discarded_pdus(&self) -> u64 {
        self.discarded_pdus
    }

    /// SDUs discarded incomplete.
    pub fn discarded_sdus(&self) -> u64 {
        self.discarded_sdus
    }

    /// SDUs discarded although their last segment was received.
    pub fn lost_payloads(&self) -> u64 {
        self.lost_payloads
    }

    /// SDUs received in part.
    pub fn partial_sdus(&self) -> usize {
        self.partials.iter().filter(|p| !p.delivered).count()
    }

    /// SDUs whose last segment waits for an earlier one.
    pub fn held_payloads(&self) -> usize {
        self.partials.iter().filter(|p| p.payload.is_some()).count()
    }

    /// Time at which t-Reassembly expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.timer_expires_us
    }

    /// Receives a PDU; passes an SDU that it completes to `deliver` with its COUNT.
    pub fn receive(
        &mut self,
        pdu: UmdPdu<P>,
        now_us: u64,
        mut deliver: impl FnMut(u64, Payload<P>),
    ) {
        self.expire(now_us);
        if pdu.is_complete() {
            if let Some(payload) = pdu.payload {
                deliver(pdu.count, payload);
            }
            return;
        }
        let sn = pdu.sn;
        // §5.2.2.2.2: a number below RX_Next_Reassembly is discarded.
        let order = self.receive_order();
        if order.of(sn) < order.of(self.next_reassembly) {
            self.discarded_pdus += 1;
            self.lost_payloads += u64::from(pdu.payload.is_some());
            return;
        }
        if let Some((count, payload)) = self.reassemble(pdu) {
            deliver(count, payload);
        }
        self.after_reception(sn);
        self.update_timer(now_us);
        self.drop_delivered();
    }

    /// Expires t-Reassembly if it is due by `now_us`.
    pub fn expire(&mut self, now_us: u64) {
        while let Some(expires_us) = self.timer_expires_us.filter(|at| *at <= now_us) {
            // §5.2.2.2.4
            self.timer_expires_us = None;
            self.next_reassembly = self.first_open_from(self.timer_trigger);
            let order = self.receive_order();
            let floor = order.of(self.next_reassembly);
            self.discard_unless(|sn| order.of(sn) >= floor);
            if self.is_waiting() {
                self.timer_trigger = self.next_highest;
                self.timer_expires_us = Some(expires_us + self.t_reassembly_us.max(1));
            }
            self.drop_delivered();
        }
    }

    fn receive_order(&self) -> ReceiveOrder {
        let modulus = self.sn_length.modulus();
        let base = (self.next_highest + modulus - self.sn_length.window()) & (modulus - 1);
        ReceiveOrder { base, modulus }
    }

    fn order(&self, sn: u16) -> u16 {
        self.receive_order().of(sn)
    }

    /// Adds a segment; returns the SDU if it completes it.
    fn reassemble(&mut self, pdu: UmdPdu<P>) -> Option<(u64, Payload<P>)> {
        let at = match self.partials.iter().position(|p| p.sn == pdu.sn) {
            Some(at) => at,
            None => {
                self.partials.push(Partial {
                    sn: pdu.sn,
                    count: pdu.count,
                    received: std::mem::take(&mut self.spare),
                    total: None,
                    payload: None,
                    mixed: false,
                    delivered: false,
                });
                self.partials.len() - 1
            }
        };
        let partial = &mut self.partials[at];
        if partial.delivered {
            return None;
        }
        partial.mixed |= partial.count != pdu.count;
        let end = pdu.so + pdu.data_bytes;
        partial.received.insert(pdu.so, end);
        if pdu.last {
            partial.total = Some(end);
            partial.payload = pdu.payload;
        }
        if !partial.total.is_some_and(|total| partial.received.covers(total)) {
            return None;
        }
        partial.delivered = true;
        let payload = partial.payload.take()?;
        if partial.mixed {
            // A real receiver would deliver a damaged packet, whose checksum fails.
            self.discarded_sdus += 1;
            self.lost_payloads += 1;
            return None;
        }
        Some((partial.count, payload))
    }

    /// §5.2.2.2.3, the part that moves the window.
    fn after_reception(&mut self, sn: u16) {
        if self.is_delivered(sn) {
            if sn == self.next_reassembly {
                self.next_reassembly = self.first_open_from(sn);
            }
        } else if self.order(sn) >= self.sn_length.window() {
            let window = self.sn_length.window();
            self.next_highest = (sn + 1) % self.sn_length.modulus();
            let order = self.receive_order();
            self.discard_unless(|sn| order.of(sn) < window);
            if order.of(self.next_reassembly) >= window {
                self.next_reassembly = self.first_open_from(order.base);
            }
        }
    }

    /// §5.2.2.2.3, the part that stops and starts t-Reassembly.
    fn update_timer(&mut self, now_us: u64) {
        if self.timer_expires_us.is_some() {
            let trigger = self.order(self.timer_trigger);
            let passed = trigger <= self.order(self.next_reassembly);
            let outside =
                trigger >= self.sn_length.window() && self.timer_trigger != self.next_highest;
            if passed || outside || self.only_head_and_no_gap() {
                self.timer_expires_us = None;
            }
        }
        if self.timer_expires_us.is_none() && self.is_waiting() {
            self.timer_trigger = self.next_highest;
            self.timer_expires_us = Some(now_us + self.t_reassembly_us.max(1));
        }
    }

    fn after_next_reassembly(&self) -> u16 {
        (self.next_reassembly + 1) % self.sn_length.modulus()
    }

    /// RX_Next_Highest = RX_Next_Reassembly + 1 and no byte of that SDU is missing before the last
    /// one received.
    fn only_head_and_no_gap(&self) -> bool {
        self.next_highest == self.after_next_reassembly() && !self.has_gap(self.next_reassembly)
    }

    /// Whether segments are missing that precede the last one received.
    fn is_waiting(&self) -> bool {
        let after = self.after_next_reassembly();
        let head_has_gap = || self.has_gap(self.next_reassembly);
        self.order(self.next_highest) > self.order(after)
            || (self.next_highest == after && head_has_gap())
    }

    fn has_gap(&self, sn: u16) -> bool {
        self.partials.iter().any(|p| p.sn == sn && !p.delivered && p.received.has_gap())
    }

    fn is_delivered(&self, sn: u16) -> bool {
        self.partials.iter().any(|p| p.sn == sn && p.delivered)
    }

    fn first_open_from(&self, mut sn: u16) -> u16 {
        while self.is_delivered(sn) {
            sn = (sn + 1) % self.sn_length.modulus();
        }
        sn
    }

    fn discard_unless(&mut self, keep: impl Fn(u16) -> bool) {
        let (sdus, payloads) = (&mut self.discarded_sdus, &mut self.lost_payloads);
        self.partials.retain(|p| {
            let kept = keep(p.sn);
            *sdus += u64::from(!kept && !p.delivered);
            *payloads += u64::from(!kept && p.payload.is_some());
            kept
        });
    }

    /// Numbers below RX_Next_Reassembly are refused without their state.
    fn drop_delivered(&mut self) {
        let order = self.receive_order();
        let floor = order.of(self.next_reassembly);
        let spare = &mut self.spare;
        self.partials.retain_mut(|p| {
            let kept = !p.delivered || order.of(p.sn) >= floor;
            if !kept {
                *spare = std::mem::take(&mut p.received);
                spare.clear();
            }
            kept
        });
    }
}
