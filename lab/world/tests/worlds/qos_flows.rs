//! QoS flows on DRBs: priorities in both directions, and moves that keep the order.

use std::collections::BTreeMap;

use e2sm_tc::v1::{
    self, BearerId, Cause, ControlMessage, ControlOutcome, EventTrigger, IndicationMessage,
    NodeLease, QosFlowMapping, QosFlows, ReportStyle, UeId,
};
use lab_world::{HostSide, Output, Payload, SERVER, World, ue_address};
use traffic::{Datagram, Ecn, IpVersion};

use crate::common::{flow, run, scenario};
use crate::setup::{RNTI, control};

/// A cell of 41 Mbit/s; bulk on DRB 1 has more than that.
const CELL: [&str; 4] = [
    "cell={rat: nr, scs_khz: 15, n_prb: 52, mcs_table: qam64}",
    "ues=[{rnti: 17921, channel: {fixed_mcs: 28}, drbs: [{id: 1}, {id: 2, priority: 2}]}]",
    "split.core_delay_us=500",
    "duration_s=10",
];
const BULK: &str = "{name: bulk, kind: udp_cbr, rate_kbps: 60000, qfi: 9}";
const BULK_UP: &str = "{name: up, kind: udp_cbr, rate_kbps: 60000, qfi: 9, direction: up}";

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&CELL[..], more].concat()
}

#[test]
fn a_ping_of_a_drb_of_higher_priority_does_not_wait_for_bulk_in_either_direction() {
    let rtt_ms = |qfis: &str, bulk: &str| {
        let flows = format!("flows=[{bulk}, {{name: ping, kind: ping, interval_ms: 100, qfi: 7}}]");
        let qfis = format!("ues[0].drbs[1].qfis=[{qfis}]");
        let summary = run("default.yaml", 5.0, &with(&[&flows, &qfis])).summary();
        flow(&summary, "ping").rtt_ms.unwrap().mean
    };
    for bulk in [BULK, BULK_UP] {
        let (together, apart) = (rtt_ms("", bulk), rtt_ms("7", bulk));
        assert!(apart < 15.0, "{bulk}: {apart}");
        assert!(together > 500.0, "{bulk}: {together}");
    }
}

#[test]
fn flows_follow_the_mapping_of_their_qfi() {
    let flows = "flows=[{name: a, kind: voip, qfi: 1}, {name: b, kind: voip, qfi: 2}, \
                 {name: c, kind: voip}, {name: d, kind: voip, qfi: 3, drb: 2}, \
                 {name: e, kind: voip, qfi: 3}]";
    let summary = run("default.yaml", 1.0, &with(&[flows, "ues[0].drbs[1].qfis=[2]"])).summary();
    let drbs: Vec<_> = summary.flows.iter().map(|flow| (flow.name.as_str(), flow.drb)).collect();
    assert_eq!(drbs, [("a", 1), ("b", 2), ("c", 1), ("d", 2), ("e", 2)]);
}

/// Packets of a voice-like flow by DRB, and how many of them the UE had after a later one.
fn order_of_moved(more: &[&str]) -> (BTreeMap<u8, usize>, usize) {
    let flows = format!(
        "flows=[{BULK}, {{name: own, kind: udp_cbr, rate_kbps: 800, \
                         packet_bytes: 200, qfi: 7}}]"
    );
    let moves = "ues[0].qos_flow_moves=[{at_s: 2, qfi: 7, drb: 2}]";
    let loaded = scenario("default.yaml", &with(&[&[flows.as_str(), moves][..], more].concat()));
    let mut world = World::new(&loaded).unwrap();
    world.record_packets(true);
    world.step_until(5_000_000, &mut |_| {});
    let mut packets = world.take_packets();
    packets.retain(|packet| packet.flow == 1);
    let mut by_drb = BTreeMap::new();
    for packet in &packets {
        *by_drb.entry(packet.drb).or_insert(0) += 1;
    }
    packets.sort_by_key(|packet| packet.ue_us);
    let late = packets.windows(2).filter(|pair| pair[0].sent_us > pair[1].sent_us).count();
    (by_drb, late)
}

