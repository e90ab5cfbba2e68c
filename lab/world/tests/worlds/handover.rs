//! Several cells of one gNB and handover between them.

use e2sm_tc::v1::{
    self, BearerId, ControlMessage, EventKind, IndicationMessage, Transaction, UeId,
};
use lab_world::{
    HandoverRecord, Output, PacketAccount, PacketSample, Payload, RanFunction, Summary, World,
};

use crate::common::flow;
use crate::setup::{control, load, replace};

/// Two cells of 24 PRBs and a UE whose radio to the first has 10 dB; `neighbour` is the SNR of the second.
fn scenario(neighbour: &str, handover: &str, drb: &str, more: &str) -> String {
    format!(
        "duration_s: 60\n\
         cell: {{ rat: nr, n_prb: 24, scs_khz: 30, tdd: {{ pattern: DDDDDDDMUU }} }}\n\
         cells: [{{}}, {{}}]\n\
         handover: {{ {handover} }}\n\
         ues:\n\
         - rnti: 100\n  \
           channel: {{ ideal: {{ snr_series: {{ period_ms: 200, values_db: [10] }} }} }}\n  \
           neighbour_channels: [{{ ideal: {{ snr_series: {neighbour} }} }}]\n  \
           drbs: [{{ id: 1, {drb} }}]\n\
         flows:\n\
         - {{ name: down, kind: udp_cbr, rate_kbps: 3000, stop_s: 50 }}\n\
         - {{ name: up, kind: udp_cbr, direction: up, rate_kbps: 500, stop_s: 50 }}\n\
         {more}"
    )
}

fn world(text: &str) -> World {
    World::new(&load(text)).unwrap()
}

fn run(text: &str, seconds: f64) -> World {
    let mut world = world(text);
    world.record_packets(true);
    world.step_until((seconds * 1e6) as u64, &mut |_| {});
    world
}

/// An SNR of the neighbour that is 15 dB from 1 s on.
const BETTER_FROM_1_S: &str =
    "{ period_ms: 200, values_db: [10, 10, 10, 10, 10, 15], at_end: hold }";

/// An SNR of the neighbour that changes sides each 200 ms.
const TO_AND_FRO: &str = "{ period_ms: 200, values_db: [5, 20] }";

/// An SNR of the neighbour that is gone when the UE comes.
const GONE: &str = "{ period_ms: 200, values_db: [5, 20, -30] }";

/// Handovers whose command comes a period after the event, and a short T304.
const LATE: &str = "filter_k: 0, measurement_period_ms: 20, time_to_trigger_ms: 0, \
                    preparation_ms: 190, rrc_processing_ms: 2, interruption_ms: 10, \
                    random_access_ms: 3, t304_ms: 50, reestablishment_ms: 60";

/// Handovers as fast as the radio changes.
const QUICK: &str = "filter_k: 0, measurement_period_ms: 20, time_to_trigger_ms: 0, \
                     preparation_ms: 5, rrc_processing_ms: 2, interruption_ms: 10, \
                     random_access_ms: 3";

/// RLC-AM whose PDCP waits longer than any interruption.
const AM: &str = "rlc: { mode: am, t_reordering_us: 5000000, limit_bytes: 100000000 }";
const UM: &str = "rlc: { mode: um }";

#[test]
fn a_handover_takes_its_parts() {
    for (f1_us, split) in [(0, ""), (10_000, "split: { f1_delay_us: 10000 }")] {
        let text = scenario(BETTER_FROM_1_S, "filter_k: 0", UM, split);
        let mut world = run(&text, 3.0);
        let [record] = *world.handovers() else { panic!("{:?}", world.handovers()) };
        // The first period with 15 dB ends at 1.2 s; time-to-trigger, preparation, F1-C.
        let left_us = 1_200_000 + 160_000 + 20_000 + f1_us;
        let expected = HandoverRecord {
            ue_rnti: 100,
            triggered_us: 1_360_000,
            left_us,
            accessed_us: left_us + 10_000 + 52_000 + 8_000,
            source: 0,
            target: 1,
            source_rnti: 100,
            target_rnti: 101,
            ..record
        };
        assert_eq!(record, expected);
        let packets = world.take_packets();
        let in_mac = |packet: &PacketSample| packet.mac_us;
        let last_us = packets.iter().map(in_mac).filter(|at_us| *at_us < left_us).max().unwrap();
        let first_us = packets.iter().map(in_mac).filter(|at_us| *at_us >= left_us).min().unwrap();
        assert!(left_us - last_us < 10_000, "the source serves until it stops");
        let after_us = first_us - record.accessed_us;
        assert!(after_us < 2_500, "the target serves from the next downlink: {after_us} µs");
        let summary = world.summary().handover.unwrap();
        let [ue] = summary.ues[..] else { panic!("one UE") };
        assert_eq!((ue.rnti, ue.cell, ue.handovers, ue.interruption_ms), (100, 1, 1, 70.0));
    }
}

