//! Capacity of cells: the papers' cells, traces, schedulers.

use crate::common::{
    Packet, SECOND_US, bytes_of, cell_of_slices, cell_with, recorded, saturate, ue,
};
use ran::mac::SliceShare;
use ran::{AtEnd, Cell, CellConfig, Channel, MahimahiTrace, McsSeries, SchedulerConfig};

fn mbps(bytes: u64, us: u64) -> f64 {
    bytes as f64 * 8.0 / us as f64
}

#[test]
fn the_lte_cell_carries_16_6_mbps_of_tcp_payload_with_every_prb_used() {
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::FixedMcs(28)]);
    let out = saturate(&mut cell, &bearers, 10 * SECOND_US);
    let packets = mbps(bytes_of(&out, bearers[0]), 10 * SECOND_US);
    // Less the VoIP flow of irazabal2021 (80 kbit/s) and 40 bytes of header a packet.
    let goodput = (packets - 0.08) * 1460.0 / 1500.0;
    assert!((16.4..16.7).contains(&goodput), "{goodput}");
    let totals = cell.totals();
    assert_eq!(totals.used_prb, totals.available_prb);
    assert_eq!(totals.available_prb, 10_000 * 25 - 2_000 * 8);
}

#[test]
fn the_nr_cell_carries_40_mbps_of_tcp_payload_at_mcs_10() {
    let (mut cell, bearers) = cell_with(CellConfig::nr_n78_106prb(), &[Channel::FixedMcs(10)]);
    let out = saturate(&mut cell, &bearers, 10 * SECOND_US);
    let goodput = mbps(bytes_of(&out, bearers[0]), 10 * SECOND_US) * 1460.0 / 1500.0;
    assert!((39.5..41.0).contains(&goodput), "{goodput}");
    assert_eq!(cell.totals().used_prb_pct(), 100.0);
}

#[test]
fn a_series_changes_the_rate_at_its_time() {
    let series = McsSeries::new(SECOND_US, [28, 0], AtEnd::Hold).unwrap();
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::McsSeries(series)]);
    let first = saturate(&mut cell, &bearers, SECOND_US);
    assert_eq!(cell.mac_report(1, SECOND_US).unwrap().dl_mcs1, 28);
    let second = saturate(&mut cell, &bearers, 2 * SECOND_US);
    assert!(bytes_of(&first, bearers[0]) > 20 * bytes_of(&second, bearers[0]));
    assert_eq!(cell.mac_report(1, 2 * SECOND_US).unwrap().dl_mcs1, 0);
    // I_TBS 0 over 25 PRB are 680 bits.
    assert_eq!(cell.bearer_status(bearers[0]).unwrap().capacity_bytes_per_tti, 85);
}

fn trace_bytes(trace: &MahimahiTrace, until_us: u64) -> u64 {
    u64::from(trace.bytes_between(0, until_us))
}

/// A trace is used except for headers and the last packet, sent in part.
fn assert_trace_is_filled(trace: &MahimahiTrace, config: CellConfig, until_us: u64) {
    let tail_us = 20_000;
    let channel = Channel::Mahimahi(trace.clone());
    let (mut cell, bearers) = cell_with(config, &[channel]);
    let out = saturate(&mut cell, &bearers, until_us);
    let report = cell.mac_report(1, until_us).unwrap();
    let offered = trace_bytes(trace, until_us);
    // The last opportunities in uplink slots have no downlink slot yet.
    let sent_at_least = trace_bytes(trace, until_us - tail_us);
    assert!((sent_at_least..=offered).contains(&report.dl_aggr_tbs), "{}", report.dl_aggr_tbs);
    let carried = bytes_of(&out, bearers[0]) as f64;
    let ratio = carried / offered as f64;
    // 2 bytes of PDCP and about 2.4 PDUs a block with 1 to 4 of RLC and 3 of MAC.
    assert!((0.985..1.0).contains(&ratio), "{ratio}");
    assert_eq!(cell.totals().used_prb_pct(), 100.0, "a fully used slot counts as 100 %");
}

#[test]
fn a_trace_carries_what_it_offers_in_fdd_and_in_tdd() {
    let mut times: Vec<u32> = (0..5000u32).map(|i| 10 + i * i % 7 + i * 2).collect();
    times.sort_unstable();
    let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
    let trace = MahimahiTrace::parse(&text).unwrap();
    for config in [CellConfig::lte_5mhz(), CellConfig::nr_n78_106prb()] {
        assert_trace_is_filled(&trace, config, 25 * SECOND_US);
    }
}

#[test]
fn a_recorded_trace_carries_what_it_offers() {
    let Some(file) = recorded("mahimahi-us/Verizon-LTE-short.down") else { return };
    let trace = MahimahiTrace::read(std::io::BufReader::new(file)).unwrap();
    // Longer than the file, so that it repeats.
    assert_trace_is_filled(&trace, CellConfig::nr_n78_106prb(), 200 * SECOND_US);
}

#[test]
fn unused_opportunities_of_a_trace_are_lost() {
    let trace = MahimahiTrace::parse("1\n2\n3\n4\n").unwrap();
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &[Channel::Mahimahi(trace)]);
    let mut out = Vec::new();
    for _ in 0..1000 {
        cell.slot(cell.next_slot_us(), &mut out);
    }
    for id in 0..10 {
        cell.enqueue(bearers[0], Packet { id, len: 1400 }, SECOND_US).unwrap();
    }
    cell.slot(SECOND_US, &mut out);
    assert_eq!(out.len(), 1, "one opportunity, not a second's worth");
}

