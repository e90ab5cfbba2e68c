//! Fan-out, slow readers and readers that leave.

use bytes::Bytes;
use tonic::Code;

use super::harness::*;
use crate::gateway::{
    ServeOptions,
    proto::{SubscribeRequest, indication},
};

#[tokio::test]
async fn equal_subscriptions_share_one_of_the_node_and_others_do_not() {
    let (gateway, script) = start().await;
    let (mut one, mut two) = (connect(&gateway).await, connect(&gateway).await);
    let mut first = subscribe(&mut one, every(1)).await;
    let mut second = subscribe(&mut two, SubscribeRequest { queue_depth: 9, ..every(1) }).await;
    let mut slower = subscribe(&mut two, every(2)).await;
    assert_eq!(script.lock().opened, 2);

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
    next(&mut slower).await;

    drop(first);
    next(&mut second).await;
    drop((second, slower));
    until(async || script.lock().open.is_empty()).await;
    assert!(metric(&gateway, "sojourn_gateway_indication_streams").await.abs() < 0.5);
}

#[tokio::test]
async fn a_slow_reader_loses_the_oldest_and_is_told_how_many() {
    let (gateway, script) = start().await;
    script.lock().message_bytes = 200_000;
    let mut client = connect(&gateway).await.max_decoding_message_size(1 << 20);
    let mut slow = subscribe(&mut client, SubscribeRequest { queue_depth: 2, ..every(1) }).await;
    let mut brisk_client = connect(&gateway).await;
    let mut brisk = subscribe(&mut brisk_client, every(50)).await;

    let dropped = r#"sojourn_gateway_indications_dropped_total{ran_function_oid="0.0.143"}"#;
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
async fn what_waits_comes_together_for_a_reader_that_asked_for_that() {
    let (gateway, script) = start().await;
    let mut client = connect(&gateway).await;
    let mut reader = subscribe(&mut client, SubscribeRequest { max_batch: 3, ..every(1) }).await;
    let mut expected = 0;
    for _ in 0..200 {
        // A world that stood still reports what it missed at once.
        script.lock().stall_ms = 20;
        let first = next(&mut reader).await;
        for one in std::iter::once(&first).chain(&first.later) {
            assert_eq!(one.sequence, expected);
            expected += 1;
        }
        assert!(first.later.len() < 3);
        if !first.later.is_empty() {
            return;
        }
    }
    panic!("{expected} indications, each by itself");
}

#[tokio::test]
async fn many_readers_are_served_and_more_than_the_limit_are_turned_away() {
    let (gateway, script) = start_with(&ServeOptions { max_subscribers: 300, ..options() }).await;
    let mut client = connect(&gateway).await;
    let mut streams = Vec::new();
    for _ in 0..300 {
        streams.push(subscribe(&mut client, every(10)).await);
    }
    assert_eq!(script.lock().opened, 1);
    let status = client.subscribe(every(10)).await.expect_err("too many");
    assert_code(&status, Code::ResourceExhausted, &["300"]);
    for stream in &mut streams {
        let Some(indication::Payload::Message(bytes)) = next(stream).await.payload else {
            panic!("expected bytes");
        };
        assert_eq!(bytes, Bytes::from_static(&[7; 16]));
    }
    streams.truncate(299);
    let mut admitted = None;
    until(async || {
        admitted = client.subscribe(every(10)).await.ok();
        admitted.is_some()
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