/// The neighbour is gone from 1.4 s on, before the random access of 1.45 s: T304 runs from 1.38 s.
#[test]
fn a_handover_to_a_cell_that_is_gone_fails_when_t304_expires() {
    let gone = |from: &str| {
        format!(
            "{{ period_ms: 200, values_db: [10, 10, 10, 10, 10, 15, 15, {from}], at_end: hold }}"
        )
    };
    let one = |text: &str| {
        let mut world = run(text, 8.0);
        let [record] = *world.handovers() else { panic!("{:?}", world.handovers()) };
        assert_eq!(record.left_us, 1_380_000);
        let summary = world.summary();
        assert_eq!((record.lost_packets, record.lost_uplink_packets), (0, 0));
        let packets = world.take_packets();
        let mut silent = packets.iter().filter_map(|packet| {
            Some(packet.mac_us).filter(|at_us| (record.left_us..record.accessed_us).contains(at_us))
        });
        assert_eq!(silent.next(), None, "nobody serves the UE meanwhile");
        let first_us = packets.iter().map(|packet| packet.mac_us);
        let first_us = first_us.filter(|at_us| *at_us >= record.accessed_us).min().unwrap();
        assert!(first_us < record.accessed_us + 2_500, "{first_us}");
        (record, summary.handover.unwrap().ues[0])
    };
    // Back before the expiry: the first occasion after 1.6 s.
    let (record, ue) = one(&scenario(&gone("-30, 15"), "filter_k: 0", AM, ""));
    assert_eq!((record.accessed_us, record.target, record.failed), (1_610_000, 1, false));
    assert_eq!((ue.cell, ue.failed), (1, 0));
    // Gone for good: back in the source after T304 and the re-establishment, under a third C-RNTI.
    let (record, ue) = one(&scenario(&gone("-30"), "filter_k: 0", AM, ""));
    assert_eq!((record.accessed_us, record.source, record.target), (2_710_000, 0, 0));
    assert_eq!((record.source_rnti, record.target_rnti, record.failed), (100, 102, true));
    assert_eq!((ue.cell, ue.handovers, ue.failed, ue.interruption_ms), (0, 1, 1, 1330.0));
    let settings = "filter_k: 0, t304_ms: 200, reestablishment_ms: 100";
    let (record, _) = one(&scenario(&gone("-30"), settings, AM, ""));
    assert_eq!(record.accessed_us, 1_680_000);
    // Nowhere to go until 4 s: it searches with each synchronisation signal.
    let text = scenario(&gone("-30"), "filter_k: 0", AM, "");
    let out = format!("{}10], at_end: hold", "10, ".repeat(7) + &"-30, ".repeat(13));
    let text = text.replace("values_db: [10] ", &format!("values_db: [{out} "));
    let (record, _) = one(&text);
    assert_eq!((record.accessed_us, record.target), (4_010_000, 0));
}

#[test]
fn within_offset_and_hysteresis_no_ue_moves_to_and_fro() {
    // 10 ± 3.9 dB: the neighbour is never 4 dB better, nor is the serving cell once the UE has moved.
    let values = "{ period_ms: 400, values_db: [10, 13.9, 6.1] }";
    let text = scenario(values, "filter_k: 0, time_to_trigger_ms: 0", UM, "");
    assert!(run(&text, 5.0).handovers().is_empty());
    let values = "{ period_ms: 400, values_db: [10, 14.1, 6.1], at_end: hold }";
    let text = scenario(values, "filter_k: 0, time_to_trigger_ms: 0", UM, "");
    assert_eq!(run(&text, 5.0).handovers().len(), 1, "6.1 dB is not 4 dB below 10 dB");
    // A peak that is shorter than time-to-trigger.
    let values = "{ period_ms: 200, values_db: [10, 20, 10, 10] }";
    let text = scenario(values, "filter_k: 0, time_to_trigger_ms: 320", UM, "");
    assert!(run(&text, 5.0).handovers().is_empty());
}

