//! Many RIC subscriptions over one call.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

use super::{double::NODE, harness::*};
use crate::gateway::{
    Gateway,
    proto::{
        Indication, SubscribeRequest, SubscriptionsRequest, SubscriptionsResponse, Unsubscribe,
        subscription_event::Event, subscriptions_request::Procedure,
    },
};

/// A client's end of the call.
struct Call {
    asking: mpsc::UnboundedSender<SubscriptionsRequest>,
    responses: Streaming<SubscriptionsResponse>,
    waiting: VecDeque<(u64, Event)>,
    /// Events that came together, at most.
    together: usize,
}

impl Call {
    async fn open(gateway: &Gateway) -> Self {
        let (asking, requests) = mpsc::unbounded_channel();
        let requests = UnboundedReceiverStream::new(requests);
        let mut client = connect(gateway).await;
        let responses = client.subscriptions(requests).await.expect("a call").into_inner();
        Self { asking, responses, waiting: VecDeque::new(), together: 0 }
    }

    fn ask(&self, subscription_id: u64, procedure: Procedure) {
        let request = SubscriptionsRequest { subscription_id, procedure: Some(procedure) };
        self.asking.send(request).expect("a call that is open");
    }

    fn subscribe(&self, subscription_id: u64, request: SubscribeRequest) {
        self.ask(subscription_id, Procedure::Subscribe(request));
    }

    async fn next(&mut self) -> (u64, Event) {
        while self.waiting.is_empty() {
            let response = next(&mut self.responses).await;
            self.together = self.together.max(response.events.len());
            let events = response.events.into_iter();
            self.waiting
                .extend(events.map(|one| (one.subscription_id, one.event.expect("an event"))));
        }
        self.waiting.pop_front().expect("one")
    }

    /// The next indication of one, of no interest what others have.
    async fn indication(&mut self, subscription_id: u64) -> Indication {
        loop {
            if let (number, Event::Indication(indication)) = self.next().await
                && number == subscription_id
            {
                return indication;
            }
        }
    }

    /// How so many of them ended.
    async fn ends(&mut self, count: usize) -> BTreeMap<u64, (Code, String)> {
        let mut ends = BTreeMap::new();
        while ends.len() < count {
            if let (number, Event::End(end)) = patiently(self.next()).await {
                ends.insert(number, (Code::from(end.code.cast_signed()), end.detail));
            }
        }
        ends
    }

    async fn end(mut self) -> Status {
        end(&mut self.responses).await
    }
}

