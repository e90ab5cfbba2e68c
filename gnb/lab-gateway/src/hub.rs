//! Distributes the world's reports to their readers and its answers to pending controls.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use tokio::sync::{oneshot, watch};
use tonic::Status;

use super::{
    clock::WallClock,
    command::{AdmissionError, ControlError, Listener, stopped},
    e2_world::{
        Admitted, ControlAnswer, ControlRefusal, ControlRequest, ControlTicket, E2World, Report,
        SubscriptionId, SubscriptionRequest, WorldSink,
    },
    metrics::GatewayMetrics,
    nodes::NodeTable,
    outbox::{Outbox, OutboxCounters, OutboxStream, SharedReport},
};

type ControlReply = oneshot::Sender<Result<ControlAnswer, ControlError>>;

/// One subscription of the world and its readers.
struct Fanout {
    request: SubscriptionRequest,
    node_id: Arc<str>,
    ran_function_id: u32,
    ran_function_oid: Arc<str>,
    counters: OutboxCounters,
    readers: Vec<Arc<Outbox>>,
    listeners: Vec<Listener>,
}

impl Fanout {
    fn new(request: SubscriptionRequest, ran_function_id: u32, metrics: &GatewayMetrics) -> Self {
        Self {
            node_id: request.node_id.as_str().into(),
            ran_function_id,
            ran_function_oid: request.ran_function_oid.as_str().into(),
            counters: metrics.indications(&request.ran_function_oid),
            readers: Vec::new(),
            listeners: Vec::new(),
            request,
        }
    }
}

/// Guarded by the same lock as the world.
pub(super) struct Hub {
    by_request: HashMap<SubscriptionRequest, Admitted>,
    fanouts: BTreeMap<SubscriptionId, Fanout>,
    controls: BTreeMap<ControlTicket, ControlReply>,
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
        world: &mut impl E2World,
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

    /// Adds a listener within this process, which stays until the world ends.
    pub(super) fn listen(
        &mut self,
        world: &mut impl E2World,
        request: SubscriptionRequest,
        listener: Listener,
    ) -> Result<(), AdmissionError> {
        self.fanout(world, request)?.listeners.push(listener);
        Ok(())
    }

    /// The readers of a subscription, which is opened for the first of them.
    fn fanout(
        &mut self,
        world: &mut impl E2World,
        request: SubscriptionRequest,
    ) -> Result<&mut Fanout, AdmissionError> {
        let admitted = match self.by_request.get(&request) {
            Some(admitted) => *admitted,
            None => {
                let admitted = world.subscribe(&request).map_err(AdmissionError::World)?;
                self.by_request.insert(request.clone(), admitted);
                admitted
            }
        };
        let metrics = &self.metrics;
        Ok(self
            .fanouts
            .entry(admitted.id)
            .or_insert_with(|| Fanout::new(request, admitted.ran_function_id, metrics)))
    }

    /// Removes readers that have left, and subscriptions without readers.
    pub(super) fn prune(&mut self, world: &mut impl E2World) {
        self.fanouts.retain(|id, fanout| {
            fanout.readers.retain(|outbox| !outbox.reader_gone());
            let unread = fanout.readers.is_empty() && fanout.listeners.is_empty();
            if unread {
                self.by_request.remove(&fanout.request);
                world.unsubscribe(*id);
            }
            !unread
        });
        self.controls.retain(|_, reply| !reply.is_closed());
    }

    /// Starts a control; `reply` gets its answer.
    pub(super) fn control(
        &mut self,
        world: &mut impl E2World,
        request: ControlRequest,
        reply: ControlReply,
    ) {
        match world.control(&request) {
            Ok(ticket) => {
                self.controls.insert(ticket, reply);
            }
            Err(error) => {
                // The requester may be gone.
                let _ = reply.send(match error {
                    ControlRefusal::Route(error) => Err(ControlError::Route(error)),
                    ControlRefusal::NotControllable(detail) => Ok(ControlAnswer {
                        accepted: false,
                        outcome: Bytes::new(),
                        cause: Some("not_controllable"),
                        detail,
                    }),
                });
            }
        }
    }

    /// Publishes the node table if it changed.
    pub(super) fn publish_nodes(&mut self, world: &impl E2World) {
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

impl WorldSink for Hub {
    fn indication(&mut self, subscription: SubscriptionId, report: Report) {
        let Some(fanout) = self.fanouts.get_mut(&subscription) else {
            return;
        };
        for listener in &mut fanout.listeners {
            listener(&report);
        }
        if fanout.readers.is_empty() {
            return;
        }
        let shared = Arc::new(SharedReport {
            node_id: Arc::clone(&fanout.node_id),
            ran_function_id: fanout.ran_function_id,
            ran_function_oid: Arc::clone(&fanout.ran_function_oid),
            header: report.header,
            payload: report.payload,
            collected_at_us: report.collected_at_us,
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
                    "node {:?} went away; subscribe again when it is back",
                    fanout.node_id
                )));
            }
        }
    }

    fn control_answered(&mut self, ticket: ControlTicket, answer: Option<ControlAnswer>) {
        if let Some(reply) = self.controls.remove(&ticket) {
            // The requester may be gone.
            let _ = reply.send(answer.ok_or(ControlError::NodeLost));
        }
    }

    fn nodes_changed(&mut self) {
        self.nodes_changed = true;
    }
}
