//! The base-stock pacer in a CU 10 or 40 ms from its DU (stolidis2024 §IV-D: `T_c` ≈ 10 ms).

use crate::util::split::Split;
use crate::util::*;
use e2sm_tc::v1::{BearerForecast, CumulatedDrain, Pacer};
use tc_rf::TrafficControl;
use tc_rf::templates::BdpOnly;

const SECOND_US: u64 = 1_000_000;
const TTI_US: u64 = 1_000;
const MTU_BYTES: u32 = 1_500;

fn base_stock(level_milli: u16) -> Pacer {
    Pacer::BaseStock { stale_us: 200_000, level_milli, bound_us: None }
}

fn bearer(pacer: Pacer) -> TrafficControl<TestPacket> {
    control(BdpOnly { pacer, ..BdpOnly::default() }.pipeline())
}

fn bulk(tc: &mut TrafficControl<TestPacket>, now_us: u64) {
    while tc.backlog_packets() < 2_000 {
        tc.ingress(packet(1, MTU_BYTES, 0), now_us, &mut ());
    }
}

/// A radio that bursts: each third TTI or so up to 9000 bytes, at random; 1500 a TTI on average.
fn bursting(us: u64) -> u32 {
    let mut bits = (us / TTI_US + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    if bits.is_multiple_of(3) { (bits >> 32) as u32 % 9_001 } else { 0 }
}

/// A forecast of samples `way_us` old, in steps of a TTI from the origin on; `sum` gives the quantile of
/// each level at a time after the origin.
fn forecast(
    now_us: u64,
    way_us: u64,
    levels_milli: &[u16],
    mut sum: impl FnMut(u64, u16, u64) -> u32,
) -> Option<BearerForecast> {
    let origin_us = now_us.checked_sub(way_us)?;
    // Next to the origin, and where packets arrive.
    let arrival = 2 * way_us / TTI_US;
    let ttis = (1..=4).chain(arrival.max(8) - 3..arrival.max(8) + 40);
    let points: Vec<u64> = ttis.map(|tti| tti * TTI_US).collect();
    let bytes = points.iter().flat_map(|us| levels_milli.iter().map(move |level| (*us, *level)));
    Some(BearerForecast {
        bearer: BEARER,
        origin_us,
        horizon_start_us: 0,
        step_us: 1_000,
        occupancy_bytes: vec![0],
        limit_bytes: vec![],
        drain_bytes: vec![],
        cumulated_drain: Some(CumulatedDrain {
            points_us: points.iter().map(|us| *us as u32).collect(),
            levels_milli: levels_milli.to_vec(),
            bytes: bytes.map(|(us, level)| sum(origin_us, level, us)).collect(),
        }),
    })
}

fn carried(capacity: fn(u64) -> u32, after_us: u64, length_us: u64) -> u32 {
    (1..=length_us / TTI_US).map(|tti| capacity(after_us + tti * TTI_US)).sum()
}

/// Knows what each TTI will carry.
fn known(way_us: u64, capacity: fn(u64) -> u32) -> impl FnMut(u64) -> Option<BearerForecast> {
    move |now_us| {
        forecast(now_us, way_us, &[1, 999], |origin_us, _, us| carried(capacity, origin_us, us))
    }
}

/// Knows how sums of the radio are distributed, and not when which comes.
fn distributed(way_us: u64, capacity: fn(u64) -> u32) -> impl FnMut(u64) -> Option<BearerForecast> {
    let levels = [100, 500, 900, 950, 980];
    let mut table: Vec<(u64, Vec<u32>)> = Vec::new();
    move |now_us| {
        forecast(now_us, way_us, &levels, |_, level, us| {
            if table.iter().all(|(known_us, _)| *known_us != us) {
                let from = (0..20_000).map(|tti| carried(capacity, tti * TTI_US, us));
                let mut sums: Vec<u32> = from.collect();
                sums.sort_unstable();
                table.push((us, sums));
            }
            let (_, sums) = table.iter().find(|(known_us, _)| *known_us == us).expect("made");
            sums[sums.len() * usize::from(level) / 1_000]
        })
    }
}

/// Thousandths of the radio used from the second second on, mean bytes left in the RLC after a TTI,
/// and most before one.
fn settled(
    pacer: Pacer,
    way_us: u64,
    capacity: fn(u64) -> u32,
    mut feed: impl FnMut(u64) -> Option<BearerForecast>,
) -> (u64, u64, u32) {
    let mut tc = bearer(pacer);
    let mut du = Split::new(way_us, capacity);
    du.run(&mut tc, (0, SECOND_US), bulk, &mut feed);
    du.clear_counts();
    let (mut left, ttis) = (0, 4_000);
    for tti in 1_000..1_000 + ttis {
        du.run(&mut tc, (tti * TTI_US, (tti + 1) * TTI_US), bulk, &mut feed);
        left += u64::from(du.occupancy_bytes());
    }
    (du.drained_bytes * 1000 / du.offered_bytes, left / ttis, du.peak_bytes)
}

#[test]
fn who_knows_the_sums_loses_nothing_and_is_one_tti_and_a_packet_early() {
    for way_us in [10_000, 40_000] {
        let (share, left, peak) =
            settled(base_stock(950), way_us, bursting, known(way_us, bursting));
        assert_eq!(share, 1_000, "‰ of the radio at {way_us} µs");
        // What the next TTI carries, 1500 on average, and less than a packet.
        assert!(left < u64::from(1_500 + MTU_BYTES), "{left} B left at {way_us} µs");
        // The stock lasts until the end of the first TTI after an arrival. What arrives as a TTI begins
        // may be in time for that one too: two TTIs, and the last packet.
        assert!(peak < 2 * 9_000 + MTU_BYTES, "{peak} B where a TTI carries up to 9000");
    }
}

#[test]
fn a_higher_level_loses_less_and_leaves_more() {
    let of = |level| settled(base_stock(level), 10_000, bursting, distributed(10_000, bursting));
    let (median, high, highest) = (of(500), of(900), of(980));
    assert!(median.0 < high.0 && high.0 < highest.0, "{median:?} {high:?} {highest:?}");
    assert!(median.1 < high.1 && high.1 < highest.1, "{median:?} {high:?} {highest:?}");
    // A window is short with probability 1 - p, of which each loses a part.
    assert!(highest.0 >= 980, "{} ‰ where 2 % may be lost", highest.0);
}

#[test]
fn what_is_sent_and_not_drained_never_exceeds_the_stock_by_a_packet() {
    // A radio that is away although 6000 bytes were forecast: they are sent once, however many
    // statuses say that the RLC is empty while packets are on their way.
    let promised = |now_us| forecast(now_us, 10_000, &[1, 999], |_, _, _| 6_500);
    let mut tc = bearer(base_stock(900));
    let mut du = Split::new(10_000, |_| 0);
    // From the first forecast and status on; before, there is neither.
    du.run(&mut tc, (0, 10_000), |_, _| {}, promised);
    du.run(&mut tc, (10_000, SECOND_US), bulk, promised);
    assert_eq!(du.peak_bytes, 7_500, "five packets: the fifth is sent below 6500");
}

#[test]
fn a_bound_takes_what_drains_until_then_at_the_median() {
    // 1000 bytes a TTI at the median and four times as many at 0.95.
    let wide = |now_us| {
        forecast(now_us, 10_000, &[500, 950], |_, level, us| {
            (us / 1_000) as u32 * if level == 500 { 1_000 } else { 4_000 }
        })
    };
    let of = |bound_us| {
        let pacer = Pacer::BaseStock { stale_us: 200_000, level_milli: 950, bound_us };
        settled(pacer, 10_000, |_| 1_000, wide)
    };
    // Stock and what is on its way: 21 ms, and 10 ms down and the packets of 10 ms up.
    let (share, unbounded, _) = of(None);
    assert_eq!(share, 1_000);
    assert!((60_000..68_000).contains(&unbounded), "{unbounded} B: 84 kB less those on F1-U");
    // What is sent leaves within 30 ms of the CU: 40 kB since the status.
    let (share, bounded, _) = of(Some(30_000));
    assert_eq!(share, 1_000);
    assert!((17_000..24_000).contains(&bounded), "{bounded} B: 40 kB less those on F1-U");
    // Never below the median of the lead time.
    let (share, least, _) = of(Some(63));
    assert!(share >= 990 && least < 3_000, "{share} ‰, {least} B");
}

#[test]
fn without_a_forecast_that_says_the_quantile_it_is_5g_bdp() {
    type Feed = fn(u64) -> Option<BearerForecast>;
    let bdp5g = settled(Pacer::Bdp5g, 10_000, bursting, |_| None);
    let unusable: [(&str, Feed); 5] = [
        ("none", |_| None),
        ("no sums", |now_us| {
            let none = forecast(now_us, 10_000, &[1, 999], |_, _, _| 9);
            none.map(|it| BearerForecast { cumulated_drain: None, ..it })
        }),
        ("p above its levels", |now_us| forecast(now_us, 10_000, &[500, 900], |_, _, _| 9)),
        ("nothing drains", |now_us| forecast(now_us, 10_000, &[1, 999], |_, _, _| 0)),
        ("ends before the lead time", |now_us| {
            let short = CumulatedDrain {
                points_us: vec![20_000],
                levels_milli: vec![1, 999],
                bytes: vec![7, 7],
            };
            let whole = forecast(now_us, 10_000, &[1, 999], |_, _, _| 9);
            whole.map(|it| BearerForecast { cumulated_drain: Some(short), ..it })
        }),
    ];
    for (name, feed) in unusable {
        assert_eq!(settled(base_stock(980), 10_000, bursting, feed), bdp5g, "{name}");
    }
}

#[test]
fn a_forecast_that_stalls_is_left_and_taken_up_again() {
    let mut tc = bearer(Pacer::BaseStock { stale_us: 50_000, level_milli: 980, bound_us: None });
    let mut du = Split::new(10_000, bursting);
    let mut feed = known(10_000, bursting);
    let mut by_forecast = Vec::new();
    for tti in 0..400 {
        let now_us = tti * TTI_US;
        du.run(&mut tc, (now_us, now_us + TTI_US), bulk, |us| {
            feed(us).filter(|_| !(100_000..200_000).contains(&us))
        });
        by_forecast.push(tc.paced_by_forecast(now_us) == Some(true));
    }
    let changes = (1..400).filter(|tti| by_forecast[*tti] != by_forecast[tti - 1]);
    let changes: Vec<usize> = changes.collect();
    // The last forecast is of 89 ms and ends at 148 ms; from a status 10 ms old, 21 ms reach beyond
    // it at 138 ms.
    assert_eq!((by_forecast[0], changes), (false, vec![10, 138, 200]));
}

#[test]
fn a_du_that_reports_each_tenth_tti_is_not_starved() {
    let mut tc = bearer(base_stock(980));
    let mut du = Split::new(10_000, |_| 2_289);
    du.status_us = (10_000, 3_000);
    let mut feed = known(10_000, |_| 2_289);
    du.run(&mut tc, (0, SECOND_US), bulk, &mut feed);
    du.clear_counts();
    du.run(&mut tc, (SECOND_US, 4 * SECOND_US), bulk, &mut feed);
    let share = du.drained_bytes * 1000 / du.offered_bytes;
    assert!(share >= 995, "{share} ‰ of the radio");
    assert!(du.peak_bytes <= 9_000, "{} B where a TTI carries 2289", du.peak_bytes);
}
