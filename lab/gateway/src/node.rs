//! The E2 node that the gateway serves.

use e2sm_tc::v1::{BearerForecast, Cause};
use lab_world::{
    BearerDelay, BearerSample, CellSample, ControlError, ControlReply, ControlRequest,
    ControlTicket, FlowSample, GnbCounters, Indication, NodeInfo, Output, Report, ReportLoad,
    SubscribeError, SubscriptionId, SubscriptionRequest, World,
};

use super::{clock::WallClock, command::Waker, slot_lateness::SlotLateness};

/// A connected node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    /// Its E2 setup.
    pub node: NodeInfo,
    /// Number of its connection, which reveals a reconnection between two table reads.
    pub generation: u64,
}

/// Receives the outputs of a node as it is stepped.
pub trait OutputSink {
    /// A report arrived at the RIC.
    fn indication(&mut self, indication: Indication);
    /// The answer to a control arrived.
    fn control_answered(&mut self, ticket: ControlTicket, reply: ControlReply);
    /// The node disconnected before it answered a control.
    fn control_lost(&mut self, ticket: ControlTicket);
    /// The node of a subscription disconnected.
    fn subscription_lost(&mut self, subscription: SubscriptionId);
    /// [`E2Node::nodes`] has changed.
    fn nodes_changed(&mut self);
}

/// An E2 node on virtual time in µs: the lab's [`World`], or a test's. Methods have the meaning of
/// those of [`World`]; one thread at a time calls them.
#[allow(missing_docs)] // those of `World` are documented there
pub trait E2Node: Send + 'static {
    fn node_id(&self) -> &str;
    /// Nodes connected now.
    fn nodes(&self) -> Vec<NodeState>;
    fn now_us(&self) -> u64;
    fn set_epoch_us(&mut self, unix_us: u64);
    /// The mapping of virtual time to the wall clock, when it starts and whenever it changes.
    fn set_wall_clock(&mut self, _clock: WallClock) {}
    /// Wakes the thread that steps the node, for a node to which things happen while it sleeps.
    fn set_waker(&mut self, _waker: Waker) {}
    fn next_output_us(&self) -> Option<u64>;
    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink);
    fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError>;
    fn report_load(&mut self, request: &SubscriptionRequest) -> Result<ReportLoad, SubscribeError>;
    fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool;
    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError>;
    fn submit_control(&mut self, request: ControlRequest) -> Result<ControlTicket, ControlError>;
    fn feed_forecast(&mut self, forecast: &BearerForecast) -> Result<(), Cause>;
    fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)>;
    fn uses_cumulated_drain(&self) -> bool;
    fn bearer_samples(&mut self) -> Vec<BearerSample>;
    fn bearer_delays(&self) -> Vec<BearerDelay>;
    fn gnb_counters(&self) -> GnbCounters;
    fn flow_samples(&self) -> Vec<FlowSample>;
    fn cell_sample(&self) -> CellSample;
    /// Whether it keeps up, for a node between real network stacks.
    fn slot_lateness(&self) -> Option<SlotLateness> {
        None
    }
    /// Summary of the run so far.
    fn summary(&self) -> serde_json::Value;
}

impl E2Node for World {
    fn node_id(&self) -> &str {
        World::node_id(self)
    }

    fn nodes(&self) -> Vec<NodeState> {
        // The lab's gNB does not disconnect.
        World::nodes(self).into_iter().map(|node| NodeState { node, generation: 0 }).collect()
    }

    fn now_us(&self) -> u64 {
        World::now_us(self)
    }

    fn set_epoch_us(&mut self, unix_us: u64) {
        World::set_epoch_us(self, unix_us);
    }

    fn next_output_us(&self) -> Option<u64> {
        World::next_output_us(self)
    }

    fn step_until(&mut self, t_us: u64, sink: &mut dyn OutputSink) {
        World::step_until(self, t_us, &mut |output| match output {
            Output::Indication(indication) => sink.indication(indication),
            Output::ControlDone { ticket, reply } => sink.control_answered(ticket, reply),
        });
    }

