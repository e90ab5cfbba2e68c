//! The client within the same process.

use std::{
    ops::ControlFlow,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use bytes::Bytes;
use lab_world::{ControlRequest, Payload, SubscriptionRequest};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::{
    double::{
        ACCEPT, ACCEPT_LATER, CONTROLLER, Double, LOSE_NODE, NEVER_ANSWER, NODE, REFUSE, REPORTER,
        Script,
    },
    harness::*,
};
use crate::{
    Gateway, LocalClient,
    clock::WallClock,
    hub::Hub,
    metrics::GatewayMetrics,
    paced::{DirectAccess, Paced, PacerState},
};

const PATIENCE: Duration = Duration::from_secs(60);

fn reports(oid: &str) -> SubscriptionRequest {
    SubscriptionRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: oid.to_owned(),
        event_trigger: Bytes::copy_from_slice(&1u32.to_le_bytes()),
        action_definitions: Vec::new(),
        kpm_measurements: Vec::new(),
    }
}

fn asking(what: u8) -> ControlRequest {
    ControlRequest {
        node_id: NODE.to_owned(),
        ran_function_oid: CONTROLLER.to_owned(),
        header: Bytes::new(),
        message: Bytes::copy_from_slice(&[what]),
    }
}

/// Runs `work` on a thread that may block.
async fn elsewhere<T: Send + 'static>(
    gateway: &Gateway,
    work: impl FnOnce(LocalClient) -> T + Send + 'static,
) -> T {
    let client = gateway.local();
    patiently(tokio::task::spawn_blocking(move || work(client))).await.expect("no panic")
}

