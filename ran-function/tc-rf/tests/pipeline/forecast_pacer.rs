//! The forecast pacer in a CU 10 ms from its DU (stolidis2024 §IV-D: `T_c` ≈ 10 ms).

use crate::util::split::Split;
use crate::util::*;
use e2sm_tc::v1::{BearerForecast, EventKind, Pacer};
use tc_rf::templates::BdpOnly;
use tc_rf::{RlcStatus, TrafficControl};

const SECOND_US: u64 = 1_000_000;
const WAY_US: u64 = 10_000;
const FORECAST: Pacer = Pacer::Forecast { stale_us: 50_000 };

fn bearer(pacer: Pacer) -> TrafficControl<TestPacket> {
    control(BdpOnly { pacer, ..BdpOnly::default() }.pipeline())
}

fn bulk(tc: &mut TrafficControl<TestPacket>, now_us: u64) {
    while tc.backlog_packets() < 2_000 {
        tc.ingress(packet(1, 1500, 0), now_us, &mut ());
    }
}

/// A radio that changes its rate each 40 ms between 1000 and 9000 bytes a TTI.
fn changing(us: u64) -> u32 {
    if (us / 40_000).is_multiple_of(2) { 1_000 } else { 9_000 }
}

/// Knows what each TTI up to 63 ms ahead will pull.
fn perfect(capacity: fn(u64) -> u32) -> impl FnMut(u64) -> Option<BearerForecast> {
    move |now_us| {
        let origin_us = now_us.saturating_sub(WAY_US);
        let points = 0..64u64;
        Some(BearerForecast {
            bearer: BEARER,
            origin_us,
            horizon_start_us: 1_000,
            step_us: 1_000,
            occupancy_bytes: points.clone().map(|_| 1_500).collect(),
            // DRQL's: what the next TTI pulls and one MTU.
            limit_bytes: points
                .clone()
                .map(|k| capacity(origin_us + (k + 2) * 1_000) + 1_500)
                .collect(),
            drain_bytes: points.map(|k| capacity(origin_us + (k + 1) * 1_000)).collect(),
            cumulated_drain: None,
        })
    }
}

/// Thousandths of the radio that were used, and mean bytes that stood in the RLC before a TTI.
fn settled(
    pacer: Pacer,
    capacity: fn(u64) -> u32,
    mut feed: impl FnMut(u64) -> Option<BearerForecast>,
) -> (u64, u32) {
    let mut tc = bearer(pacer);
    let mut du = Split::new(WAY_US, capacity);
    du.run(&mut tc, (0, SECOND_US), bulk, &mut feed);
    du.clear_counts();
    du.run(&mut tc, (SECOND_US, 4 * SECOND_US), bulk, &mut feed);
    (du.drained_bytes * 1000 / du.offered_bytes, du.peak_bytes)
}

#[test]
fn who_knows_the_drain_fills_the_radio_and_not_the_rlc() {
    let (share, peak_bytes) = settled(FORECAST, |_| 2289, perfect(|_| 2289));
    assert!(share >= 995, "{share} ‰ of a steady radio");
    assert!(peak_bytes <= 9_000, "{peak_bytes} B where a TTI pulls 2289");
    let (share, peak_bytes) = settled(FORECAST, changing, perfect(changing));
    assert!(share >= 980, "{share} ‰ of a changing radio");
    assert!(peak_bytes <= 24_000, "{peak_bytes} B where a TTI pulls up to 9000");
}

#[test]
fn knowing_is_better_than_not_knowing() {
    let (known, known_peak) = settled(FORECAST, changing, perfect(changing));
    let (persists, persists_peak) = settled(FORECAST, changing, |_| None);
    assert!(persists >= 700, "{persists} ‰ by persistence");
    assert!(known >= persists, "{known} ‰ with forecast, {persists} ‰ without");
    assert!(known_peak < persists_peak, "{known_peak} B with, {persists_peak} B without");
    // A pacer that takes what it last heard for what is, as DRQL does.
    let (_, drql_peak) = settled(Pacer::Drql { mtu_bytes: 1500 }, changing, |_| None);
    assert!(known_peak < drql_peak / 2, "{known_peak} B with forecast, {drql_peak} B by DRQL");
}

