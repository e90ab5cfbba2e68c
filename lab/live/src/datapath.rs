//! The ways of packets between the kernels and the world: inbox, devices, writers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use lab_gateway::{E2Node, OutputSink, SlotLateness, Waker, WallClock};
use lab_world::{HostSide, World};

use crate::account::{account, directions};
use crate::crossing::{arrived, on_air, read};
use crate::device::{CapturePoint, CapturePoints, PacketInFlight};
use crate::inbox::{Arrival, Inbox};
use crate::lateness::Lateness;
use crate::summary::{HostSummary, PointSummaries, ReadSummary};
use crate::table::FlowTable;
use crate::writer::{WriteCounts, Writer};

const NS_PER_US: u64 = 1_000;

/// What is between the kernels and the world.
#[derive(Debug)]
pub(crate) struct Datapath {
    /// Index of each flow of real hosts, with the number of its UE.
    flows: Vec<(u32, usize)>,
    inbox: Arc<Inbox>,
    /// Taken from the inbox, read after the last step.
    waiting: VecDeque<Arrival>,
    /// The devices of packets on their way in and out.
    points: CapturePoints,
    /// Packets that leave the devices before the gNB, reused from packet to packet.
    entering: Vec<PacketInFlight>,
    server: Writer,
    ues: Vec<Writer>,
    lateness: Lateness,
}

impl Datapath {
    pub(crate) fn new(
        table: &FlowTable,
        inbox: Arc<Inbox>,
        points: CapturePoints,
        server: Writer,
        ues: Vec<Writer>,
    ) -> Self {
        Self {
            flows: table.flows().collect(),
            inbox,
            waiting: VecDeque::new(),
            points,
            entering: Vec::new(),
            server,
            ues,
            lateness: Lateness::default(),
        }
    }

    pub(crate) fn set_waker(&self, waker: Waker) {
        self.inbox.set_waker(waker);
    }

    /// Sets the Unix time of virtual time 0, for captures and logs.
    pub(crate) fn set_epoch_us(&self, unix_us: u64) {
        self.points.epoch().set_unix_us(unix_us);
    }

    /// Whether packets on the air have to be recorded.
    pub(crate) fn watch_air(&self) -> bool {
        self.points.watch_air()
    }

    /// Steps the world until `t_us`; what hosts sent enters at the times at which it was read, or later
    /// if a device holds it. Without a clock nothing enters.
    pub(crate) fn step(
        &mut self,
        world: &mut World,
        clock: Option<WallClock>,
        t_us: u64,
        sink: &mut dyn OutputSink,
    ) {
        self.inbox.take(&mut self.waiting);
        if let Some(clock) = clock {
            let until_ns = t_us.saturating_mul(NS_PER_US).saturating_add(NS_PER_US - 1);
            while let Some(at_ns) = self.next_entry_ns(clock).filter(|at_ns| *at_ns <= until_ns) {
                self.enter_at(at_ns, clock);
                for packet in self.entering.drain(..) {
                    let entry_us = packet.at_ns / NS_PER_US;
                    E2Node::step_until(world, entry_us, sink);
                    self.lateness.entered(entry_us, world.now_us());
                    world.send_from_host(packet.flow, packet.sender, packet.datagram);
                }
            }
        }
        E2Node::step_until(world, t_us, sink);
        for packet in world.take_air() {
            if let Some((_, ue)) = self.flows.iter().find(|(flow, _)| *flow == packet.flow)
                && let Some(packet) = on_air(&packet, *ue)
            {
                self.points.push(CapturePoint::Air, packet, &mut |_| {});
            }
        }
    }

    /// Time at which the next packet was read or leaves a device before the gNB.
    fn next_entry_ns(&self, clock: WallClock) -> Option<u64> {
        let read_ns = self.waiting.front().map(|arrival| clock.virtual_ns(arrival.at));
        read_ns.into_iter().chain(self.points.next_ns(true)).min()
    }

