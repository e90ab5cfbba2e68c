//! The uplink of a move: an end marker on the old DRB, and what the gNB holds until it has it.

use traffic::Packet;

use super::{Due, RRC_PROCESSING_US, Sdap, SdapEvent};

/// Bytes of the end marker (37.324 §6.2.2.3).
pub(crate) const END_MARKER_BYTES: u32 = 1;

/// A flow of which the gNB waits for the end marker.
#[derive(Clone, Debug)]
pub(super) struct UpMove {
    /// The old bearer.
    from: u32,
    /// Number of the move.
    number: u32,
    /// Packets of the new bearer, with the times at which they reached the CU.
    pub(super) held: Vec<(u64, Packet)>,
}

impl Sdap {
    /// The UE maps a flow to the bearer that the gNB has told it.
    pub(super) fn ue_applies(&mut self, index: u32) -> Option<SdapEvent> {
        let flow = &mut self.flows[index as usize];
        // The gNB sends the next rule when it has the end marker of the last.
        if flow.up == flow.down || flow.up_move.is_some() {
            return None;
        }
        let from = std::mem::replace(&mut flow.up, flow.down);
        flow.up_move = Some(Box::new(UpMove { from, number: flow.moves, held: Vec::new() }));
        Some(SdapEvent::EndMarker { flow: index, bearer: from })
    }

    /// An uplink packet of a flow reaches the CU at `at_us` over a bearer; the time at which it may go on,
    /// `None` if it is held.
    pub(crate) fn receive_up(
        &mut self,
        index: u32,
        bearer: u32,
        at_us: u64,
        packet: Packet,
    ) -> Option<(u64, Packet)> {
        let Some(flow) = self.flows.get_mut(index as usize) else { return Some((at_us, packet)) };
        let Some(hold) = flow.up_move.as_mut().filter(|hold| hold.from != bearer) else {
            let not_before_us = if bearer == flow.up { flow.up_since_us } else { 0 };
            return Some((at_us.max(not_before_us), packet));
        };
        if hold.held.is_empty() {
            let expires_us = at_us + self.times.hold_us;
            self.due.push(expires_us, (index, hold.number, Due::UpExpires));
        }
        hold.held.push((at_us, packet));
        None
    }

    /// The end marker of a flow reaches the CU at `at_us`, at or after `now_us`; what was held may go on.
    pub(crate) fn end_marker(&mut self, index: u32, at_us: u64, now_us: u64) -> Vec<(u64, Packet)> {
        let Some(flow) = self.flows.get_mut(index as usize) else { return Vec::new() };
        let Some(hold) = flow.up_move.take() else { return Vec::new() };
        flow.up_since_us = at_us;
        if flow.up != flow.down {
            let applies_us = now_us.max(at_us) + self.times.f1_us + RRC_PROCESSING_US;
            self.due.push(applies_us, (index, flow.moves, Due::UeApplies));
        }
        hold.held.into_iter().map(|(arrived_us, packet)| (arrived_us.max(at_us), packet)).collect()
    }

    /// The hold of an uplink ends without an end marker.
    pub(super) fn expire_up(&mut self, index: u32, number: u32, now_us: u64) -> Option<SdapEvent> {
        let hold = self.flows[index as usize].up_move.as_ref();
        hold.filter(|hold| hold.number == number)?;
        Some(SdapEvent::Leave(self.end_marker(index, now_us, now_us)))
    }
}