#[test]
fn points_in_long_steps_reach_a_du_40_ms_away() {
    const FAR_US: u64 = 40_000;
    // A status is 40 ms old and a packet takes 40 ms: 64 points of 2 ms reach 128 ms.
    let in_steps = |points: u64| {
        move |now_us: u64| {
            let origin_us = now_us.saturating_sub(FAR_US);
            let carried = |k: u64| {
                let end_us = origin_us + (k + 1) * 2_000;
                changing(end_us - 1_000) + changing(end_us)
            };
            Some(BearerForecast {
                bearer: BEARER,
                origin_us,
                horizon_start_us: 2_000,
                step_us: 2_000,
                occupancy_bytes: (0..points).map(|_| 1_500).collect(),
                limit_bytes: (0..points).map(|k| carried(k + 1) + 1_500).collect(),
                drain_bytes: (0..points).map(carried).collect(),
                cumulated_drain: None,
            })
        }
    };
    let settled = |points: Option<u64>| {
        let mut tc = bearer(Pacer::Forecast { stale_us: 500_000 });
        let mut du = Split::new(FAR_US, changing);
        // From half a second on: before the first status, a forecast is used whatever its length.
        let mut feed = |now_us| {
            points.filter(|_| now_us >= SECOND_US / 2).and_then(|points| in_steps(points)(now_us))
        };
        du.run(&mut tc, (0, SECOND_US), bulk, &mut feed);
        du.clear_counts();
        du.run(&mut tc, (SECOND_US, 4 * SECOND_US), bulk, &mut feed);
        (du.drained_bytes * 1000 / du.offered_bytes, du.peak_bytes)
    };
    let (share, peak_bytes) = settled(Some(64));
    let (without_share, without_peak_bytes) = settled(None);
    assert!(share >= 980 && share > without_share, "{share} ‰, {without_share} ‰ without");
    assert!(3 * peak_bytes < without_peak_bytes, "{peak_bytes} B, {without_peak_bytes} B without");
    // 20 points end at 40 ms, before any packet arrives: as without.
    assert_eq!(settled(Some(20)).0, without_share);
}

#[test]
fn a_stale_forecast_is_not_believed() {
    // The forecaster reports that the radio is away and then falls silent.
    let away = |now_us: u64| {
        (now_us < SECOND_US).then(|| BearerForecast {
            bearer: BEARER,
            origin_us: now_us.saturating_sub(WAY_US),
            horizon_start_us: 1_000,
            step_us: 1_000,
            occupancy_bytes: vec![0],
            limit_bytes: vec![0],
            drain_bytes: vec![0],
            cumulated_drain: None,
        })
    };
    let (share, peak_bytes) = settled(FORECAST, |_| 2289, away);
    assert!(share >= 980, "{share} ‰ by persistence");
    assert!(peak_bytes <= 20_000, "{peak_bytes} B");
}

#[test]
fn a_forecast_that_is_wrong_for_long_is_corrected() {
    // Half of what drains is forecast, then twice as much.
    for (numerator, denominator) in [(1, 2), (2, 1)] {
        let wrong = move |now_us: u64| {
            Some(BearerForecast {
                bearer: BEARER,
                origin_us: now_us.saturating_sub(WAY_US),
                horizon_start_us: 1_000,
                step_us: 1_000,
                occupancy_bytes: vec![1_500; 64],
                limit_bytes: vec![2289 * numerator / denominator + 1_500; 64],
                drain_bytes: vec![2289 * numerator / denominator; 64],
                cumulated_drain: None,
            })
        };
        let (share, peak_bytes) = settled(FORECAST, |_| 2289, wrong);
        assert!(share >= 950, "{share} ‰ with {numerator}/{denominator} of the drain forecast");
        assert!(peak_bytes <= 60_000, "{peak_bytes} B, {numerator}/{denominator} forecast");
    }
}

#[test]
fn a_forecast_of_what_was_drained_does_not_keep_the_drain_low() {
    // The radio recovers after a second. The forecaster says what its past says: what was drained, which
    // is no more than what was sent.
    const FAR_US: u64 = 40_000;
    const WINDOW: usize = 80;
    let mut tc = bearer(Pacer::Forecast { stale_us: 500_000 });
    let mut du = Split::new(FAR_US, |us| if us < SECOND_US { 1_000 } else { 9_000 });
    let mut drained_bytes = vec![0_u64];
    for now_us in (0..6 * SECOND_US).step_by(1_000) {
        if now_us == 2 * SECOND_US {
            du.clear_counts();
            drained_bytes = vec![0];
        }
        let known = drained_bytes.len().saturating_sub(1 + FAR_US as usize / 1_000);
        let mean_bytes = (drained_bytes[known] - drained_bytes[known.saturating_sub(WINDOW)])
            / WINDOW.min(known.max(1)) as u64;
        let forecast = (known >= WINDOW).then(|| BearerForecast {
            bearer: BEARER,
            origin_us: now_us - FAR_US,
            horizon_start_us: 2_000,
            step_us: 2_000,
            occupancy_bytes: vec![1_500; 64],
            limit_bytes: vec![],
            drain_bytes: vec![2 * mean_bytes as u32; 64],
            cumulated_drain: None,
        });
        du.run(&mut tc, (now_us, now_us + 1_000), bulk, |_| forecast.clone());
        drained_bytes.push(du.drained_bytes);
    }
    let share = du.drained_bytes * 1000 / du.offered_bytes;
    assert!(share >= 950, "{share} ‰ of the radio, {} B", du.peak_bytes);
}

