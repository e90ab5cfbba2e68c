//! `Subscribe`: all RIC subscriptions of a client over one call.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use e2sm_tc::v1::{self, EventTrigger};
use futures_util::{
    FutureExt, Stream, StreamExt, TryStreamExt,
    future::BoxFuture,
    stream::{self, AbortHandle, Abortable, BoxStream, SelectAll},
};
use lab_world::{SubscribeError, SubscriptionRequest};
use prost::Message;
use tokio::sync::{oneshot, watch};
use tonic::{Status, Streaming};

use serving::{
    access::{AccessChanges, Entry, Refusal, Right, check_identifiers},
    admission::Client,
};

use super::{
    command::{AdmissionError, Command, Commands, stopped},
    limits::{NodeAccount, NodePools},
    metrics::GatewayMetrics,
    outbox::{MAX_BATCH_BYTES, OutboxStream, Reading},
    proto::{self, subscribe_request::Procedure, subscription_event::Event},
};

/// Queue depth of a subscription that requests none.
const DEFAULT_QUEUE_DEPTH: u32 = 64;
/// Deepest queue: four seconds of 1 ms reports.
const MAX_QUEUE_DEPTH: u32 = 4096;
/// Requests carried out before indications have their turn.
const MAX_REQUESTS: usize = 64;

/// Opens subscriptions in the world.
#[derive(Clone, Debug)]
pub(super) struct SubscribeHandler {
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    pub(super) pools: NodePools,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
}

impl SubscribeHandler {
    /// Serves one `Subscribe` call.
    pub(super) fn serve(
        &self,
        requests: Streaming<proto::SubscribeRequest>,
        client: Client,
    ) -> SubscribeStream {
        let mut stopping = self.stopping.clone();
        SubscribeStream {
            handler: self.clone(),
            access_changes: client.caller.access_changes(),
            account: self.pools.of(&client.account),
            client,
            requests: Some(requests),
            open: HashMap::new(),
            indications: SelectAll::new(),
            refused: Vec::new(),
            pause: None,
            stopped: async move {
                // A dropped sender means that the gateway was dropped.
                let _ = stopping.wait_for(|stop| *stop).await;
            }
            .boxed(),
            over: false,
        }
    }

    /// Admits a subscription and writes it to the audit log.
    async fn admit(
        &self,
        client: &Client,
        request: proto::Subscription,
    ) -> Result<OutboxStream, Status> {
        check_identifiers(&request.node_id, &request.ran_function_oid)?;
        let who = client.caller.require(
            Right::Subscribe,
            Some(&request.node_id),
            &request.ran_function_oid,
        )?;
        let (node, ran_function) = (request.node_id.clone(), request.ran_function_oid.clone());
        let admitted = self.open(client, request).await;
        let outcome = match &admitted {
            Ok(_) => "accepted".to_owned(),
            Err(status) => format!("rejected: {}", status.message()),
        };
        let entry = Entry {
            who: &who,
            action: "subscribe",
            node: &node,
            ran_function: &ran_function,
            what: "reports",
            outcome: &outcome,
            ..Entry::default()
        };
        match &admitted {
            Ok(_) => client.caller.record(&entry),
            Err(_) => client.caller.record_attempt(&entry),
        }
        admitted
    }

    async fn open(
        &self,
        client: &Client,
        request: proto::Subscription,
    ) -> Result<OutboxStream, Status> {
        let queue_depth = match request.queue_depth {
            0 => DEFAULT_QUEUE_DEPTH,
            depth if depth <= MAX_QUEUE_DEPTH => depth,
            depth => {
                return Err(Status::invalid_argument(format!(
                    "queue_depth: {depth}; expected at most {MAX_QUEUE_DEPTH}"
                )));
            }
        };
        let newest = request.reading() == proto::subscription::Reading::Newest;
        if newest && request.ran_function_oid == v1::OID && !is_periodic(&request) {
            return Err(Status::invalid_argument(
                "reading: NEWEST with an event trigger that is not periodic, of which no report replaces \
                 another; expected HISTORY",
            ));
        }
        if let Some(slice) = &request.kpm_slice
            && (slice.sst, slice.sd) != (1, None)
        {
            let sd = slice.sd.map(|sd| format!(" SD {sd:#08x}")).unwrap_or_default();
            return Err(Status::invalid_argument(format!(
                "kpm_slice: SST {}{sd}; all UEs of the lab have SST 1 without SD",
                slice.sst
            )));
        }
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Subscribe {
            request: SubscriptionRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                event_trigger: request.event_trigger,
                action_definitions: request.action_definitions,
                kpm_measurements: request.kpm_measurements,
            },
            reading: Reading { depth: usize::try_from(queue_depth).unwrap_or(usize::MAX), newest },
            account: self.pools.of(&client.account),
            reply,
        })?;
        let admitted = answer.await.map_err(|_| stopped())?;
        admitted.map_err(|error| match error {
            AdmissionError::World(SubscribeError::Route(error)) => {
                Status::not_found(error.to_string())
            }
            AdmissionError::World(error) => Status::invalid_argument(error.to_string()),
            AdmissionError::Limited(refused) => refused.into(),
        })
    }

    /// One subscription of a call: admission, indications and end.
    fn indications(
        &self,
        number: u64,
        client: Client,
        request: proto::Subscription,
    ) -> NumberedIndications {
        let handler = self.clone();
        let admission = async move {
            let admitted = handler.admit(&client, request).await;
            let code = admitted.as_ref().map_or_else(Status::code, |_| tonic::Code::Ok);
            handler.metrics.subscription(code);
            admitted
        };
        stream::once(admission).try_flatten().map(move |indication| (number, indication)).boxed()
    }
}

type NumberedIndications = BoxStream<'static, (u64, Result<proto::Indication, Status>)>;