fn lost(summary: &Summary, name: &str) -> u64 {
    let flow = flow(summary, name);
    assert!(flow.received_packets > 1_000, "{flow:?}");
    flow.sent_packets - flow.received_packets
}

#[test]
fn in_am_a_ue_loses_nothing_in_100_handovers() {
    let on_f1 = "split: { f1_delay_us: 3000, f1: { jitter_us: 2000, keep_order: false } }";
    for (neighbour, handover, split) in
        [(TO_AND_FRO, QUICK, ""), (TO_AND_FRO, QUICK, on_f1), (GONE, LATE, ""), (GONE, LATE, on_f1)]
    {
        let text = scenario(neighbour, handover, AM, split);
        let mut world = run(&text, 61.0);
        let records = world.handovers();
        assert!(records.len() >= 100, "{}", records.len());
        assert!(records.iter().all(|record| record.failed == (neighbour == GONE)), "{split}");
        let summary = world.summary();
        assert_eq!((lost(&summary, "down"), lost(&summary, "up")), (0, 0), "{split}");
        let [ue] = summary.handover.unwrap().ues[..] else { panic!("one UE") };
        assert!(ue.forwarded_packets > 100, "{ue:?}");
        assert_eq!((ue.lost_packets, ue.lost_uplink_packets), (0, 0));
        // In the order in which they were sent, each once.
        let packets = world.take_packets();
        let down: Vec<u64> =
            packets.iter().filter(|packet| packet.flow == 0).map(|packet| packet.sdap_us).collect();
        assert_eq!(down.len() as u64, flow(&world.summary(), "down").sent_packets);
        let mut delivered: Vec<_> =
            packets.iter().map(|packet| (packet.ue_us, packet.sdap_us)).collect();
        delivered.sort_by_key(|(ue_us, _)| *ue_us);
        assert!(delivered.is_sorted_by_key(|(_, sdap_us)| *sdap_us), "{split}");
    }
}

#[test]
fn in_um_a_ue_loses_what_was_in_flight_and_without_forwarding_what_waited() {
    let of = |bler: f64, handover: &str| {
        let cell = format!("pattern: DDDDDDDMUU }}, harq: {{ bler: {bler} }} }}");
        let text = scenario(TO_AND_FRO, handover, UM, "");
        let text = text.replacen("pattern: DDDDDDDMUU } }", &cell, 1);
        let world = run(&text, 60.0);
        let account = world.packet_account();
        assert_eq!((account.downlink.unaccounted(), account.uplink.unaccounted()), (0, 0));
        let summary = world.summary();
        let [ue] = summary.handover.as_ref().unwrap().ues[..] else { panic!("one UE") };
        let down = account.downlink;
        assert_eq!(lost(&summary, "down"), down.lost_on_radio + down.dropped_by_rlc);
        assert!(ue.handovers > 200 && ue.duplicated_packets == 0, "{ue:?}");
        (ue, down.dropped_by_rlc)
    };
    // Without errors nothing waits in HARQ or for another segment.
    let (clear, _) = of(0.0, QUICK);
    assert!(clear.lost_packets == 0 && clear.forwarded_packets > 0, "{clear:?}");
    let (failing, dropped) = of(0.2, QUICK);
    assert!(failing.lost_packets > 0 && dropped == 0, "{failing:?}");
    let (kept_back, dropped) = of(0.0, &format!("{QUICK}, forwarding: false"));
    assert_eq!((kept_back.lost_packets, kept_back.forwarded_packets), (dropped, 0));
    assert!(dropped > 0);
}

#[test]
fn a_status_report_saves_duplicates() {
    let duplicates = |more: &str| {
        let text = scenario(TO_AND_FRO, &format!("{QUICK}{more}"), AM, "");
        let summary = run(&text, 60.0).summary();
        assert_eq!(lost(&summary, "down"), 0);
        summary.handover.unwrap().ues[0].duplicated_packets
    };
    let (with, without) = (duplicates(""), duplicates(", status_report: false"));
    assert!(with == 0 && without > 50, "{with} {without}");
}