#[test]
fn what_is_sent_and_not_acknowledged_counts_once() {
    // A radio that pulls nothing: no more than one limit goes down, however many statuses say that
    // the RLC is still empty while packets are on their way.
    let mut tc = bearer(FORECAST);
    let mut du = Split::new(WAY_US, |_| 0);
    let none = |now_us: u64| {
        Some(BearerForecast {
            bearer: BEARER,
            origin_us: now_us.saturating_sub(WAY_US),
            horizon_start_us: 1_000,
            step_us: 1_000,
            occupancy_bytes: vec![0; 64],
            limit_bytes: vec![6_000; 64],
            drain_bytes: vec![0; 64],
            cumulated_drain: None,
        })
    };
    du.run(&mut tc, (0, SECOND_US), bulk, none);
    assert_eq!(du.peak_bytes, 6_000);
}

#[test]
fn a_du_that_does_not_say_what_it_received_does_as_well() {
    let mut tc = bearer(FORECAST);
    let mut du = Split::new(WAY_US, |_| 2289);
    du.tells_received = false;
    let mut feed = perfect(|_| 2289);
    du.run(&mut tc, (0, SECOND_US), bulk, &mut feed);
    du.clear_counts();
    du.run(&mut tc, (SECOND_US, 3 * SECOND_US), bulk, &mut feed);
    assert!(du.drained_bytes * 1000 / du.offered_bytes >= 995);
    assert!(du.peak_bytes <= 9_000, "{} B", du.peak_bytes);
}

#[test]
fn statuses_in_step_with_the_tdd_pattern_do_not_starve_the_radio() {
    // A pattern of seven downlink and three uplink TTIs; the DU reports once a pattern, so the CU
    // sees the same TTI each time, and never how low the buffer gets between.
    let tdd = |us: u64| if us / 1_000 % 10 < 7 { 3_270 } else { 0 };
    for phase_us in (0..7_000).step_by(1_000) {
        let mut tc = bearer(FORECAST);
        let mut du = Split::new(WAY_US, tdd);
        du.status_us = (10_000, phase_us);
        du.run(&mut tc, (0, SECOND_US), bulk, |_| None);
        du.clear_counts();
        du.run(&mut tc, (SECOND_US, 4 * SECOND_US), bulk, |_| None);
        let share = du.drained_bytes * 1000 / du.offered_bytes;
        assert!(share >= 995, "{share} ‰ with statuses at {phase_us} µs of the pattern");
    }
}

#[test]
fn a_forecast_older_than_the_last_is_passed_over_and_a_wrong_one_refused() {
    let mut tc = bearer(FORECAST);
    let at = |origin_us, limit: u32| BearerForecast {
        bearer: BEARER,
        origin_us,
        horizon_start_us: 0,
        step_us: 1_000,
        occupancy_bytes: vec![0],
        limit_bytes: vec![limit],
        drain_bytes: vec![0],
        cumulated_drain: None,
    };
    tc.feed_forecast(&at(5_000, 30_000), 6_000).unwrap();
    tc.feed_forecast(&at(4_000, 3_000), 6_000).unwrap();
    for _ in 0..100 {
        tc.ingress(packet(1, 1500, 0), 6_000, &mut ());
    }
    assert_eq!(egress(&mut tc, 6_000).len(), 20, "30 000 B of the newer");
    let refused = |change: fn(&mut BearerForecast)| {
        let mut forecast = at(9_000, 1);
        change(&mut forecast);
        let mut tc = bearer(FORECAST);
        tc.feed_forecast(&forecast, 9_000).unwrap_err().element
    };
    assert_eq!(refused(|f| f.step_us = 0), "step_us");
    assert_eq!(refused(|f| f.occupancy_bytes.clear()), "occupancy_bytes");
    assert_eq!(refused(|f| f.limit_bytes.push(1)), "limit_bytes");
    assert_eq!(refused(|f| f.drain_bytes = vec![1; 3]), "drain_bytes");
    assert_eq!(refused(|f| f.bearer.drb += 1), "bearer");
}

