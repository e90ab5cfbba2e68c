//! Distributes the world's reports to their readers and its answers to pending controls.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;
use lab_world::{
    ControlError, ControlReply, ControlRequest, ControlTicket, Indication, ReportLoad,
    SubscriptionId, SubscriptionRequest,
};
use serving::limits::REPORT_COST_BYTES;
use tokio::sync::{oneshot, watch};
use tonic::Status;

use super::{
    clock::WallClock,
    command::{AdmissionError, ControlFailure, ReportCallback, stopped},
    limits::{NodeAccount, SubscriptionHold},
    metrics::GatewayMetrics,
    node::{E2Node, OutputSink},
    nodes::NodeTable,
    outbox::{Outbox, OutboxCounters, OutboxStream, Reading, SharedReport},
};

type ReplySender = oneshot::Sender<Result<ControlReply, ControlFailure>>;

/// A stream of indications and what it counts for its client.
struct Reader {
    outbox: Arc<Outbox>,
    hold: SubscriptionHold,
}

/// One subscription of the world and its readers.
struct Fanout {
    request: SubscriptionRequest,
    node_id: Arc<str>,
    counters: OutboxCounters,
    readers: Vec<Reader>,
    callbacks: Vec<ReportCallback>,
    /// Load as estimated before the first report, then as measured.
    load: ReportLoad,
    /// Reports since the load was measured last.
    reports: u64,
    bytes: u64,
}

impl Fanout {
    fn new(request: SubscriptionRequest, load: ReportLoad, metrics: &GatewayMetrics) -> Self {
        Self {
            node_id: request.node_id.as_str().into(),
            counters: metrics.indications(&request.ran_function_oid),
            readers: Vec::new(),
            callbacks: Vec::new(),
            request,
            load,
            reports: 0,
            bytes: 0,
        }
    }

    /// Takes the load of the last `passed_s` as that of each reader. The rate is not below the
    /// requested one: a report a minute is none in most seconds.
    fn measure(&mut self, passed_s: f64) {
        if self.reports == 0 {
            return;
        }
        let ReportLoad { report_bytes, reports_per_s } = &mut self.load;
        *report_bytes = self.bytes / self.reports;
        let measured_per_s = self.reports as f64 / passed_s.max(1e-3);
        let load = cost(&ReportLoad {
            report_bytes: *report_bytes,
            reports_per_s: reports_per_s.max(measured_per_s),
        });
        (self.reports, self.bytes) = (0, 0);
        for reader in &mut self.readers {
            reader.hold.measured(load);
        }
    }
}

/// Cost of a subscription, bytes per second.
fn cost(load: &ReportLoad) -> u64 {
    ((load.report_bytes + REPORT_COST_BYTES) as f64 * load.reports_per_s).ceil() as u64
}

/// Guarded by the same lock as the world.
pub(super) struct Hub {
    by_request: HashMap<SubscriptionRequest, SubscriptionId>,
    fanouts: BTreeMap<SubscriptionId, Fanout>,
    controls: BTreeMap<ControlTicket, ReplySender>,
    metrics: GatewayMetrics,
    nodes: watch::Sender<NodeTable>,
    nodes_changed: bool,
    clock: WallClock,
}

impl Hub {
    pub(super) fn new(
        metrics: GatewayMetrics,
        nodes: watch::Sender<NodeTable>,
        clock: WallClock,
    ) -> Self {
        Self {
            by_request: HashMap::new(),
            fanouts: BTreeMap::new(),
            controls: BTreeMap::new(),
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
        reading: Reading,
        account: &Arc<NodeAccount>,
    ) -> Result<OutboxStream, AdmissionError> {
        self.prune(world);
        let load = self.load(world, &request)?;
        let hold = account.subscription(cost(&load)).map_err(AdmissionError::Limited)?;
        let fanout = self.fanout(world, request, load)?;
        let counters = fanout.counters.clone();
        let (outbox, stream) = Outbox::new(reading, counters, Arc::clone(account));
        fanout.readers.push(Reader { outbox, hold });
        Ok(stream)
    }

    /// The load of a subscription: measured if it is open already.
    fn load(
        &self,
        world: &mut impl E2Node,
        request: &SubscriptionRequest,
    ) -> Result<ReportLoad, AdmissionError> {
        let open = self.by_request.get(request).and_then(|id| self.fanouts.get(id));
        match open {
            Some(fanout) => Ok(fanout.load),
            None => world.report_load(request).map_err(AdmissionError::World),
        }
    }

    /// Takes over the load of the subscriptions in the last `passed_s`.
    pub(super) fn measure_loads(&mut self, passed_s: f64) {
        for fanout in self.fanouts.values_mut() {
            fanout.measure(passed_s);
        }
    }

    /// Adds a callback within this process, which stays until it breaks off or the world ends.
    pub(super) fn add_callback(
        &mut self,
        world: &mut impl E2Node,
        request: SubscriptionRequest,
        callback: ReportCallback,
    ) -> Result<(), AdmissionError> {
        let load = self.load(world, &request)?;
        self.fanout(world, request, load)?.callbacks.push(callback);
        Ok(())
    }

    /// The readers of a subscription, which is opened for the first of them.
    fn fanout(
        &mut self,
        world: &mut impl E2Node,
        request: SubscriptionRequest,
        load: ReportLoad,
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
        Ok(self.fanouts.entry(id).or_insert_with(|| Fanout::new(request, load, metrics)))
    }

    /// Removes readers that have left, and subscriptions without readers.
    pub(super) fn prune(&mut self, world: &mut impl E2Node) {
        self.fanouts.retain(|id, fanout| {
            fanout.readers.retain(|reader| !reader.outbox.reader_gone());
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
        for reader in self.fanouts.values().flat_map(|fanout| &fanout.readers) {
            reader.outbox.end(stopped());
        }
    }
}

impl OutputSink for Hub {
    fn indication(&mut self, indication: Indication) {
        let Indication { subscription, ran_function, report, .. } = indication;
        let Some(fanout) = self.fanouts.get_mut(&subscription) else {
            return;
        };
        fanout.callbacks.retain_mut(|callback| callback(&report).is_continue());
        if fanout.readers.is_empty() {
            return;
        }
        fanout.reports += 1;
        fanout.bytes += report.len_bytes() as u64;
        let shared = Arc::new(SharedReport {
            node_id: Arc::clone(&fanout.node_id),
            ran_function,
            report,
            received_at_us: self.clock.unix_us(self.clock.now_us()),
        });
        for reader in &fanout.readers {
            reader.outbox.push(Arc::clone(&shared));
        }
    }

    fn subscription_lost(&mut self, subscription: SubscriptionId) {
        if let Some(fanout) = self.fanouts.remove(&subscription) {
            self.by_request.remove(&fanout.request);
            for reader in &fanout.readers {
                reader.outbox.end(Status::unavailable(format!(
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
