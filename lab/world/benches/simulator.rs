//! Simulated seconds per second on one core, and the cost of reports.
//! `cargo bench -p lab-world --bench simulator`.
#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use lab_scenario::LoadedScenario;
use lab_world::{RanFunction, SubscriptionRequest, World};

/// Each figure is the best of so many runs: the others were disturbed.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:36} {:>12} {:>10} {:>14}", "scenario", "virtual s", "took ms", "virtual s/s");
    for (name, seconds, rlc, speed_kmh) in [
        ("irazabal2021/vanilla.yaml", 60, false, None),
        ("irazabal2021/vanilla.yaml", 60, false, Some(30)),
        ("irazabal2021/codel.yaml", 60, false, None),
        ("irazabal2021/e5g_bdp.yaml", 60, false, None),
        ("irazabal2021/drql.yaml", 60, false, None),
        ("ten_ues.yaml", 60, false, None),
        ("ten_ues.yaml", 60, false, Some(30)),
        ("default.yaml", 60, false, None),
        ("default.yaml", 60, true, None),
        ("many_bearers.yaml", 2, false, None),
        ("many_bearers.yaml", 2, true, None),
    ] {
        let took = best(name, seconds, rlc, speed_kmh)?;
        let mut label = name.to_owned();
        if rlc {
            label += " + RLC 1 ms";
        }
        if let Some(speed_kmh) = speed_kmh {
            label += &format!(", {speed_kmh} km/h");
        }
        println!(
            "{label:36} {seconds:>12} {:>10.2} {:>14.0}",
            took.as_secs_f64() * 1e3,
            seconds as f64 / took.as_secs_f64()
        );
    }
    Ok(())
}

/// Time to run a scenario, with or without an RLC report each ms; its UEs have their own channel, or
/// fading at a speed.
fn best(
    name: &str,
    seconds: u64,
    rlc: bool,
    speed_kmh: Option<u32>,
) -> Result<Duration, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name);
    let mut loaded = LoadedScenario::from_file(&path, &[])?;
    if let Some(speed_kmh) = speed_kmh {
        let fading = serde_json::json!({ "fading": { "mean_snr_db": 15, "speed_kmh": speed_kmh } });
        for ue in &mut loaded.scenario.ues {
            ue.channel = serde_json::from_value(fading.clone())?;
        }
    }
    let mut took = Duration::MAX;
    for _ in 0..RUNS {
        let mut world = World::new(&loaded)?;
        if rlc {
            let request = SubscriptionRequest::periodic(world.node_id(), RanFunction::Rlc, 1);
            world.subscribe(&request)?;
        }
        let begun = Instant::now();
        world.step_until(seconds * 1_000_000, &mut |output| {
            std::hint::black_box(output);
        });
        took = took.min(begun.elapsed());
    }
    Ok(took)
}
