//! Mahimahi's packet delivery traces: a line is the millisecond of one opportunity to deliver 1500
//! bytes, and the file repeats when it ends (Netravali et al., USENIX ATC 2015, `mm-link`).
//!
//! The 1500 bytes are one datagram of the recording's sender. To carry the headers of PDCP, RLC and
//! MAC on top of them, use [`with_opportunity_bytes`](MahimahiTrace::with_opportunity_bytes).

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::{TraceError, is_json, without_mark};

/// Default transport block bytes of one opportunity.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// Most lines accepted: an hour at 67 Mbit/s.
pub const MAX_LINES: usize = 20_000_000;

/// Most bytes read of a line; a longer one is not a number of milliseconds.
const MAX_LINE_BYTES: u64 = 32;

/// A trace, shared between clones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MahimahiTrace {
    times_ms: Arc<[u32]>,
    /// Opportunities in the last millisecond, which is also the first of the next round.
    at_end: u64,
    opportunity_bytes: u32,
}

impl MahimahiTrace {
    /// Parses the text of a trace.
    ///
    /// # Errors
    /// [`TraceError`] naming the line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        Self::read(text.as_bytes())
    }

    /// Reads a trace of at most [`MAX_LINES`] lines.
    ///
    /// # Errors
    /// [`TraceError`] naming the line.
    pub fn read(reader: impl BufRead) -> Result<Self, TraceError> {
        Self::read_up_to(reader, MAX_LINES)
    }

    fn read_up_to(mut reader: impl BufRead, max_lines: usize) -> Result<Self, TraceError> {
        let mut times_ms: Vec<u32> = Vec::new();
        let mut bytes = Vec::with_capacity(MAX_LINE_BYTES as usize);
        loop {
            let line = times_ms.len() + 1;
            bytes.clear();
            let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
            if read.map_err(|error| TraceError::read(line, &error))? == 0 {
                break;
            }
            if times_ms.len() == max_lines {
                let found = format!("more than {max_lines} lines");
                return Err(TraceError::invalid(found, "a shorter trace"));
            }
            let text = String::from_utf8_lossy(&bytes);
            let text = if line == 1 { without_mark(&text) } else { &text }.trim();
            if line == 1 && is_json(text) {
                return Err(TraceError::invalid("line 1: JSON", "a whole number in each line"));
            }
            let Ok(ms) = text.parse::<u32>() else {
                let expected = format!("a whole number of milliseconds up to {}", u32::MAX);
                return Err(TraceError::invalid(format!("line {line}: '{text}'"), expected));
            };
            if let Some(before_ms) = times_ms.last().filter(|before| **before > ms) {
                let found = format!("line {line}: {ms} ms after {before_ms} ms");
                return Err(TraceError::invalid(found, "times that never decrease"));
            }
            times_ms.push(ms);
        }
        let last_ms = times_ms.last().copied();
        let last_ms =
            last_ms.ok_or_else(|| TraceError::invalid("empty trace", "at least one line"))?;
        if last_ms == 0 {
            // Such a trace has no period to repeat with.
            let found = format!("line {}: the trace ends at 0 ms", times_ms.len());
            return Err(TraceError::invalid(found, "a last time above 0"));
        }
        let at_end = times_ms.iter().rev().take_while(|ms| **ms == last_ms).count() as u64;
        Ok(Self { times_ms: times_ms.into(), at_end, opportunity_bytes: OPPORTUNITY_BYTES })
    }

    /// The trace with this many transport block bytes in each opportunity.
    #[must_use]
    pub fn with_opportunity_bytes(self, opportunity_bytes: u32) -> Self {
        Self { opportunity_bytes, ..self }
    }

    /// Bytes of an opportunity.
    pub fn opportunity_bytes(&self) -> u32 {
        self.opportunity_bytes
    }

    /// Time of an opportunity, counted from 0 over all rounds.
    pub fn time_us(&self, opportunity: u64) -> u64 {
        let in_round = self.times_ms.len() as u64;
        let (round, at) = (opportunity / in_round, (opportunity % in_round) as usize);
        (round * self.period_ms() + u64::from(self.times_ms[at])) * 1000
    }

    /// The first opportunity at `at_us` or later, as [`time_us`](Self::time_us) counts them.
    pub fn first_from(&self, at_us: u64) -> u64 {
        self.before(at_us)
    }

    /// Milliseconds after which the trace repeats.
    fn period_ms(&self) -> u64 {
        self.times_ms.last().map_or(1, |ms| u64::from(*ms))
    }

    /// Bytes that could be delivered from `since_us` until before `until_us`.
    pub fn bytes_between(&self, since_us: u64, until_us: u64) -> u32 {
        let count = self.before(until_us).saturating_sub(self.before(since_us));
        u32::try_from(count).unwrap_or(u32::MAX).saturating_mul(self.opportunity_bytes)
    }

    /// Opportunities earlier than `at_us`.
    fn before(&self, at_us: u64) -> u64 {
        // A time in whole milliseconds is earlier than `at_us` if it is less than this.
        let at_ms = at_us.div_ceil(1000);
        let period_ms = self.period_ms();
        let (round, rest_ms) = (at_ms / period_ms, at_ms % period_ms);
        let in_round = self.times_ms.partition_point(|ms| u64::from(*ms) < rest_ms) as u64;
        let whole = round * self.times_ms.len() as u64 + in_round;
        // The last opportunities of the previous round are at `at_ms`, not earlier.
        if rest_ms == 0 && round > 0 { whole - self.at_end } else { whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opportunities_fall_in_their_millisecond_and_the_file_repeats() {
        let trace = MahimahiTrace::parse("0\n3\n3\n5\n").unwrap();
        let per_ms: Vec<u32> =
            (0..11).map(|ms| trace.bytes_between(ms * 1000, (ms + 1) * 1000) / 1500).collect();
        // 5 ms after the start the last opportunity meets the first of the next round.
        assert_eq!(per_ms, [1, 0, 0, 2, 0, 2, 0, 0, 2, 0, 2]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let marked = MahimahiTrace::parse("\u{feff}1\r\n2\r\n").unwrap();
        assert_eq!(marked, MahimahiTrace::parse("1\n2\n").unwrap());
    }

    #[test]
    fn slots_shorter_than_a_millisecond_share_it_without_loss() {
        let trace = MahimahiTrace::parse("1\n1\n2\n4\n").unwrap();
        let halves: u32 = (0..80).map(|i| trace.bytes_between(i * 500, (i + 1) * 500)).sum();
        assert_eq!(halves, trace.bytes_between(0, 40_000));
        assert_eq!(trace.bytes_between(1000, 1500), 3000);
        assert_eq!(trace.bytes_between(1500, 2000), 0);
    }

    #[test]
    fn opportunities_are_counted_over_all_rounds() {
        let trace = MahimahiTrace::parse("0\n3\n3\n5\n").unwrap();
        let times_us: Vec<u64> = (0..9).map(|at| trace.time_us(at)).collect();
        assert_eq!(times_us, [0, 3000, 3000, 5000, 5000, 8000, 8000, 10_000, 10_000]);
        for at_us in 0..20_000 {
            let first = trace.first_from(at_us);
            assert!(trace.time_us(first) >= at_us, "{at_us}");
            assert!(first == 0 || trace.time_us(first - 1) < at_us, "{at_us}");
        }
    }

    #[test]
    fn errors_name_the_line_and_the_value() {
        for (text, expected) in [
            ("", "empty trace; expected at least one line"),
            ("0\n0\n", "line 2: the trace ends at 0 ms; expected a last time above 0"),
            ("1\n2\nx7\n", "line 3: 'x7'; expected a whole number"),
            ("1\n\n2\n", "line 2: ''; expected a whole number"),
            ("-1\n", "line 1: '-1'; expected a whole number"),
            ("1.5\n", "line 1: '1.5'; expected a whole number"),
            ("5\n4\n", "line 2: 4 ms after 5 ms; expected times that never decrease"),
            ("99999999999\n", "line 1: '99999999999'; expected a whole number"),
            ("1\n\u{feff}2\n", "line 2: '\u{feff}2'; expected a whole number"),
            ("{\"intervals\": []}", "line 1: JSON; expected a whole number in each line"),
        ] {
            let error = MahimahiTrace::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_huge_file_or_line_is_refused_without_being_buffered() {
        let endless = std::io::BufReader::new(std::io::repeat(b'1'));
        let error = MahimahiTrace::read(endless).unwrap_err().to_string();
        assert!(error.starts_with("line 1: '1111"), "{error}");
        let error = MahimahiTrace::read_up_to("1\n2\n3\n".as_bytes(), 2).unwrap_err();
        assert_eq!(error.to_string(), "more than 2 lines; expected a shorter trace");
        assert!(MahimahiTrace::read_up_to("1\n2\n".as_bytes(), 2).is_ok());
    }

    #[test]
    fn a_reader_that_fails_is_reported() {
        struct Broken;
        impl std::io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("disk on fire"))
            }
        }
        let error = MahimahiTrace::read(std::io::BufReader::new(Broken)).unwrap_err();
        assert_eq!(error.to_string(), "line 1: cannot read: disk on fire");
    }
}
