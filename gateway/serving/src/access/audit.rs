//! The audit log: controls, subscriptions, refusals and reloads as JSON lines.

use std::{
    collections::HashMap,
    io,
    path::Path,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{audit_file::AuditFile, identifiers::field};
use crate::{address::Address, metrics::ServingMetrics};

/// One refusal a client is written per this time.
const REFUSAL_PERIOD: Duration = Duration::from_secs(1);
/// Clients whose refusals are limited separately; further ones share a limit.
const MAX_REFUSED: usize = 1024;
/// Log target of entries without a file.
const TARGET: &str = "audit";

/// One line of the audit log; empty fields are left out, long ones cut.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    /// The client's name, or what is known of an unknown one.
    pub who: &'a str,
    /// The address of its connection.
    pub peer: Option<Address>,
    /// `control`, `subscribe`, `refused`, `reload` or another of the program.
    pub action: &'a str,
    /// The node that it asked for.
    pub node: &'a str,
    /// The OID of its RAN function.
    pub ran_function: &'a str,
    /// The procedure or file.
    pub what: &'a str,
    /// `accepted`, `rejected: CAUSE` or `refused: REASON`.
    pub outcome: &'a str,
}

/// Writes entries to a file or the program's log.
#[derive(Debug)]
pub struct Audit {
    file: Option<Mutex<AuditFile>>,
    metrics: ServingMetrics,
    /// Level of accepted actions in the program's log.
    is_verbose: bool,
    refused: Mutex<HashMap<String, Refused>>,
}

#[derive(Debug)]
struct Refused {
    written: Instant,
    left_out: u64,
}

impl Audit {
    /// Appends to `file` if given. Otherwise entries go to the program's log: accepted actions at
    /// INFO if `is_verbose`, else at DEBUG. Lines that the file does not take are counted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: Option<&Path>, is_verbose: bool, metrics: ServingMetrics) -> io::Result<Self> {
        Ok(Self {
            file: file.map(AuditFile::open).transpose()?.map(Mutex::new),
            metrics,
            is_verbose,
            refused: Mutex::default(),
        })
    }

    /// Whether accepted actions are written anywhere.
    pub fn records_accepted(&self) -> bool {
        self.file.is_some()
            || self.is_verbose
            || tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
    }

    /// Writes an entry.
    pub fn record(&self, entry: &Entry<'_>) {
        self.write(entry, 0);
    }

    /// Writes a refusal or an attempt that reached no node, at most one a second per client; the next one
    /// counts those left out.
    pub fn refused(&self, entry: &Entry<'_>) {
        let now = Instant::now();
        let mut refused = self.refused.lock();
        if refused.len() >= MAX_REFUSED {
            refused.retain(|_, last| {
                last.left_out > 0 || now.duration_since(last.written) < REFUSAL_PERIOD
            });
        }
        let has_room = refused.len() < MAX_REFUSED || refused.contains_key(entry.who);
        let key = if has_room { entry.who } else { "" };
        let left_out = match refused.get_mut(key) {
            Some(last) if now.duration_since(last.written) < REFUSAL_PERIOD => {
                last.left_out += 1;
                return;
            }
            Some(last) => {
                last.written = now;
                std::mem::take(&mut last.left_out)
            }
            None => {
                refused.insert(key.to_owned(), Refused { written: now, left_out: 0 });
                0
            }
        };
        drop(refused);
        self.write(entry, left_out);
    }

    fn write(&self, entry: &Entry<'_>, left_out: u64) {
        let line = line(entry, left_out);
        if let Some(file) = &self.file {
            match file.lock().append(&line.to_string()) {
                Ok(()) => return,
                Err(_) => self.metrics.audit_failed(),
            }
        }
        if entry.action == "refused" {
            tracing::warn!(target: TARGET, "{line}");
        } else if self.is_verbose {
            tracing::info!(target: TARGET, "{line}");
        } else {
            tracing::debug!(target: TARGET, "{line}");
        }
    }
}

fn line(entry: &Entry<'_>, left_out: u64) -> Value {
    let now = OffsetDateTime::now_utc();
    // Whole microseconds, as time stamps of indications.
    let now = now.replace_nanosecond(now.microsecond() * 1_000).unwrap_or(now);
    let mut line = Map::new();
    let mut put = |key: &str, text: &str| {
        if !text.is_empty() {
            line.insert(key.to_owned(), Value::from(field(text)));
        }
    };
    put("at", &now.format(&Rfc3339).unwrap_or_default());
    put("who", entry.who);
    put("peer", &entry.peer.map(|peer| peer.to_string()).unwrap_or_default());
    put("action", entry.action);
    put("node", entry.node);
    put("ran_function", entry.ran_function);
    put("what", entry.what);
    put("outcome", entry.outcome);
    if left_out > 0 {
        line.insert("left_out".to_owned(), Value::from(left_out));
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).expect("the audit file");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn audit(path: &Path) -> Audit {
        Audit::new(Some(path), false, ServingMetrics::default()).expect("a file")
    }

    #[test]
    fn refusals_are_limited_per_client_and_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.jsonl");
        let audit = audit(&path);
        let entry =
            Entry { who: "a", action: "refused", outcome: "refused: right", ..Entry::default() };
        for _ in 0..5 {
            audit.refused(&entry);
        }
        audit.refused(&Entry { who: "b", ..entry.clone() });
        assert_eq!(lines(&path).len(), 2);
        let long_ago = Instant::now().checked_sub(REFUSAL_PERIOD).expect("an earlier time");
        audit.refused.lock().get_mut("a").expect("limited").written = long_ago;
        audit.refused(&entry);
        let lines = lines(&path);
        assert_eq!(
            (lines.len(), &lines[2]["who"], &lines[2]["left_out"]),
            (3, &"a".into(), &4.into())
        );
        let at = lines[2]["at"].as_str().expect("a time");
        assert!(at.ends_with('Z') && at.contains('T'), "{at}");
    }

    #[test]
    fn lines_that_the_file_does_not_take_are_counted() {
        let metrics = ServingMetrics::default();
        let audit = Audit::new(Some(Path::new("/dev/full")), false, metrics.clone());
        let audit = audit.expect("opened");
        for _ in 0..3 {
            audit.record(&Entry { action: "control", outcome: "accepted", ..Entry::default() });
        }
        assert_eq!(metrics.audit_failures(), 3);
    }

    #[test]
    fn memory_of_refusals_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let audit = audit(&folder.path().join("audit.jsonl"));
        for number in 0..3 * MAX_REFUSED {
            audit.refused(&Entry { who: &number.to_string(), ..Entry::default() });
        }
        assert!(audit.refused.lock().len() <= MAX_REFUSED + 1);
    }
}