/// Orders in RLC-UM and AM, with and without F1-U and errors on the radio.
#[test]
fn a_move_keeps_the_order_of_the_downlink() {
    let am = "ues[0].drbs[0].rlc={mode: am, limit_bytes: 1000000}";
    let um = "ues[0].drbs[0].rlc={mode: um, limit_bytes: 1000000}";
    let errors = "cell.harq={bler: 0.1}";
    for more in [
        &[um][..],
        &[am],
        &[um, errors],
        &[am, errors],
        &[um, "split.f1_delay_us=5000"],
        &[am, errors, "split.f1_delay_us=5000"],
        &[um, "ues[0].drbs[0].pipeline=low_latency"],
        &[am, "ues[0].drbs[0].pipeline=low_latency", "split.f1_delay_us=5000"],
    ] {
        let (by_drb, late) = order_of_moved(more);
        assert!(by_drb[&1] > 500 && by_drb[&2] > 1000, "{more:?}: {by_drb:?}");
        assert_eq!(late, 0, "{more:?}");
    }
    // Without the hold the first packets of the new DRB overtake 200 ms of the old one.
    let (_, late) = order_of_moved(&[um, "split.qos_flow_hold_ms=0"]);
    assert!(late > 0);
}

/// A datagram of the UE that has its number in its length.
fn datagram(number: u32) -> Datagram {
    Datagram {
        bytes: vec![0x45; 100 + number as usize].into(),
        source: ue_address(17_921, IpVersion::V4),
        destination: SERVER,
        source_port: 49_152,
        destination_port: 5201,
        protocol: 17,
        ecn: Ecn::NotEct,
        dscp: 0,
        payload_bytes: 72 + number,
        inner: None,
    }
}

/// Numbers of the UE's datagrams in the order of their arrival; one each 5 ms for 3 s, moved at 1 s. The UE
/// has 60 Mbit/s more to send on the old DRB.
fn arrivals_of_moved(more: &[&str]) -> Vec<u32> {
    let flows = format!("flows=[{BULK_UP}, {{name: own, kind: host, qfi: 7}}]");
    let moves = "ues[0].qos_flow_moves=[{at_s: 1, qfi: 7, drb: 2}]";
    let limit = "cell.uplink.limit_bytes=1000000";
    let more = [&[flows.as_str(), moves, limit][..], more].concat();
    let mut world = World::new(&scenario("default.yaml", &with(&more))).unwrap();
    let mut arrived = Vec::new();
    for number in 0..800 {
        world.step_until(u64::from(number) * 5_000, &mut |_| {});
        if number < 600 {
            world.send_from_host(1, HostSide::Ue, datagram(number));
        }
        while let Some((_, packet)) = world.take_arrived(1, HostSide::Server) {
            arrived.push(packet.len_bytes - 100);
        }
        let account = world.packet_account();
        assert_eq!((account.uplink.unaccounted(), account.downlink.unaccounted()), (0, 0));
    }
    arrived
}

#[test]
fn the_end_marker_keeps_the_order_of_the_uplink() {
    for more in [
        &[][..],
        &["cell.harq={bler: 0.2}", "ues[0].drbs[0].rlc={mode: am}"],
        &["split.f1_delay_us=5000"],
    ] {
        let arrived = arrivals_of_moved(more);
        // A full queue of the old DRB drops.
        assert!(arrived.len() > 450, "{more:?}: {}", arrived.len());
        assert!(arrived.is_sorted(), "{more:?}");
    }
    let without = arrivals_of_moved(&["split.qos_flow_hold_ms=0"]);
    assert!(!without.is_sorted(), "the new DRB overtakes 200 ms of the old one");
}

/// The flow goes on when the end marker is lost: the UE's queue on the old DRB is full.
#[test]
fn a_lost_end_marker_ends_the_wait_by_the_timer() {
    let arrived = arrivals_of_moved(&["cell.uplink.limit_packets=50"]);
    assert!(arrived.iter().filter(|number| **number > 200).count() > 390, "{}", arrived.len());
}

