//! The world with real hosts, as the E2 node that the gateway paces.

use std::sync::Arc;

use e2sm_tc::v1::{BearerForecast, Cause};
use lab_gateway::{E2Node, NodeState, OutputSink, SlotLateness, Waker, WallClock};
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlError, ControlRequest, ControlTicket, FlowSample,
    GnbCounters, Report, ReportLoad, SubscribeError, SubscriptionId, SubscriptionRequest, World,
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::datapath::Datapath;
use crate::reader::ReadCounts;
use crate::summary::LiveSummary;

/// The world between the hosts' devices.
#[derive(Debug)]
pub struct LiveNode {
    world: World,
    datapath: Datapath,
    clock: Option<WallClock>,
    read: Arc<ReadCounts>,
    /// The latest summary, for who outlives the node.
    summary: Arc<Mutex<Option<LiveSummary>>>,
}

impl LiveNode {
    pub(crate) fn new(mut world: World, datapath: Datapath, read: Arc<ReadCounts>) -> Self {
        world.record_air(datapath.watch_air());
        datapath.set_epoch_us(world.epoch_us());
        Self { world, datapath, clock: None, read, summary: Arc::default() }
    }

    /// Where the latest summary of the run is found after its end.
    pub(crate) fn latest_summary(&self) -> Arc<Mutex<Option<LiveSummary>>> {
        Arc::clone(&self.summary)
    }

    /// The world, for recordings.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    fn live_summary(&self) -> LiveSummary {
        LiveSummary {
            world: self.world.summary(),
            live: self.datapath.summary(&self.world, self.read.summary()),
        }
    }
}

impl E2Node for LiveNode {
    fn set_wall_clock(&mut self, clock: WallClock) {
        self.clock = Some(clock);
    }

    fn set_waker(&mut self, waker: Waker) {
        self.datapath.set_waker(waker);
    }

    fn next_output_us(&self) -> Option<u64> {
        let report_us = self.world.next_output_us();
        report_us.into_iter().chain(self.datapath.next_us(&self.world)).min()
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        let Self { world, datapath, clock, .. } = self;
        let first_slot_us = world.next_carriage_us().map(|_| world.next_slot_us());
        datapath.step(world, *clock, t_us, sink);
        datapath.deliver(world, *clock);
        if let (Some(first_us), Some(clock)) = (first_slot_us, *clock) {
            datapath.ran_slots(first_us, world, clock);
        }
    }

    fn summary(&self) -> Value {
        let summary = self.live_summary();
        let json = summary.to_json().unwrap_or_default();
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
        self.datapath.set_epoch_us(unix_us);
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

    fn uses_cumulated_drain(&self) -> bool {
        self.world.uses_cumulated_drain()
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

    fn slot_lateness(&self) -> Option<SlotLateness> {
        Some(self.datapath.slot_lateness())
    }
}
