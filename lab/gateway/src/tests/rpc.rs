//! Each procedure, and each error code that the proto documents.

use bytes::Bytes;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use super::{
    double::{ACCEPT, KPM, LOSE_NODE, NEVER_ANSWER, NODE, REFUSE, REPORTER},
    harness::*,
};
use crate::{
    ServeOptions,
    proto::{
        ControlRequest, ListNodesRequest, SNssai, Subscription, WatchNodesRequest, control_answer,
        control_response, indication, node_event,
    },
};

#[tokio::test]
async fn nodes_are_listed_with_their_ran_functions() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let nodes = client.list_nodes(ListNodesRequest {}).await.expect("nodes").into_inner().nodes;
    assert_eq!(nodes.len(), 1);
    assert_eq!((nodes[0].id.as_str(), nodes[0].nb_id), (NODE, 0xe00));
    let reporter = nodes[0].ran_functions.iter().find(|function| function.oid == REPORTER);
    let reporter = reporter.expect("the reporter");
    assert_eq!((reporter.id, reporter.revision), (143, 1));
    assert_eq!(reporter.definition.as_ref(), b"definition");
}

#[tokio::test]
async fn a_watcher_sees_nodes_disconnect_reconnect_and_change() {
    let (gateway, script) = start().await;
    let mut client = connect(&gateway).await;
    let mut events = client.watch_nodes(WatchNodesRequest {}).await.expect("events").into_inner();
    assert_eq!(next(&mut events).await.kind(), node_event::Kind::Connected);
    script.change(|script| script.connected = false);
    let gone = next(&mut events).await;
    assert_eq!(gone.kind(), node_event::Kind::Disconnected);
    assert_eq!(gone.node.expect("which").id, NODE);
    assert!(client.list_nodes(ListNodesRequest {}).await.expect("none").get_ref().nodes.is_empty());
    script.change(|script| (script.connected, script.generation) = (true, 1));
    assert_eq!(next(&mut events).await.kind(), node_event::Kind::Connected);
    script.change(|script| script.nb_id = 0xe01);
    let updated = next(&mut events).await;
    assert_eq!(updated.kind(), node_event::Kind::Updated);
    assert_eq!(updated.node.expect("which").nb_id, 0xe01);
}

#[tokio::test]
async fn indications_carry_bytes_identity_and_both_times() {
    let (gateway, script) = start().await;
    let mut stream = subscribe(&mut connect(&gateway).await, every(1)).await;
    for sequence in 0..20 {
        let indication = next(&mut stream).await;
        assert_eq!((indication.node_id.as_str(), indication.ran_function_id), (NODE, 143));
        assert_eq!(indication.ran_function_oid, REPORTER);
        assert_eq!((indication.sequence, indication.dropped), (sequence, 0));
        assert_eq!(
            indication.payload,
            Some(indication::Payload::Message(Bytes::from_static(&[7; 16])))
        );
        let taken_us = u64::from_le_bytes(indication.header.as_ref().try_into().expect("8 bytes"));
        let epoch_us = *script.lock().epochs_us.last().expect("an epoch");
        assert_eq!(indication.collected_at_us, epoch_us + taken_us);
        assert!(indication.received_at_us >= indication.collected_at_us);
    }
}

#[tokio::test]
async fn kpm_is_a_typed_report_that_names_what_the_node_lacks() {
    let (gateway, _script) = start().await;
    let request = Subscription {
        ran_function_oid: KPM.to_owned(),
        kpm_measurements: vec!["DRB.UEThpDl".to_owned(), "DRB.Sorcery".to_owned()],
        ..every(5)
    };
    let mut stream = subscribe(&mut connect(&gateway).await, request).await;
    let Some(indication::Payload::Kpm(report)) = next(&mut stream).await.payload else {
        panic!("expected a typed report");
    };
    assert_eq!((report.period_ms, report.unsupported), (5, vec!["DRB.Sorcery".to_owned()]));
    assert_eq!(report.ues[0].values["DRB.UEThpDl"].to_bits(), 42.0_f64.to_bits());
}