/// Moves there and back, while packets are held, lose none and do not reorder.
#[test]
fn moves_in_quick_succession_keep_every_packet_and_the_order() {
    let flows = format!(
        "flows=[{BULK}, {{name: own, kind: udp_cbr, rate_kbps: 800, \
                         packet_bytes: 200, qfi: 7, stop_s: 4}}]"
    );
    let moves = "ues[0].qos_flow_moves=[{at_s: 1, qfi: 7, drb: 2}, {at_s: 1.05, qfi: 7, drb: 1}, \
                 {at_s: 1.1, qfi: 7, drb: 2}, {at_s: 2, qfi: 7, drb: 1}, {at_s: 2.02, qfi: 7, drb: 2}]";
    let rlc = "ues[0].drbs[0].rlc={mode: um, limit_bytes: 1000000}";
    let mut world = World::new(&scenario("default.yaml", &with(&[&flows, moves, rlc]))).unwrap();
    world.record_packets(true);
    for ms in 0..5_000 {
        world.step_until(ms * 1000, &mut |_| {});
        let account = world.packet_account();
        assert_eq!(account.downlink.unaccounted(), 0, "{account:?}");
    }
    let mut packets = world.take_packets();
    packets.retain(|packet| packet.flow == 1);
    packets.sort_by_key(|packet| packet.ue_us);
    assert!(packets.is_sorted_by_key(|packet| packet.sent_us));
    let summary = world.summary();
    assert_eq!(flow(&summary, "own").drb, 2);
}

/// A UE that leaves in the middle of a move takes what is held with it.
#[test]
fn a_ue_that_leaves_during_a_move_releases_what_is_held() {
    let flows = format!(
        "flows=[{BULK}, {BULK_UP}, {{name: own, kind: udp_cbr, rate_kbps: 800, \
                         packet_bytes: 200, qfi: 7}}]"
    )
    .replacen("qfi: 9, dir", "qfi: 7, dir", 1);
    let more = [
        flows.as_str(),
        "ues[0].qos_flow_moves=[{at_s: 2, qfi: 7, drb: 2}]",
        "ues[0].leave_at_s=2.05",
        "ues[0].drbs[0].rlc={mode: um, limit_bytes: 1000000}",
    ];
    let mut world = World::new(&scenario("default.yaml", &with(&more))).unwrap();
    for ms in 0..3_000 {
        world.step_until(ms * 1000, &mut |_| {});
        let account = world.packet_account();
        let gaps = (account.downlink.unaccounted(), account.uplink.unaccounted());
        assert_eq!(gaps, (0, 0), "{ms}: {account:?}");
    }
    assert!(world.packet_account().downlink.released > 0);
}

fn mapping(rnti: u16, drb: u8, qfi: u8) -> QosFlowMapping {
    let bearer = BearerId { ue: UeId::Rnti(rnti), drb };
    QosFlowMapping { bearer, qfi, expected_revision: None, owner: None, dry_run: false }
}

fn map(world: &mut World, mapping: QosFlowMapping) -> Result<u32, (Cause, String)> {
    let reply = control(world, 6, &ControlMessage::QosFlowMapping(mapping));
    match v1::decode(&reply.outcome).unwrap() {
        ControlOutcome::Accepted { revision, .. } => Ok(revision),
        ControlOutcome::Refused { cause, element, .. } => Err((cause, element)),
    }
}

/// Two UEs; the first has a DRB of another slice.
fn two_ues() -> World {
    let ues = "ues=[{rnti: 17921, channel: {fixed_mcs: 28}, drbs: [{id: 1}, {id: 2}, \
               {id: 3, s_nssai: {sst: 2}}]}, {rnti: 17922, channel: {fixed_mcs: 28}, \
               drbs: [{id: 1}, {id: 5}]}]";
    let flows = "flows=[{name: a, rnti: 17921, kind: voip, qfi: 7}, \
                 {name: b, rnti: 17922, kind: voip, qfi: 8}]";
    World::new(&scenario("default.yaml", &with(&[ues, flows]))).unwrap()
}

