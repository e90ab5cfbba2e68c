//! Reports of CQI by sub-band: what proportional fair gains by them, what it does not, and what is granted.

use crate::common::{Packet, SECOND_US, bytes_of, cell_with, saturate};
use ran::{
    AdaptationConfig, AtEnd, CellConfig, CellTotals, Channel, Fading, MeanSnr, PfConfig,
    PfGranularity, SchedulerConfig, SnrSeries, TdlProfile,
};

const UES: u16 = 8;
const SECONDS: u64 = 5;

/// A cell of 106 PRBs in groups of 8, with sub-bands of so many PRBs.
fn cell(subband_prb: Option<u16>) -> CellConfig {
    let granularity =
        if subband_prb.is_some() { PfGranularity::PerRbg } else { PfGranularity::Wideband };
    let pf = PfConfig { granularity, ..PfConfig::default() };
    CellConfig {
        scheduler: SchedulerConfig::ProportionalFair(pf),
        rbg_size_prb: 8,
        reserved: None,
        adaptation: AdaptationConfig { subband_prb, ..AdaptationConfig::default() },
        ..CellConfig::nr_n78_106prb()
    }
}

/// UEs at the same mean SNR that move at `speed_kmh`.
fn ues(speed_kmh: f64, is_ideal: bool) -> Vec<Channel> {
    let fading = Channel::Fading(Fading {
        mean: MeanSnr::Given(12.0),
        shadowing: None,
        profile: TdlProfile::C,
        delay_spread_ns: 300.0,
        speed_kmh,
        carrier_ghz: 3.5,
        antennas: 1,
        interference: None,
    });
    let one = if is_ideal { Channel::Ideal(Box::new(fading)) } else { fading };
    vec![one; UES.into()]
}

/// Mbit/s of the cell, and the share of first transmissions that failed.
fn carried(subband_prb: Option<u16>, speed_kmh: f64, is_ideal: bool) -> (f64, f64) {
    let (mut cell, bearers) = cell_with(cell(subband_prb), &ues(speed_kmh, is_ideal));
    let out = saturate(&mut cell, &bearers, SECONDS * SECOND_US);
    let bytes: u64 = bearers.iter().map(|bearer| bytes_of(&out, *bearer)).sum();
    let (sent, failed) = cell.totals().downlink_blocks;
    ((8 * bytes) as f64 / (SECONDS * SECOND_US) as f64, failed as f64 / sent as f64)
}

/// A group goes to who is best there at walking pace. At 30 km/h and 3.5 GHz a report of 5 to 9 ms ago says little of
/// the frequencies where a UE is good, and the choice by it costs what the wideband report averages out.
#[test]
fn reports_by_sub_band_gain_less_the_faster_the_ues_are() {
    let mut gains = Vec::new();
    for speed_kmh in [1.0, 3.0, 30.0] {
        let (wideband, _) = carried(None, speed_kmh, false);
        let (selective, errors) = carried(Some(8), speed_kmh, false);
        let (wide_oracle, _) = carried(None, speed_kmh, true);
        let (oracle, _) = carried(Some(8), speed_kmh, true);
        println!(
            "{speed_kmh} km/h: wideband {wideband:.1}, by sub-band {selective:.1} Mbit/s, \
             {errors:.3} errors; known in each slot {wide_oracle:.1} and {oracle:.1}"
        );
        assert!((0.08..0.13).contains(&errors), "{speed_kmh} km/h: {errors} for a target of 0.1");
        assert!(selective < oracle && wideband < wide_oracle, "{speed_kmh} km/h");
        assert!(wide_oracle < oracle, "{speed_kmh} km/h");
        gains.push(selective / wideband);
    }
    assert!(gains.is_sorted_by(|slow, fast| slow > fast), "{gains:?}");
    assert!(gains[1] > 1.05 && gains[2] > 0.95, "{gains:?}");
}

/// Twice as wide a sub-band says less, and one of the whole carrier as much as the CQI of the carrier.
#[test]
fn wider_sub_bands_gain_less() {
    let [by_8, by_16, by_all] = [8, 16, 128].map(|prb| carried(Some(prb), 1.0, false).0);
    println!("by 8 PRB {by_8:.1}, by 16 {by_16:.1}, by the carrier {by_all:.1} Mbit/s");
    assert!(by_8 > by_16 && by_16 > by_all, "{by_8} {by_16} {by_all}");
}

/// Nothing is given twice, whatever is sent again, and nothing is left while somebody has data.
#[test]
fn each_group_is_given_once_in_a_slot() {
    // Of the first UE alone the radio is good enough for few retransmissions.
    let mut channels = ues(30.0, false);
    channels.push(Channel::FixedMcs(9));
    channels.push(Channel::SnrSeries(SnrSeries::new(SECOND_US, [9.0], AtEnd::Hold).unwrap()));
    let (mut cell, bearers) = cell_with(cell(Some(16)), &channels);
    let mut last = cell.totals();
    let mut out = Vec::new();
    let mut id = 0;
    while cell.next_slot_us() < SECOND_US {
        let now_us = cell.next_slot_us();
        for bearer in &bearers {
            while cell.bearer_status(*bearer).unwrap().occupancy_bytes < 60_000 {
                id += 1;
                cell.enqueue(*bearer, Packet { id, len: 1500 }, now_us).unwrap();
            }
        }
        cell.slot(now_us, &mut out);
        let now = cell.totals();
        let used = now.used_prb - last.used_prb;
        let there = now.available_prb - last.available_prb;
        assert_eq!(used, there, "at {now_us} µs");
        last = now;
    }
    assert!(last.retx_prb > 0 && bearers.iter().all(|bearer| bytes_of(&out, *bearer) > 0));
}

/// A UE with little to send has the groups where it is best, and the rest goes to others.
#[test]
fn a_ue_takes_no_more_groups_than_it_needs() {
    let (mut cell, bearers) = cell_with(cell(Some(8)), &ues(3.0, false)[..1]);
    let mut out = Vec::new();
    for number in 0..2_000 {
        let now_us = cell.next_slot_us();
        if number % 100 == 0 {
            cell.enqueue(bearers[0], Packet { id: number, len: 60 }, now_us).unwrap();
        }
        cell.slot(now_us, &mut out);
    }
    let CellTotals { used_prb, downlink_blocks: (blocks, _), retx_prb, .. } = cell.totals();
    assert_eq!(blocks, 20);
    assert!((used_prb - retx_prb) <= 2 * 8 * blocks, "{used_prb} PRBs in {blocks} blocks");
}

#[test]
fn sub_bands_need_a_scheduler_that_uses_them() {
    let wideband = SchedulerConfig::ProportionalFair(PfConfig::default());
    for scheduler in [SchedulerConfig::RoundRobin, wideband] {
        let error = CellConfig { scheduler, ..cell(Some(8)) }.validate().unwrap_err().to_string();
        let expected = "adaptation.subband_prb: 8; expected none without proportional fair by \
                        resource block group";
        assert_eq!(error, expected);
    }
    let error = CellConfig { rbg_size_prb: 1, ..cell(Some(8)) }.validate().unwrap_err();
    assert!(error.to_string().starts_with("rbg_size_prb: 1; expected a power of two"), "{error}");
}
