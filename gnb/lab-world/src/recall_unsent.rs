//! What a pacer that takes over does about the backlog it finds in the RLC.
//!
//! A pipeline without pacer forwards everything at once, so what was bloated stands in the RLC,
//! beyond the reach of classifier and scheduler, and would delay every packet until it has drained:
//! seconds of it. The RLC may discard, on PDCP's word, SDUs of which no segment was submitted to
//! lower layers (38.322 §5.4; 38.323 §5.3). In a split gNB the CU says so over F1-U (38.425 §5.4.1,
//! DL discard) and keeps what it sent until delivery status tells that it was transmitted. Their
//! COUNT values were never sent, so they are given to the packets that follow.

use super::World;
use super::packet::GnbPacket;

impl World {
    /// Has the DU give back the SDUs of a bearer that it has not begun to send, a slot later at the
    /// soonest. That is work for the DU, thousands of packets of it: the answer to the control
    /// does not wait for it.
    pub(super) fn recall_unsent_from_rlc(&mut self, index: u32) {
        if self.split.recall {
            let delay_us = self.split.f1_delay_us.max(self.cell.tti_us());
            self.discards.push(self.now_us + u64::from(delay_us), index);
        }
    }

    /// Discards that reach the DU and packets that are the CU's again.
    pub(super) fn run_take_backs(&mut self) {
        let (now_us, f1_delay_us) = (self.now_us, u64::from(self.split.f1_delay_us));
        while let Some((_, index)) = self.discards.pop_due(now_us) {
            let Some(place) = self.bearers[index as usize].cell else { continue };
            let Some(packets) = self.cell.take_unsent(place) else { continue };
            let f1 = self.bearers[index as usize].f1.as_mut();
            if let (Some(f1), Some(next_count)) = (f1, self.cell.next_count(place)) {
                f1.given_back(next_count);
                self.taken_back.push(now_us + f1_delay_us, (index, packets.collect()));
            } else {
                self.return_to_cu(index, packets);
            }
        }
        while let Some((_, (index, packets))) = self.taken_back.pop_due(now_us) {
            self.return_to_cu(index, packets.into_iter());
        }
    }

    fn return_to_cu(&mut self, index: u32, packets: impl ExactSizeIterator<Item = GnbPacket>) {
        let bearer = &mut self.bearers[index as usize];
        if bearer.cell.is_none() {
            bearer.measured.released_packets += packets.len() as u64;
            return;
        }
        let f1 = &mut bearer.f1;
        let packets = packets.map(|packet| {
            if let Some(f1) = f1 {
                f1.has_back(packet.f1_number);
            }
            let ingress_us = packet.ingress_us;
            (packet, ingress_us)
        });
        bearer.tc.recall_unsent(packets, self.now_us);
        self.poll_bearer(index);
    }
}