#[test]
fn a_control_maps_a_flow_and_its_refusals_name_the_cause() {
    let mut world = two_ues();
    world.step_until(500_000, &mut |_| {});
    let refused = |cause, element: &str| Err((cause, element.to_owned()));
    let expecting =
        |expected, mapping| QosFlowMapping { expected_revision: Some(expected), ..mapping };
    for (wrong, answer) in [
        (mapping(RNTI, 2, 8), refused(Cause::UnknownQosFlow, "qfi")),
        (mapping(RNTI, 4, 7), refused(Cause::UnknownBearer, "bearer")),
        // DRB 5 is of the other UE.
        (mapping(RNTI, 5, 7), refused(Cause::UnknownBearer, "bearer")),
        (mapping(1, 1, 7), refused(Cause::UnknownBearer, "bearer")),
        (mapping(RNTI, 3, 7), refused(Cause::Inconsistent, "bearer.drb")),
        (expecting(1, mapping(RNTI, 2, 7)), refused(Cause::StaleRevision, "expected_revision")),
    ] {
        assert_eq!(map(&mut world, wrong.clone()), answer, "{wrong:?}");
    }
    let dry = QosFlowMapping { dry_run: true, ..mapping(RNTI, 2, 7) };
    assert_eq!(map(&mut world, dry), Ok(0));
    assert_eq!(map(&mut world, expecting(0, mapping(RNTI, 2, 7))), Ok(1));
    assert_eq!(map(&mut world, mapping(RNTI, 2, 7)), Ok(1), "it is there");
    assert_eq!(map(&mut world, mapping(17_922, 1, 8)), Ok(0), "each UE has its own revision");
    let lease = NodeLease { owner: "a".to_owned(), lease_ms: Some(10_000) };
    assert!(control(&mut world, 4, &ControlMessage::NodeLease(lease)).acknowledged);
    let foreign = QosFlowMapping { owner: Some("b".to_owned()), ..mapping(RNTI, 1, 7) };
    assert_eq!(map(&mut world, foreign).unwrap_err().0, Cause::NotOwner);
}

#[test]
fn the_status_has_the_mapping_of_ues_with_several_drbs_and_the_node_declares_it() {
    let mut world = two_ues();
    let subscription =
        crate::e2::tc(&EventTrigger::Periodic { period_ms: 10 }, &[ReportStyle::PipelineStatus]);
    world.subscribe(&subscription).unwrap();
    let flows_at = |world: &mut World, until_us: u64| {
        let mut last = Vec::new();
        world.step_until(until_us, &mut |output| {
            let Output::Indication(indication) = output else { return };
            let Payload::Message(message) = &indication.report.payload else { return };
            if let Ok(IndicationMessage::PipelineStatus(all)) = v1::decode(message) {
                last = all.into_iter().map(|it| (it.bearer, it.qos_flows)).collect();
            }
        });
        let own = last.into_iter().filter(|(bearer, _)| bearer.ue == UeId::Rnti(RNTI));
        own.map(|(bearer, flows)| (bearer.drb, flows.unwrap())).collect::<Vec<_>>()
    };
    let flows = |revision, qfis: &[u8]| QosFlows { revision, qfis: qfis.to_vec() };
    let none = flows(0, &[]);
    let before = flows_at(&mut world, 100_000);
    assert_eq!(before, [(1, flows(0, &[7])), (2, none.clone()), (3, none)]);
    map(&mut world, mapping(RNTI, 2, 7)).unwrap();
    let after = flows_at(&mut world, 200_000);
    assert_eq!(after, [(1, flows(1, &[])), (2, flows(1, &[7])), (3, flows(1, &[]))]);
    let tc = world
        .node()
        .ran_functions
        .iter()
        .find_map(|it| v1::decode::<v1::RanFunctionDefinition>(&it.definition).ok());
    let features = tc.unwrap().capabilities.features.unwrap();
    assert!(features.iter().any(|feature| feature == v1::QOS_FLOW_MAPPING));
}
