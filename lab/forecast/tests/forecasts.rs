//! A CU/DU split: the CU requests the status of the RLC, gets it in reports, or uses forecasts.

// clippy.toml allows these in test functions only; shared functions of tests need the attribute.
#![allow(clippy::unwrap_used)]

#[path = "../../world/tests/worlds/common.rs"]
mod common;

use common::{flow, scenario};
use e2sm_tc::v1::{self, ActionDefinition, IndicationMessage, ReportStyle};
use lab_forecast::{Forecaster, Horizon, Points, Ric, RicError, Timing};
use lab_world::{Output, Payload, RanFunction, RlcSample, SubscriptionRequest, World};

const SCENARIO: &str = "stolidis2024/drql.yaml";
const END_US: u64 = 12_000_000;

fn world(overrides: &[&str]) -> World {
    World::new(&scenario(SCENARIO, overrides)).unwrap()
}

fn step<E>(world: &mut World, to_us: u64, sink: &mut dyn FnMut(Output)) -> Result<(), E> {
    world.step_until(to_us, sink);
    Ok(())
}

fn received(world: &World, name: &str) -> u64 {
    flow(&world.summary(), name).received_packets
}

#[test]
fn a_cu_that_requests_the_status_sends_a_packet_per_round_trip() {
    let mut world = world(&["split.f1_delay_us=10000", "split.f1.rlc_status=on_request"]);
    world.step_until(END_US, &mut |_| {});
    // 10 s of 20 ms each, without the packets in transit at the end.
    let all = received(&world, "bulk") + received(&world, "ping");
    assert!((495..=500).contains(&all), "{all}");
    assert!(received(&world, "ping") >= 98, "round robin gives ICMP its turn");
}

#[test]
fn a_lost_status_request_delays_a_packet_and_does_not_stop_the_bearer() {
    let mut world =
        world(&["split.f1_delay_us=10000", "split.f1={rlc_status: on_request, loss: 0.3}"]);
    world.step_until(END_US, &mut |_| {});
    let all = received(&world, "bulk") + received(&world, "ping");
    // Half of the round trips lose a frame and take 100 ms: about 60 ms a packet, and 0.7 arrive.
    assert!((80..200).contains(&all), "{all}");
}

#[test]
fn a_monolithic_gnb_needs_no_status_requests() {
    let goodput = |rlc_status: &str| {
        let mut world = world(&[&format!("split.f1.rlc_status={rlc_status}")]);
        world.step_until(END_US, &mut |_| {});
        flow(&world.summary(), "bulk").goodput_mbps
    };
    assert_eq!(goodput("on_request").to_bits(), goodput("each_slot").to_bits());
}

#[test]
fn the_drql_limit_at_the_du_equals_that_of_the_pacer() {
    let mut world = world(&[]);
    world.record_drql_limits(true);
    let mut difference = 0.0;
    let mut samples = 0;
    for ms in 3_000..12_000 {
        world.step_until(ms * 1_000, &mut |_| {});
        let at_du = world.rlc_samples().next().unwrap();
        let at_cu = world.bearer_samples()[0].pacer_limit_bytes.unwrap();
        difference += f64::from(at_du.limit_bytes) - f64::from(at_cu);
        samples += 1;
        assert_eq!((at_du.rnti, at_du.drb, at_du.time_us), (17_921, 1, ms * 1_000));
    }
    let mean = difference / f64::from(samples);
    assert!(mean.abs() < 1_500.0, "mean difference {mean} bytes");
    world.record_drql_limits(false);
    assert_eq!(world.rlc_samples().count(), 0);
}

/// Times of the samples and horizons that a forecaster got.
#[derive(Default)]
struct Calls {
    observed: Vec<u64>,
    horizons: Vec<(u64, Horizon)>,
}

/// Records its calls and forecasts nothing.
struct Spy(std::sync::Arc<std::sync::Mutex<Calls>>);

impl Forecaster for Spy {
    fn observe(&mut self, sample: &RlcSample) {
        self.0.lock().unwrap().observed.push(sample.time_us);
    }

    fn forecast(&mut self, horizon: &Horizon, _: &mut Points) -> bool {
        let mut calls = self.0.lock().unwrap();
        let newest = *calls.observed.last().unwrap();
        calls.horizons.push((newest, *horizon));
        false
    }
}

#[test]
fn a_ric_has_the_delays_of_the_paper() {
    let mut world = world(&["split.f1_delay_us=10000"]);
    let calls = std::sync::Arc::<std::sync::Mutex<Calls>>::default();
    let shared = calls.clone();
    let mut ric = Ric::new(Timing::stolidis2024(10_000), move |_, _| Box::new(Spy(shared.clone())));
    ric.step_until(&mut world, 2_000_000, step::<RicError>).unwrap();
    let calls = calls.lock().unwrap();
    // A sample each ms arrives 10 ms later; the UE is attached from 0 on.
    assert_eq!(calls.observed, (0..=1_990).map(|ms| ms * 1_000).collect::<Vec<_>>());
    let origins: Vec<u64> = calls.horizons.iter().map(|(_, horizon)| horizon.origin_us).collect();
    assert_eq!(origins, [0, 400_000, 800_000, 1_200_000], "one inference at a time");
    for (newest_us, horizon) in &calls.horizons {
        // The forecast is requested at the end of the inference, T_m after its newest sample.
        assert_eq!(*newest_us, horizon.origin_us + 400_000);
        assert_eq!(horizon.first_us, horizon.origin_us + 410_000);
        assert_eq!((horizon.step_us, horizon.points), (1_000, 400));
    }
}