/// A forecast of `origin_us`: 20 points from 11 ms on.
fn streamed(origin_us: u64) -> BearerForecast {
    BearerForecast {
        bearer: BEARER,
        origin_us,
        horizon_start_us: 11_000,
        step_us: 1_000,
        occupancy_bytes: vec![1_500; 20],
        limit_bytes: vec![40_000; 20],
        drain_bytes: vec![2_289; 20],
        cumulated_drain: None,
    }
}

#[test]
fn a_forecast_of_the_rlc_of_a_former_cell_is_forgotten() {
    let mut tc = bearer(FORECAST);
    for _ in 0..10 {
        tc.ingress(packet(1, 1500, 0), 0, &mut ());
    }
    tc.feed_forecast(&streamed(5_000), 17_000).unwrap();
    assert_eq!(tc.paced_by_forecast(17_000), Some(true));
    tc.rlc_replaced(17_000);
    assert_eq!(tc.paced_by_forecast(17_000), Some(false));
    assert_eq!((tc.backlog_packets(), tc.revision()), (10, 1), "queues and pipeline stay");
    // That of the new one is of another stream, whose origins need not follow.
    tc.feed_forecast(&streamed(4_000), 17_000).unwrap();
    assert_eq!(tc.paced_by_forecast(17_000), Some(true));
}

/// Times at which pacing changed, in ms, where forecasts of samples `way_us` old come but from 100
/// to 200 ms.
fn changes_of_pacing(way_us: u64, stale_us: u32) -> Vec<(u64, bool)> {
    let mut tc = bearer(Pacer::Forecast { stale_us });
    let mut changes = Vec::new();
    for now_us in (0..300_000u64).step_by(1_000) {
        if let Some(at_us) = now_us.checked_sub(way_us) {
            tc.rlc_status(&RlcStatus { at_us, tti_us: 1_000, ..RlcStatus::default() }, now_us);
            if !(100_001..200_000).contains(&now_us) {
                assert!(tc.feed_forecast(&streamed(at_us), now_us).is_ok());
            }
        }
        let mut events = Recorder::default();
        tc.egress(now_us, &mut events, &mut |_| {});
        changes.extend(events.events.iter().filter_map(|event| match event {
            EventKind::PacingChanged { by_forecast } => Some((now_us / 1_000, *by_forecast)),
            _ => None,
        }));
        let expected = changes.last().is_some_and(|(_, by_forecast)| *by_forecast);
        assert_eq!(tc.paced_by_forecast(now_us), Some(expected), "at {now_us} µs");
        assert_eq!(tc.status(now_us).pacer.by_forecast, Some(expected));
    }
    changes
}

#[test]
fn a_stream_that_stalls_is_left_within_a_step_of_its_last_point_and_taken_up_again() {
    // The last forecast is of 100 ms, its last point at 130 ms.
    assert_eq!(changes_of_pacing(0, 500_000), [(0, true), (132, false), (200, true)]);
    // Samples are 10 ms old and packets take 10 ms: its last point is at 120 ms, and what leaves at
    // 111 ms arrives at 121 ms.
    assert_eq!(changes_of_pacing(10_000, 500_000), [(10, true), (112, false), (200, true)]);
    // Stale before.
    assert_eq!(changes_of_pacing(0, 20_000), [(0, true), (121, false), (200, true)]);
}

#[test]
fn a_stalled_stream_costs_no_throughput_and_its_last_limit_is_not_kept() {
    // A radio of 9000 bytes a TTI while forecasts come, and of 1000 once they have stopped.
    let capacity = |us: u64| if us < SECOND_US { 9_000 } else { 1_000 };
    let mut tc = bearer(Pacer::Forecast { stale_us: 10_000_000 });
    let mut du = Split::new(WAY_US, capacity);
    let mut forecasts = perfect(capacity);
    du.run(&mut tc, (0, SECOND_US), bulk, |now_us| {
        // The last forecasts were of no change.
        forecasts(now_us).map(|f| BearerForecast { drain_bytes: vec![9_000; 64], ..f })
    });
    du.run(&mut tc, (SECOND_US, 2 * SECOND_US), bulk, |_| None);
    du.clear_counts();
    du.run(&mut tc, (2 * SECOND_US, 4 * SECOND_US), bulk, |_| None);
    assert_eq!(tc.paced_by_forecast(4 * SECOND_US), Some(false));
    let share = du.drained_bytes * 1000 / du.offered_bytes;
    assert!(share >= 980, "{share} ‰ by its own measure");
    assert!(du.peak_bytes <= 10_000, "{} B where a TTI pulls 1000", du.peak_bytes);
}

