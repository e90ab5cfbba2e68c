//! What was refused, and to whom: a metric, and a log line a minute instead of one per refusal.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use tokio::time::{Instant, interval};

use super::limit::Limit;

/// Clients with a series of their own; each further one counts as [`OTHERS`].
const MAX_SHOWN: usize = 32;
const OTHERS: &str = "other";
/// Time between two log lines about a client and limit.
const LOG_PERIOD: Duration = Duration::from_secs(60);
/// Time between two looks for lines to log.
const CHECK_PERIOD: Duration = Duration::from_secs(1);
/// A client that was refused nothing for this long gives its series to another that needs one.
const FORGET: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LimitedLabels {
    client: String,
    limit: &'static str,
}

/// What has not been logged of a client and limit.
#[derive(Debug)]
struct Line {
    since: Instant,
    refused: u64,
    why: String,
}

#[derive(Debug, Default)]
struct Counted {
    /// When each client with a series of its own was refused something last.
    shown: HashMap<Arc<str>, Instant>,
    lines: BTreeMap<(Arc<str>, Limit), Line>,
}

/// Refusals of all clients; clones share them. Neither the number of series nor that of log lines grows with
/// the number of clients.
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

    /// Counts a refusal; `why` says what was exceeded. The first of a minute is logged at once.
    pub fn count(&self, client: &Arc<str>, limit: Limit, why: &str) {
        self.count_at(client, limit, why, Instant::now());
    }

    fn count_at(&self, client: &Arc<str>, limit: Limit, why: &str, now: Instant) {
        let mut counted = self.counted.lock();
        let client = self.shown(&mut counted, client, now);
        let labels = LimitedLabels { client: client.as_ref().to_owned(), limit: limit.name };
        self.total.get_or_create(&labels).inc();
        if let Some(line) = counted.lines.get_mut(&(Arc::clone(&client), limit)) {
            line.refused += 1;
            why.clone_into(&mut line.why);
            return;
        }
        let line = Line { since: now, refused: 0, why: why.to_owned() };
        counted.lines.insert((Arc::clone(&client), limit), line);
        drop(counted);
        tracing::warn!(client = &*client, limit = limit.name, refused = 1, why, "client limited");
    }

    /// The name that a client is counted by.
    fn shown(&self, counted: &mut Counted, client: &Arc<str>, now: Instant) -> Arc<str> {
        let shown = &mut counted.shown;
        if !shown.contains_key(client) && shown.len() >= MAX_SHOWN {
            let oldest = shown.iter().min_by_key(|(_, last)| **last);
            let oldest = oldest.filter(|(_, last)| now.duration_since(**last) >= FORGET);
            let Some(oldest) = oldest.map(|(name, _)| Arc::clone(name)) else {
                return OTHERS.into();
            };
            shown.remove(&oldest);
            self.forget(counted, &oldest);
        }
        counted.shown.insert(Arc::clone(client), now);
        Arc::clone(client)
    }

    /// Adds what a client was refused to the series of the others.
    fn forget(&self, counted: &mut Counted, client: &Arc<str>) {
        let limits: Vec<Limit> = counted
            .lines
            .keys()
            .filter(|(name, _)| name == client)
            .map(|(_, limit)| *limit)
            .collect();
        for limit in limits {
            counted.lines.remove(&(Arc::clone(client), limit));
            let labels = LimitedLabels { client: client.as_ref().to_owned(), limit: limit.name };
            let refused = self.total.get(&labels).map_or(0, |counter| counter.get());
            self.total.remove(&labels);
            let others = LimitedLabels { client: OTHERS.to_owned(), limit: limit.name };
            self.total.get_or_create(&others).inc_by(refused);
        }
    }

    /// What was refused since a line a minute ago or longer: client, limit, how many, seconds, why.
    fn due(&self, now: Instant) -> Vec<(Arc<str>, Limit, u64, u64, String)> {
        let mut due = Vec::new();
        for ((client, limit), line) in &mut self.counted.lock().lines {
            let passed = now.duration_since(line.since);
            if passed >= LOG_PERIOD && line.refused > 0 {
                let refused = std::mem::take(&mut line.refused);
                line.since = now;
                due.push((Arc::clone(client), *limit, refused, passed.as_secs(), line.why.clone()));
            }
        }
        due
    }

    /// Logs once a minute; never ends.
    pub async fn log(self) {
        let mut ticks = interval(CHECK_PERIOD);
        loop {
            ticks.tick().await;
            for (client, limit, refused, in_s, why) in self.due(Instant::now()) {
                let limit = limit.name;
                tracing::warn!(client = &*client, limit, refused, in_s, why, "client limited");
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
    fn a_flood_is_a_line_a_minute_with_its_count() {
        let refusals = Refusals::default();
        let (client, began) = (Arc::from("10.0.0.7"), Instant::now());
        for _ in 0..5312 {
            refusals.count_at(&client, Limit::CALLS, "more than 100 calls/s (burst 200)", began);
        }
        assert!(refusals.due(began + LOG_PERIOD / 2).is_empty());
        let due = refusals.due(began + LOG_PERIOD);
        let why = "more than 100 calls/s (burst 200)".to_owned();
        assert_eq!(due, [(Arc::clone(&client), Limit::CALLS, 5311, 60, why)]);
        assert!(refusals.due(began + 2 * LOG_PERIOD).is_empty(), "nothing since");
        assert_eq!(total(&refusals, "10.0.0.7", "calls"), 5312);
    }

    #[test]
    fn clients_beyond_the_bound_share_a_series_until_one_is_forgotten() {
        let (refusals, began) = (Refusals::default(), Instant::now());
        let count = |number: u32, at| {
            refusals.count_at(&Arc::from(format!("c{number}")), Limit::CALLS, "more", at);
        };
        (0..1_000).for_each(|number| count(number, began));
        assert_eq!(total(&refusals, "c31", "calls"), 1);
        assert_eq!(total(&refusals, "c32", "calls"), 0);
        assert_eq!(total(&refusals, OTHERS, "calls"), 1_000 - 32);
        assert_eq!(refusals.counted.lock().lines.len(), MAX_SHOWN + 1);
        count(2_000, began + FORGET);
        assert_eq!(total(&refusals, "c2000", "calls"), 1);
        assert_eq!(total(&refusals, OTHERS, "calls"), 1_000 - 32 + 1);
        assert_eq!(refusals.counted.lock().lines.len(), MAX_SHOWN + 1);
    }
}
