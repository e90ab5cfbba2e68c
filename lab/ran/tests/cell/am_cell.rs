//! An AM bearer in a cell: status reports over the uplink, block errors, outages.

use crate::common::{Packet, SECOND_US, bytes_of, cell_of, saturate, ue, with_errors};
use ran::{
    AmConfig, BearerConfig, BearerIndex, BlockErrors, Cell, CellConfig, Channel, Delivery,
    MahimahiTrace, UeConfig, UplinkConfig,
};

fn lte_with(errors: BlockErrors, most: u8) -> CellConfig {
    with_errors(CellConfig::lte_5mhz(), errors, most)
}

/// The bearer with infinite t-Reordering.
fn forever(bearer: BearerConfig) -> BearerConfig {
    BearerConfig { t_reordering_us: u32::MAX, ..bearer }
}

/// Runs `slots` without new packets, after which nothing is buffered.
fn drain(
    cell: &mut Cell<Packet>,
    bearer: BearerIndex,
    slots: u64,
    out: &mut Vec<Delivery<Packet>>,
) {
    for _ in 0..slots {
        cell.slot(cell.next_slot_us(), out);
    }
    let status = cell.bearer_status(bearer).unwrap();
    assert_eq!((status.occupancy_packets, status.unacknowledged_packets), (0, 0));
    assert_eq!(cell.sdus_in_air(bearer), Some(0));
}

#[test]
fn am_carries_what_um_carries_less_its_headers_when_nothing_is_lost() {
    let run = |bearer| {
        let (mut cell, bearer) = cell_of(CellConfig::lte_5mhz(), bearer);
        let mut out = saturate(&mut cell, &[bearer], 5 * SECOND_US);
        drain(&mut cell, bearer, 200, &mut out);
        assert!(out.windows(2).all(|pair| pair[1].sdu.id == pair[0].sdu.id + 1), "in order, once");
        assert!(out.windows(2).all(|pair| pair[1].delivered_us >= pair[0].delivered_us));
        (bytes_of(&out, bearer), cell.rlc_report(bearer, 0).unwrap())
    };
    let (um, _) = run(BearerConfig::um(1));
    let (am, report) = run(BearerConfig::am(1, AmConfig::lte()));
    let ratio = am as f64 / um as f64;
    // 1500 B take 1 B of UMD header or 2 of AMD, segments 2 and 4 or 2 and 4.
    assert!((0.997..1.0).contains(&ratio), "{ratio}");
    assert_eq!((report.mode, report.txpdu_retx_pkts), (0, 0));
    assert_eq!(report.rxpdu_status_bytes, 3 * report.rxpdu_status_pkts, "no NACK without loss");
}

#[test]
fn sdus_leave_the_buffer_in_blocks_as_status_reports_come() {
    // kumar2018 §IV: t-StatusProhibit 25 ms and scheduling requests; "blocks of consecutive SDUs
    // (about 40 in this particular case) are removed at fixed time intervals (30 ms)".
    let (mut cell, bearer) = cell_of(CellConfig::lte_5mhz(), BearerConfig::am(1, AmConfig::lte()));
    let mut blocks: Vec<(u64, u32)> = Vec::new();
    while cell.next_slot_us() < 4 * SECOND_US {
        let now_us = cell.next_slot_us();
        while cell.bearer_status(bearer).unwrap().occupancy_bytes < 20_000 {
            cell.enqueue(bearer, Packet { id: 0, len: 1500 }, now_us).unwrap();
        }
        // A TCP acknowledgement for every other segment.
        if (now_us / 1000).is_multiple_of(2) {
            assert!(cell.send_uplink(bearer, 0, 52, now_us));
        }
        cell.slot(now_us, &mut Vec::new());
        let removed = cell.take_removed(bearer).unwrap();
        if removed.count > 0 && now_us > SECOND_US {
            assert_eq!(cell.bearer_status(bearer).unwrap().status_pdu_at_us, Some(now_us));
            blocks.push((now_us, removed.count));
        }
    }
    let gaps: Vec<u64> = blocks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap_us| *gap_us >= 25_000), "never shorter: {gaps:?}");
    let mean_ms = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64 / 1000.0;
    let mean_sdus = blocks.iter().map(|block| block.1).sum::<u32>() as f64 / blocks.len() as f64;
    assert!((25.0..40.0).contains(&mean_ms), "{mean_ms} ms");
    assert!((35.0..60.0).contains(&mean_sdus), "{mean_sdus} SDUs");
}

