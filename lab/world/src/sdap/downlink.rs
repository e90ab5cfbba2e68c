//! The downlink of a move: the gNB holds a flow until its old DRB has sent what it has of it.

use std::collections::VecDeque;

use super::{Due, Sdap, SdapEvent};
use crate::links::Left;
use crate::packet::GnbPacket;

/// What the CU knows of a QoS flow in a bearer.
#[derive(Clone, Copy, Debug, Default)]
struct FlowCount {
    flow: u32,
    /// Packets that wait in the pipeline.
    queued: u32,
    /// Bytes of the bearer on the way to the RLC, up to and including the flow's last packet.
    sent_bytes: u64,
    /// The same up to its last packet that is known to have left the RLC.
    left_bytes: u64,
}

/// Packets of the QoS flows of a bearer in the CU; flows that cannot move are not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowCounts {
    flows: Vec<FlowCount>,
}

impl FlowCounts {
    fn of(&mut self, flow: u32) -> Option<&mut FlowCount> {
        let at = self.flows.iter().position(|count| count.flow == flow).unwrap_or_else(|| {
            self.flows.push(FlowCount { flow, ..FlowCount::default() });
            self.flows.len() - 1
        });
        self.flows.get_mut(at)
    }

    /// A packet entered the pipeline, or returned to it.
    pub(crate) fn entered(&mut self, packet: &GnbPacket) {
        if let Some(count) = packet.movable_flow().and_then(|flow| self.of(flow)) {
            count.queued += 1;
        }
    }

    /// A packet left the pipeline to the RLC.
    pub(crate) fn forwarded(&mut self, packet: &GnbPacket) {
        if let Some(count) = packet.movable_flow().and_then(|flow| self.of(flow)) {
            count.queued = count.queued.saturating_sub(1);
            count.sent_bytes = packet.sent_bytes;
        }
    }

    /// The pipeline dropped a packet of each of these flows.
    pub(crate) fn dropped(&mut self, drops: &mut Vec<u32>) {
        for flow in drops.drain(..) {
            if let Some(count) = self.of(flow) {
                count.queued = count.queued.saturating_sub(1);
            }
        }
    }

    /// The DU reports how far each flow has left its RLC.
    pub(crate) fn left(&mut self, left: &Left) {
        for (flow, left_bytes) in left {
            if let Some(count) = self.of(*flow) {
                count.left_bytes = count.left_bytes.max(*left_bytes);
            }
        }
    }

    /// Whether everything of a flow has left the RLC and, in AM, is acknowledged.
    fn has_left(&self, flow: u32) -> bool {
        let own = self.flows.iter().find(|count| count.flow == flow);
        own.is_none_or(|count| count.queued == 0 && count.left_bytes >= count.sent_bytes)
    }
}

/// A QoS flow in the RLC.
#[derive(Clone, Copy, Debug)]
struct FlowInRlc {
    flow: u32,
    /// Its last packet that reached the RLC, taken or dropped: `sent_bytes`, and bytes that the RLC had taken
    /// by then.
    sent_bytes: u64,
    taken_bytes: u64,
    /// `sent_bytes` of its last packet that has left.
    left_bytes: u64,
}

/// What is counted of a packet that reaches the RLC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    flow: Option<u32>,
    len_bytes: u32,
    sent_bytes: u64,
}

impl From<&GnbPacket> for Reached {
    fn from(packet: &GnbPacket) -> Self {
        let (flow, len_bytes) = (packet.movable_flow(), packet.len_bytes());
        Self { flow, len_bytes, sent_bytes: packet.sent_bytes }
    }
}

/// QoS flows of a bearer in the DU, which serves them in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowsInRlc {
    flows: Vec<FlowInRlc>,
    /// Bytes that the RLC has taken.
    taken_bytes: u64,
}

