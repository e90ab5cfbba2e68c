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
    println!("{:28} {:>12} {:>10} {:>14}", "scenario", "virtual s", "took ms", "virtual s/s");
    for (name, seconds, rlc) in [
        ("irazabal2021/vanilla.yaml", 60, false),
        ("irazabal2021/codel.yaml", 60, false),
        ("irazabal2021/e5g_bdp.yaml", 60, false),
        ("irazabal2021/drql.yaml", 60, false),
        ("ten_ues.yaml", 60, false),
        ("default.yaml", 60, false),
        ("default.yaml", 60, true),
        ("many_bearers.yaml", 2, false),
        ("many_bearers.yaml", 2, true),
    ] {
        let took = best(name, seconds, rlc)?;
        let label = if rlc { format!("{name} + RLC 1 ms") } else { name.to_owned() };
        println!(
            "{label:28} {seconds:>12} {:>10.2} {:>14.0}",
            took.as_secs_f64() * 1e3,
            seconds as f64 / took.as_secs_f64()
        );
    }
    Ok(())
}

/// Time to run a scenario, with or without an RLC report each ms.
fn best(name: &str, seconds: u64, rlc: bool) -> Result<Duration, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name);
    let loaded = LoadedScenario::from_file(&path, &[])?;
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