#[test]
fn a_pacer_without_forecasts_says_nothing_of_them() {
    let mut tc = bearer(Pacer::Bdp5g);
    tc.feed_forecast(&streamed(0), 0).unwrap();
    let mut events = Recorder::default();
    tc.egress(0, &mut events, &mut |_| {});
    assert_eq!((tc.paced_by_forecast(0), events.events), (None, Vec::new()));
}

/// A DU that sends no status: its reports go to a forecaster of persistence, whose feed reaches the CU
/// `FED_US` after the report, once in `FED_US`. Thousandths of the radio that were used and the peak of the RLC.
fn settled_by_the_feed_alone(capacity: impl Fn(u64) -> u32) -> (u64, u32) {
    const FED_US: u64 = 20_000;
    /// TTIs of which the forecast has the mean drain.
    const WINDOW: usize = 40;
    let mut tc = bearer(FORECAST);
    let mut du = Split::new(WAY_US, capacity);
    du.status_us = (2, 2);
    let mut seen = vec![(0_u32, 0_u64)];
    for now_us in (0..6 * SECOND_US).step_by(1_000) {
        if now_us == 3 * SECOND_US {
            du.clear_counts();
            seen.clear();
            seen.push((du.occupancy_bytes(), 0));
        }
        let due = now_us % FED_US == 0 && seen.len() > FED_US as usize / 1_000;
        let forecast = due.then(|| {
            let known = seen.len() - 1 - FED_US as usize / 1_000;
            let before = known.saturating_sub(WINDOW);
            let drained = (seen[known].1 - seen[before].1) / (known - before).max(1) as u64;
            BearerForecast {
                bearer: BEARER,
                origin_us: now_us - FED_US,
                horizon_start_us: 0,
                step_us: 1_000,
                occupancy_bytes: vec![seen[known].0; 64],
                limit_bytes: vec![],
                drain_bytes: vec![drained as u32; 64],
                cumulated_drain: None,
            }
        });
        du.run(&mut tc, (now_us, now_us + 1_000), bulk, |_| forecast.clone());
        seen.push((du.occupancy_bytes(), du.drained_bytes));
    }
    (du.drained_bytes * 1000 / du.offered_bytes, du.peak_bytes)
}

#[test]
fn a_du_without_statuses_is_paced_by_forecasts_that_say_what_its_rlc_held() {
    // 20 ms old and once in 20 ms, they leave more in the RLC than statuses of each TTI, up to 40 ms of the
    // radio, and with a TDD pattern 70 ms.
    let (share, peak_bytes) = settled_by_the_feed_alone(|_| 2289);
    assert!(share >= 950, "{share} ‰ of a steady radio");
    assert!(peak_bytes <= 120_000, "{peak_bytes} B where a TTI pulls 2289");
    let tdd = |us: u64| if us / 1_000 % 10 < 7 { 3_270 } else { 0 };
    let (share, peak_bytes) = settled_by_the_feed_alone(tdd);
    assert!(share >= 950, "{share} ‰ with a TDD pattern");
    assert!(peak_bytes <= 200_000, "{peak_bytes} B where a TTI pulls 3270");
}

#[test]
fn what_the_du_says_itself_counts_before_what_a_forecast_says_of_it() {
    let mut tc = bearer(FORECAST);
    for _ in 0..10 {
        tc.ingress(packet(1, 1500, 0), 0, &mut ());
    }
    let full = |origin_us| BearerForecast {
        horizon_start_us: 0,
        limit_bytes: vec![],
        ..streamed(origin_us)
    };
    tc.feed_forecast(&BearerForecast { occupancy_bytes: vec![7; 20], ..full(1_000) }, 2_000)
        .unwrap();
    assert_eq!(tc.status(2_000).pacer.rlc_occupancy_bytes, 7);
    tc.rlc_status(&RlcStatus { at_us: 3_000, occupancy_bytes: 9, ..RlcStatus::default() }, 4_000);
    tc.feed_forecast(&BearerForecast { occupancy_bytes: vec![8; 20], ..full(4_000) }, 5_000)
        .unwrap();
    assert_eq!(tc.status(5_000).pacer.rlc_occupancy_bytes, 9);
    // Another DU may not say anything itself.
    tc.rlc_replaced(6_000);
    tc.feed_forecast(&BearerForecast { occupancy_bytes: vec![6; 20], ..full(6_000) }, 7_000)
        .unwrap();
    assert_eq!(tc.status(7_000).pacer.rlc_occupancy_bytes, 6);
}
