//! The lab's world behind the gateway: the default scenario.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use e2sm_tc::v1::{self, ControlOutcome};
use tonic::Code;

use super::harness::*;
use crate::{
    Gateway, ServeOptions,
    proto::{self, ControlRequest, ListNodesRequest, Subscription, control_answer, indication},
};
use lab_scenario::{LoadedScenario, Override};
use lab_world::{RanFunction, World};

const RNTI: u16 = 17921;

fn scenario_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/default.yaml")
}

/// The default scenario with changes.
pub(super) async fn lab_with(overrides: &[&str], options: &ServeOptions) -> Gateway {
    let overrides = overrides.iter().map(|text| text.parse().expect("an override"));
    let overrides: Vec<Override> = overrides.collect();
    let scenario = LoadedScenario::from_file(&scenario_file(), &overrides).expect("the scenario");
    let world = World::new(&scenario).expect("a world");
    Gateway::start(world, options).await.expect("a gateway")
}

async fn start_lab() -> (Gateway, String) {
    let gateway = lab_with(&[], &options()).await;
    let nodes = connect(&gateway).await.list_nodes(ListNodesRequest {}).await.expect("nodes");
    let node_id = nodes.into_inner().nodes.remove(0).id;
    (gateway, node_id)
}

fn to(node_id: &str, function: RanFunction) -> Subscription {
    Subscription {
        node_id: node_id.to_owned(),
        ran_function_oid: function.oid().to_owned(),
        event_trigger: Bytes::copy_from_slice(&1u32.to_le_bytes()),
        ..Subscription::default()
    }
}

fn transaction(change: v1::PipelineChange, expected_revision: Option<u32>, rnti: u16) -> Bytes {
    let message = v1::ControlMessage::Transaction(v1::Transaction {
        bearer: v1::BearerId { ue: v1::UeId::Rnti(rnti), drb: 1 },
        expected_revision,
        lease_ms: Some(10),
        owner: None,
        as_safe: false,
        dry_run: false,
        change,
    });
    Bytes::from(v1::encode(&message).expect("within its ranges"))
}

pub(super) fn tc_control(node_id: &str, message: Bytes) -> ControlRequest {
    let header = v1::ControlHeader { style: 1, correlation_id: 7 };
    ControlRequest {
        node_id: node_id.to_owned(),
        ran_function_oid: RanFunction::TcV1.oid().to_owned(),
        header: Bytes::from(v1::encode(&header).expect("within its ranges")),
        message,
        ..ControlRequest::default()
    }
}

fn fq_codel() -> v1::PipelineChange {
    let pipeline = tc_rf::templates::by_name("fq_codel");
    v1::PipelineChange::Replace(pipeline.expect("a template"))
}

fn message(indication: proto::Indication) -> Bytes {
    match indication.payload {
        Some(indication::Payload::Message(bytes)) => bytes,
        other => panic!("expected bytes, not {other:?}"),
    }
}

