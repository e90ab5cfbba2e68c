//! Several RIC subscriptions over one call.

use std::collections::BTreeMap;

use bytes::Bytes;
use tonic::{Code, Status};

use super::{double::NODE, harness::*};
use crate::{
    Gateway,
    proto::{
        Indication, Subscription, Unsubscribe, subscribe_request::Procedure,
        subscription_event::Event,
    },
};

async fn open(gateway: &Gateway) -> Call {
    Call::open(&mut connect(gateway).await).await
}

impl Call {
    async fn next(&mut self) -> (u64, Event) {
        self.event().await.expect("no end of the call")
    }

    /// The next indication of one subscription; events of others are skipped.
    async fn indication(&mut self, subscription_id: u64) -> Indication {
        loop {
            if let (number, Event::Indication(indication)) = self.next().await
                && number == subscription_id
            {
                return indication;
            }
        }
    }

    /// How the next `count` subscriptions ended.
    async fn ends(&mut self, count: usize) -> BTreeMap<u64, (Code, String)> {
        let mut ends = BTreeMap::new();
        while ends.len() < count {
            if let (number, Event::End(end)) = self.next().await {
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
async fn each_has_its_own_sequence_and_queued_indications_share_a_response() {
    let (gateway, script) = start().await;
    let mut call = open(&gateway).await;
    for number in 1..=3 {
        // Deep enough for a machine that has no time for this test.
        call.subscribe(number, Subscription { queue_depth: 4096, ..every(1) });
    }
    let mut expected = BTreeMap::new();
    while call.most_in_one < 3 || expected.len() < 3 {
        // A world that stood still reports what it missed at once.
        script.lock().stall_ms = 20;
        let (number, event) = call.next().await;
        let Event::Indication(indication) = event else { panic!("{event:?}") };
        let sequence = expected.entry(number).or_insert(0);
        assert_eq!((indication.sequence, indication.node_id.as_str()), (*sequence, NODE));
        *sequence += 1;
    }
    assert_eq!(expected.into_keys().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(script.lock().opened, 1, "equal subscriptions share one of the node");
}

#[tokio::test]
async fn a_refused_subscription_does_not_end_the_call() {
    let (gateway, _script) = start().await;
    let mut call = open(&gateway).await;
    call.subscribe(7, every(1));
    call.subscribe(8, Subscription { node_id: "gnb-x".to_owned(), ..every(1) });
    let garbage = Subscription { event_trigger: Bytes::from_static(b"x"), ..every(1) };
    call.subscribe(9, garbage);
    call.subscribe(10, Subscription { queue_depth: u32::MAX, ..every(1) });
    let ends = call.ends(3).await;
    for (number, code, words) in [
        (8, Code::NotFound, "gnb-x"),
        (9, Code::InvalidArgument, "event trigger"),
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
async fn unsubscribing_ends_one_and_leaves_the_others() {
    let (gateway, script) = start().await;
    let mut call = open(&gateway).await;
    call.subscribe(1, every(1));
    call.subscribe(2, every(2));
    call.indication(1).await;
    call.indication(2).await;
    assert_eq!(script.lock().open.len(), 2);
    call.send(1, Procedure::Unsubscribe(Unsubscribe {}));
    // Unknown to the gateway.
    call.send(77, Procedure::Unsubscribe(Unsubscribe {}));
    until(async || script.lock().open.len() == 1).await;
    let before = call.indication(2).await.sequence;
    assert_eq!(call.indication(2).await.sequence, before + 1);
}

#[tokio::test]
async fn a_lost_node_ends_its_subscriptions_and_can_be_subscribed_to_again() {
    let (gateway, script) = start().await;
    let mut call = open(&gateway).await;
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
async fn a_subscription_id_in_use_ends_the_call() {
    let (gateway, script) = start().await;
    let mut call = open(&gateway).await;
    call.subscribe(5, every(1));
    call.indication(5).await;
    call.subscribe(5, every(2));
    assert_code(&call.end().await, Code::InvalidArgument, &["subscription_id 5"]);
    until(async || script.lock().open.is_empty()).await;
}

#[tokio::test]
async fn a_client_that_only_reads_is_served_and_one_that_leaves_ends_its_subscriptions() {
    let (gateway, script) = start().await;
    let call = open(&gateway).await;
    call.subscribe(1, every(1));
    let Call { requests, mut responses, .. } = call;
    drop(requests);
    for _ in 0..3 {
        next(&mut responses).await;
    }
    assert_eq!(script.lock().open.len(), 1);
    drop(responses);
    until(async || script.lock().open.is_empty()).await;
}

#[tokio::test]
async fn stopping_ends_each_subscription_and_then_the_call() {
    let (gateway, _script) = start().await;
    let mut call = open(&gateway).await;
    let idle = open(&gateway).await;
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
