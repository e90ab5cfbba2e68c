//! Real hosts: their datagrams enter where those of a flow enter and leave where its ends receive them.

use traffic::{AppConfig, Datagram, HostEnd, Packet};

use super::World;
use super::timers::Timer;

/// A flow of kind `host`: it carries the packets between the server and a UE that have its DSCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFlow {
    /// Its index, for [`World::send_from_host`].
    pub index: u32,
    /// Name in the scenario.
    pub name: String,
    /// C-RNTI.
    pub rnti: u16,
    /// DRB that carries it.
    pub drb: u8,
    /// DSCP that selects it.
    pub dscp: u8,
}

/// An end of a flow of real hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSide {
    /// The host behind the core network.
    Server,
    /// The host behind the radio.
    Ue,
}

/// Packets of a flow of real hosts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Sent by the server.
    pub server_sent: u64,
    /// Arrived at the server.
    pub server_arrived: u64,
    /// Sent by the UE.
    pub ue_sent: u64,
    /// Arrived at the UE.
    pub ue_arrived: u64,
    /// Given by the server, sent at the next step.
    pub server_waiting: u64,
    /// Given by the UE, sent at the next step.
    pub ue_waiting: u64,
}

/// A datagram of a real host that the UE's PDCP delivers. Times are virtual µs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AirPacket {
    /// Index of its flow.
    pub flow: u32,
    /// COUNT of its PDCP PDU (38.323 §6.3.5).
    pub count: u64,
    /// Entered SDAP.
    pub sdap_us: u64,
    /// Entered the RLC.
    pub rlc_us: u64,
    /// Its last byte went to the MAC.
    pub mac_us: u64,
    /// Delivered by the UE's PDCP.
    pub ue_us: u64,
    /// The packet as it was sent.
    pub packet: Packet,
}

impl World {
    /// The flows of kind `host`, in the order of the scenario.
    pub fn host_flows(&self) -> Vec<HostFlow> {
        (0..)
            .zip(self.flows.iter())
            .filter(|(_, flow)| flow.ends.kind() == AppConfig::Host(Default::default()).kind())
            .map(|(index, flow)| HostFlow {
                index,
                name: flow.name.clone(),
                rnti: flow.rnti,
                drb: flow.drb,
                dscp: flow.dscp,
            })
            .collect()
    }

    /// A host sends a datagram now; it is on its way at the next step. Ignored unless `flow` is the
    /// index of a [`HostFlow`].
    pub fn send_from_host(&mut self, flow: u32, side: HostSide, datagram: Datagram) {
        let now_us = self.now_us;
        let Some((server, ue)) = self.hosts(flow) else { return };
        let (end, timer) = match side {
            HostSide::Server => (server, Timer::Server(flow)),
            HostSide::Ue => (ue, Timer::Ue(flow)),
        };
        end.send(datagram, now_us);
        self.timers.set(timer, Some(now_us));
    }

    /// The next packet that arrived at an end of a flow of real hosts, with the time of its arrival.
    pub fn take_arrived(&mut self, flow: u32, side: HostSide) -> Option<(u64, Packet)> {
        let (server, ue) = self.hosts(flow)?;
        match side {
            HostSide::Server => server.take_arrived(),
            HostSide::Ue => ue.take_arrived(),
        }
    }

    /// Packets of a flow of real hosts; `None` for other flows.
    pub fn host_counts(&self, flow: u32) -> Option<HostCounts> {
        let (server, ue) = self.flows.get(flow)?.ends.hosts()?;
        Some(HostCounts {
            server_waiting: server.waiting_packets(),
            ue_waiting: ue.waiting_packets(),
            server_sent: server.sent_packets(),
            server_arrived: server.arrivals().packets(),
            ue_sent: ue.sent_packets(),
            ue_arrived: ue.arrivals().packets(),
        })
    }

    fn hosts(&mut self, flow: u32) -> Option<(&mut HostEnd, &mut HostEnd)> {
        self.flows.get_mut(flow)?.ends.hosts_mut()
    }

    /// Time of the next slot.
    pub fn next_slot_us(&self) -> u64 {
        self.cells.next_slot_us()
    }

    /// Length of a slot.
    pub fn slot_us(&self) -> u64 {
        u64::from(self.cells.tti_us())
    }

    /// Time at which a packet in the world moves next, at a slot or by arriving at a host; `None`
    /// if the world carries none. What happens in between, as on the core network, needs no step of
    /// its own.
    pub fn next_carriage_us(&self) -> Option<u64> {
        let arrives_us = self.links.radio_down.next_us().min(self.links.uplink.next_us());
        let is_queued = self.timers.next_us() <= self.now_us
            || self.links.carry_packets()
            || self.sdap.next_us() != u64::MAX
            || self.handovers.as_ref().is_some_and(|handovers| handovers.carry_packets())
            || self.bearers.iter().any(|bearer| self.is_queued_in(bearer));
        is_queued.then(|| arrives_us.min(self.cells.next_slot_us()))
    }

    fn is_queued_in(&self, bearer: &super::Bearer) -> bool {
        let rlc = bearer.cell.and_then(|place| self.cells.bearer_status(place));
        bearer.tc.backlog_packets() > 0
            || bearer.rlc_queue.as_ref().is_some_and(|queue| queue.backlog().1 > 0)
            || rlc.is_some_and(|rlc| rlc.occupancy_packets + rlc.unacknowledged_packets > 0)
            || bearer.cell.and_then(|place| self.cells.sdus_in_air(place)).unwrap_or(0) > 0
    }
}