impl FlowsInRlc {
    /// Whether a flow that can move has reached the RLC.
    pub(crate) fn any(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Counts a packet that the RLC takes, or drops on arrival.
    pub(crate) fn reached(&mut self, packet: Reached, is_taken: bool) {
        if is_taken {
            self.taken_bytes += u64::from(packet.len_bytes);
        }
        let Some(flow) = packet.flow else { return };
        let (sent_bytes, taken_bytes) = (packet.sent_bytes, self.taken_bytes);
        match self.flows.iter_mut().find(|it| it.flow == flow) {
            Some(it) => (it.sent_bytes, it.taken_bytes) = (sent_bytes, taken_bytes),
            None => self.flows.push(FlowInRlc { flow, sent_bytes, taken_bytes, left_bytes: 0 }),
        }
    }

    /// Takes back a packet that was not sent.
    pub(crate) fn removed(&mut self, packet: &GnbPacket) {
        self.taken_bytes -= u64::from(packet.len_bytes());
    }

    /// How far each flow has left an RLC that still has `waiting_bytes` to send or, in AM, to be
    /// acknowledged, headers included.
    pub(crate) fn left(&mut self, waiting_bytes: u64) -> Left {
        let done_bytes = self.taken_bytes.saturating_sub(waiting_bytes);
        let flows = self.flows.iter_mut().map(|it| {
            if done_bytes >= it.taken_bytes {
                it.left_bytes = it.sent_bytes;
            }
            (it.flow, it.left_bytes)
        });
        flows.collect()
    }
}

/// A flow that is held for its new bearer.
#[derive(Clone, Debug)]
pub(super) struct DownMove {
    /// The old bearer.
    from: u32,
    /// Whether the old bearer has sent everything of it.
    has_left: bool,
    expires_us: u64,
    pub(super) held: VecDeque<GnbPacket>,
}

impl Sdap {
    /// Holds a flow that has moved away from `from`.
    pub(super) fn hold_down(
        &mut self,
        index: u32,
        from: u32,
        counts: &FlowCounts,
        now_us: u64,
    ) -> Option<SdapEvent> {
        let flow = &mut self.flows[index as usize];
        let number = flow.moves;
        self.holding -= u32::from(flow.down_move.is_some());
        let mut hold = match flow.down_move.take() {
            // It is back, behind its own packets.
            Some(hold) if hold.from == flow.down => {
                return Some(SdapEvent::Enter(with_bearer(hold.held, flow.down)));
            }
            // Nothing of it has entered the bearer that it leaves.
            Some(hold) => hold,
            None => {
                let (expires_us, held) = (now_us + self.times.hold_us, VecDeque::new());
                Box::new(DownMove { from, has_left: false, expires_us, held })
            }
        };
        if hold.from == from {
            hold.has_left = counts.has_left(index);
        }
        self.due.push(hold.expires_us, (index, number, Due::DownExpires));
        if hold.has_left {
            self.due.push(now_us + self.times.harq_us, (index, number, Due::DownSettled));
        }
        flow.down_move = Some(hold);
        self.holding += 1;
        None
    }

    /// A downlink packet of a flow enters SDAP, for its bearer of now; `None` if it is held.
    pub(crate) fn enter(&mut self, mut packet: GnbPacket) -> Option<GnbPacket> {
        let Some(flow) = packet.movable_flow().and_then(|index| self.flows.get_mut(index as usize))
        else {
            return Some(packet);
        };
        packet.bearer = flow.down;
        match &mut flow.down_move {
            Some(hold) => {
                hold.held.push_back(packet);
                None
            }
            None => Some(packet),
        }
    }

    /// The CU has an RLC status of a bearer.
    pub(crate) fn on_progress(&mut self, bearer: u32, counts: &FlowCounts, now_us: u64) {
        if self.holding == 0 {
            return;
        }
        for (index, flow) in (0..).zip(&mut self.flows) {
            let Some(hold) = &mut flow.down_move else { continue };
            let waits = hold.from == bearer && !hold.has_left;
            if waits && counts.has_left(index) {
                hold.has_left = true;
                let settled_us = now_us + self.times.harq_us;
                self.due.push(settled_us, (index, flow.moves, Due::DownSettled));
            }
        }
    }

    /// The hold of a flow ends.
    pub(super) fn end_down(&mut self, index: u32) -> Option<SdapEvent> {
        let flow = &mut self.flows[index as usize];
        let hold = flow.down_move.take()?;
        self.holding -= 1;
        Some(SdapEvent::Enter(with_bearer(hold.held, flow.down)))
    }
}

/// Held packets on the way to a bearer.
fn with_bearer(mut packets: VecDeque<GnbPacket>, bearer: u32) -> VecDeque<GnbPacket> {
    for packet in &mut packets {
        packet.bearer = bearer;
    }
    packets
}
