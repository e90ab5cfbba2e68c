//! Flows of real hosts: their datagrams take the way of a flow's packets, and all are accounted for.

use std::net::{IpAddr, Ipv4Addr};

use e2sm_tc::v1::ControlMessage;
use lab_world::{HostSide, PacketSample, SERVER, World, ue_address};
use tc_rf::templates;
use traffic::{Datagram, Ecn, IpVersion};

use crate::common::scenario;
use crate::setup::{RNTI, control, replace};

const HOST: &str = "flows=[{name: host, kind: host}]";

/// A UDP datagram of the server, of connection 0 of a scenario, or of the UE.
fn datagram(side: HostSide, length: u32) -> Datagram {
    let ue = ue_address(RNTI, IpVersion::V4);
    let (source, destination) = match side {
        HostSide::Server => (SERVER, ue),
        HostSide::Ue => (ue, SERVER),
    };
    Datagram {
        bytes: vec![0x45; length as usize].into(),
        source,
        destination,
        source_port: 5201,
        destination_port: 49_152,
        protocol: 17,
        ecn: Ecn::NotEct,
        dscp: 0,
        payload_bytes: length - 28,
        inner: None,
    }
}

/// Every time of a downlink packet, for each packet.
fn times(world: &mut World) -> Vec<[u64; 5]> {
    let times = |p: &PacketSample| [p.sent_us, p.sdap_us, p.rlc_us, p.mac_us, p.ue_us];
    world.take_packets().iter().map(times).collect()
}

/// The same datagrams, once of a flow and once of a host, move at the same times: under an AQM, split,
/// with losses of the radio and of F1-U.
#[test]
fn packets_of_a_host_move_as_those_of_a_flow() {
    let radio = "ues[0].channel={mobility: {pattern: train, mean_mcs: 8, std_dev_mcs: 3, \
                 coherence_ms: 200, period_ms: 10}}";
    for more in [
        &["ues[0].drbs[0].pipeline=fq_codel"][..],
        &["ues[0].drbs[0].pipeline=low_latency", radio],
        &["ues[0].drbs[0].rlc={mode: am, limit_bytes: 300000}", "split.f1_delay_us=3000"],
        &[
            "split.f1_delay_us=3000",
            "split.f1={jitter_us: 500, loss: 0.01}",
            "split.core_jitter_us=300",
        ],
    ] {
        let flow = "flows=[{name: host, kind: udp_cbr, rate_kbps: 45000, stop_s: 2}]";
        let with = |flows| [&[flows][..], more].concat();
        let mut reference = World::new(&scenario("default.yaml", &with(flow))).unwrap();
        reference.record_packets(true);
        reference.step_until(6_000_000, &mut |_| {});
        let expected = times(&mut reference);
        assert!(expected.len() > 3000, "{more:?}");

        let mut world = World::new(&scenario("default.yaml", &with(HOST))).unwrap();
        world.record_packets(true);
        // The flow's own times of sending, and those of the packets that were dropped.
        let (mut sender, mut sent) = (reference_flow(), Vec::new());
        while let Some(at_us) = traffic::Endpoint::next_deadline_us(&sender.server) {
            traffic::Endpoint::poll(&mut sender.server, at_us, &mut sent);
            for packet in sent.drain(..) {
                world.step_until(at_us, &mut |_| {});
                world.send_from_host(
                    0,
                    HostSide::Server,
                    datagram(HostSide::Server, packet.len_bytes),
                );
            }
        }
        world.step_until(6_000_000, &mut |_| {});
        assert_eq!(times(&mut world), expected, "{more:?}");
        let arrived = std::iter::from_fn(|| world.take_arrived(0, HostSide::Ue)).count();
        let stats = world.flow("host").unwrap().stats();
        assert_eq!(arrived as u64, stats.received_packets);
        let reference = reference.flow("host").unwrap().stats();
        assert_eq!(stats.received_packets, reference.received_packets);
        assert_eq!(stats.goodput_bytes, reference.goodput_bytes);
    }
}

/// The flow of the reference scenario, apart from any world.
fn reference_flow() -> traffic::Flow {
    let flow = "flows=[{name: host, kind: udp_cbr, rate_kbps: 45000, stop_s: 2}]";
    let world = World::new(&scenario("default.yaml", &[flow])).unwrap();
    world.flow("host").unwrap().clone()
}