    /// Passes what was read by `at_ns`, or was held until then, through the devices before the gNB.
    fn enter_at(&mut self, at_ns: u64, clock: WallClock) {
        let Self { points, waiting, entering, .. } = self;
        let mut enter = |packet| entering.push(packet);
        points.poll(true, at_ns, &mut enter);
        if waiting.front().is_some_and(|arrival| clock.virtual_ns(arrival.at) <= at_ns)
            && let Some(Arrival { routed, .. }) = waiting.pop_front()
        {
            let point = match routed.side {
                HostSide::Server => CapturePoint::ServerIn,
                HostSide::Ue => CapturePoint::UeIn,
            };
            points.push(point, read(at_ns, routed), &mut enter);
        }
    }

    /// Writes what arrived, and what devices held until now, to the kernels.
    pub(crate) fn deliver(&mut self, world: &mut World, clock: Option<WallClock>) {
        let now_ns = clock.map_or(0, |clock| clock.virtual_ns(Instant::now()));
        let Self { points, server, ues, flows, lateness, .. } = self;
        let mut write = |packet: PacketInFlight| {
            let writer = match packet.sender {
                HostSide::Server => ues.get_mut(packet.ue),
                HostSide::Ue => Some(&mut *server),
            };
            if let Some(writer) = writer {
                writer.push(packet.datagram.bytes);
            }
        };
        points.poll(false, now_ns, &mut write);
        for (flow, ue) in flows.iter().copied() {
            for (side, point) in
                [(HostSide::Server, CapturePoint::ServerOut), (HostSide::Ue, CapturePoint::UeOut)]
            {
                while let Some((arrived_us, packet)) = world.take_arrived(flow, side) {
                    lateness.delivered(arrived_us, now_ns / NS_PER_US);
                    if let Some(packet) = arrived(now_ns, (flow, ue), side, arrived_us, &packet) {
                        points.push(point, packet, &mut write);
                    }
                }
            }
        }
        self.server.flush();
        self.ues.iter_mut().for_each(Writer::flush);
    }

    /// Time at which something is due: a packet moves in the world, enters it, or leaves a device.
    /// Once nothing is, the next packet that is read wakes the thread that steps the world.
    pub(crate) fn next_us(&self, world: &World) -> Option<u64> {
        let held_ns = [true, false].into_iter().filter_map(|inbound| self.points.next_ns(inbound));
        let held_us = held_ns.min().map(|held_ns| held_ns.div_ceil(NS_PER_US));
        let hosts_us = match world.next_carriage_us() {
            // Packets move at slots; what is read meanwhile enters at the next.
            Some(carriage_us) => Some(carriage_us),
            None if !self.waiting.is_empty() || self.inbox.sleep_unless_waiting() => {
                Some(world.now_us())
            }
            None => None,
        };
        hosts_us.into_iter().chain(held_us).min()
    }

    /// Records the slots that a step until now ran, from `first_us` on.
    pub(crate) fn ran_slots(&mut self, first_us: u64, world: &World, clock: WallClock) {
        self.lateness.ran_slots(first_us, world.slot_us(), world.now_us(), clock.now_us());
    }

    pub(crate) fn slot_lateness(&self) -> SlotLateness {
        self.lateness.slots()
    }

    /// The summary of a run, without its files.
    pub(crate) fn summary(&self, world: &World, read: ReadSummary) -> HostSummary {
        let mut written_to_ues = WriteCounts::default();
        for own in self.ues.iter().map(Writer::counts) {
            written_to_ues.packets += own.packets;
            written_to_ues.writes += own.writes;
            written_to_ues.refused_packets += own.refused_packets;
        }
        let written_to_server = self.server.counts();
        let hosts = self.flows.iter().filter_map(|(flow, _)| world.host_counts(*flow));
        let (mut down, mut up) = directions(self.inbox.account(&self.waiting), hosts);
        down.before_gnb = self.points.counts(CapturePoint::ServerIn);
        down.behind_gnb = self.points.counts(CapturePoint::UeOut);
        down.written = written_to_ues;
        up.before_gnb = self.points.counts(CapturePoint::UeIn);
        up.behind_gnb = self.points.counts(CapturePoint::ServerOut);
        up.written = written_to_server;
        HostSummary {
            lateness: self.lateness.summary(),
            read,
            written_to_server,
            written_to_ues,
            capture_points: PointSummaries::of(|point| self.points.counts(point)),
            packets: account(&down, &up, world.packet_account()),
            files: Vec::new(),
        }
    }
}
