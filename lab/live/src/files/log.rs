//! A log of packets: a JSON object per line, up to a size.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Serialize, Serializer};

use super::spool::Format;

/// A line of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LogLine {
    /// Unix time at which the packet was at the capture point.
    pub(crate) time_ns: u64,
    pub(crate) capture_point: &'static str,
    /// C-RNTI of its UE.
    pub(crate) rnti: u16,
    /// Name of its flow in the scenario.
    #[serde(serialize_with = "as_text")]
    pub(crate) flow: Arc<str>,
    /// Protocol number of the IANA registry.
    pub(crate) protocol: u8,
    /// Addresses with ports, which are 0 without ports.
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) dscp: u8,
    /// Codepoint of the ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub(crate) ecn: u8,
    pub(crate) length_bytes: u32,
    /// `passed`, or why it was dropped.
    pub(crate) verdict: &'static str,
    /// Faults it met and goes on with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) faults: Vec<&'static str>,
    /// Time from its sending to its arrival, behind the gNB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sojourn_us: Option<u64>,
    /// COUNT of PDCP, of a packet on the air.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pdcp_count: Option<u64>,
}

fn as_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// Packets of a log.
#[derive(Debug, Default)]
pub(crate) struct LogCounts {
    /// Came to its capture points.
    pub(crate) received: AtomicU64,
    /// Those of `received` that are not in the file.
    pub(crate) left_out: AtomicU64,
}

/// The file of a log.
#[derive(Debug)]
pub(crate) struct LogFile {
    counts: Arc<LogCounts>,
    most_bytes: u64,
    written_bytes: u64,
    /// Reused from line to line.
    buffer: Vec<u8>,
}

/// The last line, which says what the file does not have.
#[derive(Serialize)]
struct LastLine {
    received_packets: u64,
    left_out_packets: u64,
}

impl LogFile {
    /// A file of at most about `most_bytes`.
    pub(crate) fn new(counts: Arc<LogCounts>, most_bytes: u64) -> Self {
        Self { counts, most_bytes, written_bytes: 0, buffer: Vec::new() }
    }

    /// Writes an object as a line if there is room for it.
    fn line(&mut self, object: &impl Serialize, out: &mut dyn Write) -> io::Result<bool> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, object)?;
        self.buffer.push(b'\n');
        let length = self.buffer.len() as u64;
        if self.written_bytes + length > self.most_bytes {
            // What is shorter than this one would not be the next.
            self.written_bytes = self.most_bytes;
            return Ok(false);
        }
        self.written_bytes += length;
        out.write_all(&self.buffer).map(|()| true)
    }
}

impl Format for LogFile {
    type Record = LogLine;

    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, record: LogLine, out: &mut dyn Write) -> io::Result<()> {
        let is_written = self.line(&record, out);
        if !matches!(is_written, Ok(true)) {
            self.left_out(record);
        }
        is_written.map(drop)
    }

    fn left_out(&mut self, _: LogLine) {
        self.counts.left_out.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let last = LastLine {
            received_packets: count(&self.counts.received),
            left_out_packets: count(&self.counts.left_out),
        };
        // Its size is not of the packets.
        self.most_bytes = u64::MAX;
        self.line(&last, out).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn line(length_bytes: u32) -> LogLine {
        LogLine {
            time_ns: 7,
            capture_point: "ue-out",
            rnti: 17_921,
            flow: "any@17921".into(),
            protocol: 6,
            source: "198.51.100.1:5201".parse().unwrap(),
            destination: "[2001:db8:45:4601::1]:49152".parse().unwrap(),
            dscp: 46,
            ecn: 3,
            length_bytes,
            verdict: "lost_in_burst",
            faults: Vec::new(),
            sojourn_us: Some(1_234),
            pdcp_count: None,
        }
    }

    #[test]
    fn a_line_says_what_passed_when_and_what_became_of_it() {
        let (mut log, mut out) = (LogFile::new(Arc::default(), 10_000), Vec::new());
        log.record(line(1_500), &mut out).unwrap();
        log.record(LogLine { verdict: "passed", faults: vec!["corrupted"], ..line(40) }, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(
            lines[0],
            serde_json::json!({
                "time_ns": 7, "capture_point": "ue-out", "rnti": 17_921, "flow": "any@17921", "protocol": 6,
                "source": "198.51.100.1:5201", "destination": "[2001:db8:45:4601::1]:49152",
                "dscp": 46, "ecn": 3, "length_bytes": 1_500, "verdict": "lost_in_burst",
                "sojourn_us": 1_234,
            })
        );
        assert_eq!(
            (&lines[1]["verdict"], &lines[1]["faults"][0]),
            (&"passed".into(), &"corrupted".into())
        );
    }

    #[test]
    fn a_full_log_says_what_it_left_out() {
        let counts = Arc::new(LogCounts::default());
        let (mut log, mut out) = (LogFile::new(Arc::clone(&counts), 1_000), Vec::new());
        for _ in 0..10 {
            counts.received.fetch_add(1, Ordering::Relaxed);
            log.record(line(1_500), &mut out).unwrap();
        }
        log.end(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let (lines, last) = text.trim_end().rsplit_once('\n').unwrap();
        let written = lines.lines().count() as u64;
        assert!(written > 0 && written < 10 && lines.len() <= 1_000);
        let last: Value = serde_json::from_str(last).unwrap();
        let expected =
            serde_json::json!({"received_packets": 10, "left_out_packets": 10 - written});
        assert_eq!(last, expected);
    }
}