#[test]
fn round_robin_gives_equals_equal_shares_of_prbs() {
    let channels = [Channel::FixedMcs(28), Channel::FixedMcs(28), Channel::FixedMcs(10)];
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &channels);
    let out = saturate(&mut cell, &bearers, 10 * SECOND_US);
    let prb = |rnti| cell.used_prb(rnti).unwrap() as f64;
    let total = cell.totals().used_prb as f64;
    for rnti in 1..=3 {
        assert!((prb(rnti) / total - 1.0 / 3.0).abs() < 0.005, "{rnti}: {}", prb(rnti) / total);
    }
    assert_eq!(total, cell.totals().available_prb as f64);
    let bytes = |at: usize| bytes_of(&out, bearers[at]) as f64;
    assert!((bytes(0) / bytes(1) - 1.0).abs() < 0.02);
    assert!(bytes(2) < 0.4 * bytes(0), "equal PRBs, not equal bytes");
}

#[test]
fn more_ues_than_fit_a_slot_are_served_in_turn() {
    let channels = vec![Channel::FixedMcs(10); 50];
    let (mut cell, bearers) = cell_with(CellConfig::nr_n78_106prb(), &channels);
    let out = saturate(&mut cell, &bearers, 5 * SECOND_US);
    let shares: Vec<u64> = bearers.iter().map(|b| bytes_of(&out, *b)).collect();
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(*most as f64 / *least as f64 <= 1.05, "{least} {most}");
}

#[test]
fn prbs_left_by_one_ue_go_to_another() {
    let channels = [Channel::FixedMcs(28), Channel::FixedMcs(28)];
    let (mut cell, bearers) = cell_with(CellConfig::lte_5mhz(), &channels);
    let mut out = Vec::new();
    for slot in 0..1000 {
        let now_us = slot * 1000;
        cell.enqueue(bearers[0], Packet { id: slot, len: 170 }, now_us).unwrap();
        while cell.bearer_status(bearers[1]).unwrap().occupancy_bytes < 10_000 {
            cell.enqueue(bearers[1], Packet { id: slot, len: 1500 }, now_us).unwrap();
        }
        cell.slot(now_us, &mut out);
    }
    assert_eq!(cell.used_prb(1), Some(2 * 1000), "one RBG of two PRB each slot");
    let totals = cell.totals();
    assert_eq!(totals.used_prb, totals.available_prb);
}

fn sliced(shares: &[(u8, u8)]) -> CellConfig {
    let shares = shares.iter().map(|(slice, percent)| SliceShare::new(*slice, *percent));
    CellConfig {
        scheduler: SchedulerConfig::FixedPartition(shares.collect()),
        ..CellConfig::lte_5mhz()
    }
}

fn sliced_cell(shares: &[(u8, u8)]) -> (Cell<Packet>, Vec<usize>) {
    cell_of_slices(sliced(shares), &[1, 2].map(|slice| (slice, Channel::FixedMcs(28))))
}

/// Table 6 of irazabal2021: FP carries 4.10, 7.65 and 11.75 Mbit/s in 25, 50 and 75 % of the
/// carrier, less than the share because of rounding and RBGs.
#[test]
fn fixed_partition_carries_what_the_paper_measured() {
    for (percent, paper) in [(25, 4.10), (50, 7.65), (75, 11.75)] {
        let (mut cell, bearers) = sliced_cell(&[(1, percent), (2, 100 - percent)]);
        let out = saturate(&mut cell, &bearers, 10 * SECOND_US);
        let goodput = mbps(bytes_of(&out, bearers[0]), 10 * SECOND_US) * 1460.0 / 1500.0;
        assert!((goodput / paper - 1.0).abs() < 0.08, "{percent} %: {goodput}, paper {paper}");
    }
}

#[test]
fn fixed_partition_leaves_unused_prbs_unused() {
    let (mut cell, bearers) = sliced_cell(&[(1, 25), (2, 75)]);
    saturate(&mut cell, &bearers[..1], SECOND_US);
    let totals = cell.totals();
    // floor(25 · 25 %) = 6, floor(17 · 25 %) = 4.
    assert_eq!(totals.used_prb, 800 * 6 + 200 * 4);
    assert_eq!(totals.available_prb, 800 * 25 + 200 * 17);
}

#[test]
fn a_ue_of_an_unknown_slice_or_an_mcs_above_the_table_is_refused() {
    let nr = CellConfig::nr_n78_106prb();
    let series = McsSeries::new(1, [1, 31], AtEnd::Loop).unwrap();
    for (config, channel, expected) in [
        (
            sliced(&[(7, 50)]),
            Channel::FixedMcs(28),
            "ue.slice: 1; expected a slice of the scheduler",
        ),
        (nr.clone(), Channel::FixedMcs(28), "channel.mcs: 28; expected MCS 0 to 27"),
        (nr, Channel::McsSeries(series), "channel.values[1]: 31; expected MCS 0 to 27"),
    ] {
        let mut cell: Cell<Packet> = Cell::new(config).unwrap();
        assert_eq!(cell.add_ue(ue(1, channel)).unwrap_err().to_string(), expected);
    }
}