#[test]
fn a_status_report_uses_a_grant_for_data_or_requests_one() {
    let reported_us = |with_data: bool| {
        let config = AmConfig { t_status_prohibit_us: 0, ..AmConfig::lte() };
        let (mut cell, bearer) = cell_of(CellConfig::lte_5mhz(), BearerConfig::am(1, config));
        let mut out = Vec::new();
        cell.slot(0, &mut out);
        cell.enqueue(bearer, Packet { id: 0, len: 100 }, 500).unwrap();
        if with_data {
            assert!(cell.send_uplink(bearer, 0, 52, 500));
        }
        while cell.bearer_status(bearer).unwrap().status_pdu_at_us.is_none() {
            cell.slot(cell.next_slot_us(), &mut out);
        }
        cell.bearer_status(bearer).unwrap().status_pdu_at_us.unwrap()
    };
    // Sent at 1 ms, received at 5, triggered at 6: request at 10, PUSCH at 18, decoded at 22.
    assert_eq!(reported_us(false), 22_000);
    // The request for data is sent at 10 as well; the report uses its PUSCH.
    assert_eq!(reported_us(true), 22_000);
    let mut cell = cell_of(CellConfig::lte_5mhz(), BearerConfig::am(1, AmConfig::lte())).0;
    let (mut out, bearer) = (Vec::new(), 0);
    // Data from 0 on: request at 0, PUSCH at 8, which carries the report of a packet received at 5.
    assert!(cell.send_uplink(bearer, 0, 52, 0));
    cell.slot(0, &mut out);
    cell.enqueue(bearer, Packet { id: 0, len: 100 }, 500).unwrap();
    while cell.bearer_status(bearer).unwrap().status_pdu_at_us.is_none() {
        cell.slot(cell.next_slot_us(), &mut out);
    }
    assert_eq!(cell.bearer_status(bearer).unwrap().status_pdu_at_us, Some(12_000));
}

#[test]
fn am_delivers_sdus_of_blocks_that_harq_drops_and_um_does_not() {
    let errors = BlockErrors { bler: 0.3, combining_gain: 1.0 };
    let run = |bearer| {
        let (mut cell, bearer) = cell_of(lte_with(errors, 2), bearer);
        let mut out = saturate(&mut cell, &[bearer], 5 * SECOND_US);
        drain(&mut cell, bearer, 3_000, &mut out);
        let dropped = cell.mac_report(1, 0).unwrap().dl_harq[4];
        assert!(dropped > 100, "{dropped}");
        let report = cell.rlc_report(bearer, 0).unwrap();
        (out, report, cell.totals())
    };
    for in_order in [false, true] {
        let config = AmConfig { in_order, max_retx_threshold: 32, ..AmConfig::default() };
        let (out, report, totals) = run(forever(BearerConfig::am(1, config)));
        assert_eq!(out.len(), report.rxsdu_pkts as usize, "every SDU");
        assert!(out.windows(2).all(|pair| pair[1].sdu.id == pair[0].sdu.id + 1), "in order, once");
        assert!(report.txpdu_retx_pkts > 100 && report.rxpdu_status_bytes > 0);
        assert_eq!((totals.lost_sdus, totals.radio_link_failures), (0, 0));
    }
    let (out, report, totals) = run(BearerConfig::um(1));
    assert!(totals.lost_sdus > 100);
    assert!(out.len() < report.rxsdu_pkts as usize);
}

#[test]
fn a_very_poor_radio_causes_counted_radio_link_failures_without_loss() {
    let errors = BlockErrors { bler: 0.9, combining_gain: 1.0 };
    let config = AmConfig { max_retx_threshold: 1, ..AmConfig::lte() };
    let (mut cell, bearer) = cell_of(lte_with(errors, 1), forever(BearerConfig::am(1, config)));
    let mut out = Vec::new();
    for id in 0..200 {
        cell.enqueue(bearer, Packet { id, len: 1500 }, 0).unwrap();
    }
    // Nine of ten status reports are lost as well.
    drain(&mut cell, bearer, 300_000, &mut out);
    let failures = cell.radio_link_failures(bearer).unwrap();
    assert!(failures > 0);
    assert_eq!(cell.totals().radio_link_failures, failures);
    let ids: Vec<u64> = out.iter().map(|delivery| delivery.sdu.id).collect();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
}