/// Indications of a function until `until_us`.
fn messages(world: &mut World, until_us: u64) -> Vec<Payload> {
    let mut all = Vec::new();
    world.step_until(until_us, &mut |output| {
        if let Output::Indication(indication) = output {
            all.push(indication.report.payload);
        }
    });
    all
}

/// C-RNTIs of the records of a report, of `record_bytes` each, with the RNTI at `offset`.
fn rntis(payload: &Payload, record_bytes: usize, offset: usize) -> Vec<u32> {
    let Payload::Message(message) = payload else { panic!("not plain") };
    let records = message[4..message.len() - 8].chunks(record_bytes);
    let rnti = |record: &[u8]| u32::from_le_bytes(record[offset..offset + 4].try_into().unwrap());
    records.map(rnti).collect()
}

#[test]
fn pipeline_queue_and_lease_stay_and_reports_name_the_new_rnti() {
    let text = scenario(BETTER_FROM_1_S, "filter_k: 0", UM, "");
    let mut world = world(&text);
    world.step_until(1_000_000, &mut |_| {});
    let of = |rnti: u16, transaction: Transaction| {
        let bearer = BearerId { ue: UeId::Rnti(rnti), drb: 1 };
        ControlMessage::Transaction(Transaction { bearer, ..transaction })
    };
    let transaction = Transaction { lease_ms: Some(2_000), ..replace("fq_codel") };
    let reply = control(&mut world, 1, &of(100, transaction));
    assert!(reply.acknowledged, "{reply:?}");
    for (function, record_bytes, offset) in
        [(RanFunction::Rlc, 152, 144), (RanFunction::Mac, 176, 128)]
    {
        let mut world = world.fork();
        let request = lab_world::SubscriptionRequest::periodic(world.node_id(), function, 10);
        world.subscribe(&request).unwrap();
        let seen: Vec<Vec<u32>> = messages(&mut world, 2_000_000)
            .iter()
            .map(|payload| rntis(payload, record_bytes, offset))
            .collect();
        // The UE leaves at 1.38 s, after the report of 1.37 s.
        assert_eq!(seen[..37], vec![vec![100]; 37], "{function:?}");
        assert_eq!(seen[38..], vec![vec![101]; seen.len() - 38], "{function:?}");
    }
    world.step_until(1_990_000, &mut |_| {});
    let sample = world.bearer_samples()[0];
    assert_eq!((sample.rnti, sample.tc_revision), (101, 2));
    // Statistics of the DU begin anew, those of PDCP and SDAP go on.
    assert!(u64::from(sample.rlc_pdu_bytes) < sample.drained_bytes / 2, "{sample:?}");
    let reply = control(&mut world, 1, &of(100, replace("fq_l4s")));
    assert_eq!(reply.cause, Some("unknown_bearer"), "{reply:?}");
    let dry = Transaction { dry_run: true, ..replace("fq_l4s") };
    assert!(control(&mut world, 1, &of(101, dry)).acknowledged);
    // The lease ends when it would have.
    world.step_until(2_999_000, &mut |_| {});
    assert_eq!(world.bearer_samples()[0].tc_revision, 2);
    world.step_until(3_001_000, &mut |_| {});
    assert_eq!(world.bearer_samples()[0].tc_revision, 3);
}

#[test]
fn the_ric_sees_a_bearer_go_and_another_come_with_its_pipeline() {
    let text = scenario(BETTER_FROM_1_S, "filter_k: 0", UM, "");
    let mut world = world(&text);
    let action =
        v1::ActionDefinition { style: v1::ReportStyle::Events, bearers: Vec::new(), top_flows: 4 };
    let request = lab_world::SubscriptionRequest {
        event_trigger: v1::encode(&v1::EventTrigger::OnChange).unwrap().into(),
        action_definitions: vec![v1::encode(&action).unwrap().into()],
        ..lab_world::SubscriptionRequest::periodic(world.node_id(), RanFunction::TcV1, 100)
    };
    world.step_until(500_000, &mut |_| {});
    world.subscribe(&request).unwrap();
    let mut events = Vec::new();
    for payload in messages(&mut world, 3_000_000) {
        let Payload::Message(message) = payload else { panic!("TC") };
        if let IndicationMessage::Events(own) = v1::decode(&message).unwrap() {
            events.extend(own.into_iter().map(|event| (event.bearer.ue, event.kind)));
        }
    }
    let expected =
        [(UeId::Rnti(100), EventKind::BearerRemoved), (UeId::Rnti(101), EventKind::BearerAdded)];
    assert_eq!(events, expected);
}

