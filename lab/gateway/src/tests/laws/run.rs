//! Runs a plan: clients whose controls are delayed, lost and repeated, the gateway's hub, the gNB.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use e2sm_tc::v1::{
    BearerForecast, BearerId, ControlHeader, ControlMessage, ControlOutcome, ForecastFeed,
    LeaseRenewal, NodeLease, Transaction, UeId,
};
use futures_util::Stream;
use lab_world::{ControlReply, ControlRequest, RanFunction, SubscriptionRequest};
use tokio::sync::{oneshot, watch};

use super::fault::{Fault, encoded};
use super::node::JudgedNode;
use super::oracle::Violation;
use super::plan::{BEARERS, OWNERS, Order, Plan, Revision, Step};
use super::tally::Tally;
use crate::clock::WallClock;
use crate::command::ControlFailure;
use crate::hub::Hub;
use crate::limits::NodePools;
use crate::metrics::GatewayMetrics;
use crate::node::E2Node;
use crate::outbox::{OutboxStream, Reading};
use serving::limits::{ClientKey, Limits, Refusals};

/// Longest step: short enough that many have no arrival.
const STRIDE_US: u64 = 1_500;
/// Time after the last step in which what is on its way arrives.
const SETTLE_US: u64 = 60_000;

/// An answer that a client waits for.
struct Awaited {
    bearer: Option<usize>,
    answer: oneshot::Receiver<Result<ControlReply, ControlFailure>>,
}

/// What a client knows and waits for.
#[derive(Default)]
struct Client {
    /// Revision of each bearer, as last reported.
    revisions: [u32; BEARERS.len()],
    awaited: Vec<Awaited>,
    streams: Vec<(OutboxStream, Option<u64>)>,
}

/// A control on its way to the gateway.
struct Posted {
    client: usize,
    bearer: Option<usize>,
    request: ControlRequest,
    answer_is_lost: bool,
}

struct Run {
    node: JudgedNode,
    hub: Hub,
    limits: Limits,
    pools: NodePools,
    clients: [Client; OWNERS.len()],
    /// Messages by time of arrival, in order of sending at equal times.
    posted: BTreeMap<(u64, u64), Posted>,
    sent: u64,
    violation: Option<Violation>,
}

/// Runs a plan to its end.
///
/// # Errors
/// The first law that does not hold.
pub(super) fn run(plan: &Plan, fault: Option<Fault>, tally: &mut Tally) -> Result<(), Violation> {
    let mut run = Run::new(plan, fault);
    for (wait_us, step) in &plan.steps {
        run.advance(run.node.now_us() + wait_us)?;
        run.step(step);
        run.node.tally.steps += 1;
    }
    run.advance(run.node.now_us() + SETTLE_US)?;
    run.node.count_packets();
    run.node.tally.runs = 1;
    tally.add(&run.node.tally);
    run.end()
}

impl Run {
    fn new(plan: &Plan, fault: Option<Fault>) -> Self {
        let mut node = JudgedNode::new(&plan.setting, fault);
        node.set_epoch_us(lab_world::DEFAULT_EPOCH_US);
        let nodes = watch::channel(Arc::new(node.nodes())).0;
        let hub = Hub::new(GatewayMetrics::default(), nodes, WallClock::anchored_at(0));
        Self {
            node,
            hub,
            limits: Limits::new(Refusals::default()),
            pools: NodePools::new(128, 400_000_000),
            clients: std::array::from_fn(|_| Client::default()),
            posted: BTreeMap::new(),
            sent: 0,
            violation: None,
        }
    }

    /// Runs until `to_us`; what arrives at the gateway meanwhile is passed on.
    fn advance(&mut self, to_us: u64) -> Result<(), Violation> {
        loop {
            let now_us = self.node.now_us();
            let stride_us = (now_us + STRIDE_US).min(to_us);
            let arrival = self.posted.first_key_value().map(|(key, _)| *key);
            let next = arrival.filter(|(at_us, _)| *at_us <= stride_us);
            let until_us = next.map_or(stride_us, |(at_us, _)| at_us.max(now_us));
            self.node.step_until(until_us, &mut self.hub);
            self.hub.publish_nodes(&self.node);
            self.hear();
            if let Some(violation) = self.violation.take().or(self.node.violation.take()) {
                return Err(violation);
            }
            if let Some(posted) = next.and_then(|key| self.posted.remove(&key)) {
                self.deliver(posted);
            } else if until_us == to_us {
                return Ok(());
            }
        }
    }