#[test]
fn after_seconds_without_radio_every_sdu_arrives() {
    // Ten opportunities a millisecond for a second, then none for three.
    let lines: String = (1..=1000).flat_map(|ms| vec![format!("{ms}\n"); 2]).collect();
    let trace = MahimahiTrace::parse(&format!("{lines}4000\n")).unwrap();
    for config in [AmConfig::default(), AmConfig::lte()] {
        let mut cell = Cell::new(CellConfig::lte_5mhz()).unwrap();
        cell.add_ue(ue(1, Channel::Mahimahi(trace.clone()))).unwrap();
        let limit = BearerConfig { limit_packets: 500, ..BearerConfig::am(1, config) };
        let bearer = cell.add_bearer(1, limit).unwrap();
        let (mut out, mut taken) = (Vec::new(), 0);
        while cell.next_slot_us() < 8 * SECOND_US {
            let now_us = cell.next_slot_us();
            while cell.enqueue(bearer, Packet { id: taken, len: 1500 }, now_us).is_ok() {
                taken += 1;
            }
            cell.slot(now_us, &mut out);
            let status = cell.bearer_status(bearer).unwrap();
            assert!(status.occupancy_packets + status.unacknowledged_packets <= 500, "bounded");
        }
        cell.set_channel(1, Channel::FixedMcs(28)).unwrap();
        drain(&mut cell, bearer, 2_000, &mut out);
        assert!(taken > 2_000);
        assert_eq!(out.len() as u64, taken);
        assert!(out.windows(2).all(|pair| pair[1].sdu.id == pair[0].sdu.id + 1));
        assert_eq!(cell.totals().radio_link_failures, 0);
    }
}

#[test]
fn runs_are_deterministic_and_a_clone_continues_alike() {
    let run = || {
        let errors = BlockErrors { bler: 0.2, combining_gain: 0.5 };
        let config = AmConfig { in_order: false, ..AmConfig::lte() };
        cell_of(lte_with(errors, 4), BearerConfig::am(1, config))
    };
    let (mut first, bearer) = run();
    let (mut second, _) = run();
    let one = saturate(&mut first, &[bearer], SECOND_US);
    assert_eq!(one, saturate(&mut second, &[bearer], SECOND_US));
    let mut third = first.clone();
    let rest = saturate(&mut first, &[bearer], 2 * SECOND_US);
    assert_eq!(rest, saturate(&mut third, &[bearer], 2 * SECOND_US));
}

#[test]
fn a_ue_has_its_own_errors_and_invalid_ones_are_refused() {
    let mut cell = Cell::new(CellConfig::nr_n78_106prb()).unwrap();
    let errors = |bler, combining_gain| Some(BlockErrors { bler, combining_gain });
    let with = |rnti, errors| UeConfig { errors, ..ue(rnti, Channel::FixedMcs(10)) };
    cell.add_ue(with(1, errors(0.2, 0.0))).unwrap();
    cell.add_ue(with(2, None)).unwrap();
    let bearers = [1, 2].map(|rnti| cell.add_bearer(rnti, BearerConfig::um(1)).unwrap());
    saturate(&mut cell, &bearers, 2 * SECOND_US);
    let rounds = [1, 2].map(|rnti| cell.mac_report(rnti, 0).unwrap().dl_harq);
    let rate = f64::from(rounds[0][1]) / f64::from(rounds[0][0]);
    assert!((0.17..0.23).contains(&rate), "{rate}");
    assert_eq!(rounds[1][1..], [0; 4]);
    for (bad, expected) in [
        (errors(1.1, 0.5), "ue.errors.bler: 1.1; expected 0 to 1"),
        (errors(0.1, f64::NAN), "ue.errors.combining_gain: NaN; expected 0 to 1"),
    ] {
        assert_eq!(cell.add_ue(with(3, bad)).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_ue_with_invalid_uplink_access_is_refused() {
    let uplink = Some(UplinkConfig { sr_period_us: 0, ..UplinkConfig::lte_fdd() });
    let mut cell = Cell::<Packet>::new(CellConfig::lte_5mhz()).unwrap();
    let config = UeConfig { uplink, ..ue(1, Channel::FixedMcs(28)) };
    let error = cell.add_ue(config).unwrap_err().to_string();
    assert_eq!(error, "uplink.sr_period_us: 0; expected 1 or more");
}
