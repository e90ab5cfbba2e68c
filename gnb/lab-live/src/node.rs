//! The world with real hosts, as the E2 node that the gateway paces.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use e2sm_tc::v1::{BearerForecast, Cause};
use lab_gateway::{E2Node, NodeState, OutputSink, Waker, WallClock};
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlError, ControlRequest, ControlTicket, FlowSample,
    GnbCounters, HostSide, Report, ReportLoad, SubscribeError, SubscriptionId, SubscriptionRequest,
    World,
};
use parking_lot::Mutex;
use serde_json::Value;
use traffic::Body;

use crate::inbox::{Arrival, Inbox};
use crate::lateness::Lateness;
use crate::reader::ReadCounts;
use crate::summary::{HostSummary, LiveSummary, ReadSummary};
use crate::table::{FlowTable, bytes_of};
use crate::writer::{WriteCounts, Writer};

/// The world between the hosts' devices.
#[derive(Debug)]
pub struct LiveNode {
    world: World,
    /// Index of each flow of real hosts, with the number of its UE.
    flows: Vec<(u32, usize)>,
    inbox: Arc<Inbox>,
    /// Taken from the inbox, read after the last step.
    waiting: VecDeque<Arrival>,
    server: Writer,
    ues: Vec<Writer>,
    clock: Option<WallClock>,
    lateness: Lateness,
    read: Arc<ReadCounts>,
    /// The latest summary, for who outlives the node.
    summary: Arc<Mutex<Option<LiveSummary>>>,
}

impl LiveNode {
    pub(crate) fn new(
        world: World,
        table: &FlowTable,
        inbox: Arc<Inbox>,
        server: Writer,
        ues: Vec<Writer>,
        read: Arc<ReadCounts>,
    ) -> Self {
        Self {
            world,
            flows: table.flows().collect(),
            inbox,
            waiting: VecDeque::new(),
            server,
            ues,
            clock: None,
            lateness: Lateness::default(),
            read,
            summary: Arc::default(),
        }
    }

    /// Where the latest summary of the run is found after its end.
    pub(crate) fn latest_summary(&self) -> Arc<Mutex<Option<LiveSummary>>> {
        Arc::clone(&self.summary)
    }

    /// The world, for recordings.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Steps the world until `t_us`; what hosts sent enters at the times at which it was read.
    fn step_with_hosts(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        self.inbox.take(&mut self.waiting);
        if let Some(clock) = self.clock {
            while let Some(arrival) = self.waiting.front() {
                let read_us = clock.virtual_us(arrival.at);
                if read_us > t_us {
                    break;
                }
                E2Node::step_until(&mut self.world, read_us, sink);
                self.lateness.entered(read_us, self.world.now_us());
                if let Some(Arrival { routed, .. }) = self.waiting.pop_front() {
                    self.world.send_from_host(routed.flow, routed.side, routed.datagram);
                }
            }
        }
        E2Node::step_until(&mut self.world, t_us, sink);
    }

    /// Writes what arrived to the kernels.
    fn deliver(&mut self) {
        let now_us = self.clock.map_or(0, |clock| clock.now_us());
        for (flow, ue) in &self.flows {
            for (side, writer) in
                [(HostSide::Server, &mut self.server), (HostSide::Ue, &mut self.ues[*ue])]
            {
                while let Some((arrived_us, packet)) = self.world.take_arrived(*flow, side) {
                    if let Body::Host(datagram) = &packet.body {
                        self.lateness.delivered(arrived_us, now_us);
                        writer.push(bytes_of(&packet, datagram));
                    }
                }
            }
        }
        self.server.flush();
        self.ues.iter_mut().for_each(Writer::flush);
    }

    fn live_summary(&self) -> LiveSummary {
        let mut written_to_ues = WriteCounts::default();
        for own in self.ues.iter().map(Writer::counts) {
            written_to_ues.packets += own.packets;
            written_to_ues.writes += own.writes;
            written_to_ues.refused_packets += own.refused_packets;
        }
        let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        LiveSummary {
            world: self.world.summary(),
            live: HostSummary {
                lateness: self.lateness.summary(),
                read: ReadSummary {
                    frames: count(&self.read.frames),
                    refused_frames: count(&self.read.refused_frames),
                    not_ip_packets: count(&self.read.not_ip),
                    multicast_packets: count(&self.read.multicast),
                    packets_without_ue: count(&self.read.no_such_ue),
                    waiting_packets: self.waiting.len() as u64,
                },
                written_to_server: self.server.counts(),
                written_to_ues,
            },
        }
    }
}

impl E2Node for LiveNode {
    fn set_wall_clock(&mut self, clock: WallClock) {
        self.clock = Some(clock);
    }

    fn set_waker(&mut self, waker: Waker) {
        self.inbox.set_waker(waker);
    }

    fn next_output_us(&self) -> Option<u64> {
        let report_us = self.world.next_output_us();
        let hosts_us = match self.world.next_carriage_us() {
            // Packets move at slots; what is read meanwhile enters at the next.
            Some(carriage_us) => Some(carriage_us),
            None if !self.waiting.is_empty() || self.inbox.sleep_unless_waiting() => {
                Some(self.world.now_us())
            }
            None => None,
        };
        report_us.into_iter().chain(hosts_us).min()
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        let first_slot_us = self.world.next_carriage_us().map(|_| self.world.next_slot_us());
        self.step_with_hosts(t_us, sink);
        self.deliver();
        if let (Some(first_us), Some(clock)) = (first_slot_us, self.clock) {
            let slot_us = self.world.slot_us();
            self.lateness.ran_slots(first_us, slot_us, self.world.now_us(), clock.now_us());
        }
    }

    fn summary(&self) -> Value {
        let summary = self.live_summary();
        let json = serde_json::to_value(&summary).unwrap_or_else(|error| {
            tracing::error!(%error, "the summary cannot be written as JSON");
            Value::Null
        });
        *self.summary.lock() = Some(summary);
        json
    }

    fn node_id(&self) -> &str {
        self.world.node_id()
    }

    fn nodes(&self) -> Vec<NodeState> {
        E2Node::nodes(&self.world)
    }

    fn now_us(&self) -> u64 {
        self.world.now_us()
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        self.world.set_epoch_us(unix_us);
    }

    fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        self.world.subscribe(request)
    }

    fn report_load(&mut self, request: &SubscriptionRequest) -> Result<ReportLoad, SubscribeError> {
        self.world.report_load(request)
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool {
        self.world.unsubscribe(subscription)
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        self.world.report_now(node_id, oid)
    }

    fn submit_control(&mut self, request: ControlRequest) -> Result<ControlTicket, ControlError> {
        self.world.submit_control(request)
    }

    fn feed_forecast(&mut self, forecast: &BearerForecast) -> Result<(), Cause> {
        E2Node::feed_forecast(&mut self.world, forecast)
    }

    fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        self.world.take_pacing_changes()
    }

    fn bearer_samples(&mut self) -> Vec<BearerSample> {
        self.world.bearer_samples()
    }

    fn bearer_delays(&self) -> Vec<BearerDelay> {
        self.world.bearer_delays()
    }

    fn gnb_counters(&self) -> GnbCounters {
        self.world.gnb_counters()
    }

    fn flow_samples(&self) -> Vec<FlowSample> {
        self.world.flow_samples()
    }

    fn cell_sample(&self) -> CellSample {
        self.world.cell_sample()
    }
}
