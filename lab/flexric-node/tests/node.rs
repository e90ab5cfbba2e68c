//! The node over the lab's world, as the agent's thread uses it.
// clippy.toml allows these in test functions; helpers of tests are tests as well.
#![allow(clippy::expect_used, clippy::panic)]

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use e2sm_tc::{
    v0,
    v1::{
        self, ActionDefinition, ControlHeader, ControlMessage, ControlOutcome, EventTrigger,
        IndicationHeader, IndicationMessage, NodeLease, ReportStyle,
    },
};
use flexric_node::{
    message_log::{MessageLog, MessageLogs},
    node::{Node, PlainReport, TC_CONTROL_HEADER},
    tc_v1::Message,
};
use lab_gateway::{Gateway, LocalClient, ServeOptions};
use lab_scenario::LoadedScenario;
use lab_world::{Payload, RanFunction, Report, SubscriptionRequest, World};

/// No expectation about speed: a test that hangs is a test that failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of an indication message through FlexRIC.
const ROOM: usize = 32_000;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs `work` with the default cell, on a thread that may block.
async fn with_the_lab<T: Send + 'static>(
    work: impl FnOnce(LocalClient, String) -> T + Send + 'static,
) -> T {
    with_the_cell("default.yaml", work).await
}

async fn with_the_cell<T: Send + 'static>(
    scenario: &str,
    work: impl FnOnce(LocalClient, String) -> T + Send + 'static,
) -> T {
    let scenario = repository().join("lab/scenarios").join(scenario);
    let scenario = LoadedScenario::from_file(&scenario, &[]).expect("the scenario");
    let world = World::new(&scenario).expect("a world");
    let node_id = world.node_id().to_owned();
    let options = ServeOptions { listen: "127.0.0.1:0".to_owned(), ..ServeOptions::default() };
    let gateway = Gateway::start(world, &options).await.expect("a gateway");
    let client = gateway.local();
    let done = tokio::task::spawn_blocking(move || work(client, node_id)).await.expect("no panic");
    gateway.stop().await.expect("a summary");
    done
}

fn node_of(client: LocalClient, node_id: &str) -> Node {
    Node::new(client, node_id, Bytes::new(), MessageLogs::default()).expect("a node")
}

/// Polls until there is a value.
fn eventually<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = poll() {
            return found;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing within a minute")
}

