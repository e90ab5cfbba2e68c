//! A CU apart from its DU: it asks, it is told, or it lives on forecasts.

// clippy.toml allows these in test functions; functions that tests share are tests as well.
#![allow(clippy::unwrap_used)]

#[path = "../../lab-world/tests/worlds/common.rs"]
mod common;

use std::convert::Infallible;

use common::{flow, scenario};
use e2sm_tc::v1::{self, ActionDefinition, IndicationMessage, ReportStyle};
use lab_forecast::{Forecaster, Horizon, Points, Ric, RicError, Timing};
use lab_scenario::ScenarioError;
use lab_world::{Output, Payload, RanFunction, RlcSample, SubscriptionRequest, World};

const SCENARIO: &str = "stolidis2024/drql.yaml";
const END_US: u64 = 12_000_000;

fn world(overrides: &[&str]) -> World {
    World::new(&scenario(SCENARIO, overrides)).unwrap()
}

fn received(world: &World, name: &str) -> u64 {
    flow(&world.summary(), name).received_packets
}

#[test]
fn a_cu_that_asks_sends_a_packet_per_round_trip() {
    let mut world = world(&["split.f1_delay_us=10000", "split.f1.rlc_status=on_request"]);
    world.step_until(END_US, &mut |_| {});
    // 10 s of 20 ms each; what is still on its way is missing.
    let all = received(&world, "bulk") + received(&world, "ping");
    assert!((495..=500).contains(&all), "{all}");
    assert!(received(&world, "ping") >= 98, "round robin gives ICMP its turn");
}

#[test]
fn a_question_lost_on_the_way_holds_a_packet_back_and_not_the_bearer() {
    let mut world =
        world(&["split.f1_delay_us=10000", "split.f1={rlc_status: on_request, loss: 0.3}"]);
    world.step_until(END_US, &mut |_| {});
    let all = received(&world, "bulk") + received(&world, "ping");
    // Half of the round trips lose something and take 100 ms: some 60 ms a packet, and 0.7 arrive.
    assert!((80..200).contains(&all), "{all}");
}

#[test]
fn a_cu_that_is_one_with_its_du_need_not_ask() {
    let goodput = |told: &str| {
        let mut world = world(&[&format!("split.f1.rlc_status={told}")]);
        world.step_until(END_US, &mut |_| {});
        flow(&world.summary(), "bulk").goodput_mbps
    };
    assert_eq!(goodput("on_request").to_bits(), goodput("each_slot").to_bits());
}

#[test]
fn the_limit_at_the_du_is_that_of_the_pacer() {
    let mut world = world(&[]);
    world.keep_drql_limits(true);
    let mut apart = 0.0;
    let mut samples = 0;
    for ms in 3_000..12_000 {
        world.step_until(ms * 1_000, &mut |_| {});
        let at_du = world.rlc_samples().next().unwrap();
        let at_cu = world.bearer_samples()[0].pacer_limit_bytes.unwrap();
        apart += f64::from(at_du.limit_bytes) - f64::from(at_cu);
        samples += 1;
        assert_eq!((at_du.rnti, at_du.drb, at_du.time_us), (17_921, 1, ms * 1_000));
    }
    let mean = apart / f64::from(samples);
    assert!(mean.abs() < 1_500.0, "{mean} bytes apart in the mean");
    world.keep_drql_limits(false);
    assert_eq!(world.rlc_samples().count(), 0);
}

/// Notes what the RIC shows and asks it, and says nothing.
#[derive(Default)]
struct Notes {
    observed: Vec<u64>,
    horizons: Vec<(u64, Horizon)>,
}

struct Silent(std::sync::Arc<std::sync::Mutex<Notes>>);

impl Forecaster for Silent {
    fn observe(&mut self, sample: &RlcSample) {
        self.0.lock().unwrap().observed.push(sample.time_us);
    }

    fn forecast(&mut self, horizon: &Horizon, _: &mut Points) -> bool {
        let mut notes = self.0.lock().unwrap();
        let newest = *notes.observed.last().unwrap();
        notes.horizons.push((newest, *horizon));
        false
    }
}

