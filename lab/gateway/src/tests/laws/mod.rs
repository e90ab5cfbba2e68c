//! The laws of control: gateway, E2 agent and TC function together under random controls.
//!
//! Each run is a gNB on virtual time and three clients: two that own what they install and one that
//! does not. Their controls are of every kind that E2SM-TC v1 allows, with right and wrong revisions,
//! leases and owners; they arrive late, out of order, twice or not at all, and so do the answers.
//! Clients crash, the connection of the node breaks, UEs come and go, the gNB restarts. After each
//! step these laws hold:
//! - **Packets** (`node.rs`): every packet that entered a bearer is queued, on its way, delivered,
//!   dropped by a queue discipline, a full RLC or F1-U, discarded with its UE, or dropped by a policer
//!   or limit when it arrived. None vanishes, none is delivered twice, and no control drops any.
//! - **Leases** (`oracle.rs`): a pipeline whose owner falls silent is replaced by the safe one when its
//!   lease ends, not before and not later; while one client holds the node no other changes it, and a
//!   node whose lease ended is free.
//! - **Revisions** (`oracle.rs`): the revision grows by one with each change and never otherwise; an
//!   acknowledged control is in force, digest included, until a later revision; a refused one changes
//!   nothing.
//! - **Answers** (`run.rs`): every control that reached the gateway is answered once, or fails with its
//!   node.
//!
//! A run follows from its seed. A seed that breaks a law is shrunk to few steps and printed; its cause
//! then gets a test of its own, as seeds mean other runs once the steps here change. `make laws` runs as
//! many as wanted; `LAWS_FIRST=seed LAWS_RUNS=1` repeats one.
//!
//! That the laws can fail: `the_laws_find_each_fault` runs a gNB with each `Fault`. The laws were also
//! tried against changes of the TC function itself, and found each within 50 seeds: a packet dropped
//! when queues are rebuilt, the oldest of the recalled packets dropped, the expected revision not
//! compared, the end of a lease ignored, no revision counted for it, a node controlled by anybody.

mod fault;
mod long;
mod node;
mod oracle;
mod plan;
mod run;
mod tally;

/// Random pipelines of all kinds, shared with the tests of the TC function.
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../../ran-function/tc-rf/tests/pipeline/util/mod.rs"]
mod pipelines;

use proptest::strategy::ValueTree;

use fault::Fault;
use oracle::Violation;
use plan::{Plan, Plans};
use run::run;
use tally::Tally;

/// Runs of `make test`.
const SHORT_RUNS: u64 = 500;

/// Runs a seed; its violation with the shortest plan found that has one.
fn judge(plans: &Plans, seed: u64, tally: &mut Tally) -> Result<(), Box<(Violation, Plan)>> {
    let Ok(mut tree) = plans.of(seed) else { return Ok(()) };
    let plan = tree.current();
    let Err(violation) = run(&plan, None, tally) else { return Ok(()) };
    let mut worst = Box::new((violation, plan));
    let mut tries = 0;
    while tries < 2_000 && tree.simplify() {
        loop {
            tries += 1;
            let plan = tree.current();
            if let Err(violation) = run(&plan, None, &mut Tally::default()) {
                *worst = (violation, plan);
                break;
            }
            if tries >= 2_000 || !tree.complicate() {
                break;
            }
        }
    }
    Err(worst)
}

#[test]
fn the_laws_hold_and_every_situation_occurs() {
    let plans = Plans::new();
    let mut tally = Tally::default();
    for seed in 0..SHORT_RUNS {
        if let Err(worst) = judge(&plans, seed, &mut tally) {
            panic!("seed {seed}: {}\n{:#?}", worst.0, worst.1);
        }
    }
    for (what, count) in tally.rows() {
        assert!(count >= 5, "{what}: {count} in {SHORT_RUNS} runs");
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    let of = |seed| format!("{:?}", Plans::new().of(seed).expect("a plan").current());
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

#[test]
fn the_laws_find_each_fault() {
    let plans = Plans::new();
    for fault in [
        Fault::LosesPackets,
        Fault::DuplicatesPackets,
        Fault::DropsAtChange,
        Fault::IgnoresRevision,
        Fault::IgnoresOwner,
        Fault::ProlongsLeases,
        Fault::ForgetsControls,
        Fault::AppliesRefused,
    ] {
        let is_found = (0..SHORT_RUNS).any(|seed| {
            let plan = plans.of(seed).expect("a plan").current();
            run(&plan, Some(fault), &mut Tally::default()).is_err()
        });
        assert!(is_found, "{fault:?} is not found in {SHORT_RUNS} runs");
    }
}