#[test]
fn forecasts_reach_the_pacer() {
    let overrides = [
        "split.f1_delay_us=10000",
        "split.f1.rlc_status=never",
        "ues[0].drbs[0].pipeline.pacer={forecast: {stale_us: 1000000}}",
    ];
    /// A constant limit with an empty buffer.
    struct UpTo(u32);
    impl Forecaster for UpTo {
        fn observe(&mut self, _: &RlcSample) {}
        fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
            for _ in 0..horizon.points {
                points.occupancy_bytes.push(0);
                points.limit_bytes.push(self.0);
            }
            true
        }
    }
    for (limit_bytes, packets) in [(1_500, 1), (2_995, 1), (3_000, 2)] {
        let mut world = world(&overrides);
        let mut ric = Ric::new(Timing::at_once(10_000), move |_, _| Box::new(UpTo(limit_bytes)));
        ric.step_until(&mut world, END_US, step::<RicError>).unwrap();
        // 10 s of TTIs; pings take some of the transmissions.
        let all = received(&world, "bulk") + received(&world, "ping");
        let expected = packets * 10_000;
        assert!((expected - 50..=expected + 100).contains(&all), "{limit_bytes}: {all}");
    }
}

#[test]
fn an_rlc_with_the_drql_limit_drops_sdus_beyond_it() {
    let unpaced = "ues[0].drbs[0].pipeline=transparent";
    let mut bloated = world(&[unpaced]);
    let mut limited = world(&[unpaced, "ues[0].drbs[0].rlc.drql_limit=true"]);
    for world in [&mut bloated, &mut limited] {
        world.step_until(END_US, &mut |_| {});
    }
    let (bloated, limited) = (bloated.summary(), limited.summary());
    assert!(limited.bearers[0].rlc_dropped_packets > 1_000);
    assert_eq!(bloated.bearers[0].rlc_dropped_packets, 0);
    assert!(
        limited.bearers[0].rlc_sojourn_ms.max < 20.0
            && bloated.bearers[0].rlc_sojourn_ms.max > 500.0
    );
    let goodput = |summary| flow(summary, "bulk").goodput_mbps;
    assert!(goodput(&limited) > 0.97 * goodput(&bloated), "the link stays utilised");
}

#[test]
fn the_rlc_reports_the_limit_it_applies() {
    let mut world = world(&[
        "split.f1.rlc_status=never",
        "ues[0].drbs[0].pipeline=transparent",
        "ues[0].drbs[0].rlc.drql_limit=true",
    ]);
    let status =
        ActionDefinition { style: ReportStyle::PipelineStatus, bearers: vec![], top_flows: 1 };
    let request = SubscriptionRequest {
        action_definitions: vec![v1::encode(&status).unwrap().into()],
        ..SubscriptionRequest::periodic(world.node_id(), RanFunction::TcV1, 1)
    };
    world.subscribe(&request).unwrap();
    let mut limits = Vec::new();
    for ms in 1..3_000 {
        let mut reported = Vec::new();
        world.step_until(ms * 1_000, &mut |output| {
            let Output::Indication(indication) = output else { return };
            let Payload::Message(message) = indication.report.payload else { return };
            let Ok(IndicationMessage::PipelineStatus(states)) = v1::decode(&message) else {
                return;
            };
            reported.extend(states.iter().map(|state| state.pacer.limit_bytes));
        });
        let at_du = world.rlc_samples().next().unwrap().limit_bytes;
        assert_eq!(reported, [Some(at_du)], "{ms} ms");
        limits.push(at_du);
    }
    limits.dedup();
    assert!(limits.len() > 3, "the limit adapts: {limits:?}");
}

#[test]
fn a_forecast_with_lists_of_different_length_is_refused() {
    struct Ragged;
    impl Forecaster for Ragged {
        fn observe(&mut self, _: &RlcSample) {}
        fn forecast(&mut self, _: &Horizon, points: &mut Points) -> bool {
            points.occupancy_bytes.extend([1, 2, 3]);
            points.limit_bytes.push(1);
            true
        }
    }
    let mut world = world(&[]);
    let mut ric = Ric::new(Timing::at_once(0), |_, _| Box::new(Ragged));
    let error = ric.step_until(&mut world, 100_000, step::<RicError>).unwrap_err();
    let why = error.to_string();
    assert!(why.contains("RNTI 17921, DRB 1") && why.contains("occupancy_bytes"), "{why}");
}
