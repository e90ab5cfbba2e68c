//! Memory for decoding is bounded by the length of the message, whatever counts it announces.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use e2sm_tc::json::{self, Encoding, Kind};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Maximum bytes of memory per byte of message: the largest element in memory over its smallest
/// encoding, a pipeline edit.
const MEMORY_PER_BYTE: usize = 256;
/// Error texts.
const FIXED: usize = 4096;

fn peak_of(decode: impl FnOnce()) -> usize {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    decode();
    HEAP.peak_usage() - before
}

fn decode(encoding: Encoding, kind: Kind, bytes: &[u8]) {
    // Without JSON, which is longer than the value.
    match (encoding, kind) {
        (Encoding::V0, Kind::Control) => drop(e2sm_tc::v0::decode_control(bytes)),
        (Encoding::V0, Kind::Indication) => drop(e2sm_tc::v0::decode_indication(bytes)),
        (Encoding::V1, Kind::Control) => {
            drop(e2sm_tc::v1::decode::<e2sm_tc::v1::ControlMessage>(bytes));
        }
        (Encoding::V1, Kind::Indication) => {
            drop(e2sm_tc::v1::decode::<e2sm_tc::v1::IndicationMessage>(bytes));
        }
        _ => drop(json::decode(encoding, kind, bytes)),
    }
}

/// A single test, because the allocator counts for the whole process.
#[test]
fn memory_is_bounded_by_the_length_of_the_message() {
    let mut worst: f64 = 0.0;
    for (encoding, kind) in [
        (Encoding::V0, Kind::Control),
        (Encoding::V0, Kind::Indication),
        (Encoding::V1, Kind::Control),
        (Encoding::V1, Kind::Indication),
    ] {
        for bytes in oversized_counts() {
            let peak = peak_of(|| decode(encoding, kind, &bytes));
            let most = MEMORY_PER_BYTE * bytes.len() + FIXED;
            assert!(peak <= most, "{encoding} {kind}: {peak} bytes for {} of message", bytes.len());
            worst = worst.max(peak as f64 / bytes.len().max(1) as f64);
        }
    }
    assert!(worst > 1.0, "nothing was decoded");
}

/// Messages that announce more members than follow.
fn oversized_counts() -> Vec<Vec<u8>> {
    let mut oversized_counts = Vec::new();
    for length in [0, 1, 7, 40, 400, 10_000] {
        for fill in [0x00, 0x01, 0x10, 0x20, 0x40, 0x55, 0x7f, 0x80, 0xff] {
            oversized_counts.push(vec![fill; length]);
        }
    }
    // v0 indication: round robin, no pacer, 2³² − 1 filters.
    let mut filters = vec![0; 4 + 16];
    filters.extend([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    oversized_counts.push(filters.clone());
    filters.extend([0; 480]);
    oversized_counts.push(filters);
    // v0 control: a priority list of 2³² − 1 queues.
    oversized_counts
        .push([3u32, 2, 1, u32::MAX, 5].iter().flat_map(|word| word.to_le_bytes()).collect());
    // v1 control: a delta of 256 edits, cut at several lengths and complete.
    let delta = e2sm_tc::v1::ControlMessage::Transaction(e2sm_tc::v1::Transaction {
        bearer: e2sm_tc::v1::BearerId { ue: e2sm_tc::v1::UeId::Rnti(1), drb: 1 },
        expected_revision: None,
        lease_ms: None,
        owner: None,
        as_safe: false,
        dry_run: false,
        change: e2sm_tc::v1::PipelineChange::Delta(vec![
            e2sm_tc::v1::PipelineEdit::SetPacer(
                e2sm_tc::v1::Pacer::None
            );
            256
        ]),
    });
    let whole = e2sm_tc::v1::encode(&delta).unwrap();
    for keep in [8, 9, 20, whole.len() / 2, whole.len()] {
        oversized_counts.push(whole[..keep].to_vec());
    }
    oversized_counts
}