#[tokio::test]
async fn each_has_its_own_sequence_and_those_that_wait_come_together() {
    let (gateway, script) = start().await;
    let mut call = Call::open(&gateway).await;
    for number in 1..=3 {
        call.subscribe(number, every(1));
    }
    let mut expected = BTreeMap::new();
    while call.together < 3 || expected.len() < 3 {
        // A world that stood still reports what it missed at once.
        script.lock().stall_ms = 20;
        let (number, event) = call.next().await;
        let Event::Indication(indication) = event else { panic!("{event:?}") };
        assert!(indication.later.is_empty());
        let sequence = expected.entry(number).or_insert(0);
        assert_eq!((indication.sequence, indication.node_id.as_str()), (*sequence, NODE));
        *sequence += 1;
    }
    assert_eq!(expected.into_keys().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(script.lock().opened, 1, "equal ones share one of the node");
}

#[tokio::test]
async fn one_that_is_refused_ends_by_itself_and_the_call_goes_on() {
    let (gateway, _script) = start().await;
    let mut call = Call::open(&gateway).await;
    call.subscribe(7, every(1));
    call.subscribe(8, SubscribeRequest { node_id: "gnb-x".to_owned(), ..every(1) });
    let garbage = SubscribeRequest { event_trigger: Bytes::from_static(b"x"), ..every(1) };
    call.subscribe(9, garbage);
    call.subscribe(10, SubscribeRequest { queue_depth: u32::MAX, ..every(1) });
    let ends = call.ends(3).await;
    for (number, code, words) in [
        (8, Code::NotFound, "gnb-x"),
        (9, Code::InvalidArgument, "event_trigger"),
        (10, Code::InvalidArgument, "queue_depth"),
    ] {
        let (found, detail) = &ends[&number];
        assert_eq!(*found, code, "{number}: {detail}");
        assert!(detail.contains(words), "{number}: {detail}");
    }
    call.indication(7).await;
    for (code, count) in [("ok", 1.0), ("not_found", 1.0), ("invalid_argument", 2.0)] {
        let line = format!(r#"sojourn_gateway_subscriptions_total{{code="{code}"}}"#);
        assert!((metric(&gateway, &line).await - count).abs() < 0.5, "{line}");
    }
}

#[tokio::test]
async fn one_that_is_left_ends_in_the_node_and_the_others_do_not() {
    let (gateway, script) = start().await;
    let mut call = Call::open(&gateway).await;
    call.subscribe(1, every(1));
    call.subscribe(2, every(2));
    call.indication(1).await;
    call.indication(2).await;
    assert_eq!(script.lock().open.len(), 2);
    call.ask(1, Procedure::Unsubscribe(Unsubscribe {}));
    // It was never there.
    call.ask(77, Procedure::Unsubscribe(Unsubscribe {}));
    until(async || script.lock().open.len() == 1).await;
    let before = call.indication(2).await.sequence;
    assert_eq!(call.indication(2).await.sequence, before + 1);
}

#[tokio::test]
async fn a_node_that_goes_away_ends_its_own_and_can_be_subscribed_to_again() {
    let (gateway, script) = start().await;
    let mut call = Call::open(&gateway).await;
    call.subscribe(1, every(1));
    call.indication(1).await;
    script.change(|script| script.connected = false);
    let (code, detail) = &call.ends(1).await[&1];
    assert_eq!(*code, Code::Unavailable, "{detail}");
    assert!(detail.contains("subscribe again"), "{detail}");
    script.change(|script| (script.connected, script.generation) = (true, 1));
    until(async || metric(&gateway, "sojourn_gateway_indication_streams").await < 0.5).await;
    call.subscribe(2, every(1));
    assert_eq!(call.indication(2).await.sequence, 0);
}

#[tokio::test]
async fn a_number_that_is_in_use_ends_the_call() {
    let (gateway, script) = start().await;
    let mut call = Call::open(&gateway).await;
    call.subscribe(5, every(1));
    call.indication(5).await;
    call.subscribe(5, every(2));
    assert_code(&call.end().await, Code::InvalidArgument, &["subscription_id 5"]);
    until(async || script.lock().open.is_empty()).await;
}

#[tokio::test]
async fn a_client_that_leaves_ends_them_and_one_that_has_asked_all_does_not() {
    let (gateway, script) = start().await;
    let call = Call::open(&gateway).await;
    call.subscribe(1, every(1));
    let Call { asking, mut responses, .. } = call;
    drop(asking);
    for _ in 0..3 {
        next(&mut responses).await;
    }
    assert_eq!(script.lock().open.len(), 1);
    drop(responses);
    until(async || script.lock().open.is_empty()).await;
}

#[tokio::test]
async fn stopping_ends_each_and_then_the_call() {
    let (gateway, _script) = start().await;
    let mut call = Call::open(&gateway).await;
    let idle = Call::open(&gateway).await;
    call.subscribe(1, every(1));
    call.subscribe(2, every(5));
    call.indication(2).await;
    call.indication(1).await;
    patiently(gateway.stop()).await.expect("a summary");
    let ends = call.ends(2).await;
    assert!(ends.values().all(|(code, _)| *code == Code::Unavailable), "{ends:?}");
    assert_code(&call.end().await, Code::Unavailable, &["stopped"]);
    assert_code(&idle.end().await, Code::Unavailable, &["stopped"]);
}
