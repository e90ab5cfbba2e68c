//! SDAP: which DRB carries a QoS flow, in the gNB and in the UEs (37.324), and moves from one to another.
//!
//! A move keeps the order of the flow. Downlink: what is queued for the old DRB stays there; the gNB holds
//! later packets until it knows that the old DRB's RLC has sent them (in AM, that they are acknowledged)
//! and the HARQ processes of their blocks have ended. The standard leaves this to the gNB. Uplink: the UE
//! ends the flow on the old DRB with an end marker (37.324 §5.2.1, §6.2.3), and the gNB holds what comes
//! over the new one until it has it. Each wait is bounded by a timer.

use std::collections::{HashMap, VecDeque};

use e2sm_tc::v1::QosFlows;

use super::links::Line;
use super::packet::GnbPacket;

mod downlink;
mod uplink;

use downlink::DownMove;
pub(crate) use downlink::{FlowCounts, FlowsInRlc, Reached};
pub(crate) use uplink::END_MARKER_BYTES;
use uplink::UpMove;

/// Time from the RRC message to the UE until the UE applies it (38.331 §12, RRC reconfiguration).
const RRC_PROCESSING_US: u64 = 10_000;

/// A QoS flow of a UE.
#[derive(Clone, Debug)]
struct QosFlow {
    rnti: u16,
    qfi: u8,
    /// Index in the world of the bearer that carries it: downlink by the gNB's rule, uplink by the UE's.
    down: u32,
    up: u32,
    down_move: Option<Box<DownMove>>,
    up_move: Option<Box<UpMove>>,
    /// Time of the last end marker: packets of the present bearer leave the gNB after it.
    up_since_us: u64,
    /// Number of moves so far; timers of earlier ones have no effect.
    moves: u32,
}

/// QoS flows of a UE.
#[derive(Clone, Debug, Default)]
struct UeFlows {
    /// Their indices.
    flows: Vec<u32>,
    /// Number of changes of the mapping; `None` if the UE has one DRB.
    revision: Option<u32>,
}

/// What is due for a flow, by the number of its move.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The scenario moves it to a bearer.
    Moves {
        to: u32,
    },
    /// The UE applies the rule of the gNB.
    UeApplies,
    /// The blocks with the last packets on the old DRB are decoded or lost.
    DownSettled,
    /// The hold of the downlink, and of the uplink, ends by the timer.
    DownExpires,
    UpExpires,
}

/// What a due time leads to.
#[derive(Debug)]
pub(crate) enum SdapEvent {
    /// A flow moves to a bearer.
    Move { flow: u32, to: u32 },
    /// Packets that enter the pipeline of their bearer.
    Enter(VecDeque<GnbPacket>),
    /// The UE maps a flow anew: it sends an end marker over this bearer.
    EndMarker { flow: u32, bearer: u32 },
    /// Uplink packets that leave the gNB at these times.
    Leave(Vec<(u64, traffic::Packet)>),
}

/// Delays that bound a move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveTimes {
    /// Longest hold.
    pub(crate) hold_us: u64,
    /// Time from the last transmission of the RLC until its block is decoded or lost.
    pub(crate) harq_us: u64,
    /// F1-U one way: the RRC message is at the DU after it.
    pub(crate) f1_us: u64,
}

/// Mapping of QoS flows to DRBs, and moves in progress.
#[derive(Clone, Debug)]
pub(crate) struct Sdap {
    flows: Vec<QosFlow>,
    ues: HashMap<u16, UeFlows>,
    times: MoveTimes,
    due: Line<(u32, u32, Due)>,
    /// Number of flows whose downlink is held.
    holding: u32,
    /// End markers lost on F1-U.
    lost_markers: u64,
}

impl Sdap {
    pub(crate) fn new(times: MoveTimes) -> Self {
        Self {
            flows: Vec::new(),
            ues: HashMap::new(),
            times,
            due: Line::default(),
            holding: 0,
            lost_markers: 0,
        }
    }

    /// Adds a QoS flow with its bearer, if it has none yet; its index.
    pub(crate) fn add(&mut self, rnti: u16, qfi: u8, bearer: u32) -> u32 {
        if let Some(known) = self.find(rnti, qfi) {
            return known;
        }
        let index = self.flows.len() as u32;
        self.flows.push(QosFlow {
            rnti,
            qfi,
            down: bearer,
            up: bearer,
            down_move: None,
            up_move: None,
            up_since_us: 0,
            moves: 0,
        });
        self.ues.entry(rnti).or_default().flows.push(index);
        index
    }

    /// A UE has several DRBs.
    pub(crate) fn set_movable(&mut self, rnti: u16) {
        self.ues.entry(rnti).or_default().revision = Some(0);
    }

    /// Moves a flow to a bearer at a time.
    pub(crate) fn schedule(&mut self, at_us: u64, flow: u32, to: u32) {
        self.due.push(at_us, (flow, 0, Due::Moves { to }));
    }

