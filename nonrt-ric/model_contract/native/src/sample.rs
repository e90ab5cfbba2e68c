//! Features of RLC reports.

use std::fmt;

/// Columns of a sample.
pub const COLUMNS: usize = 9;
/// Those of other reports, the last.
const CONTEXT: usize = 3;
/// 10 Gbit/s. A larger step of a counter is a restarted RLC entity, not traffic.
pub const MAX_RATE_BYTES_PER_MS: f64 = 1_250_000.0;
/// Longest mean sojourn, µs.
const MAX_SOJOURN_US: f64 = u32::MAX as f64;

/// Byte offsets of the fields within a record.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Length of a record.
    pub record: usize,
    /// `txbuf_occ_bytes`, u32.
    pub occupancy_bytes: usize,
    /// `txbuf_occ_pkts`, u32.
    pub occupancy_packets: usize,
    /// `txpdu_bytes`, u32, cumulative.
    pub pdu_bytes: usize,
    /// `txsdu_avg_time_to_tx`, f64, µs.
    pub mean_sojourn: usize,
    /// `txsdu_wt_us`, u32.
    pub head_of_line_age: usize,
}

/// The previous report of each row.
#[derive(Debug, Clone, Copy)]
pub struct Previous<'a> {
    /// `[txpdu_bytes, txbuf_occ_bytes]` of each row; ignored where not `seen`.
    pub levels: &'a [[i64; 2]],
    /// Time since then, ms; one value, or one per row.
    pub elapsed_ms: &'a [f64],
    /// Whether each row has a previous report; empty if all have.
    pub seen: &'a [bool],
}

/// Slices of mismatched lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LengthError {
    /// The slice.
    pub name: &'static str,
    /// Its length.
    pub length: usize,
    /// Number of rows.
    pub rows: usize,
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has length {}, for {} rows", self.name, self.length, self.rows)
    }
}

impl std::error::Error for LengthError {}

/// Features of reports and their predecessors; rows are independent.
///
/// Writes features to `out`, levels for the next report to `levels`, and to `fresh` whether the counters
/// continue from a previous report. `context` has the `(N, 3)` values of other reports, the last columns; it
/// is empty for 0.
///
/// # Errors
/// [`LengthError`] when the slices differ in rows, or a field ends beyond its record.
pub fn samples(
    report: &[u8],
    fields: &Fields,
    before: &Previous<'_>,
    context: &[f32],
    out: &mut [[f32; COLUMNS]],
    levels: &mut [[i64; 2]],
    fresh: &mut [bool],
) -> Result<(), LengthError> {
    let rows = out.len();
    check("report", report.len(), rows * fields.record, rows)?;
    check("before", before.levels.len(), rows, rows)?;
    check("levels", levels.len(), rows, rows)?;
    check("fresh", fresh.len(), rows, rows)?;
    if before.elapsed_ms.len() != 1 {
        check("elapsed_ms", before.elapsed_ms.len(), rows, rows)?;
    }
    if !before.seen.is_empty() {
        check("seen", before.seen.len(), rows, rows)?;
    }
    if !context.is_empty() {
        check("context", context.len(), rows * CONTEXT, rows)?;
    }
    let context = context.as_chunks::<CONTEXT>().0;
    if fields.record == 0 {
        return check("record", 0, 1, rows);
    }
    let ends = [
        fields.occupancy_bytes + 4,
        fields.occupancy_packets + 4,
        fields.pdu_bytes + 4,
        fields.mean_sojourn + 8,
        fields.head_of_line_age + 4,
    ];
    if let Some(&end) = ends.iter().find(|end| **end > fields.record) {
        return Err(LengthError { name: "record", length: fields.record, rows: end });
    }
    let records = report.chunks_exact(fields.record);
    for (row, (record, sample)) in records.zip(out).enumerate() {
        let pdu_bytes = u32_at(record, fields.pdu_bytes);
        let occupancy = i64::from(u32_at(record, fields.occupancy_bytes));
        let [pdu_before, occupancy_before] = before.levels[row];
        let elapsed_ms = before.elapsed_ms[if before.elapsed_ms.len() == 1 { 0 } else { row }];
        let seen = before.seen.is_empty() || before.seen[row];
        levels[row] = [i64::from(pdu_bytes), occupancy];

        // Modulo 2³²: valid across one wrap of the counter.
        let drained = f64::from(pdu_bytes.wrapping_sub(pdu_before as u32));
        let drained_rate = drained / elapsed_ms;
        let continues = seen && drained_rate <= MAX_RATE_BYTES_PER_MS;
        let arrived_rate = ((occupancy - occupancy_before) as f64 + drained) / elapsed_ms;
        fresh[row] = continues;

        let sojourn = f64_at(record, fields.mean_sojourn);
        // False for NaN as well.
        let sojourn =
            if sojourn < f64::INFINITY { sojourn.clamp(0.0, MAX_SOJOURN_US) } else { 0.0 };
        *sample = [0.0; COLUMNS];
        sample[0] = single(f64::from(u32_at(record, fields.occupancy_bytes)));
        if continues {
            sample[1] = single(drained_rate);
            // Headers count as drained but were never buffered: slightly negative at times.
            sample[2] = single(arrived_rate.max(0.0));
        }
        sample[3] = single(f64::from(u32_at(record, fields.head_of_line_age)));
        sample[4] = single(sojourn);
        sample[5] = single(f64::from(u32_at(record, fields.occupancy_packets)));
        if let Some(context) = context.get(row) {
            sample[COLUMNS - CONTEXT..].copy_from_slice(context);
        }
    }
    Ok(())
}

