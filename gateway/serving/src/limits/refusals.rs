//! What was refused, and to whom: a metric, and a log line a minute instead of one per refusal.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use tokio::time::{Instant, interval_at};

use super::limit::Limit;

/// Clients with a series of their own; each further one counts as [`OTHERS`].
const MAX_SHOWN: usize = 32;
const OTHERS: &str = "other";
/// Clients and limits counted for one log; further refusals are only in the metric.
const MAX_LOGGED: usize = 256;
/// Time between two log lines about a client and limit.
const LOG_PERIOD: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LimitedLabels {
    client: String,
    limit: &'static str,
}

#[derive(Debug, Default)]
struct Counted {
    shown: HashSet<Arc<str>>,
    /// Refusals since the last log, and by which bound the newest.
    recent: BTreeMap<(Arc<str>, Limit), (u64, String)>,
}

/// Refusals of all clients; clones share them.
#[derive(Clone, Debug)]
pub struct Refusals {
    total: Family<LimitedLabels, Counter>,
    counted: Arc<Mutex<Counted>>,
}

impl Default for Refusals {
    /// Counters with a series from the start, so that a rate of the first refusal is seen.
    fn default() -> Self {
        let total = Family::<LimitedLabels, Counter>::default();
        let limit = Limit::CALLS.name;
        drop(total.get_or_create(&LimitedLabels { client: OTHERS.to_owned(), limit }));
        Self { total, counted: Arc::default() }
    }
}

impl Refusals {
    /// Counts by client and limit.
    pub fn total(&self) -> Family<LimitedLabels, Counter> {
        self.total.clone()
    }

    /// Counts a refusal; `bound` says what was exceeded.
    pub fn count(&self, client: &Arc<str>, limit: Limit, bound: &str) {
        let mut counted = self.counted.lock();
        let is_shown = counted.shown.contains(client)
            || counted.shown.len() < MAX_SHOWN && counted.shown.insert(Arc::clone(client));
        let logged = counted.recent.len();
        if let Some((count, _)) = counted.recent.get_mut(&(Arc::clone(client), limit)) {
            *count += 1;
        } else if logged < MAX_LOGGED {
            counted.recent.insert((Arc::clone(client), limit), (1, bound.to_owned()));
        }
        drop(counted);
        let client = if is_shown { client.as_ref() } else { OTHERS }.to_owned();
        self.total.get_or_create(&LimitedLabels { client, limit: limit.name }).inc();
    }

    /// A line per client and limit since the last call.
    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.counted.lock().recent)
            .into_iter()
            .map(|((client, limit), (count, bound))| {
                let (what, seconds) = (limit.outcome, LOG_PERIOD.as_secs());
                format!("client {client}: {count} {what} in {seconds} s: {bound}")
            })
            .collect()
    }

    /// Logs once a minute; never ends.
    pub async fn log(self) {
        let mut ticks = interval_at(Instant::now() + LOG_PERIOD, LOG_PERIOD);
        loop {
            ticks.tick().await;
            for line in self.lines() {
                tracing::warn!("{line}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(refusals: &Refusals, client: &str, limit: &'static str) -> u64 {
        let labels = LimitedLabels { client: client.to_owned(), limit };
        refusals.total.get(&labels).map_or(0, |counter| counter.get())
    }

    #[test]
    fn a_flood_is_one_line_with_its_count() {
        let refusals = Refusals::default();
        let client = Arc::from("10.0.0.7");
        for _ in 0..5312 {
            refusals.count(&client, Limit::CALLS, "more than 100 calls/s (burst 200)");
        }
        refusals.count(&client, Limit::OPEN_CALLS, "more than its share of 1024 open calls");
        assert_eq!(
            refusals.lines(),
            [
                "client 10.0.0.7: 5312 calls refused in 60 s: more than 100 calls/s (burst 200)",
                "client 10.0.0.7: 1 calls refused in 60 s: more than its share of 1024 open calls",
            ]
        );
        assert!(refusals.lines().is_empty());
        assert_eq!(total(&refusals, "10.0.0.7", "calls"), 5312);
    }

    #[test]
    fn clients_beyond_the_bound_share_a_series() {
        let refusals = Refusals::default();
        for number in 0..1_000 {
            refusals.count(&Arc::from(format!("c{number}")), Limit::CALLS, "more");
        }
        assert_eq!(total(&refusals, "c31", "calls"), 1);
        assert_eq!(total(&refusals, "c32", "calls"), 0);
        assert_eq!(total(&refusals, OTHERS, "calls"), 1_000 - 32);
        assert_eq!(refusals.lines().len(), MAX_LOGGED);
    }
}
