//! The long run of `make laws`: as many seeds as wanted, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::judge;
use super::plan::Plans;
use super::tally::Tally;

/// A number from the environment.
fn from_environment(name: &str, otherwise: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{name}={text:?}, expected a whole number"))
}

/// What the threads share.
struct Shared {
    next: AtomicU64,
    end: u64,
    stop: AtomicBool,
    tally: Mutex<Tally>,
    violations: Mutex<Vec<u64>>,
}

impl Shared {
    /// Runs seeds until there is none left.
    fn work(&self) {
        let plans = Plans::new();
        while !self.stop.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end {
                return;
            }
            let mut tally = Tally::default();
            if let Err(worst) = judge(&plans, seed, &mut tally) {
                println!("\nseed {seed}: {}\n{:#?}", worst.0, worst.1);
                self.violations.lock().expect("no thread panicked").push(seed);
            }
            self.tally.lock().expect("no thread panicked").add(&tally);
        }
    }

    fn print_progress(&self, first: u64, began: Instant) {
        let next = self.next.load(Ordering::Relaxed).min(self.end);
        let (runs, took_s) = (next - first, began.elapsed().as_secs_f64());
        let broken = self.violations.lock().expect("no thread panicked").len();
        eprint!(
            "\r{runs} of {} runs, {:.0} a second, {broken} broken; to go on: LAWS_FIRST={next}   ",
            self.end - first,
            runs as f64 / took_s
        );
    }
}

#[test]
#[ignore = "a long run: make laws"]
fn long_run() {
    let (first, runs) =
        (from_environment("LAWS_FIRST", 0), from_environment("LAWS_RUNS", 1_000_000));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let threads = from_environment("LAWS_THREADS", threads);
    let shared = Shared {
        next: AtomicU64::new(first),
        end: first.saturating_add(runs),
        stop: AtomicBool::new(false),
        tally: Mutex::default(),
        violations: Mutex::default(),
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| shared.work())).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        while workers.iter().any(|worker| !worker.is_finished()) {
            let interrupted = runtime.block_on(async {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => true,
                    () = tokio::time::sleep(Duration::from_millis(500)) => false,
                }
            });
            shared.stop.fetch_or(interrupted, Ordering::Relaxed);
            shared.print_progress(first, began);
        }
    });
    eprintln!();
    for (what, count) in shared.tally.lock().expect("no thread panicked").rows() {
        println!("{what:>22} {count:>14}");
    }
    let broken = shared.violations.lock().expect("no thread panicked");
    assert!(broken.is_empty(), "seeds that break a law: {broken:?}");
}
