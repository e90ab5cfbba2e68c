//! Fan-out, slow readers and readers that leave.

use bytes::Bytes;
use tonic::Code;

use super::harness::*;
use crate::{
    ServeOptions,
    proto::{
        Subscription, Unsubscribe, indication, subscribe_request::Procedure,
        subscription_event::Event,
    },
};

#[tokio::test]
async fn equal_subscriptions_share_one_of_the_node_and_others_do_not() {
    let (gateway, script) = start().await;
    let (mut one, mut two) = (connect(&gateway).await, connect(&gateway).await);
    // Deep enough for a machine that has no time for this test.
    let mut first = subscribe(&mut one, Subscription { queue_depth: 4096, ..every(1) }).await;
    let mut second = subscribe(&mut two, Subscription { queue_depth: 4095, ..every(1) }).await;
    let mut slower = subscribe(&mut two, every(2)).await;
    next(&mut slower).await;

    let second_began = next(&mut second).await;
    let same = loop {
        let indication = next(&mut first).await;
        if indication.header == second_began.header {
            break indication;
        }
    };
    assert_eq!(same.payload, second_began.payload);
    assert_eq!(same.received_at_us, second_began.received_at_us);
    assert_eq!(second_began.sequence, 0);
    assert_eq!(script.lock().opened, 2);

    drop(first);
    next(&mut second).await;
    drop((second, slower));
    until(async || script.lock().open.is_empty()).await;
    assert!(metric(&gateway, "sojourn_gateway_indication_streams").await.abs() < 0.5);
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_learns_how_many() {
    let (gateway, script) = start().await;
    script.lock().message_bytes = 150_000;
    let mut client = connect(&gateway).await.max_decoding_message_size(1 << 20);
    let mut slow = subscribe(&mut client, Subscription { queue_depth: 2, ..every(1) }).await;
    let mut brisk_client = connect(&gateway).await;
    let mut brisk = subscribe(&mut brisk_client, every(50)).await;

    let dropped =
        r#"sojourn_gateway_indications_dropped_total{ran_function_oid="0.0.0.0.0.0.0.0.1.143.0"}"#;
    until(async || metric(&gateway, dropped).await >= 5.0).await;
    assert_eq!(next(&mut brisk).await.dropped, 0);

    let mut received = 0;
    loop {
        let indication = next(&mut slow).await;
        assert_eq!(indication.sequence, received + indication.dropped);
        received += 1;
        if indication.dropped >= 5 {
            break;
        }
    }
}

#[tokio::test]
async fn subscriptions_beyond_the_share_of_a_client_are_refused_and_others_find_room() {
    let (gateway, script) = start_with(&ServeOptions { max_subscribers: 300, ..options() }).await;
    let mut call = Call::open(&mut connect(&gateway).await).await;
    for number in 0..=300 {
        call.subscribe(number, every(100));
    }
    let mut served = std::collections::BTreeSet::new();
    let mut refused = Vec::new();
    while served.len() < 150 || refused.len() < 151 {
        match call.event().await.expect("no end of the call") {
            (number, Event::Indication(indication)) => {
                let Some(indication::Payload::Message(bytes)) = indication.payload else {
                    panic!("expected bytes");
                };
                assert_eq!(bytes, Bytes::from_static(&[7; 16]));
                served.insert(number);
            }
            (number, Event::End(end)) => {
                assert_eq!(Code::from(end.code.cast_signed()), Code::ResourceExhausted);
                assert!(end.detail.contains("its share of 300 subscriptions"), "{}", end.detail);
                refused.push(number);
            }
        }
    }
    assert_eq!((script.lock().opened, refused.len()), (1, 151));
    let mut other = connect(&gateway).await;
    next(&mut subscribe(&mut other, every(100)).await).await;
    let leaving = *served.first().expect("one");
    call.send(leaving, Procedure::Unsubscribe(Unsubscribe {}));
    // The place becomes free at the world's next step.
    let mut number = 301;
    until(async || {
        call.subscribe(number, every(100));
        loop {
            match call.event().await.expect("no end of the call") {
                (found, event) if found == number => {
                    number += 1;
                    return matches!(event, Event::Indication(_));
                }
                _ => {}
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_reader_whose_connection_breaks_is_forgotten() {
    let (gateway, script) = start().await;
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    next(&mut stream).await;
    assert_eq!(script.lock().open.len(), 1);
    drop((stream, client));
    until(async || script.lock().open.is_empty()).await;
}