#[tokio::test]
async fn a_listener_hears_every_report_and_shares_the_subscription_with_streams() {
    let (gateway, script) = start().await;
    let (heard, reports_heard) = mpsc::channel();
    elsewhere(&gateway, |client| {
        let listener = Box::new(move |report: &lab_world::Report| {
            let Payload::Message(bytes) = &report.payload else { return ControlFlow::Continue(()) };
            // The test has what it wants.
            let _ = heard.send((report.collected_at_us, bytes.len()));
            ControlFlow::Continue(())
        });
        client.subscribe(reports(REPORTER), listener)
    })
    .await
    .expect("admitted");
    let first_two = elsewhere(&gateway, move |_| {
        [reports_heard.recv_timeout(PATIENCE), reports_heard.recv_timeout(PATIENCE)]
    })
    .await
    .map(|report| report.expect("a report"));
    assert_eq!(first_two[1].0 - first_two[0].0, 1_000);
    assert_eq!(first_two[0].1, 16);
    let mut stream = subscribe(&mut connect(&gateway).await, every(1)).await;
    next(&mut stream).await;
    drop(stream);
    let opened = |script: &Script| (script.open.len(), script.opened);
    assert_eq!(opened(&script.lock()), (1, 1));
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn a_listener_that_breaks_off_ends_its_subscription() {
    let (gateway, script) = start().await;
    let (heard, reports_heard) = mpsc::channel();
    elsewhere(&gateway, |client| {
        let listener = Box::new(move |_: &lab_world::Report| match heard.send(()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        client.subscribe(reports(REPORTER), listener)
    })
    .await
    .expect("admitted");
    elsewhere(&gateway, move |_| reports_heard.recv_timeout(PATIENCE)).await.expect("a report");
    let gives_up = Instant::now() + PATIENCE;
    while !script.lock().open.is_empty() {
        assert!(Instant::now() < gives_up, "the subscription is still open");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn a_report_that_is_read_is_of_now() {
    let (gateway, script) = start().await;
    let (first, second) = elsewhere(&gateway, |client| {
        let read =
            || client.report_now(NODE, REPORTER, PATIENCE).expect("a report").collected_at_us;
        let first = read();
        std::thread::sleep(Duration::from_micros(300));
        (first, read())
    })
    .await;
    assert!(second >= first + 300, "{first} and {second}");
    // No subscription was needed.
    assert_eq!(script.lock().opened, 0);
    let errors = elsewhere(&gateway, |client| {
        [("nobody", REPORTER), (NODE, "0.0.999"), (NODE, CONTROLLER)].map(|(node, oid)| {
            client.report_now(node, oid, PATIENCE).expect_err("no report").to_string()
        })
    })
    .await;
    assert!(errors[0].contains("nobody") && errors[1].contains("0.0.999"), "{errors:?}");
    assert!(errors[2].contains("no report without a subscription"), "{errors:?}");
    // A world that stands still does not hold up its reader.
    let (held, is_held) = mpsc::channel();
    let (release, released) = mpsc::channel();
    script.lock().hold = Some((held, released));
    let late = elsewhere(&gateway, move |client| {
        is_held.recv_timeout(PATIENCE).expect("a step");
        let late = client.report_now(NODE, REPORTER, Duration::from_millis(5));
        drop(release);
        late.expect_err("no answer")
    })
    .await;
    assert_eq!(late.to_string(), "the node has not answered in 5 ms");
    patiently(gateway.stop()).await.expect("a summary");
}

#[tokio::test]
async fn controls_are_answered_refused_or_late() {
    let (gateway, _script) = start().await;
    let answers = elsewhere(&gateway, |client| {
        [
            client.control(asking(ACCEPT), PATIENCE),
            client.control(asking(REFUSE), PATIENCE),
            client.control(asking(LOSE_NODE), PATIENCE),
            client.control(asking(ACCEPT_LATER), PATIENCE),
            client.control(asking(NEVER_ANSWER), Duration::from_millis(5)),
        ]
    })
    .await;
    let [accepted, refused, lost, in_its_time, late] = answers;
    assert!(accepted.expect("an answer").acknowledged);
    assert!(in_its_time.expect("an answer").acknowledged);
    assert_eq!(refused.expect("an answer").detail, "expected_revision: 3; expected 4");
    assert!(lost.expect_err("no node").to_string().contains("disconnected"));
    assert_eq!(late.expect_err("no answer").to_string(), "the node has not answered in 5 ms");
    let metric_line = r#"sojourn_gateway_controls_total{outcome="acknowledged",cause=""}"#;
    assert_eq!(metric(&gateway, metric_line).await, 2.0);
}

#[tokio::test]
async fn readers_that_left_are_forgotten_though_another_thread_steps_the_world() {
    let (gateway, script) = start().await;
    const HOUR_MS: u32 = 3_600_000;
    let stream = subscribe(&mut connect(&gateway).await, every(HOUR_MS)).await;
    until(async || script.lock().opened == 1).await;
    drop(stream);
    let forgotten = elsewhere(&gateway, move |client| {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            client.report_now(NODE, REPORTER, PATIENCE).expect("a report");
            if script.lock().open.is_empty() {
                return true;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        false
    })
    .await;
    assert!(forgotten);
    patiently(gateway.stop()).await.expect("a summary");
}

#[test]
fn an_output_earlier_than_the_planned_step_reschedules_the_pacer() {
    let (world, _script) = Double::new();
    let metrics = GatewayMetrics::default();
    let (nodes, _) = watch::channel(Arc::default());
    let clock = WallClock::anchored_at(0);
    let hub = Hub::new(metrics.clone(), nodes, clock);
    let state = Arc::new(PacerState::new());
    // Its duration is over, so that its time stands still.
    let world =
        Mutex::new(Paced::new(world, None, hub, clock, state, metrics, Some(Duration::ZERO)));
    // Nothing is on its way: the thread would come in a few milliseconds.
    world.lock().until_next_step();
    let ask = |what| {
        let (reply, mut answer) = oneshot::channel();
        let done = world.control(asking(what), reply, PATIENCE).expect("nobody holds the world");
        (answer.try_recv().is_ok(), done.reschedule)
    };
    assert_eq!(ask(ACCEPT), (true, false), "answered at once");
    world.lock().until_next_step();
    assert_eq!(ask(ACCEPT_LATER), (false, true));
    world.lock().until_next_step();
    let read = world.report_now(NODE, REPORTER, PATIENCE).expect("nobody holds the world");
    assert!(!read.reschedule, "the thread knows by now");
    let held = world.lock();
    assert!(world.report_now(NODE, REPORTER, Duration::ZERO).is_none());
    drop(held);
}

#[tokio::test]
async fn what_is_not_there_and_a_gateway_that_ended_are_named() {
    let (gateway, _script) = start().await;
    let client = gateway.local();
    let refused = elsewhere(&gateway, |client| {
        client.subscribe(reports("0.0.999"), Box::new(|_| ControlFlow::Continue(())))
    })
    .await;
    assert!(refused.expect_err("no such function").to_string().contains("0.0.999"));
    patiently(gateway.stop()).await.expect("a summary");
    let after = tokio::task::spawn_blocking(move || client.control(asking(ACCEPT), PATIENCE));
    let error = patiently(after).await.expect("no panic").expect_err("it stopped");
    assert_eq!(error.to_string(), "the gateway stopped");
}
