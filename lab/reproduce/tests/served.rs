//! A trained model served over a pipe by a script.

#![cfg(unix)]
// clippy.toml allows these in test functions; shared functions of tests need them as well.
#![allow(clippy::unwrap_used)]

#[path = "../../world/tests/worlds/common.rs"]
mod common;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use common::{flow, scenario};
use lab_forecast::{
    DRAIN_QUANTILE, FeedQuantity, ForecastCounts, Forecaster, Horizon, Points, Program, Ric,
    Served, ServedError, Timing,
};
use lab_reproduce::{Inputs, Options, Reproduction, Trained, papers, reproduce};
use lab_scenario::ScenarioError;
use lab_world::{DEFAULT_EPOCH_US, Output, RlcSample, Summary, World};

const END_US: u64 = 4_000_000;
const PACED: &str = "ues[0].drbs[0].pipeline.pacer={forecast: {stale_us: 1000000}}";

fn program(behaviour: &str) -> Program {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fake_forecaster.py");
    Program { command: script, model: PathBuf::from("models").join(behaviour) }
}

/// Points of the fake forecaster.
fn timing(t_c_us: u32) -> Timing {
    Timing { inference_us: 70, first_point_us: 11_000, points: 20, ..Timing::stolidis2024(t_c_us) }
}

fn summary(ric: &mut Ric, t_c_us: u32, rlc_status: &str) -> Result<Summary, ScenarioError> {
    let delay = format!("split.f1_delay_us={t_c_us}");
    let status = format!("split.f1.rlc_status={rlc_status}");
    let overrides = [delay.as_str(), status.as_str(), PACED];
    let mut world = World::new(&scenario("stolidis2024/drql.yaml", &overrides)).unwrap();
    let step = |world: &mut World, us, sink: &mut dyn FnMut(Output)| -> Result<(), ScenarioError> {
        world.step_until(us, sink);
        Ok(())
    };
    ric.step_until(&mut world, END_US, step)?;
    Ok(world.summary())
}

fn served(behaviour: &str, quantity: FeedQuantity) -> Result<(Summary, ForecastCounts), String> {
    let program = program(behaviour);
    let hello = Served::probe(&program, &[]).map_err(|error| error.to_string())?;
    let served = Served::start(&program, &hello, DEFAULT_EPOCH_US, DRAIN_QUANTILE)
        .map_err(|error| error.to_string())?;
    let mut ric = Ric::of_node(timing(10_000), Box::new(served)).with_quantity(quantity);
    let rlc_status = if quantity == FeedQuantity::Drain { "each_slot" } else { "never" };
    let summary = summary(&mut ric, 10_000, rlc_status).map_err(|error| error.to_string())?;
    Ok((summary, ric.counts().unwrap()))
}

fn downlink(summary: &Summary) -> u64 {
    flow(summary, "bulk").received_packets + flow(summary, "ping").received_packets
}

#[test]
fn the_median_forecast_reaches_the_pacer() {
    let (summary, counts) = served("well", FeedQuantity::Limit).unwrap();
    // An empty buffer as forecast, up to 3000 bytes: two packets in each of 2000 TTIs.
    let all = downlink(&summary);
    assert!((3_950..=4_100).contains(&all), "{all}");
    assert_eq!(counts.forecasts, 3_989, "one per ms, except at either end");
    assert_eq!(counts.by_model, 3_591, "one in ten is from the fallback");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let (first, _) = served("well", FeedQuantity::Drain).unwrap();
    let (second, _) = served("well", FeedQuantity::Drain).unwrap();
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
    assert!(downlink(&first) > 3 * 2_000, "the drain forecast helps: {}", downlink(&first));
}

#[test]
fn errors_of_a_program_contain_its_output() {
    for (behaviour, words) in [
        ("refuses", &["lockstep --model models/refuses", "manifest.json: no model"] as &[&str]),
        ("prints", &["the head of a frame", "Welco"]),
        ("newer", &["frames of version 3; expected 2"]),
        ("without-median", &["quantiles [0.1, 0.9] without 0.5"]),
        ("dies", &["ended with exit status: 3", "out of luck"]),
        ("says-nan", &["NaN bytes; expected 0 to"]),
        ("says-half", &["no ForecastBatch"]),
        ("changes", &["another digest"]),
    ] {
        let error = served(behaviour, FeedQuantity::Limit).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{behaviour}: {error}");
        assert_eq!(error.lines().count(), 1, "{behaviour}: {error}");
    }
    let nowhere = Program { command: "/no/where".into(), ..program("well") };
    let error = Served::probe(&nowhere, &[]).unwrap_err();
    assert!(matches!(error, ServedError::NotStarted { .. }), "{error}");
    let silent = Program { command: "true".into(), ..program("well") };
    let error = Served::probe(&silent, &[]).unwrap_err();
    assert!(matches!(error, ServedError::Ended { .. }), "{error}");
}

