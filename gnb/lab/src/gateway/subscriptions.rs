//! RIC subscriptions: one call each, or many over one.

use std::{
    collections::HashMap,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_util::{
    FutureExt, Stream, StreamExt, TryStreamExt,
    future::BoxFuture,
    stream::{self, AbortHandle, Abortable, BoxStream, SelectAll},
};
use prost::Message;
use tokio::sync::{oneshot, watch};
use tonic::{Status, Streaming};

use super::{
    command::{AdmissionError, Command, Commands, stopped},
    e2_world::{self, SubscribeError},
    metrics::GatewayMetrics,
    outbox::{MAX_BATCH_BYTES, OutboxStream},
    proto::{self, subscription_event::Event, subscriptions_request::Procedure},
};

/// Queue depth when a subscriber asks for none.
const DEFAULT_QUEUE_DEPTH: u32 = 64;
/// Deepest queue: four seconds of 1 ms reports.
const MAX_QUEUE_DEPTH: u32 = 4096;

/// What asks the world for reports.
#[derive(Clone, Debug)]
pub(super) struct SubscriptionDoor {
    pub(super) commands: Commands,
    pub(super) metrics: GatewayMetrics,
    /// True once the gateway stops.
    pub(super) stopping: watch::Receiver<bool>,
}

impl SubscriptionDoor {
    /// One subscription.
    pub(super) async fn one(
        &self,
        request: proto::SubscribeRequest,
    ) -> Result<OutboxStream, Status> {
        let admitted = self.admit(request).await;
        self.metrics.subscription(admitted.as_ref().map_or_else(Status::code, |_| tonic::Code::Ok));
        admitted
    }

    /// Subscriptions as they are asked for.
    pub(super) fn stream(&self, requests: Streaming<proto::SubscriptionsRequest>) -> Subscriptions {
        let mut stopping = self.stopping.clone();
        Subscriptions {
            door: self.clone(),
            requests: Some(requests),
            open: HashMap::new(),
            indications: SelectAll::new(),
            stopped: async move {
                // A dropped sender means that the gateway was dropped.
                let _ = stopping.wait_for(|stop| *stop).await;
            }
            .boxed(),
            over: false,
        }
    }

    async fn admit(&self, request: proto::SubscribeRequest) -> Result<OutboxStream, Status> {
        let queue_depth = match request.queue_depth {
            0 => DEFAULT_QUEUE_DEPTH,
            depth if depth <= MAX_QUEUE_DEPTH => depth,
            depth => {
                return Err(Status::invalid_argument(format!(
                    "queue_depth: {depth}; expected at most {MAX_QUEUE_DEPTH}"
                )));
            }
        };
        if let Some(asked) = &request.kpm_slice
            && (asked.sst, asked.sd) != (1, None)
        {
            let sd = asked.sd.map(|sd| format!(" SD {sd:#08x}")).unwrap_or_default();
            return Err(Status::invalid_argument(format!(
                "kpm_slice: SST {}{sd}; the lab's UEs are all of SST 1 without SD",
                asked.sst
            )));
        }
        let max_batch = usize::try_from(request.max_batch).unwrap_or(usize::MAX);
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Subscribe {
            request: e2_world::SubscriptionRequest {
                node_id: request.node_id,
                ran_function_oid: request.ran_function_oid,
                event_trigger: request.event_trigger,
                action_definitions: request.action_definitions,
                kpm_measurements: request.kpm_measurements,
            },
            queue_depth: usize::try_from(queue_depth).unwrap_or(usize::MAX),
            reply,
        })?;
        let admitted = answer.await.map_err(|_| stopped())?;
        let stream = admitted.map_err(|error| match error {
            AdmissionError::World(SubscribeError::Route(error)) => {
                Status::not_found(error.to_string())
            }
            AdmissionError::World(SubscribeError::Refused(detail)) => {
                Status::invalid_argument(detail)
            }
            AdmissionError::TooManySubscribers { limit } => Status::resource_exhausted(format!(
                "{limit} indication streams are open already, the most this gateway serves"
            )),
        })?;
        Ok(stream.in_batches_of(max_batch))
    }

    /// One of several: admission, indications and end.
    fn numbered(&self, number: u64, mut request: proto::SubscribeRequest) -> NumberedIndications {
        // The call gathers by itself, over all of its subscriptions.
        request.max_batch = 1;
        let door = self.clone();
        stream::once(async move { door.one(request).await })
            .try_flatten()
            .map(move |indication| (number, indication))
            .boxed()
    }
}