#[test]
fn kpm_goes_on_from_period_to_period() {
    let text = scenario(BETTER_FROM_1_S, "filter_k: 0", UM, "");
    let mut world = world(&text);
    let request =
        lab_world::SubscriptionRequest::periodic(world.node_id(), RanFunction::Kpm, 1_000);
    world.subscribe(&request).unwrap();
    let mut volumes = Vec::new();
    for payload in messages(&mut world, 4_000_000) {
        let Payload::Kpm(report) = payload else { panic!("KPM") };
        let [ue] = &report.ues[..] else { panic!("one UE") };
        volumes.push((ue.rnti, ue.values["DRB.PdcpSduVolumeDL"]));
    }
    let rntis: Vec<u16> = volumes.iter().map(|(rnti, _)| *rnti).collect();
    assert_eq!(rntis, [100, 101, 101, 101]);
    for (at, (_, kbit)) in volumes.into_iter().enumerate().skip(1) {
        // 3 Mbit/s, and not all since the start.
        assert!((2_500.0..3_500.0).contains(&kbit), "second {at}: {kbit} kbit");
    }
}

#[test]
fn cells_have_their_own_resource_blocks() {
    let other = "- rnti: 200\n  \
         channel: { ideal: { snr_series: { period_ms: 200, values_db: [10] } } }\n  \
         neighbour_channels: [{ ideal: { snr_series: { period_ms: 200, values_db: [0] } } }]\n  \
         drbs: [{ id: 1 }]\nflows:\n\
         - { name: other, kind: udp_cbr, rnti: 200, rate_kbps: 60000 }\n";
    let text = scenario(BETTER_FROM_1_S, "filter_k: 0", UM, "")
        .replacen("flows:\n", other, 1)
        .replace("rate_kbps: 3000,", "rnti: 100, rate_kbps: 60000,")
        .replace("rate_kbps: 500,", "rnti: 100, rate_kbps: 500,");
    let mut world = world(&text);
    let mut bytes = |seconds: f64| {
        let goodput = |world: &World| -> Vec<u64> {
            world.flow_samples().iter().map(|flow| flow.goodput_bytes).collect()
        };
        world.step_until((seconds * 1e6) as u64, &mut |_| {});
        let before = goodput(&world);
        world.step_until((seconds * 1e6) as u64 + 500_000, &mut |_| {});
        let after = goodput(&world);
        let of = |name: &str| {
            let at = world.flow_samples().iter().position(|flow| flow.name == name).unwrap();
            after[at] - before[at]
        };
        (of("down"), of("other"))
    };
    let (down, other) = bytes(0.5);
    assert!(down.abs_diff(other) < down / 10, "one cell is shared equally: {down} {other}");
    let (alone, freed) = bytes(2.0);
    assert!(freed > other * 18 / 10, "the source is free for the other UE: {freed} after {other}");
    assert!(alone > down * 18 / 10, "the target is free for this one: {alone} after {down}");
}

/// Everything that ends packets, with handovers in between.
const CROWD: &str = "- rnti: 200\n  \
     channel: { snr_series: { period_ms: 300, values_db: [4, 16, 25] } }\n  \
     neighbour_channels: [{ snr_series: { period_ms: 300, values_db: [16, 4, 3] } }]\n  \
     drbs: [{ id: 1, pipeline: fq_codel }, { id: 2, rlc: { mode: am } }]\n  \
     join_at_s: 0.4\n  leave_at_s: 4.03\nflows:\n\
     - { name: bulk, kind: tcp, rnti: each }\n\
     - { name: flood, kind: udp_cbr, rnti: 200, drb: 2, rate_kbps: 9000 }\n\
     - { name: post, kind: tcp, rnti: each, direction: up }\n";