#[test]
fn a_quantile_beyond_those_of_the_model_is_no_quantile_of_the_drain() {
    let hello = Served::probe(&program("well"), &[]).unwrap();
    for (level, has) in [(0.1, true), (0.7, true), (0.9, true), (0.05, false), (0.95, false)] {
        assert_eq!(hello.has_quantile(level), has, "{level}");
        let started = Served::start(&program("well"), &hello, 0, level);
        let refused = started.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(refused.is_empty(), has, "{refused}");
        let why = format!("answered quantiles [0.1, 0.5, 0.9] without {level}");
        assert!(has || refused.ends_with(&why), "{refused}");
    }
}

#[test]
fn t_m_is_rounded_up() {
    let hello = Served::probe(&program("well"), &[1, 4]).unwrap();
    assert_eq!((hello.t_m_us(1), hello.t_m_us(4), hello.t_m_us(2)), (Some(62), Some(65), None));
    assert!(hello.forecasts("DRAIN_BYTES") && !hello.forecasts("QUANTITY_UNSPECIFIED"));
}

/// Forecasts different limits for the first point, the last one and those between.
struct Ends {
    first: u32,
    between: u32,
    last: u32,
}

impl Forecaster for Ends {
    fn observe(&mut self, _: &RlcSample) {}

    fn forecast(&mut self, horizon: &Horizon, points: &mut Points) -> bool {
        let between = horizon.points as usize - 2;
        points.occupancy_bytes.resize(horizon.points as usize, 0);
        points.limit_bytes.push(self.first);
        points.limit_bytes.extend(std::iter::repeat_n(self.between, between));
        points.limit_bytes.push(self.last);
        true
    }
}

#[test]
fn before_the_first_point_and_after_the_last_the_nearest_applies() {
    // Points from 11 to 30 ms after the sample; it is used at once, and 40 to 41 ms after it.
    for (t_c_us, first, last) in [(0, 4_500, 1_500), (40_000, 1_500, 4_500)] {
        let mut ric =
            Ric::new(timing(t_c_us), move |_, _| Box::new(Ends { first, between: 0, last }));
        let all = downlink(&summary(&mut ric, t_c_us, "never").unwrap());
        assert!((5_800..=6_200).contains(&all), "three packets a TTI at {t_c_us} µs: {all}");
    }
}

fn sets(trained: Option<Trained>, duration_us: u64) -> Reproduction {
    let options = Options {
        experiment: Some("sets".to_owned()),
        repeats: Some(1),
        duration_us: Some(duration_us),
        inputs: Inputs { trained, ..Inputs::default() },
        ..Options::default()
    };
    let paper = papers::by_name("stolidis2024").unwrap();
    reproduce(&paper, &options, &AtomicBool::new(false), &|_| {}).unwrap()
}

#[test]
fn without_a_trained_model_its_rows_are_omitted_with_a_warning() {
    let without = sets(None, 2_100_000);
    let trained_rows = |reproduction: &Reproduction| {
        let rows = reproduction.tables[0].rows.iter();
        rows.filter(|row| row.scheme.contains("trained")).cloned().collect::<Vec<_>>()
    };
    assert!(trained_rows(&without).is_empty());
    assert_eq!(
        without.warnings.iter().filter(|warning| warning.contains("--model DIR")).count(),
        1
    );

    let program = program("well");
    let hello = Served::probe(&program, &[1, 4]).unwrap();
    let trained = |t_m_us| Trained {
        program: program.clone(),
        hello: hello.clone(),
        t_m_us,
        drain_quantile: DRAIN_QUANTILE,
    };
    let with = sets(Some(trained(None)), 3_000_000);
    assert!(with.warnings.is_empty(), "{:?}", with.warnings);
    let rows = trained_rows(&with);
    assert!(rows.iter().all(|row| !row.unit.is_empty()));
    for scheme in ["DRQL with forecast, trained model", "status and drain forecast, trained model"]
    {
        let row = rows.iter().find(|row| row.scheme == scheme && row.metric == "throughput");
        assert!(row.unwrap().here.unwrap() > 20.0, "{row:?}");
    }
    assert_eq!(rows, trained_rows(&sets(Some(trained(None)), 3_000_000)), "the same again");
    assert_ne!(rows, trained_rows(&sets(Some(trained(Some(9_000))), 3_000_000)), "T_m is applied");
}

#[test]
fn a_model_that_lacks_a_quantity_has_no_rows_where_it_is_needed() {
    let program = program("well");
    let mut hello = Served::probe(&program, &[1, 4]).unwrap();
    hello.quantities.retain(|name| name != "LIMIT_BYTES");
    let done = sets(
        Some(Trained { program, hello, t_m_us: None, drain_quantile: DRAIN_QUANTILE }),
        2_100_000,
    );
    let [missing] = done.tables[0].missing.as_slice() else {
        panic!("{:?}", done.tables[0].missing)
    };
    assert!(missing.contains("expected OCCUPANCY_BYTES and LIMIT_BYTES"), "{missing}");
    let status = done.tables[0].here("status and drain forecast, trained model", "throughput");
    assert!(status.is_some());
}
