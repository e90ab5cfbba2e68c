//! Radio traces: the first byte selects the format. A trace is refused with its place or has values.

use lab_scenario::{MAX_TRACE_BYTES, decompress};
use ran::channel::measured::read_column;
use ran::{MahimahiTrace, Missing, UccColumn, UccTrace};

pub(crate) fn check(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    match choice % 7 {
        0 => {
            let _ = MahimahiTrace::read(bytes);
        }
        1 => ucc(bytes, UccColumn::Cqi),
        2 => ucc(bytes, UccColumn::Snr),
        3 => ucc(bytes, UccColumn::DlBitrate),
        6 => measured(bytes),
        // Seeds begin with 4 for gzip and 5 for xz.
        _ => unpack(bytes),
    }
}

fn ucc(bytes: &[u8], column: UccColumn) {
    let Ok(trace) = UccTrace::read(bytes, column) else { return };
    assert_eq!(trace.filled(Missing::Outage).len(), trace.seconds().len());
    assert!(trace.filled(Missing::Hold).iter().all(Option::is_some));
}

fn measured(bytes: &[u8]) {
    let Ok(values) = read_column(bytes, "SNR") else { return };
    assert!(values.iter().flatten().all(|value| value.is_finite()));
    assert_eq!(Missing::Outage.fill(&values), values);
    assert!(Missing::Hold.fill(&values).iter().all(Option::is_some));
}

fn unpack(bytes: &[u8]) {
    /// Most bytes of the unpacked trace: less than of a file, for speed.
    const MOST: u64 = MAX_TRACE_BYTES >> 6;
    if let Ok(unpacked) = decompress(bytes, MOST) {
        assert!(unpacked.len() as u64 <= MOST);
    }
}