type NumberedIndications = BoxStream<'static, (u64, Result<proto::Indication, Status>)>;

/// The gateway's side of a `Subscriptions` call.
pub(super) struct Subscriptions {
    door: SubscriptionDoor,
    /// `None` once the client has asked all it wants to.
    requests: Option<Streaming<proto::SubscriptionsRequest>>,
    open: HashMap<u64, AbortHandle>,
    /// Each in its turn.
    indications: SelectAll<Abortable<NumberedIndications>>,
    stopped: BoxFuture<'static, ()>,
    over: bool,
}

impl Subscriptions {
    /// Begins and ends what the client asks for; ready with what ends the call.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        loop {
            let Some(requests) = self.requests.as_mut() else { return Poll::Pending };
            match ready!(requests.poll_next_unpin(context)) {
                Some(Ok(request)) => {
                    if let Err(status) = self.serve(request) {
                        return Poll::Ready(status);
                    }
                }
                Some(Err(status)) => return Poll::Ready(status),
                None => self.requests = None,
            }
        }
    }

    // The error is what the client is told.
    #[allow(clippy::result_large_err)]
    fn serve(&mut self, request: proto::SubscriptionsRequest) -> Result<(), Status> {
        let number = request.subscription_id;
        match request.procedure {
            Some(Procedure::Subscribe(_)) if self.open.contains_key(&number) => {
                return Err(Status::invalid_argument(format!(
                    "subscription_id {number} is in use; expected another for each subscription"
                )));
            }
            Some(Procedure::Subscribe(request)) => {
                let (handle, registration) = AbortHandle::new_pair();
                self.open.insert(number, handle);
                let indications = self.door.numbered(number, request);
                self.indications.push(Abortable::new(indications, registration));
            }
            Some(Procedure::Unsubscribe(_)) => {
                if let Some(handle) = self.open.remove(&number) {
                    handle.abort();
                }
            }
            None => {}
        }
        Ok(())
    }

    /// What waits, of all subscriptions.
    fn gather(&mut self, context: &mut Context<'_>) -> Vec<proto::SubscriptionEvent> {
        let mut events = Vec::new();
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Poll::Ready(Some((subscription_id, indication))) =
                self.indications.poll_next_unpin(context)
        {
            let event = match indication {
                Ok(indication) => {
                    bytes += indication.encoded_len();
                    Event::Indication(indication)
                }
                Err(status) => {
                    self.open.remove(&subscription_id);
                    Event::End(proto::SubscriptionEnd {
                        code: (status.code() as i32).cast_unsigned(),
                        detail: status.message().to_owned(),
                    })
                }
            };
            events.push(proto::SubscriptionEvent { subscription_id, event: Some(event) });
        }
        events
    }
}

impl Stream for Subscriptions {
    type Item = Result<proto::SubscriptionsResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut end = self.read(context);
        if end.is_pending() {
            let events = self.gather(context);
            if !events.is_empty() {
                return Poll::Ready(Some(Ok(proto::SubscriptionsResponse { events })));
            }
            // Behind what each subscription was told.
            if self.indications.is_empty() {
                end = self.stopped.poll_unpin(context).map(|()| stopped());
            }
        }
        let status = ready!(end);
        self.over = true;
        Poll::Ready(Some(Err(status)))
    }
}