/// A UE that reconfigures twice a second while both ends send more than the cell carries: what entered
/// is delivered, or dropped by a decision, or lost on the radio and counted.
#[test]
fn packets_of_hosts_are_accounted_for_under_reconfiguration() {
    for more in [
        &[][..],
        &["split.f1_delay_us=2000", "split.f1={jitter_us: 500, loss: 0.01}"],
        &["ues[0].channel={cqi_series: {period_ms: 500, values: [9, 0, 12]}}"],
    ] {
        let with = [&[HOST][..], more].concat();
        let mut world = World::new(&scenario("default.yaml", &with)).unwrap();
        let (mut down, mut up) = (0_u64, 0_u64);
        for step in 0..10_000_u64 {
            let now_us = step * 500;
            world.step_until(now_us, &mut |_| {});
            if step % 1000 == 0 {
                let name = templates::NAMES[(step / 1000) as usize % templates::NAMES.len()];
                control(&mut world, 1, &ControlMessage::Transaction(replace(name)));
            }
            for packet in 0..5 {
                let length = 100 + ((step * 7 + packet * 613) % 1400) as u32;
                world.send_from_host(0, HostSide::Server, datagram(HostSide::Server, length));
                down += 1;
            }
            world.send_from_host(0, HostSide::Ue, datagram(HostSide::Ue, 60));
            up += 1;
        }
        world.step_until(30_000_000, &mut |_| {});
        assert_eq!(world.next_carriage_us(), None, "{more:?}: everything has left");
        let summary = world.summary();
        let (flow, bearer) = (&summary.flows[0], &summary.bearers[0]);
        assert_eq!(flow.sent_packets, down);
        let dropped = bearer.tc_dropped_packets + bearer.rlc_dropped_packets;
        let lost = bearer.f1_lost_packets + summary.cell.lost_sdus;
        assert!(dropped > 0, "{more:?}: more than the cell carries");
        assert_eq!(flow.received_packets + dropped + lost, down, "{more:?}");
        let counts = world.host_counts(0).unwrap();
        assert_eq!((counts.server_sent, counts.ue_sent), (down, up));
        assert_eq!(counts.ue_arrived, flow.received_packets);
        assert_eq!(counts.server_arrived + bearer.f1_lost_uplink_packets, up, "{more:?}: uplink");
    }
}

/// `mm-link`'s uplink: 4 opportunities in 10 ms are 4.8 Mbit/s; the queue of 20 packets drops the rest.
#[test]
fn a_recorded_uplink_has_the_rate_of_its_trace_and_a_bounded_queue() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("up.trace"), "1\n1\n7\n10\n").unwrap();
    let uplink = "ues[0].uplink={mahimahi: {path: up.trace}, limit_packets: 20}";
    let mut loaded = scenario("default.yaml", &[HOST, uplink]);
    loaded.directory = folder.path().to_owned();
    let mut world = World::new(&loaded).unwrap();
    let mut longest_us = 0;
    for sent in 0..10_000_u64 {
        let now_us = sent * 1000;
        world.step_until(now_us, &mut |_| {});
        world.send_from_host(0, HostSide::Ue, datagram(HostSide::Ue, 1500));
        while let Some((at_us, packet)) = world.take_arrived(0, HostSide::Server) {
            longest_us = longest_us.max(at_us - packet.sent_us);
        }
    }
    world.step_until(11_000_000, &mut |_| {});
    let arrived = world.host_counts(0).unwrap().server_arrived;
    let dropped = world.summary().bearers[0].uplink_dropped_packets;
    assert_eq!(arrived + dropped, 10_000);
    assert!((4_000..4_030).contains(&arrived), "{arrived} in 10 s");
    // Twenty packets wait 50 ms, and the core network takes 2 ms.
    assert!((45_000..62_000).contains(&longest_us), "{longest_us}");
}

#[test]
fn a_flow_of_hosts_is_selected_by_its_dscp() {
    let flows = "flows=[{name: any, kind: host}, {name: voice, kind: host, dscp: 46, qfi: 1}]";
    let world = World::new(&scenario("default.yaml", &[flows])).unwrap();
    let found: Vec<_> = world.host_flows().into_iter().map(|f| (f.index, f.name, f.dscp)).collect();
    assert_eq!(found, [(0, "any".to_owned(), 0), (1, "voice".to_owned(), 46)]);
    assert_eq!(ue_address(RNTI, IpVersion::V4), IpAddr::V4(Ipv4Addr::new(10, 45, 70, 1)));
}