fn crowd(drb: &str, more: &str) -> String {
    scenario(TO_AND_FRO, QUICK, drb, more)
        .replacen("flows:\n", CROWD, 1)
        .replace("kind: udp_cbr, rate", "kind: udp_cbr, rnti: 100, rate")
        .replace("kind: udp_cbr, direction", "kind: udp_cbr, rnti: 100, direction")
}

#[test]
fn the_account_closes_at_every_moment() {
    for drb in [UM, AM] {
        for split in [
            "",
            "split: { f1_delay_us: 4000, f1: { jitter_us: 6000, loss: 0.01, keep_order: false } }",
            "split: { f1_delay_us: 2000, f1: { delivery_status_us: 5000 } }",
            "split: { f1_delay_us: 2000, f1: { rlc_status: on_request } }",
        ] {
            let mut world = world(&crowd(drb, split));
            let mut last = PacketAccount::default();
            for step in 1..=6_000_000 / 7_000 {
                world.step_until(step * 7_000, &mut |_| {});
                last = world.packet_account();
                let gaps = (last.downlink.unaccounted(), last.uplink.unaccounted());
                assert_eq!(gaps, (0, 0), "{drb} {split} at {} µs: {last:?}", step * 7_000);
            }
            assert!(last.downlink.arrived > 3_000, "{drb} {split}: {last:?}");
            assert!(world.handovers().len() > 15, "{}", world.handovers().len());
        }
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_a_fork_goes_on_alike() {
    let text = crowd(AM, "split: { f1_delay_us: 4000, f1: { jitter_us: 2000 } }");
    let [mut first, second] = [run(&text, 3.0), run(&text, 3.0)];
    assert_eq!(first.summary().to_json().unwrap(), second.summary().to_json().unwrap());
    let mut fork = first.fork();
    first.step_until(5_000_000, &mut |_| {});
    fork.step_until(5_000_000, &mut |_| {});
    assert_eq!(first.summary().to_json().unwrap(), fork.summary().to_json().unwrap());
    assert!(first.handovers().len() > second.handovers().len());
}

#[test]
fn a_list_of_one_cell_is_the_cell() {
    let text = scenario(TO_AND_FRO, "", UM, "");
    let alone = text
        .lines()
        .filter(|line| !line.contains("neighbour") && !line.starts_with("handover"))
        .map(|line| format!("{line}\n"));
    let alone: String = alone.collect();
    let listed = alone.replace("cells: [{}, {}]", "cells: [{}]");
    let unlisted = alone.replace("cells: [{}, {}]\n", "");
    assert!(listed != unlisted);
    let summary = |text: &str| run(text, 2.0).summary();
    assert_eq!(summary(&listed), summary(&unlisted));
    assert_eq!(summary(&listed).handover, None);
}

#[test]
fn a_ue_on_its_way_moves_where_the_other_cell_is_better() {
    let text = "duration_s: 60\n\
         cell: { rat: nr, n_prb: 51, scs_khz: 30, tdd: { pattern: DDDDDDDMUU } }\n\
         cells: [{ position_m: [0, 0] }, { position_m: [600, 0] }, { position_m: [1200, 0] }]\n\
         ues:\n\
         - rnti: 100\n  \
           channel: { fading: { speed_kmh: 120, profile: tdl_d, \
             path: { model: uma, line_of_sight: true, tx_power_dbm: 30 }, \
             shadowing: { std_dev_db: 0.5, correlation_m: 50 } } }\n  \
           route_m: [[50, 20], [1150, 20]]\n  \
           drbs: [{ id: 1 }]\n\
         flows:\n\
         - { name: down, kind: udp_cbr, rate_kbps: 1000 }\n";
    let world = run(text, 33.0);
    let path: Vec<(usize, usize)> =
        world.handovers().iter().map(|record| (record.source, record.target)).collect();
    assert_eq!(path, [(0, 1), (1, 2)]);
    // Offset and hysteresis of 4 dB beyond the middle, at 33 m/s and with 22 dB a decade.
    for (record, middle_m) in world.handovers().iter().zip([300.0, 900.0]) {
        let x_m = 50.0 + record.triggered_us as f64 * 1e-6 * 120.0 / 3.6;
        assert!((middle_m + 10.0..middle_m + 130.0).contains(&x_m), "at {x_m} m");
    }
    let summary = world.summary();
    assert!(flow(&summary, "down").received_packets > 2_500);
}