/// A subscription of a call.
struct Open {
    node_id: String,
    handle: AbortHandle,
}

/// Responses of one `Subscribe` call.
pub(super) struct SubscribeStream {
    handler: SubscribeHandler,
    client: Client,
    account: Arc<NodeAccount>,
    access_changes: AccessChanges,
    /// `None` once the client has closed its side; it may still read.
    requests: Option<Streaming<proto::SubscribeRequest>>,
    open: HashMap<u64, Open>,
    /// Polled round robin.
    indications: SelectAll<Abortable<NumberedIndications>>,
    /// Ends of subscriptions beyond the client's rate.
    refused: Vec<proto::SubscriptionEvent>,
    /// Pause until the next request is read.
    pause: Option<BoxFuture<'static, ()>>,
    stopped: BoxFuture<'static, ()>,
    over: bool,
}

impl SubscribeStream {
    /// Carries out the client's requests; ready with the status that ends the call.
    fn poll_requests(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        for _ in 0..MAX_REQUESTS {
            if let Some(pause) = &mut self.pause {
                ready!(pause.poll_unpin(context));
                self.pause = None;
            }
            let Some(requests) = self.requests.as_mut() else { return Poll::Pending };
            match ready!(requests.poll_next_unpin(context)) {
                Some(Ok(request)) => {
                    if let Err(status) = self.on_request(request) {
                        return Poll::Ready(status);
                    }
                }
                Some(Err(status)) => return Poll::Ready(status),
                None => self.requests = None,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    // The error is the status that ends the call.
    #[allow(clippy::result_large_err)]
    fn on_request(&mut self, request: proto::SubscribeRequest) -> Result<(), Status> {
        let number = request.subscription_id;
        match request.procedure {
            Some(Procedure::Subscribe(_)) if self.open.contains_key(&number) => {
                return Err(Status::invalid_argument(format!(
                    "subscription_id {number} is in use; expected another for each subscription"
                )));
            }
            Some(Procedure::Subscribe(request)) => {
                if let Err(refused) = self.account.procedure(self.client.now_us()) {
                    let status = Status::from(refused);
                    self.handler.metrics.subscription(status.code());
                    self.refused.push(end_event(number, &status));
                    self.pause = Some(self.client.account.refusal_pause().boxed());
                    return Ok(());
                }
                let (handle, registration) = AbortHandle::new_pair();
                self.open.insert(number, Open { node_id: request.node_id.clone(), handle });
                let indications = self.handler.indications(number, self.client.clone(), request);
                self.indications.push(Abortable::new(indications, registration));
            }
            Some(Procedure::Unsubscribe(_)) => {
                if let Some(open) = self.open.remove(&number) {
                    open.handle.abort();
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Ends the subscriptions that the client lost the right to with a change of the access file.
    fn revoked_events(&mut self, context: &mut Context<'_>) -> Vec<proto::SubscriptionEvent> {
        let mut is_changed = false;
        while let Poll::Ready(Some(())) = self.access_changes.poll_next_unpin(context) {
            is_changed = true;
        }
        if !is_changed {
            return Vec::new();
        }
        let refusal = |open: &Open| {
            let caller = &self.client.caller;
            caller.require(Right::Subscribe, Some(&open.node_id), "after a reload").err()
        };
        let refused: Vec<(u64, Refusal)> = self
            .open
            .iter()
            .filter_map(|(number, open)| refusal(open).map(|refusal| (*number, refusal)))
            .collect();
        let mut events = Vec::new();
        for (subscription_id, refusal) in refused {
            if let Some(open) = self.open.remove(&subscription_id) {
                open.handle.abort();
            }
            events.push(end_event(subscription_id, &refusal.into()));
        }
        events
    }

    /// Queued events of all subscriptions, about [`MAX_BATCH_BYTES`] at most.
    fn queued_events(&mut self, context: &mut Context<'_>) -> Vec<proto::SubscriptionEvent> {
        let mut events = std::mem::take(&mut self.refused);
        events.append(&mut self.revoked_events(context));
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Poll::Ready(Some((subscription_id, indication))) =
                self.indications.poll_next_unpin(context)
        {
            events.push(match indication {
                Ok(indication) => {
                    bytes += indication.encoded_len();
                    let event = Some(Event::Indication(indication));
                    proto::SubscriptionEvent { subscription_id, event }
                }
                Err(status) => {
                    self.open.remove(&subscription_id);
                    end_event(subscription_id, &status)
                }
            });
        }
        events
    }
}

/// Whether E2SM-TC reports come in a period. A trigger that cannot be decoded is refused by the RAN function.
fn is_periodic(request: &proto::Subscription) -> bool {
    let trigger = v1::decode::<EventTrigger>(&request.event_trigger);
    trigger.map_or(true, |trigger| matches!(trigger, EventTrigger::Periodic { .. }))
}

/// The last event of a subscription.
fn end_event(subscription_id: u64, status: &Status) -> proto::SubscriptionEvent {
    let end = proto::SubscriptionEnd {
        code: (status.code() as i32).cast_unsigned(),
        detail: status.message().to_owned(),
    };
    proto::SubscriptionEvent { subscription_id, event: Some(Event::End(end)) }
}

impl Stream for SubscribeStream {
    type Item = Result<proto::SubscribeResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut end = self.poll_requests(context);
        if end.is_pending() {
            let events = self.queued_events(context);
            if !events.is_empty() {
                return Poll::Ready(Some(Ok(proto::SubscribeResponse { events })));
            }
            // After the end of each subscription.
            if self.indications.is_empty() {
                end = self.stopped.poll_unpin(context).map(|()| stopped());
            }
        }
        let status = ready!(end);
        self.over = true;
        Poll::Ready(Some(Err(status)))
    }
}