#[test]
fn a_ric_keeps_the_times_of_the_paper() {
    let mut world = world(&["split.f1_delay_us=10000"]);
    let notes = std::sync::Arc::<std::sync::Mutex<Notes>>::default();
    let shared = notes.clone();
    let mut ric =
        Ric::new(Timing::stolidis2024(10_000), move |_, _| Box::new(Silent(shared.clone())));
    let step = |world: &mut World, us, sink: &mut dyn FnMut(Output)| -> Result<(), ScenarioError> {
        world.step_until(us, sink);
        Ok(())
    };
    ric.step_until(&mut world, 2_000_000, step).unwrap();
    let notes = notes.lock().unwrap();
    // A sample each ms, seen 10 ms later; the UE is there from 0 on.
    assert_eq!(notes.observed, (0..=1_990).map(|ms| ms * 1_000).collect::<Vec<_>>());
    let origins: Vec<u64> = notes.horizons.iter().map(|(_, horizon)| horizon.origin_us).collect();
    assert_eq!(origins, [0, 400_000, 800_000, 1_200_000], "one inference after the other");
    for (newest_us, horizon) in &notes.horizons {
        // Asked when the inference ends: T_m after it began with the newest sample of then.
        assert_eq!(*newest_us, horizon.origin_us + 400_000);
        assert_eq!(horizon.first_us, horizon.origin_us + 410_000);
        assert_eq!((horizon.step_us, horizon.points), (1_000, 400));
    }
}

#[test]
fn what_is_forecast_reaches_the_pacer() {
    let overrides = [
        "split.f1_delay_us=10000",
        "split.f1.rlc_status=never",
        "ues[0].drbs[0].pipeline.pacer={forecast: {stale_us: 1000000}}",
    ];
    /// A limit up to which an empty buffer may be filled each TTI.
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
        let step =
            |world: &mut World, us, sink: &mut dyn FnMut(Output)| -> Result<(), ScenarioError> {
                world.step_until(us, sink);
                Ok(())
            };
        ric.step_until(&mut world, END_US, step).unwrap();
        // 10 s of TTIs; pings take some of the places.
        let all = received(&world, "bulk") + received(&world, "ping");
        let wanted = packets * 10_000;
        assert!((wanted - 50..=wanted + 100).contains(&all), "{limit_bytes}: {all}");
    }
}

#[test]
fn an_rlc_that_keeps_drqls_limit_drops_what_comes_beyond() {
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
    assert!(goodput(&limited) > 0.97 * goodput(&bloated), "and the radio stays full");
}

#[test]
fn the_limit_that_the_rlc_drops_by_is_the_one_reported() {
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
    assert!(limits.len() > 3, "it has moved: {limits:?}");
}

#[test]
fn a_forecast_that_cannot_be_is_refused_by_name() {
    struct Ragged;
    impl Forecaster for Ragged {
        fn observe(&mut self, _: &RlcSample) {}
        fn forecast(&mut self, _: &Horizon, points: &mut Points) -> bool {
            points.occupancy_bytes.extend([1, 2, 3]);
            points.limit_bytes.push(1);
            true
        }
    }
    #[derive(Debug)]
    struct Refused(String);
    impl From<RicError> for Refused {
        fn from(error: RicError) -> Self {
            Self(error.to_string())
        }
    }
    impl From<Infallible> for Refused {
        fn from(never: Infallible) -> Self {
            match never {}
        }
    }
    let mut world = world(&[]);
    let mut ric = Ric::new(Timing::at_once(0), |_, _| Box::new(Ragged));
    let step = |world: &mut World, us, sink: &mut dyn FnMut(Output)| -> Result<(), Refused> {
        world.step_until(us, sink);
        Ok(())
    };
    let Refused(why) = ric.step_until(&mut world, 100_000, step).unwrap_err();
    assert!(why.contains("RNTI 17921, DRB 1") && why.contains("occupancy_bytes"), "{why}");
}