    fn subscribe(
        &mut self,
        request: &SubscriptionRequest,
    ) -> Result<SubscriptionId, SubscribeError> {
        World::subscribe(self, request)
    }

    fn report_load(&mut self, request: &SubscriptionRequest) -> Result<ReportLoad, SubscribeError> {
        World::report_load(self, request)
    }

    fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool {
        World::unsubscribe(self, subscription)
    }

    fn report_now(&mut self, node_id: &str, oid: &str) -> Result<Report, SubscribeError> {
        World::report_now(self, node_id, oid)
    }

    fn submit_control(&mut self, request: ControlRequest) -> Result<ControlTicket, ControlError> {
        World::submit_control(self, request)
    }

    fn feed_forecast(&mut self, forecast: &BearerForecast) -> Result<(), Cause> {
        World::record_pacing_changes(self, true);
        World::feed_forecast(self, forecast)
    }

    fn take_pacing_changes(&mut self) -> Vec<(u16, u8, bool)> {
        World::take_pacing_changes(self)
    }

    fn uses_cumulated_drain(&self) -> bool {
        World::uses_cumulated_drain(self)
    }

    fn bearer_samples(&mut self) -> Vec<BearerSample> {
        World::bearer_samples(self)
    }

    fn bearer_delays(&self) -> Vec<BearerDelay> {
        World::bearer_delays(self)
    }

    fn gnb_counters(&self) -> GnbCounters {
        World::gnb_counters(self)
    }

    fn flow_samples(&self) -> Vec<FlowSample> {
        World::flow_samples(self)
    }

    fn cell_sample(&self) -> CellSample {
        World::cell_sample(self)
    }

    fn summary(&self) -> serde_json::Value {
        serde_json::to_value(World::summary(self)).unwrap_or_else(|error| {
            tracing::error!(%error, "the summary cannot be written as JSON");
            serde_json::Value::Null
        })
    }
}

/// Records a run while the gateway steps the node.
pub trait Recording<W>: Send + 'static {
    /// Writes what happened since the last call.
    ///
    /// # Errors
    /// File and cause.
    fn write(&mut self, world: &mut W) -> Result<(), RecordingError>;

    /// Writes the rest and closes the files.
    ///
    /// # Errors
    /// File and cause.
    fn finish(self: Box<Self>, world: &mut W) -> Result<(), RecordingError>;
}

/// Why a recording could not be written.
pub type RecordingError = Box<dyn std::error::Error + Send + Sync>;

/// Virtual time between two writes of a recording.
const RECORDING_PERIOD_US: u64 = 1_000_000;

/// The recording of a run, if enabled.
pub(super) struct Recorder<W> {
    recording: Option<Box<dyn Recording<W>>>,
    /// First failure to write; later writes are skipped.
    failure: Option<RecordingError>,
    written_us: u64,
}

impl<W: E2Node> Recorder<W> {
    pub(super) fn new(recording: Option<Box<dyn Recording<W>>>) -> Self {
        Self { recording, failure: None, written_us: 0 }
    }

    /// Writes once per period of virtual time.
    pub(super) fn stepped(&mut self, world: &mut W) {
        let now_us = world.now_us();
        if self.failure.is_none()
            && now_us >= self.written_us + RECORDING_PERIOD_US
            && let Some(recording) = &mut self.recording
        {
            self.written_us = now_us;
            self.failure = recording.write(world).err();
        }
    }

    /// Completes the recording; returns the first failure to write.
    pub(super) fn finish(&mut self, world: &mut W) -> Result<(), RecordingError> {
        match (self.failure.take(), self.recording.take()) {
            (Some(failure), _) => Err(failure),
            (None, Some(recording)) => recording.finish(world),
            (None, None) => Ok(()),
        }
    }
}
