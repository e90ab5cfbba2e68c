//! Repeats a load and ends: what `benchmarks/instructions.py` counts.
//! `hot-paths NAME TIMES`; without arguments it prints the names.
#![allow(clippy::print_stdout)]

use std::env;
use std::error::Error;

use gnb_benchmarks::{load, names};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => names().for_each(|name| println!("{name}")),
        [name, times] => {
            let expected = || format!("no load {name:?}; expected one printed without arguments");
            load(name)?.ok_or_else(expected)?.pass(times.parse()?);
        }
        _ => return Err("expected NAME TIMES, or nothing".into()),
    }
    Ok(())
}