/// Subscribes to the RLC messages of the world.
fn rlc_messages(client: &LocalClient, node_id: &str) -> mpsc::Receiver<Bytes> {
    let request = SubscriptionRequest::periodic(node_id, RanFunction::Rlc, 1);
    let (send, receive) = mpsc::channel();
    let callback = Box::new(move |report: &Report| {
        if let Payload::Message(bytes) = &report.payload {
            // The test may have dropped the receiver.
            let _ = send.send(bytes.clone());
        }
        ControlFlow::Continue(())
    });
    client.subscribe(request, callback).expect("admitted");
    receive
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_reads_what_the_world_reports() {
    with_the_lab(|client, node_id| {
        let messages = rlc_messages(&client, &node_id);
        let node = node_of(client, &node_id);
        let read = eventually(|| node.latest(PlainReport::Rlc));
        // The bearers of the world's own message, as records of the same length.
        let own = messages.recv_timeout(PATIENCE).expect("a report");
        assert_eq!((read.len(), &read[..4]), (own.len(), &own[..4]));
        let mac = eventually(|| node.latest(PlainReport::Mac));
        assert_eq!(mac.len(), 4 + 176 + 8);
        let later = eventually(|| node.latest(PlainReport::Rlc).filter(|now| *now != read));
        assert!(time_stamp(&later) > time_stamp(&read));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_agent_reads_is_of_the_moment_it_reads() {
    with_the_lab(|client, node_id| {
        let node = node_of(client, &node_id);
        for report in [PlainReport::Rlc, PlainReport::Mac, PlainReport::Tc] {
            // A world that is behind on a busy machine catches up.
            eventually(|| {
                let before_us = unix_us();
                let read = node.latest(report)?;
                (before_us..=unix_us()).contains(&time_stamp(&read)).then_some(())
            });
        }
    })
    .await;
}

fn unix_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_micros()).expect("64 bits")
}

fn time_stamp(message: &[u8]) -> i64 {
    let (_, stamp) = message.split_last_chunk().expect("a time stamp");
    i64::from_le_bytes(*stamp)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_changes_the_pipeline_that_is_reported() {
    with_the_lab(|client, node_id| {
        let node = node_of(client, &node_id);
        let queues = |node: &Node| {
            let report = node.latest(PlainReport::Tc)?;
            Some(v0::decode_indication(&report).expect("an indication").q.len())
        };
        assert_eq!(eventually(|| queues(&node)), 1);
        let codel = v0::QueueParameters::Codel { target_ms: 5, interval_ms: 100 };
        let add = v0::ControlMessage::Queue(v0::QueueControl::Add(codel));
        let add = v0::encode_control(&add).expect("a message");
        node.control(&TC_CONTROL_HEADER, &add);
        eventually(|| (queues(&node)? == 2).then_some(()));
        // Refused by the world and acknowledged by the agent: the node goes on.
        node.control(&TC_CONTROL_HEADER, b"nonsense");
        node.control(&TC_CONTROL_HEADER, &add);
        eventually(|| (queues(&node)? == 3).then_some(()));
    })
    .await;
}

fn v1_action(style: ReportStyle) -> Vec<u8> {
    v1::encode(&ActionDefinition { style, bearers: Vec::new(), top_flows: 8 }).expect("an action")
}

#[tokio::test(flavor = "multi_thread")]
async fn v1_reports_wait_for_the_agent_until_the_subscription_ends() {
    with_the_lab(|client, node_id| {
        let node = node_of(client, &node_id);
        let trigger = v1::encode(&EventTrigger::Periodic { period_ms: 10 }).expect("a trigger");
        let action = v1_action(ReportStyle::PipelineStatus);
        let poll_ms = node.tc_subscribe(7, &trigger, &action).expect("admitted");
        assert!((1..=10).contains(&poll_ms), "{poll_ms}");
        let first = eventually(|| node.tc_report(7, ROOM));
        let second = eventually(|| node.tc_report(7, ROOM));
        let collected = |message: &Message| {
            let header: IndicationHeader = v1::decode(&message.header).expect("a header");
            let content: IndicationMessage = v1::decode(&message.message).expect("a message");
            assert!(matches!(content, IndicationMessage::PipelineStatus(_)));
            header.collected_at_us
        };
        assert_eq!(collected(&second) - collected(&first), 10_000);
        node.tc_unsubscribe(7);
        assert_eq!(node.tc_report(7, ROOM), None);
        let refused = node.tc_subscribe(8, b"\xff", &action).expect_err("no trigger");
        assert!(refused.contains("event trigger"), "{refused}");
        assert_eq!(node.tc_report(8, ROOM), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_v1_report_that_does_not_fit_comes_in_parts() {
    with_the_cell("ten_ues.yaml", |client, node_id| {
        let node = node_of(client, &node_id);
        let trigger = v1::encode(&EventTrigger::Periodic { period_ms: 100 }).expect("a trigger");
        node.tc_subscribe(7, &trigger, &v1_action(ReportStyle::PipelineStatus)).expect("admitted");
        let parts = [(); 3].map(|()| eventually(|| node.tc_report(7, 150)));
        assert!(parts.iter().all(|part| part.header == parts[0].header));
        let bearers = parts.iter().flat_map(|part| {
            assert!(part.message.len() <= 150);
            match v1::decode(&part.message).expect("a message") {
                IndicationMessage::PipelineStatus(states) => states,
                other => panic!("{other:?}"),
            }
        });
        let mut bearers: Vec<_> = bearers.map(|state| state.bearer).collect();
        let seen = bearers.len();
        bearers.dedup();
        assert_eq!(bearers.len(), seen, "each part goes on where the one before ended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn v1_controls_have_an_outcome() {
    with_the_lab(|client, node_id| {
        let node = node_of(client, &node_id);
        let header = v1::encode(&ControlHeader { style: 4, correlation_id: 1 }).expect("a header");
        let lease = NodeLease { owner: "test".to_owned(), lease_ms: Some(5_000) };
        let message = v1::encode(&ControlMessage::NodeLease(lease)).expect("a message");
        let outcome = |message: &[u8]| {
            let bytes = node.tc_control(&header, message).expect("an outcome");
            v1::decode::<ControlOutcome>(&bytes).expect("of v1")
        };
        assert!(matches!(outcome(&message), ControlOutcome::Accepted { .. }));
        assert!(matches!(outcome(b"nonsense"), ControlOutcome::Refused { .. }));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_control_is_written_down_as_it_came() {
    let vectors = fs::read_to_string(repository().join("e2sm-tc-spec/vectors/v0.jsonl"));
    let controls: Vec<String> = vectors
        .expect("the vectors")
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
        .filter(|vector| vector["kind"] == "control")
        .map(|vector| vector["hex"].as_str().expect("hex").to_owned())
        .collect();
    assert!(controls.len() > 20);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("controls.hex");
    let log = Some(MessageLog::create(&path).expect("a file"));
    let logs = MessageLogs { controls: log, reports: None };
    let sent = controls.clone();
    with_the_lab(move |client, node_id| {
        let node = Node::new(client, &node_id, Bytes::new(), logs).expect("a node");
        for hex in sent {
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
            let message: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            node.control(&TC_CONTROL_HEADER, &message);
        }
    })
    .await;
    let written = fs::read_to_string(path).expect("read");
    assert_eq!(written.lines().collect::<Vec<_>>(), controls);
}

#[tokio::test(flavor = "multi_thread")]
async fn kpm_is_of_the_time_since_the_subscription_asked_last() {
    with_the_lab(|client, node_id| {
        let node = node_of(client, &node_id);
        assert_eq!(node.begin_kpm(1), 0);
        let throughput = eventually(|| {
            let ues = node.begin_kpm(1);
            let ue = (ues == 1).then(|| node.kpm_ue(0)).flatten()?;
            assert_eq!(ue.value("DRB.Sorcery"), None);
            ue.value("DRB.UEThpDl").filter(|kbit_s| *kbit_s > 0.0)
        });
        // The default cell carries some 40 Mbit/s.
        assert!(throughput < 200_000.0, "{throughput} kbit/s");
        assert!(node.kpm_ue(1).is_none());
    })
    .await;
}
