//! A CU: no MAC asks it, packets reach the RLC of a DU over F1-U, and E2 says what that holds.

use std::collections::VecDeque;

use e2sm_tc::v1::{BearerForecast, ControlMessage, ControlOutcome, ForecastFeed};
use sojourn_gnb::Host;

use crate::fake::*;

const EPOCH_US: u64 = 1_700_000_000_000_000;
const WAY_US: u64 = 10_000;
const BLOCK_BYTES: usize = 1_250;
/// A report of the RLC takes so long to a feed, and so long is it from one to the next.
const FED_US: u64 = 20_000;
/// Reports of which the mean drain is taken.
const WINDOW: usize = 40;

/// What a DU has seen in a run: bytes drained of those that it could have, and most that it held.
struct Seen {
    share: f64,
    peak_bytes: u32,
}

/// Feeds what the last reports say as if it stayed so: (occupancy, drained so far) of each millisecond.
fn feed(host: &Host, reports: &[(u32, u64)], now_us: u64) -> ControlOutcome {
    let known = reports.len() - 1 - FED_US as usize / 1_000;
    let before = known.saturating_sub(WINDOW);
    let drained = (reports[known].1 - reports[before].1) / (known - before).max(1) as u64;
    let forecast = BearerForecast {
        bearer: id(RNTI),
        origin_us: EPOCH_US + now_us - FED_US,
        horizon_start_us: 0,
        step_us: 1_000,
        occupancy_bytes: vec![reports[known].0; 64],
        limit_bytes: vec![],
        drain_bytes: vec![drained as u32; 64],
        cumulated_drain: None,
    };
    control(host, &ControlMessage::ForecastFeed(ForecastFeed { bearers: vec![forecast] }), now_us)
}

/// Six seconds of twice what the DU can send; counted from the third on.
fn run(host: &Host, fake: &Fake, fed: bool) -> Seen {
    let mut reports = vec![(0, 0)];
    let mut on_f1 = VecDeque::new();
    let mut rlc = 0_usize;
    let (mut seen_air, mut peak_bytes, mut drained, mut from) = (0_usize, 0, 0_u64, 0_u64);
    for ms in 1..6_000_u64 {
        let now_us = ms * 1_000;
        for number in 0..2 {
            host.packet_in(UE, DRB, &packet(1, number, BLOCK_BYTES), now_us);
        }
        host.poll(now_us);
        // What PDCP has numbered since is on F1-U.
        let below = fake.0.lock().expect("unpoisoned");
        let numbered = below.rlc.get(&(UE, DRB)).map_or(0, VecDeque::len);
        for _ in seen_air..numbered {
            on_f1.push_back(now_us + WAY_US);
        }
        seen_air = numbered;
        drop(below);
        while on_f1.front().is_some_and(|at_us| *at_us <= now_us) {
            on_f1.pop_front();
            rlc += BLOCK_BYTES + PDCP_HEADER;
        }
        let pulled = rlc.min(BLOCK_BYTES);
        rlc -= pulled;
        drained += pulled as u64;
        reports.push((rlc as u32, drained));
        if ms == 2_000 {
            (peak_bytes, from) = (0, drained);
        }
        peak_bytes = peak_bytes.max(rlc as u32);
        if fed && now_us % FED_US == 0 && now_us > 2 * FED_US {
            let outcome = feed(host, &reports, now_us);
            assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
        }
    }
    Seen { share: (drained - from) as f64 / (3_999 * BLOCK_BYTES) as f64, peak_bytes }
}

#[test]
fn a_cu_holds_back_what_the_rlc_of_its_du_cannot_send() {
    let (host, fake) = host("low_latency");
    let without = run(&host, &fake, false);
    let (host, fake) = crate::fake::host("low_latency");
    let with = run(&host, &fake, true);
    assert!(without.peak_bytes > 4_000_000, "{} B", without.peak_bytes);
    assert!(with.share > 0.95, "{} of the radio", with.share);
    // A third of a second, where feeds are 20 ms old and 20 ms apart.
    assert!(with.peak_bytes < 400_000, "{} B", with.peak_bytes);
    let dropped = host.status(6_000_000).bearers[0].counts.dropped_by_pipeline_packets;
    assert!(dropped > 1_000, "{dropped} dropped before the sequence number");
}