    fn deliver(&mut self, posted: Posted) {
        let (reply, answer) = oneshot::channel();
        self.hub.control(&mut self.node, posted.request, reply);
        if posted.answer_is_lost {
            self.node.tally.answers_lost += 1;
        } else {
            let awaited = Awaited { bearer: posted.bearer, answer };
            self.clients[posted.client].awaited.push(awaited);
        }
        self.hub.prune(&mut self.node);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Control { client, order, delivery } => {
                self.node.tally.controls += 1;
                let Some((bearer, request)) = self.request(*client, order) else { return };
                if delivery.is_lost {
                    self.node.tally.controls_lost += 1;
                    return;
                }
                let at_us = self.node.now_us() + delivery.delay_us;
                let again_us = delivery.again_us.map(|us| at_us + us);
                self.node.tally.controls_repeated += u64::from(again_us.is_some());
                for at_us in std::iter::once(at_us).chain(again_us) {
                    let posted = Posted {
                        client: *client,
                        bearer,
                        request: request.clone(),
                        answer_is_lost: delivery.answer_is_lost,
                    };
                    self.posted.insert((at_us, self.sent), posted);
                    self.sent += 1;
                }
            }
            Step::Subscribe { client, period_ms } => {
                let node = self.node.node_id().to_owned();
                let request = SubscriptionRequest::periodic(&node, RanFunction::Rlc, *period_ms);
                let account = self.limits.account(&ClientKey::named(&client.to_string()));
                let account = self.pools.of(&account);
                // Every other client skips to the newest when it is late.
                let reading = Reading { depth: 8, newest: client % 2 == 1 };
                if let Ok(stream) = self.hub.subscribe(&mut self.node, request, reading, &account) {
                    self.clients[*client].streams.push((stream, None));
                }
            }
            Step::Crash { client } => {
                self.node.tally.crashes += 1;
                self.clients[*client] = Client::default();
                self.hub.prune(&mut self.node);
            }
            Step::Link { is_up } => self.node.connect(*is_up),
            Step::Restart => {
                self.node.judge_deliveries();
                self.node.restart();
            }
        }
    }

    /// The bytes of a control, and the bearer that it is about; none if no client could encode it.
    fn request(&self, client: usize, order: &Order) -> Option<(Option<usize>, ControlRequest)> {
        let owner = OWNERS[client].map(str::to_owned);
        let id = |bearer: usize| {
            let (rnti, drb) = BEARERS[bearer];
            BearerId { ue: UeId::Rnti(rnti), drb }
        };
        let known = |bearer: usize, revision: Revision| match revision {
            Revision::Unchecked => None,
            Revision::Known => Some(self.clients[client].revisions[bearer]),
            Revision::Wrong(other) => Some(self.clients[client].revisions[bearer] + 1 + other),
        };
        let (bearer, message) = match order {
            Order::Transaction { bearer, change, revision, lease_ms, dry_run, as_safe } => {
                let transaction = Transaction {
                    bearer: id(*bearer),
                    expected_revision: known(*bearer, *revision),
                    lease_ms: *lease_ms,
                    owner,
                    dry_run: *dry_run,
                    as_safe: *as_safe,
                    change: (**change).clone(),
                };
                (Some(*bearer), ControlMessage::Transaction(transaction))
            }
            Order::Renewal { bearer, revision, lease_ms } => {
                let revision = known(*bearer, *revision).unwrap_or(1);
                let (bearer_id, lease_ms) = (id(*bearer), *lease_ms);
                let renewal = LeaseRenewal { bearer: bearer_id, revision, lease_ms, owner };
                (Some(*bearer), ControlMessage::LeaseRenewal(renewal))
            }
            Order::NodeLease { lease_ms } => {
                let owner = owner.unwrap_or_default();
                (None, ControlMessage::NodeLease(NodeLease { owner, lease_ms: *lease_ms }))
            }
            Order::Forecast { bearer, age_ms } => (None, self.forecast(id(*bearer), *age_ms)),
            Order::Bytes(bytes) => return Some((None, self.to_tc(bytes.clone().into()))),
        };
        let message = e2sm_tc::v1::encode(&message).ok()?;
        Some((bearer, self.to_tc(message.into())))
    }

    fn forecast(&self, bearer: BearerId, age_ms: u64) -> ControlMessage {
        let origin_us = lab_world::DEFAULT_EPOCH_US + self.node.now_us();
        let forecast = BearerForecast {
            bearer,
            origin_us: origin_us.saturating_sub(age_ms * 1000),
            horizon_start_us: 1_000,
            step_us: 1_000,
            occupancy_bytes: vec![3_000, 2_000, 1_000],
            limit_bytes: vec![4_000, 4_000, 4_000],
            drain_bytes: vec![1_000, 1_000, 1_000],
            cumulated_drain: None,
        };
        ControlMessage::ForecastFeed(ForecastFeed { bearers: vec![forecast] })
    }

    fn to_tc(&self, message: Bytes) -> ControlRequest {
        let style = e2sm_tc::v1::decode::<ControlMessage>(&message).map_or(1, |m| m.style());
        ControlRequest {
            node_id: self.node.node_id().to_owned(),
            ran_function_oid: RanFunction::TcV1.oid().to_owned(),
            header: encoded(&ControlHeader { style, correlation_id: 0 }),
            message,
        }
    }

    /// Clients read their answers and reports.
    fn hear(&mut self) {
        let mut answers = 0;
        for client in &mut self.clients {
            client.awaited.retain_mut(|awaited| {
                let answer = match awaited.answer.try_recv() {
                    Ok(answer) => answer,
                    Err(oneshot::error::TryRecvError::Empty) => return true,
                    Err(oneshot::error::TryRecvError::Closed) => {
                        self.violation = Some("the gateway forgot a control".to_owned());
                        return false;
                    }
                };
                answers += 1;
                let outcome = answer
                    .ok()
                    .and_then(|reply| e2sm_tc::v1::decode::<ControlOutcome>(&reply.outcome).ok());
                if let (Some(bearer), Some(outcome)) = (awaited.bearer, outcome) {
                    client.revisions[bearer] = match outcome {
                        ControlOutcome::Accepted { revision, .. } => revision,
                        ControlOutcome::Refused { revision, .. } => {
                            revision.unwrap_or(client.revisions[bearer])
                        }
                    };
                }
                false
            });
            let mut disorder = None;
            client.streams.retain_mut(|(stream, last)| read(stream, last, &mut disorder));
            self.violation = self.violation.take().or(disorder);
        }
        self.node.tally.answers += answers;
    }

    /// Every control that was not lost has its answer.
    fn end(mut self) -> Result<(), Violation> {
        self.node.judge_deliveries();
        let waiting: BTreeSet<_> = self.clients.iter().map(|client| client.awaited.len()).collect();
        if waiting != BTreeSet::from([0]) {
            return Err(format!("controls without an answer: {waiting:?}"));
        }
        self.node.violation.take().map_or(Ok(()), Err)
    }
}

/// Reads a stream; whether it goes on. Its reports are numbered, and gaps are those it tells.
fn read(
    stream: &mut OutboxStream,
    last: &mut Option<u64>,
    disorder: &mut Option<Violation>,
) -> bool {
    loop {
        match Pin::new(&mut *stream).poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => return true,
            Poll::Ready(None | Some(Err(_))) => return false,
            Poll::Ready(Some(Ok(indication))) => {
                let next = last.map_or(0, |last| last + 1);
                if indication.sequence < next {
                    *disorder = Some(format!("report {} after {last:?}", indication.sequence));
                }
                *last = Some(indication.sequence);
            }
        }
    }
}
