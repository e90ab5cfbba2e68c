//! How long the process waited for a core, and its nice value: what delays reports on a busy host.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::MetricType,
};

/// Waits of the threads of a process; those that have ended count as they were read last.
#[derive(Debug, Default)]
pub(super) struct CoreWait {
    ended: Duration,
    threads: BTreeMap<i32, Duration>,
}

impl CoreWait {
    /// The wait of all threads until now, from that of each thread that runs.
    fn total(&mut self, threads: BTreeMap<i32, Duration>) -> Duration {
        let former = std::mem::replace(&mut self.threads, threads);
        let ended = former.iter().filter(|(thread, _)| !self.threads.contains_key(thread));
        self.ended += ended.map(|(_, wait)| *wait).sum::<Duration>();
        self.ended + self.threads.values().sum::<Duration>()
    }
}

/// Reads `/proc` at scrape time; exports nothing where the kernel does not count.
#[derive(Debug)]
pub(super) struct CoreWaitCollector {
    pub(super) wait: Arc<Mutex<CoreWait>>,
}

#[cfg(target_os = "linux")]
fn of_threads() -> BTreeMap<i32, Duration> {
    let tasks = procfs::process::Process::myself().and_then(|process| process.tasks());
    let tasks = tasks.into_iter().flatten().flatten();
    // A thread may end meanwhile.
    let waits = tasks.filter_map(|task| Some((task.tid, task.schedstat().ok()?.run_delay)));
    waits.map(|(thread, wait_ns)| (thread, Duration::from_nanos(wait_ns))).collect()
}

#[cfg(not(target_os = "linux"))]
fn of_threads() -> BTreeMap<i32, Duration> {
    BTreeMap::new()
}

impl Collector for CoreWaitCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let threads = of_threads();
        if !threads.is_empty() {
            let wait_s = self.wait.lock().total(threads).as_secs_f64();
            encoder
                .encode_descriptor(
                    "process_run_queue_wait_seconds",
                    "Time for which threads of the process were ready to run and waited for a core.",
                    None,
                    MetricType::Counter,
                )?
                .encode_counter::<NoLabelSet, f64, u64>(&wait_s, None)?;
        }
        if let Ok(nice) = rustix::process::getpriority_process(None) {
            encoder
                .encode_descriptor(
                    "process_nice",
                    "Nice value of the program: -20 gets a core first, 19 last.",
                    None,
                    MetricType::Gauge,
                )?
                .encode_gauge(&i64::from(nice))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_does_not_fall_when_a_thread_ends() {
        let threads = |waits: &[(i32, u64)]| {
            waits.iter().map(|(thread, s)| (*thread, Duration::from_secs(*s))).collect()
        };
        let mut wait = CoreWait::default();
        assert_eq!(wait.total(threads(&[(1, 2), (2, 5)])), Duration::from_secs(7));
        assert_eq!(wait.total(threads(&[(1, 3)])), Duration::from_secs(8));
        assert_eq!(wait.total(threads(&[(1, 3), (4, 1)])), Duration::from_secs(9));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_thread_that_runs_is_read() {
        assert!(!of_threads().is_empty());
    }
}