#[tokio::test]
async fn a_control_is_acknowledged_or_refused_with_its_outcome() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let done = send_control(&mut client, control(ACCEPT)).await.expect("an answer");
    assert_eq!(done.status(), control_answer::Status::Acknowledged);
    assert_eq!(done.outcome.as_ref(), b"done");
    let refused = send_control(&mut client, control(REFUSE)).await.expect("an answer");
    assert_eq!(refused.status(), control_answer::Status::Failed);
    assert_eq!((refused.outcome.as_ref(), refused.detail.is_empty()), (b"no".as_ref(), false));
    let only_reports = ControlRequest { ran_function_oid: REPORTER.to_owned(), ..control(ACCEPT) };
    let failed = send_control(&mut client, only_reports).await.expect("an answer");
    assert_eq!(failed.status(), control_answer::Status::Failed);
    assert!(failed.detail.contains("takes no control"), "{}", failed.detail);
    for (labels, count) in [
        (r#"{outcome="acknowledged",cause=""}"#, 1.0),
        (r#"{outcome="failed",cause="stale_revision"}"#, 1.0),
        (r#"{outcome="failed",cause="not_controllable"}"#, 1.0),
    ] {
        let line = format!("sojourn_gateway_controls_total{labels}");
        assert!((metric(&gateway, &line).await - count).abs() < 0.5, "{line}");
    }
}

#[tokio::test]
async fn unknown_nodes_and_ran_functions_are_not_found() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let nowhere = Subscription { node_id: "gnb-x".to_owned(), ..every(1) };
    let status = end(&mut subscribe(&mut client, nowhere).await).await;
    assert_code(&status, Code::NotFound, &["node_id", "gnb-x"]);
    let nothing = Subscription { ran_function_oid: "9.9".to_owned(), ..every(1) };
    let status = end(&mut subscribe(&mut client, nothing).await).await;
    assert_code(&status, Code::NotFound, &["ran_function_oid", "9.9"]);
    let nowhere = ControlRequest { node_id: "gnb-x".to_owned(), ..control(ACCEPT) };
    let status = send_control(&mut client, nowhere).await.expect_err("no such node");
    assert_code(&status, Code::NotFound, &["node_id", "gnb-x"]);
    let nothing = ControlRequest { ran_function_oid: "9.9".to_owned(), ..control(ACCEPT) };
    let status = send_control(&mut client, nothing).await.expect_err("no such RAN function");
    assert_code(&status, Code::NotFound, &["ran_function_oid", "9.9"]);
    let counted =
        metric(&gateway, r#"sojourn_gateway_subscriptions_total{code="not_found"}"#).await;
    assert!((counted - 2.0).abs() < 0.5, "{counted}");
}

#[tokio::test]
async fn a_bad_event_trigger_queue_depth_or_slice_is_an_invalid_argument() {
    let (gateway, _script) = start().await;
    let mut client = connect(&gateway).await;
    let garbage = Subscription { event_trigger: Bytes::from_static(b"garbage!"), ..every(1) };
    let status = end(&mut subscribe(&mut client, garbage).await).await;
    assert_code(&status, Code::InvalidArgument, &["event trigger", "8 bytes", "expected 4"]);
    let deep = Subscription { queue_depth: u32::MAX, ..every(1) };
    let status = end(&mut subscribe(&mut client, deep).await).await;
    assert_code(&status, Code::InvalidArgument, &["queue_depth", "4294967295", "4096"]);

    let slice = SNssai { sst: 2, sd: Some(0x0102) };
    let of_slice = Subscription { kpm_slice: Some(slice), ..every(1) };
    let status = end(&mut subscribe(&mut client, of_slice).await).await;
    assert_code(&status, Code::InvalidArgument, &["kpm_slice", "SST 2 SD 0x000102", "SST 1"]);
}

#[tokio::test]
async fn a_lost_node_ends_streams_and_controls_as_unavailable() {
    let (gateway, script) = start().await;
    let mut client = connect(&gateway).await;
    let mut stream = subscribe(&mut client, every(1)).await;
    next(&mut stream).await;
    script.change(|script| script.connected = false);
    assert_code(&end(&mut stream).await, Code::Unavailable, &[NODE, "subscribe again"]);
    assert!(script.lock().open.is_empty());

    script.change(|script| (script.connected, script.generation) = (true, 1));
    let status = send_control(&mut client, control(LOSE_NODE)).await.expect_err("lost");
    assert_code(&status, Code::Unavailable, &[NODE]);
    next(&mut subscribe(&mut client, every(1)).await).await;
}

#[tokio::test]
async fn a_node_that_does_not_answer_exceeds_the_deadline() {
    let options =
        ServeOptions { control_timeout: std::time::Duration::from_millis(20), ..options() };
    let (gateway, _script) = start_with(&options).await;
    let mut client = connect(&gateway).await;
    let status = send_control(&mut client, control(NEVER_ANSWER)).await.expect_err("no answer");
    assert_code(&status, Code::DeadlineExceeded, &[NODE, "20 ms"]);
}

#[tokio::test]
async fn each_control_of_a_call_is_answered_when_it_completes() {
    let options = ServeOptions { control_timeout: std::time::Duration::from_secs(3), ..options() };
    let (gateway, _script) = start_with(&options).await;
    let elsewhere = ControlRequest { node_id: "gnb-x".to_owned(), ..control(ACCEPT) };
    let controls = [
        (control(NEVER_ANSWER), 2_000),
        (control(NEVER_ANSWER), 0),
        (control(ACCEPT), 0),
        (control(REFUSE), 60_000),
        (elsewhere, 0),
        (ControlRequest::default(), 0),
        (control(LOSE_NODE), 0),
    ];
    let requests = (100..).zip(controls).map(|(request_id, (control, timeout_ms))| {
        ControlRequest { request_id, timeout_ms, ..control }
    });
    let mut client = connect(&gateway).await;
    let requests = tokio_stream::iter(requests.collect::<Vec<_>>());
    let mut stream = client.control(requests).await.expect("a call").into_inner();
    let mut order = Vec::new();
    let mut results = std::collections::BTreeMap::new();
    // The client has closed its side, so the last answer ends the call.
    while let Some(response) = patiently(stream.message()).await.expect("no error") {
        order.push(response.request_id);
        results.insert(response.request_id, response.result.expect("a result"));
    }
    assert_eq!(results.keys().copied().collect::<Vec<_>>(), (100..107).collect::<Vec<_>>());
    // Those without an answer did not delay the others.
    assert_eq!(order[5..], [100, 101]);
    let error = |request_id| match &results[&request_id] {
        control_response::Result::Error(error) => (Code::from(error.code.cast_signed()), error),
        control_response::Result::Answer(answer) => panic!("answered: {answer:?}"),
    };
    for (request_id, code, words) in [
        (100, Code::DeadlineExceeded, "2000 ms"),
        (101, Code::DeadlineExceeded, "3000 ms"),
        (104, Code::NotFound, "gnb-x"),
        (105, Code::NotFound, "node_id"),
        (106, Code::Unavailable, NODE),
    ] {
        let (found, error) = error(request_id);
        assert_eq!(found, code, "{error:?}");
        assert!(error.detail.contains(words), "{error:?}");
    }
    for (request_id, status, outcome) in [
        (102, control_answer::Status::Acknowledged, b"done".as_slice()),
        (103, control_answer::Status::Failed, b"no"),
    ] {
        let control_response::Result::Answer(answer) = &results[&request_id] else {
            panic!("no answer: {:?}", results[&request_id]);
        };
        assert_eq!((answer.status(), answer.outcome.as_ref()), (status, outcome));
    }
    for (labels, count) in [
        (r#"{outcome="acknowledged",cause=""}"#, 1.0),
        (r#"{outcome="failed",cause="stale_revision"}"#, 1.0),
    ] {
        let line = format!("sojourn_gateway_controls_total{labels}");
        assert!((metric(&gateway, &line).await - count).abs() < 0.5, "{line}");
    }
}

#[tokio::test]
async fn controls_of_a_call_take_effect_in_order() {
    let (gateway, script) = start().await;
    let count = 1_000_u64;
    let requests = (0..count).map(|request_id| ControlRequest {
        request_id,
        header: Bytes::copy_from_slice(&request_id.to_le_bytes()),
        ..control(ACCEPT)
    });
    let mut client = connect(&gateway).await;
    let requests = tokio_stream::iter(requests.collect::<Vec<_>>());
    let mut stream = client.control(requests).await.expect("a call").into_inner();
    let mut answered = std::collections::BTreeSet::new();
    while let Some(response) = patiently(stream.message()).await.expect("no error") {
        assert!(matches!(response.result, Some(control_response::Result::Answer(_))));
        answered.insert(response.request_id);
    }
    assert_eq!(answered.into_iter().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
    let headers: Vec<_> = (0..count).map(|id| id.to_le_bytes().to_vec()).collect();
    assert_eq!(script.lock().control_headers, headers);
}

#[tokio::test]
async fn health_and_reflection_know_the_gateway() {
    let (gateway, _script) = start().await;
    let service = "sojourn.e2.v1.E2Gateway".to_owned();
    let mut health = HealthClient::new(channel(&gateway).await);
    until(async || {
        let request = HealthCheckRequest { service: service.clone() };
        health.check(request).await.is_ok_and(|answer| answer.get_ref().status == 1)
    })
    .await;

    let mut reflection = ServerReflectionClient::new(channel(&gateway).await);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answer = reflection.server_reflection_info(tokio_stream::iter([request])).await;
    let answer = next(&mut answer.expect("reflection").into_inner()).await;
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("expected a list of services");
    };
    assert!(list.service.iter().any(|found| found.name == service), "{list:?}");
}
