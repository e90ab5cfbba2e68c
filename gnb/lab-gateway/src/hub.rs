//! Distributes the world's reports to their readers and its answers to pending controls.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use lab_world::{
    ControlError, ControlReply, ControlRequest, ControlTicket, Indication, SubscriptionId,
    SubscriptionRequest,
};
use tokio::sync::{oneshot, watch};
use tonic::Status;

use super::{
    clock::WallClock,
    command::{AdmissionError, ControlFailure, ReportCallback, stopped},
    metrics::GatewayMetrics,
    node::{E2Node, OutputSink},
    nodes::NodeTable,
    outbox::{Outbox, OutboxCounters, OutboxStream, SharedReport},
};

type ReplySender = oneshot::Sender<Result<ControlReply, ControlFailure>>;

/// One subscription of the world and its readers.
struct Fanout {
    request: SubscriptionRequest,
    node_id: Arc<str>,
    counters: OutboxCounters,
    readers: Vec<Arc<Outbox>>,
    callbacks: Vec<ReportCallback>,
}

impl Fanout {
    fn new(request: SubscriptionRequest, metrics: &GatewayMetrics) -> Self {
        Self {
            node_id: request.node_id.as_str().into(),
            counters: metrics.indications(&request.ran_function_oid),
            readers: Vec::new(),
            callbacks: Vec::new(),
            request,
        }
    }
}

/// Guarded by the same lock as the world.
pub(super) struct Hub {
    by_request: HashMap<SubscriptionRequest, SubscriptionId>,
    fanouts: BTreeMap<SubscriptionId, Fanout>,
    controls: BTreeMap<ControlTicket, ReplySender>,
    max_subscribers: usize,
    metrics: GatewayMetrics,
    nodes: watch::Sender<NodeTable>,
    nodes_changed: bool,
    clock: WallClock,
}

impl Hub {
    pub(super) fn new(
        max_subscribers: usize,
        metrics: GatewayMetrics,
        nodes: watch::Sender<NodeTable>,
        clock: WallClock,
    ) -> Self {
        Self {
            by_request: HashMap::new(),
            fanouts: BTreeMap::new(),
            controls: BTreeMap::new(),
            max_subscribers,
            metrics,
            nodes,
            nodes_changed: false,
            clock,
        }
    }

    /// Open indication streams.
    pub(super) fn subscribers(&self) -> usize {
        self.fanouts.values().map(|fanout| fanout.readers.len()).sum()
    }

    /// Virtual time has a new wall-clock anchor.
    pub(super) fn set_clock(&mut self, clock: WallClock) {
        self.clock = clock;
    }

    /// Adds a reader; opens the subscription of the world for the first one.
    pub(super) fn subscribe(
        &mut self,
        world: &mut impl E2Node,
        request: SubscriptionRequest,
        queue_depth: usize,
    ) -> Result<OutboxStream, AdmissionError> {
        self.prune(world);
        if self.subscribers() >= self.max_subscribers {
            return Err(AdmissionError::TooManySubscribers { limit: self.max_subscribers });
        }
        let fanout = self.fanout(world, request)?;
        let (outbox, stream) = Outbox::new(queue_depth, fanout.counters.clone());
        fanout.readers.push(outbox);
        Ok(stream)
    }

    /// Adds a callback within this process, which stays until the world ends.
    pub(super) fn add_callback(
        &mut self,
        world: &mut impl E2Node,
        request: SubscriptionRequest,
        callback: ReportCallback,
    ) -> Result<(), AdmissionError> {
        self.fanout(world, request)?.callbacks.push(callback);
        Ok(())
    }