/// Scales `(N, F)` values: `(value − minimum) / span` by column.
///
/// # Errors
/// [`LengthError`] when the slices differ in rows or columns.
pub fn scale(
    values: &[f32],
    minimum: &[f32],
    span: &[f32],
    out: &mut [f32],
) -> Result<(), LengthError> {
    let columns = minimum.len();
    check("span", span.len(), columns, columns)?;
    let rows = values.len().checked_div(columns).unwrap_or(0);
    check("values", values.len(), rows * columns, columns)?;
    check("out", out.len(), values.len(), rows)?;
    let chunks = values.chunks_exact(columns.max(1)).zip(out.chunks_exact_mut(columns.max(1)));
    for (values, out) in chunks {
        for ((value, out), (minimum, span)) in values.iter().zip(out).zip(minimum.iter().zip(span))
        {
            *out = (value - minimum) / span;
        }
    }
    Ok(())
}

/// Compares a slice's length with the expected one.
pub(crate) fn check(
    name: &'static str,
    length: usize,
    expected: usize,
    rows: usize,
) -> Result<(), LengthError> {
    if length == expected { Ok(()) } else { Err(LengthError { name, length, rows }) }
}

/// Models use 32-bit floats.
fn single(value: f64) -> f32 {
    value as f32
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    record[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn f64_at(record: &[u8], at: usize) -> f64 {
    record[at..].first_chunk().map_or(0.0, |bytes| f64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields = Fields {
        record: 24,
        occupancy_bytes: 0,
        occupancy_packets: 4,
        pdu_bytes: 8,
        head_of_line_age: 12,
        mean_sojourn: 16,
    };

    fn record(occupancy: u32, packets: u32, pdu: u32, age: u32, sojourn: f64) -> Vec<u8> {
        let words = [occupancy, packets, pdu, age].into_iter().flat_map(u32::to_le_bytes);
        words.chain(sojourn.to_le_bytes()).collect()
    }

    fn one(record: &[u8], levels: [i64; 2], elapsed_ms: f64, seen: bool) -> ([f32; 9], bool) {
        let (mut out, mut next, mut fresh) = ([[f32::NAN; 9]], [[0; 2]], [false]);
        let before = Previous { levels: &[levels], elapsed_ms: &[elapsed_ms], seen: &[seen] };
        samples(record, &FIELDS, &before, &[], &mut out, &mut next, &mut fresh).unwrap();
        (out[0], fresh[0])
    }

    #[test]
    fn rates_are_per_millisecond_across_a_wrap() {
        let report = record(5_000, 4, 100, 2_500, 1_234.0);
        let before = [i64::from(u32::MAX) - 99, 6_000];
        let (sample, fresh) = one(&report, before, 2.0, true);
        assert!(fresh);
        // 200 bytes left in 2 ms, while the buffer lost 1000: arrivals are below the headers.
        assert_eq!(sample, [5_000.0, 100.0, 0.0, 2_500.0, 1_234.0, 4.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn rates_are_zero_without_a_previous_report_or_after_a_restart() {
        let report = record(5_000, 4, 100, 0, 0.0);
        for (pdu, seen) in [(50, false), (101, true)] {
            let (sample, fresh) = one(&report, [pdu, 0], 1.0, seen);
            assert!(!fresh);
            assert_eq!(sample[..3], [5_000.0, 0.0, 0.0]);
        }
    }

    #[test]
    fn an_invalid_mean_sojourn_is_replaced() {
        for (reported, expected) in
            [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (-1.0, 0.0), (1e12, u32::MAX as f32)]
        {
            assert_eq!(one(&record(0, 0, 0, 0, reported), [0, 0], 1.0, true).0[4], expected);
        }
    }

    #[test]
    fn lengths_that_differ_are_named() {
        let report = record(0, 0, 0, 0, 0.0);
        let before = Previous { levels: &[], elapsed_ms: &[1.0], seen: &[] };
        let error =
            samples(&report, &FIELDS, &before, &[], &mut [[0.0; 9]], &mut [[0; 2]], &mut [false])
                .unwrap_err();
        assert_eq!(error.to_string(), "before has length 0, for 1 rows");
        let short = Fields { record: 20, ..FIELDS };
        let before = Previous { levels: &[[0; 2]], elapsed_ms: &[1.0], seen: &[] };
        let error = samples(
            &report[..20],
            &short,
            &before,
            &[],
            &mut [[0.0; 9]],
            &mut [[0; 2]],
            &mut [false],
        );
        assert!(error.is_err());
    }
}
