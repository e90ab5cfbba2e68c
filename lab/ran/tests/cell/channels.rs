//! Channels in a cell: series, recorded traces and random ones.

use crate::common::{SECOND_US, bytes_of, cell_with, recorded, saturate, ue};
use ran::{
    AtEnd, Cell, CellConfig, Channel, CqiSeries, GaussMarkov, Missing, MobilityPattern, RateSeries,
    UccColumn, UccTrace,
};

fn mobility(pattern: MobilityPattern) -> Channel {
    Channel::Mobility(pattern.model().chain(28).unwrap())
}

fn gauss_markov(mean_snr_db: f64, std_dev_db: f64, coherence_us: u64, period_us: u64) -> Channel {
    Channel::GaussMarkov(GaussMarkov { mean_snr_db, std_dev_db, coherence_us, period_us })
}

fn ideal(channel: Channel) -> Channel {
    Channel::Ideal(Box::new(channel))
}

/// MCS of UE 1 in the middle of each second.
fn mcs_by_second(channel: Channel, seed: u64, seconds: u64) -> Vec<u8> {
    let config = CellConfig { seed, ..CellConfig::lte_5mhz() };
    let (mut cell, _) = cell_with(config, &[channel]);
    let mut all = Vec::new();
    for second in 0..seconds {
        while cell.next_slot_us() < second * SECOND_US + SECOND_US / 2 {
            cell.slot(cell.next_slot_us(), &mut Vec::new());
        }
        all.push(cell.mac_report(1, second * SECOND_US).unwrap().dl_mcs1);
    }
    all
}

#[test]
fn a_mobility_pattern_is_drawn_from_the_seed() {
    let run = |seed| mcs_by_second(mobility(MobilityPattern::Train), seed, 200);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let mean = |values: &[u8]| values.iter().map(|v| f64::from(*v)).sum::<f64>() / 200.0;
    let means: Vec<f64> = (1..=20).map(|seed| mean(&run(seed))).collect();
    let mean = means.iter().sum::<f64>() / 20.0;
    // 4000 values at a coherence of two seconds: a standard error of about 0.2.
    assert!((mean - 14.48).abs() < 0.8, "{mean}");
}

#[test]
fn the_random_stream_of_a_ue_does_not_depend_on_other_ues() {
    let channels = [mobility(MobilityPattern::Car), mobility(MobilityPattern::Car)];
    let series = |channels: &[Channel]| {
        let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), channels);
        let mut all = Vec::new();
        for second in 1..60 {
            saturate(&mut cell, &bearers, second * SECOND_US);
            all.push(cell.mac_report(1, 0).unwrap().dl_mcs1);
        }
        (all, cell.mac_report(1, 0).unwrap().dl_mcs1, cell)
    };
    let (alone, _, _) = series(&channels[..1]);
    let (together, first, cell) = series(&channels);
    assert_eq!(alone, together);
    let second = cell.mac_report(2, 0).unwrap().dl_mcs1;
    assert!(first != second || alone.iter().any(|mcs| *mcs != first));
}

#[test]
fn a_fork_continues_as_the_original() {
    for channel in [
        mobility(MobilityPattern::Pedestrian),
        gauss_markov(10.0, 6.0, 50_000, 5_000),
        ideal(gauss_markov(10.0, 6.0, 50_000, 5_000)),
    ] {
        let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[channel]);
        saturate(&mut cell, &bearers, SECOND_US);
        let mut fork = cell.clone();
        let out = saturate(&mut cell, &bearers, 3 * SECOND_US);
        assert!(out == saturate(&mut fork, &bearers, 3 * SECOND_US));
    }
}

#[test]
fn gauss_markov_varies_the_mcs_and_goes_out_of_range() {
    let channel = |mean_snr_db| ideal(gauss_markov(mean_snr_db, 5.0, 100_000, 10_000));
    let carried = |mean| {
        let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[channel(mean)]);
        let out = saturate(&mut cell, &bearers, 20 * SECOND_US);
        (bytes_of(&out, bearers[0]), cell.totals())
    };
    let (low, middle, high) = (carried(-5.0), carried(10.0), carried(30.0));
    assert!(low.0 * 3 < middle.0 && middle.0 * 2 < high.0, "{} {} {}", low.0, middle.0, high.0);
    // At −5 dB many slots are below CQI 1; those do not count as available.
    assert!(low.1.available_prb < middle.1.available_prb);
    assert_eq!(low.1.used_prb, low.1.available_prb);
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[channel(-40.0)]);
    assert!(saturate(&mut cell, &bearers, SECOND_US).is_empty());
    let report = cell.mac_report(1, SECOND_US).unwrap();
    assert_eq!((report.wb_cqi, report.dl_mcs1), (0, 0));
    assert_eq!(cell.bearer_status(bearers[0]).unwrap().capacity_bytes_per_tti, 0);
}

#[test]
fn a_new_channel_applies_at_once_and_has_its_own_stream() {
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::FixedMcs(3)]);
    saturate(&mut cell, &bearers, SECOND_US);
    let mut seen = Vec::new();
    for round in 0..40 {
        cell.set_channel(1, mobility(MobilityPattern::Static)).unwrap();
        saturate(&mut cell, &bearers, SECOND_US + (round + 1) * 1000);
        seen.push(cell.mac_report(1, 0).unwrap().dl_mcs1);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 5, "{seen:?}");
}

