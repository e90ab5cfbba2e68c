//! What a packet costs, enqueue plus dequeue: every queue discipline over up to 1024 queues beside
//! FQ-CoDel and beside a bare queue, and the whole pipeline over 1 to 1000 bearers.
//! `cargo bench -p gnb-benchmarks --bench disciplines`.
#![allow(missing_docs, clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use gnb_benchmarks::reference::BareQueue;
use gnb_benchmarks::{BearersLoad, DISCIPLINES, Load, load};

/// Packets per measured round.
const ROUND: u64 = 1 << 14;
/// Each figure is the best of so many rounds: the others were disturbed.
const ROUNDS: usize = 50;
/// Queues of each bearer.
const QUEUES: u16 = 64;

/// The least that a round takes per packet, in ns.
fn best_ns(load: &mut dyn Load) -> f64 {
    load.pass(ROUND);
    (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            load.pass(ROUND);
            begun.elapsed().as_secs_f64() * 1e9 / ROUND as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:14} {:>10} {:>14} {:>14}   1024 queues (dual_pi2 512) under DRR",
        "discipline", "ns/packet", "of fq_codel", "of bare queue"
    );
    let bare_ns = best_ns(&mut BareQueue::default());
    println!("{:14} {bare_ns:>10.1} {:>14} {:>14.2}", "bare queue", "", 1.0);
    let mut base = None;
    for name in DISCIPLINES {
        let mut load = load(name)?.ok_or("a discipline without a load")?;
        let ns = best_ns(&mut *load);
        let base = *base.get_or_insert(ns);
        println!("{name:14} {ns:>10.1} {:>14.2} {:>14.2}", ns / base, ns / bare_ns);
    }
    for flows in [2, 16] {
        println!(
            "{:14} {:>10} {:>14} {:>14}   six stages, {flows} flows each",
            "bearers", "ns/packet", "of one bearer", "of bare queue"
        );
        let mut base = None;
        for bearers in [1, 10, 100, 1_000] {
            let ns = best_ns(&mut BearersLoad::new(bearers, QUEUES, flows)?);
            let base = *base.get_or_insert(ns);
            println!("{bearers:<14} {ns:>10.1} {:>14.2} {:>14.2}", ns / base, ns / bare_ns);
        }
    }
    Ok(())
}
