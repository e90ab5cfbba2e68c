//! irazabal2021 Table 2, paper beside here. `cargo bench -p gnb-lab --bench irazabal2021`.
#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use gnb_lab::experiments::irazabal2021::{SCHEMES, mean};

/// As often as the paper.
const RUNS: u64 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/irazabal2021");
    println!("irazabal2021 Table 2, mean of {RUNS} seeds; paper | here");
    println!("{:10} {:>15} {:>19} {:>19}", "scheme", "< 1 ms %", "Mbit/s", "used RBs %");
    for scheme in &SCHEMES {
        let (paper, here) = (scheme.paper, mean(scheme, &scenarios, RUNS)?);
        println!(
            "{:10} {:>6.0} | {:>6.2} {:>8.2} | {:>8.3} {:>8.2} | {:>8.3}",
            scheme.name,
            paper.below_1ms_pct,
            here.below_1ms_pct,
            paper.goodput_mbps,
            here.goodput_mbps,
            paper.used_rb_pct,
            here.used_rb_pct,
        );
    }
    Ok(())
}