#[test]
fn a_cqi_series_follows_the_cells_table_or_its_own() {
    let series = |mapping| {
        let series = CqiSeries::new(SECOND_US, [15, 0, 7], AtEnd::Loop, mapping).unwrap();
        ideal(Channel::CqiSeries(series))
    };
    assert_eq!(mcs_by_second(series(None), 1, 3), [28, 0, 11]);
    let own = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    assert_eq!(mcs_by_second(series(Some(own)), 1, 3), [14, 0, 6]);
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[series(None)]);
    let first = saturate(&mut cell, &bearers, SECOND_US);
    let outage = saturate(&mut cell, &bearers, 2 * SECOND_US);
    let back = saturate(&mut cell, &bearers, 3 * SECOND_US);
    assert!(bytes_of(&first, bearers[0]) > 2_000_000);
    assert_eq!(outage.len(), 0, "CQI 0 for a second");
    assert!(bytes_of(&back, bearers[0]) > 100_000, "and back");
}

#[test]
fn invalid_channels_are_refused() {
    let mut high = [0; 15];
    high[14] = 28;
    let series = CqiSeries::new(1, [1], AtEnd::Loop, Some(high)).unwrap();
    let wild = gauss_markov(f64::INFINITY, 1.0, 1, 1);
    for (channel, expected) in [
        (Channel::CqiSeries(series), "channel.cqi_to_mcs[14]: 28; expected MCS 0 to 27"),
        (mobility(MobilityPattern::Tram), "channel.max_mcs: 28; expected MCS 0 to 27"),
        (wild, "channel.mean_snr_db: inf; expected -50 to 80 dB"),
    ] {
        let mut cell: Cell<crate::common::Packet> = Cell::new(CellConfig::nr_n78_106prb()).unwrap();
        assert_eq!(cell.add_ue(ue(1, channel)).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_rate_series_carries_its_rate() {
    let series = RateSeries::new(SECOND_US, &[8000, 0, 2000], AtEnd::Loop).unwrap();
    let (mut cell, bearers) = cell_with(CellConfig::nr_n78_106prb(), &[Channel::Rate(series)]);
    let out = saturate(&mut cell, &bearers, 30 * SECOND_US);
    let offered = 10.0 * 10_000_000.0 / 8.0;
    let ratio = bytes_of(&out, bearers[0]) as f64 / offered;
    assert!((0.97..1.0).contains(&ratio), "{ratio}");
}

#[test]
fn last_slot_bytes_are_those_of_a_full_slot() {
    for (config, channel) in [
        (CellConfig::lte_5mhz(), mobility(MobilityPattern::Train)),
        (CellConfig::nr_n78_106prb(), Channel::FixedMcs(12)),
        (
            CellConfig::nr_n78_106prb(),
            Channel::Rate(RateSeries::new(SECOND_US, &[9000], AtEnd::Loop).unwrap()),
        ),
    ] {
        let (mut cell, bearers) = cell_with(config, &[channel]);
        let mut sum = 0;
        saturate(&mut cell, &bearers, 2 * SECOND_US);
        let before = cell.mac_report(1, 0).unwrap().dl_aggr_tbs;
        for _ in 0..500 {
            let next_us = cell.next_slot_us();
            saturate(&mut cell, &bearers, next_us + 1);
            sum += u64::from(cell.last_slot_bytes(1).unwrap());
        }
        assert_eq!(cell.mac_report(1, 0).unwrap().dl_aggr_tbs - before, sum);
        assert_eq!(cell.last_slot_bytes(2), None);
    }
}

fn ucc(name: &str, column: UccColumn) -> Option<UccTrace> {
    let file = recorded(&format!("ucc-5g/{name}"))?;
    let reader = std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file));
    Some(UccTrace::read(reader, column).unwrap())
}

#[test]
fn a_recorded_session_gives_the_reported_cqi_series() {
    let Some(cqi) = ucc("static-2020.02.14.csv.gz", UccColumn::Cqi) else { return };
    // 13:21:26 to 13:39:48.
    assert_eq!(cqi.seconds().len(), 18 * 60 + 22 + 1);
    let known: Vec<f64> = cqi.seconds().iter().copied().flatten().collect();
    assert_eq!(known.len(), cqi.seconds().len(), "no value is missing");
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    assert!((mean - 10.26).abs() < 0.1, "{mean}");
    let values: Vec<u8> = known.iter().map(|value| *value as u8).collect();
    let channel = CqiSeries::new(SECOND_US, values, AtEnd::Loop, None).unwrap();
    let channels = [Channel::CqiSeries(channel)];
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &channels);
    let out = saturate(&mut cell, &bearers, 20 * SECOND_US);
    assert!(bytes_of(&out, bearers[0]) > 10_000_000);
}

#[test]
fn a_recorded_drive_has_a_part_without_cqi() {
    let Some(cqi) = ucc("driving-2019.12.16.csv.gz", UccColumn::Cqi) else { return };
    let missing = cqi.seconds().iter().filter(|second| second.is_none()).count();
    // On HSPA the phone reports none.
    assert!(missing > 250, "{missing}");
    assert!(cqi.filled(Missing::Hold).iter().all(Option::is_some));
    let outage = cqi.filled(Missing::Outage).iter().filter(|second| second.is_none()).count();
    assert_eq!(outage, missing);
    for column in [UccColumn::Snr, UccColumn::DlBitrate] {
        assert!(ucc("driving-2020.01.16.csv.gz", column).is_some());
    }
}