#[tokio::test]
async fn every_ran_function_is_offered_and_tc_says_what_it_can() {
    let (gateway, _) = start_lab().await;
    let nodes = connect(&gateway).await.list_nodes(ListNodesRequest {}).await.expect("nodes");
    let node = nodes.into_inner().nodes.remove(0);
    assert_eq!(node.r#type(), proto::node::Type::Gnb);
    for function in RanFunction::ALL {
        let offered = node.ran_functions.iter().find(|offered| offered.oid == function.oid());
        assert_eq!(offered.expect("it is offered").id, function.id());
    }
    let tc = node.ran_functions.iter().find(|offered| offered.oid == RanFunction::TcV1.oid());
    let definition: v1::RanFunctionDefinition =
        v1::decode(&tc.expect("it is offered").definition).expect("a definition");
    assert_eq!(definition.oid, RanFunction::TcV1.oid());
    assert!(definition.capabilities.queues.iter().any(|kind| kind == "codel"));
}

#[tokio::test]
async fn rlc_reports_have_one_row_per_bearer_and_the_wall_clock_of_the_envelope() {
    let (gateway, node_id) = start_lab().await;
    let mut stream = subscribe(&mut connect(&gateway).await, to(&node_id, RanFunction::Rlc)).await;
    for sequence in 0..10 {
        let indication = next(&mut stream).await;
        assert_eq!(indication.sequence, sequence);
        let collected_at_us = indication.collected_at_us;
        let bytes = message(indication);
        // u32 n, n rows of 152 bytes, i64 time stamp in µs.
        assert_eq!((bytes.len(), &bytes[..4]), (4 + 152 + 8, &1u32.to_le_bytes()[..]));
        let stamp = i64::from_le_bytes(bytes[156..].try_into().expect("8 bytes"));
        assert_eq!(u64::try_from(stamp), Ok(collected_at_us));
    }
}

#[tokio::test]
async fn mac_kpm_and_tc_report_too() {
    let (gateway, node_id) = start_lab().await;
    let mut client = connect(&gateway).await;
    let mut mac = subscribe(&mut client, to(&node_id, RanFunction::Mac)).await;
    assert_eq!(message(next(&mut mac).await).len(), 4 + 176 + 8);

    let names = vec!["RRU.PrbTotDl".to_owned(), "DRB.Sorcery".to_owned()];
    let request = Subscription { kpm_measurements: names, ..to(&node_id, RanFunction::Kpm) };
    let mut kpm = subscribe(&mut client, request).await;
    let Some(indication::Payload::Kpm(report)) = next(&mut kpm).await.payload else {
        panic!("expected a typed report");
    };
    assert_eq!(report.unsupported, ["DRB.Sorcery"]);
    assert_eq!(report.ues[0].rnti, u32::from(RNTI));
    assert!(report.ues[0].values.contains_key("RRU.PrbTotDl"));

    let trigger = v1::EventTrigger::Periodic { period_ms: 5 };
    let action = v1::ActionDefinition {
        style: v1::ReportStyle::PipelineStatus,
        bearers: Vec::new(),
        top_flows: 1,
    };
    let request = Subscription {
        event_trigger: Bytes::from(v1::encode(&trigger).expect("within its ranges")),
        action_definitions: vec![Bytes::from(v1::encode(&action).expect("within its ranges"))],
        ..to(&node_id, RanFunction::TcV1)
    };
    let mut tc = subscribe(&mut client, request).await;
    let status = v1::decode(&message(next(&mut tc).await)).expect("a message");
    let v1::IndicationMessage::PipelineStatus(status) = status else {
        panic!("expected pipeline status, not {status:?}");
    };
    assert!(status[0].safe);
}

#[tokio::test]
async fn a_leased_pipeline_returns_to_safe_with_nobody_connected() {
    let (gateway, node_id) = start_lab().await;
    let mut client = connect(&gateway).await;
    let request = tc_control(&node_id, transaction(fq_codel(), None, RNTI));
    let answer = send_control(&mut client, request).await.expect("an answer");
    assert_eq!(answer.status(), control_answer::Status::Acknowledged, "{answer:?}");
    let outcome = v1::decode(&answer.outcome).expect("an outcome");
    let ControlOutcome::Accepted { revision, lease_ms: Some(10) } = outcome else {
        panic!("expected acceptance with the lease, not {outcome:?}");
    };
    drop(client);

    // Past the lease in the node's own time.
    let began = metric(&gateway, "sojourn_node_time_seconds_total").await;
    until(async || metric(&gateway, "sojourn_node_time_seconds_total").await > began + 0.05).await;
    let mut client = connect(&gateway).await;
    let stale = tc_control(&node_id, transaction(fq_codel(), Some(revision), RNTI));
    let answer = send_control(&mut client, stale).await.expect("an answer");
    assert_eq!(answer.status(), control_answer::Status::Failed);
    let outcome = v1::decode(&answer.outcome).expect("an outcome");
    let ControlOutcome::Refused { cause: v1::Cause::StaleRevision, revision: now, .. } = outcome
    else {
        panic!("expected a stale revision, not {outcome:?}");
    };
    assert_eq!(now, Some(revision + 1));
    let line = r#"sojourn_gateway_controls_total{outcome="failed",cause="stale_revision"}"#;
    assert!((metric(&gateway, line).await - 1.0).abs() < 0.5);
}

#[tokio::test]
async fn controls_for_bearers_that_are_gone_and_garbage_are_refused_with_a_cause() {
    let (gateway, node_id) = start_lab().await;
    let mut client = connect(&gateway).await;
    for (message, cause) in [
        (transaction(fq_codel(), None, 1), v1::Cause::UnknownBearer),
        (Bytes::from_static(b"\xff\xff\xff"), v1::Cause::Malformed),
        (Bytes::new(), v1::Cause::Malformed),
    ] {
        let request = tc_control(&node_id, message);
        let answer = send_control(&mut client, request).await.expect("an answer");
        assert_eq!(answer.status(), control_answer::Status::Failed);
        let outcome = v1::decode(&answer.outcome).expect("an outcome");
        let ControlOutcome::Refused { cause: found, .. } = outcome else {
            panic!("expected a refusal, not {outcome:?}");
        };
        assert_eq!(found, cause);
    }
    let to_rlc = ControlRequest {
        ran_function_oid: RanFunction::Rlc.oid().to_owned(),
        ..tc_control(&node_id, Bytes::new())
    };
    let answer = send_control(&mut client, to_rlc).await.expect("an answer");
    assert_eq!(answer.status(), control_answer::Status::Failed);
}

#[tokio::test]
async fn garbage_triggers_and_actions_are_invalid_arguments() {
    let (gateway, node_id) = start_lab().await;
    let mut client = connect(&gateway).await;
    for trigger in [&b""[..], b"\0", b"\0\0\0\0", b"\xff\xff\xff\xff", b"12345"] {
        let trigger = Bytes::copy_from_slice(trigger);
        let request = Subscription { event_trigger: trigger, ..to(&node_id, RanFunction::Rlc) };
        let status = end(&mut subscribe(&mut client, request).await).await;
        assert_code(&status, Code::InvalidArgument, &["event trigger"]);
    }
    let trigger = v1::EventTrigger::Periodic { period_ms: 5 };
    for actions in [Vec::new(), vec![Bytes::from_static(b"\xff\xff")]] {
        let request = Subscription {
            event_trigger: Bytes::from(v1::encode(&trigger).expect("within its ranges")),
            action_definitions: actions,
            ..to(&node_id, RanFunction::TcV1)
        };
        let status = end(&mut subscribe(&mut client, request).await).await;
        assert_code(&status, Code::InvalidArgument, &["action definition 0"]);
    }
    let nowhere = to("gnb-x", RanFunction::Rlc);
    let status = end(&mut subscribe(&mut client, nowhere).await).await;
    assert_code(&status, Code::NotFound, &["gnb-x"]);
}

#[tokio::test]
async fn metrics_show_bearers_flows_and_prbs() {
    let (gateway, node_id) = start_lab().await;
    let bearer = format!(r#"{{node="{node_id}",ue="{RNTI}",drb="1"}}"#);
    // The download starts after half a second and is never idle again.
    until(async || metric(&gateway, &format!("sojourn_rlc_occupancy_bytes{bearer}")).await > 0.0)
        .await;
    until(async || metric(&gateway, &format!("sojourn_rlc_hol_seconds{bearer}")).await > 0.0).await;
    let goodput = r#"sojourn_flow_goodput_bytes_total{flow="bulk"}"#;
    until(async || metric(&gateway, goodput).await > 0.0).await;
    let ratio = format!(r#"sojourn_prb_used_ratio{{node="{node_id}"}}"#);
    until(async || metric(&gateway, &ratio).await > 0.0).await;
    assert!(metric(&gateway, &ratio).await <= 1.0);
    let summary = patiently(gateway.stop()).await.expect("a summary");
    assert_eq!(summary["scenario"], "default");
}
