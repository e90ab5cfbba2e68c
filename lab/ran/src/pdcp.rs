//! PDCP and SDAP: header sizes, and in-order delivery at the UE (38.323 §5.2.2.2).

use std::collections::BTreeMap;

use crate::rlc::um::Payload;

/// Header bytes of every packet: a sequence number of 12 bits (38.323 §6.2.2.2) and no SDAP header
/// (`sdap-HeaderDL`, 38.331), as OAI configures a DRB in UM.
pub const HEADER_BYTES: u32 = 2;

/// The UE's PDCP, which restores the order that HARQ has changed.
///
/// Packets that the RLC drops at its limit leave no gap: they get no COUNT, as in a gNB that checks
/// the RLC's free space before ciphering.
#[derive(Debug, Clone)]
pub struct Reordering<P> {
    t_reordering_us: u64,
    /// RX_DELIV: the next COUNT to deliver.
    deliver_next: u64,
    /// RX_NEXT: one above the highest COUNT received.
    next: u64,
    /// RX_REORD: RX_NEXT when t-Reordering was started.
    reorder: u64,
    expires_us: Option<u64>,
    held: BTreeMap<u64, Payload<P>>,
    discarded: u64,
}

impl<P> Reordering<P> {
    /// An entity without packets.
    pub fn new(t_reordering_us: u32) -> Self {
        Self {
            t_reordering_us: u64::from(t_reordering_us),
            deliver_next: 0,
            next: 0,
            reorder: 0,
            expires_us: None,
            held: BTreeMap::new(),
            discarded: 0,
        }
    }

    /// Time at which t-Reordering expires.
    pub fn deadline_us(&self) -> Option<u64> {
        self.expires_us
    }

    /// Packets waiting for an earlier one.
    pub fn held_packets(&self) -> usize {
        self.held.len()
    }

    /// Packets discarded because they came after t-Reordering had expired for them.
    pub fn discarded_packets(&self) -> u64 {
        self.discarded
    }

    /// Takes a packet from the RLC; passes deliverable packets to `deliver` with their COUNT and time.
    pub fn receive(
        &mut self,
        count: u64,
        payload: Payload<P>,
        now_us: u64,
        mut deliver: impl FnMut(u64, Payload<P>, u64),
    ) {
        self.expire(now_us, &mut deliver);
        if self.t_reordering_us == 0 {
            deliver(count, payload, now_us);
            return;
        }
        if count < self.deliver_next {
            // t-Reordering has expired for this one: discarded (§5.2.2.2).
            self.discarded += 1;
            return;
        }
        self.next = self.next.max(count + 1);
        if count == self.deliver_next {
            deliver(count, payload, now_us);
            self.deliver_next += 1;
            self.deliver_consecutive(now_us, &mut deliver);
        } else {
            self.held.insert(count, payload);
        }
        if self.expires_us.is_some() && self.deliver_next >= self.reorder {
            self.expires_us = None;
        }
        self.start_if_missing(now_us);
    }

    /// Expires t-Reordering if it is due by `now_us`.
    pub fn expire(&mut self, now_us: u64, mut deliver: impl FnMut(u64, Payload<P>, u64)) {
        while let Some(at_us) = self.expires_us.filter(|at| *at <= now_us) {
            self.expires_us = None;
            while let Some(first) = self.held.first_entry().filter(|e| *e.key() < self.reorder) {
                let (count, payload) = first.remove_entry();
                deliver(count, payload, at_us);
            }
            self.deliver_next = self.reorder;
            self.deliver_consecutive(at_us, &mut deliver);
            self.start_if_missing(at_us);
        }
    }

    fn deliver_consecutive(&mut self, now_us: u64, mut deliver: impl FnMut(u64, Payload<P>, u64)) {
        while let Some(payload) = self.held.remove(&self.deliver_next) {
            deliver(self.deliver_next, payload, now_us);
            self.deliver_next += 1;
        }
    }

    fn start_if_missing(&mut self, now_us: u64) {
        if self.expires_us.is_none() && self.deliver_next < self.next {
            self.reorder = self.next;
            self.expires_us = Some(now_us + self.t_reordering_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: &[(u64, u64)], until_us: u64) -> Vec<(u64, u64)> {
        let mut pdcp = Reordering::new(100_000);
        let mut out = Vec::new();
        for (count, at_us) in steps {
            let payload = Payload { sdu: *count, enqueued_us: 0, dequeued_us: 0 };
            pdcp.receive(*count, payload, *at_us, |count, p, at| {
                assert_eq!(count, p.sdu, "the COUNT is that of the packet");
                out.push((p.sdu, at));
            });
        }
        pdcp.expire(until_us, |_, p, at| out.push((p.sdu, at)));
        out
    }

    #[test]
    fn order_is_restored() {
        let out = run(&[(0, 10), (2, 20), (3, 30), (1, 40)], 40);
        assert_eq!(out, [(0, 10), (1, 40), (2, 40), (3, 40)]);
    }

    #[test]
    fn a_lost_packet_holds_the_others_for_t_reordering_and_no_longer() {
        let out = run(&[(0, 10), (2, 20), (3, 30), (1, 100_021)], 200_000);
        assert_eq!(out, [(0, 10), (2, 100_020), (3, 100_020)]);
    }

    #[test]
    fn a_packet_that_comes_after_t_reordering_is_counted_not_delivered() {
        let mut pdcp = Reordering::new(100_000);
        let mut delivered = 0;
        for (count, at_us) in [(1, 0), (0, 100_000)] {
            let payload = Payload { sdu: (), enqueued_us: 0, dequeued_us: 0 };
            pdcp.receive(count, payload, at_us, |_, _, _| delivered += 1);
        }
        assert_eq!((delivered, pdcp.discarded_packets(), pdcp.held_packets()), (1, 1, 0));
    }
}