    /// Index of a QoS flow of a UE.
    pub(crate) fn find(&self, rnti: u16, qfi: u8) -> Option<u32> {
        let own = &self.ues.get(&rnti)?.flows;
        own.iter().copied().find(|index| self.flows[*index as usize].qfi == qfi)
    }

    /// Bearer that carries a flow in the downlink.
    pub(crate) fn down(&self, flow: u32) -> Option<u32> {
        Some(self.flows.get(flow as usize)?.down)
    }

    /// Bearer over which the UE sends a flow.
    pub(crate) fn up(&self, flow: u32) -> Option<u32> {
        Some(self.flows.get(flow as usize)?.up)
    }

    /// What a bearer of a UE carries in the downlink; `None` if the UE has no other DRB.
    pub(crate) fn qos_flows(&self, rnti: u16, bearer: u32) -> Option<QosFlows> {
        let ue = self.ues.get(&rnti)?;
        let revision = ue.revision?;
        let flows = ue.flows.iter().map(|index| &self.flows[*index as usize]);
        let own = flows.filter(|flow| flow.down == bearer);
        let mut qfis: Vec<u8> = own.map(|flow| flow.qfi).collect();
        qfis.sort_unstable();
        Some(QosFlows { revision, qfis })
    }

    /// Number of changes of a UE's mapping; `None` if the UE has one DRB.
    pub(crate) fn revision(&self, rnti: u16) -> Option<u32> {
        self.ues.get(&rnti)?.revision
    }

    /// End markers lost on F1-U.
    pub(crate) fn lost_markers(&self) -> u64 {
        self.lost_markers
    }

    /// An end marker was lost on F1-U; the hold ends by the timer.
    pub(crate) fn marker_lost(&mut self) {
        self.lost_markers += 1;
    }

    /// Time at which something is due; `u64::MAX` if nothing is.
    pub(crate) fn next_us(&self) -> u64 {
        self.due.next_us()
    }

    /// Held downlink packets by bearer.
    pub(crate) fn held_down(&self) -> impl Iterator<Item = &GnbPacket> {
        let moves = self.flows.iter().filter_map(|flow| flow.down_move.as_deref());
        moves.flat_map(|hold| hold.held.iter())
    }

    /// Number of held uplink packets.
    pub(crate) fn held_up(&self) -> u64 {
        let moves = self.flows.iter().filter_map(|flow| flow.up_move.as_deref());
        moves.map(|hold| hold.held.len() as u64).sum()
    }

    /// Maps a flow to another bearer of its UE from `now_us` on; `counts` are of its present bearer. Returns
    /// packets that enter a pipeline at once.
    pub(crate) fn move_flow(
        &mut self,
        index: u32,
        to: u32,
        counts: &FlowCounts,
        now_us: u64,
    ) -> Option<SdapEvent> {
        let flow = self.flows.get_mut(index as usize)?;
        if flow.down == to {
            return None;
        }
        flow.moves += 1;
        if let Some(revision) = self.ues.get_mut(&flow.rnti).and_then(|ue| ue.revision.as_mut()) {
            *revision = revision.wrapping_add(1);
        }
        let number = flow.moves;
        let from = std::mem::replace(&mut flow.down, to);
        let up_us = now_us + self.times.f1_us + RRC_PROCESSING_US;
        self.due.push(up_us, (index, number, Due::UeApplies));
        self.hold_down(index, from, counts, now_us)
    }

    /// What is due at `now_us`.
    pub(crate) fn pop_due(&mut self, now_us: u64) -> Option<SdapEvent> {
        while let Some((_, (index, number, due))) = self.due.pop_due(now_us) {
            let is_latest = self.flows[index as usize].moves == number;
            let event = match due {
                Due::Moves { to } => Some(SdapEvent::Move { flow: index, to }),
                Due::UeApplies if is_latest => self.ue_applies(index),
                Due::DownSettled | Due::DownExpires if is_latest => self.end_down(index),
                Due::UpExpires => self.expire_up(index, number, now_us),
                Due::UeApplies | Due::DownSettled | Due::DownExpires => None,
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// A UE has another C-RNTI.
    pub(crate) fn rename(&mut self, from: u16, to: u16) {
        let Some(ue) = self.ues.remove(&from) else { return };
        for flow in &ue.flows {
            self.flows[*flow as usize].rnti = to;
        }
        self.ues.insert(to, ue);
    }

    /// The UE leaves: nothing is held for it any more. Returns its held downlink packets and uplink
    /// packets.
    pub(crate) fn release(&mut self, rnti: u16) -> (Vec<GnbPacket>, Vec<(u64, traffic::Packet)>) {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        for flow in &mut self.flows {
            if flow.rnti != rnti {
                continue;
            }
            flow.moves += 1;
            self.holding -= u32::from(flow.down_move.is_some());
            down.extend(flow.down_move.take().into_iter().flat_map(|hold| hold.held));
            up.extend(flow.up_move.take().into_iter().flat_map(|hold| hold.held));
        }
        (down, up)
    }
}