    /// The readers of a subscription, which is opened for the first of them.
    fn fanout(
        &mut self,
        world: &mut impl E2Node,
        request: SubscriptionRequest,
    ) -> Result<&mut Fanout, AdmissionError> {
        let id = match self.by_request.get(&request) {
            Some(id) => *id,
            None => {
                let id = world.subscribe(&request).map_err(AdmissionError::World)?;
                self.by_request.insert(request.clone(), id);
                id
            }
        };
        let metrics = &self.metrics;
        Ok(self.fanouts.entry(id).or_insert_with(|| Fanout::new(request, metrics)))
    }

    /// Removes readers that have left, and subscriptions without readers.
    pub(super) fn prune(&mut self, world: &mut impl E2Node) {
        self.fanouts.retain(|id, fanout| {
            fanout.readers.retain(|outbox| !outbox.reader_gone());
            let unread = fanout.readers.is_empty() && fanout.callbacks.is_empty();
            if unread {
                self.by_request.remove(&fanout.request);
                // A lost subscription has ended already.
                let _ = world.unsubscribe(*id);
            }
            !unread
        });
        self.controls.retain(|_, reply| !reply.is_closed());
    }

    /// Starts a control; `reply` gets its answer.
    pub(super) fn control(
        &mut self,
        world: &mut impl E2Node,
        request: ControlRequest,
        reply: ReplySender,
    ) {
        match world.submit_control(request) {
            Ok(ticket) => {
                self.controls.insert(ticket, reply);
            }
            Err(error) => {
                // The requester may be gone.
                let _ = reply.send(match error {
                    ControlError::Route(error) => Err(ControlFailure::Route(error)),
                    ControlError::NotControllable { .. } => Ok(ControlReply {
                        acknowledged: false,
                        outcome: Bytes::new(),
                        cause: Some("not_controllable"),
                        detail: error.to_string(),
                    }),
                });
            }
        }
    }

    fn answer(&mut self, ticket: ControlTicket, result: Result<ControlReply, ControlFailure>) {
        if let Some(reply) = self.controls.remove(&ticket) {
            // The requester may be gone.
            let _ = reply.send(result);
        }
    }

    /// Publishes the node table if it changed.
    pub(super) fn publish_nodes(&mut self, world: &impl E2Node) {
        if std::mem::take(&mut self.nodes_changed) {
            self.nodes.send_replace(Arc::new(world.nodes()));
        }
    }
}

impl Drop for Hub {
    /// Ends every stream with `UNAVAILABLE`, however the world's thread ends; pending controls see
    /// their reply channel closed.
    fn drop(&mut self) {
        for outbox in self.fanouts.values().flat_map(|fanout| &fanout.readers) {
            outbox.end(stopped());
        }
    }
}

impl OutputSink for Hub {
    fn indication(&mut self, indication: Indication) {
        let Indication { subscription, ran_function, report, .. } = indication;
        let Some(fanout) = self.fanouts.get_mut(&subscription) else {
            return;
        };
        for callback in &mut fanout.callbacks {
            callback(&report);
        }
        if fanout.readers.is_empty() {
            return;
        }
        let shared = Arc::new(SharedReport {
            node_id: Arc::clone(&fanout.node_id),
            ran_function,
            report,
            received_at_us: self.clock.unix_us(self.clock.now_us()),
        });
        for outbox in &fanout.readers {
            outbox.push(Arc::clone(&shared));
        }
    }

    fn subscription_lost(&mut self, subscription: SubscriptionId) {
        if let Some(fanout) = self.fanouts.remove(&subscription) {
            self.by_request.remove(&fanout.request);
            for outbox in &fanout.readers {
                outbox.end(Status::unavailable(format!(
                    "node {:?} disconnected; subscribe again when it is connected",
                    fanout.node_id
                )));
            }
        }
    }

    fn control_answered(&mut self, ticket: ControlTicket, reply: ControlReply) {
        self.answer(ticket, Ok(reply));
    }

    fn control_lost(&mut self, ticket: ControlTicket) {
        self.answer(ticket, Err(ControlFailure::NodeLost));
    }

    fn nodes_changed(&mut self) {
        self.nodes_changed = true;
    }
}
