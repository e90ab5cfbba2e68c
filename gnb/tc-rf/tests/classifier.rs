//! Which packet goes to which queue.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod util;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use e2sm_tc::v1::*;
use util::*;

/// Filter 0 sends what matches to queue 1; the rest goes to queue 0.
fn matches(rule: FlowMatch, packet: TestPacket) -> bool {
    let mut pipeline = by_port(2);
    pipeline.classifier = osi(vec![(rule, target(1, 1))], target(0, 1));
    let mut tc = control(pipeline);
    tc.ingress(packet, 0, &mut ());
    tc.status(0).queues.iter().any(|queue| queue.id == 1)
}

fn from(source: IpAddr) -> TestPacket {
    let mut packet = packet(1, 100, 0);
    packet.flow.source = source;
    packet
}

fn v4(address: [u8; 4]) -> TestPacket {
    from(IpAddr::V4(Ipv4Addr::from(address)))
}

fn v6(address: &str) -> TestPacket {
    from(IpAddr::V6(address.parse().expect("an address")))
}

fn source_v4(address: [u8; 4], length: u8) -> FlowMatch {
    let address = Ipv4Addr::from(address);
    FlowMatch { source: Some(Prefix::V4 { address, length }), ..FlowMatch::default() }
}

fn source_v6(address: &str, length: u8) -> FlowMatch {
    let address: Ipv6Addr = address.parse().expect("an address");
    FlowMatch { source: Some(Prefix::V6 { address, length }), ..FlowMatch::default() }
}

#[test]
fn ipv4_prefixes_match_their_network_alone() {
    assert!(matches(source_v4([10, 1, 0, 0], 16), v4([10, 1, 255, 255])));
    assert!(!matches(source_v4([10, 1, 0, 0], 16), v4([10, 2, 0, 0])));
    assert!(matches(source_v4([10, 1, 2, 3], 32), v4([10, 1, 2, 3])));
    assert!(!matches(source_v4([10, 1, 2, 3], 32), v4([10, 1, 2, 2])));
    assert!(matches(source_v4([10, 1, 2, 3], 8), v4([10, 9, 9, 9])), "host bits do not matter");
    assert!(matches(source_v4([0, 0, 0, 0], 0), v4([203, 0, 113, 9])));
    assert!(!matches(source_v4([0, 0, 0, 0], 0), v6("2001:db8::1")), "of all of IPv4");
}

#[test]
fn ipv6_prefixes_match_their_network_alone() {
    assert!(matches(source_v6("2001:db8:1::", 48), v6("2001:db8:1:ffff::1")));
    assert!(!matches(source_v6("2001:db8:1::", 48), v6("2001:db8:2::1")));
    assert!(matches(source_v6("2001:db8::8000:0:0:0", 65), v6("2001:db8::ffff:1:2:3")));
    assert!(!matches(source_v6("2001:db8::8000:0:0:0", 65), v6("2001:db8::7fff:1:2:3")));
    assert!(matches(source_v6("::", 0), v6("2001:db8::1")));
    assert!(!matches(source_v6("::", 0), v4([10, 0, 0, 1])));
}

#[test]
fn each_field_of_a_filter_counts() {
    let packet = TestPacket { dscp: 46, qfi: Some(9), ecn: Ecn::Ect1, ..packet(5, 100, 0) };
    let ports = |low, high| Some(PortRange { low, high });
    let good = FlowMatch {
        source: source_v4([192, 0, 2, 0], 24).source,
        destination: source_v4([198, 51, 100, 0], 24).source,
        source_port: ports(10_005, 10_005),
        destination_port: ports(400, 500),
        protocol: Some(6),
        dscp: Some(46),
        qfi: Some(9),
        ecn: Some(Ecn::Ect1),
    };
    assert!(matches(good.clone(), packet.clone()));
    assert!(matches(FlowMatch::default(), packet.clone()), "wildcards match everything");
    let bad = [
        FlowMatch { source: source_v4([192, 0, 3, 0], 24).source, ..good.clone() },
        FlowMatch { destination: source_v4([192, 0, 2, 0], 24).source, ..good.clone() },
        FlowMatch { source_port: ports(10_006, 65_535), ..good.clone() },
        FlowMatch { destination_port: ports(0, 442), ..good.clone() },
        FlowMatch { protocol: Some(17), ..good.clone() },
        FlowMatch { dscp: Some(0), ..good.clone() },
        FlowMatch { qfi: Some(8), ..good.clone() },
        FlowMatch { ecn: Some(Ecn::NotEct), ..good.clone() },
    ];
    for rule in bad {
        assert!(!matches(rule.clone(), packet.clone()), "{rule:?}");
    }
    assert!(!matches(good, TestPacket { qfi: None, ..packet }), "no QFI is not QFI 9");
}

#[test]
fn the_first_matching_filter_wins() {
    let mut pipeline = by_port(3);
    let any = FlowMatch::default();
    let udp = FlowMatch { protocol: Some(17), ..any.clone() };
    pipeline.classifier = osi(vec![(udp, target(1, 1)), (any, target(2, 1))], target(0, 1));
    let mut tc = control(pipeline);
    let mut udp = packet(1, 100, 0);
    udp.flow.protocol = 17;
    tc.ingress(udp, 0, &mut ());
    tc.ingress(packet(1, 200, 1), 0, &mut ());
    let backlogs: BTreeMap<_, _> =
        tc.status(0).queues.iter().map(|queue| (queue.id, queue.backlog_bytes)).collect();
    assert_eq!(backlogs, BTreeMap::from([(1, 100), (2, 200)]));
}

#[test]
fn round_robin_takes_turns() {
    let mut pipeline = by_port(4);
    pipeline.classifier = Classifier::RoundRobin(target(1, 3));
    let mut tc = control(pipeline);
    for number in 0..7 {
        tc.ingress(packet(1, 100, number), 0, &mut ());
    }
    let packets: BTreeMap<_, _> =
        tc.status(0).queues.iter().map(|queue| (queue.id, queue.backlog_packets)).collect();
    assert_eq!(packets, BTreeMap::from([(1, 3), (2, 2), (3, 2)]));
}

fn hashed(perturbation: Option<u32>) -> Pipeline {
    let mut pipeline = by_port(64);
    pipeline.classifier =
        Classifier::StochasticHash(StochasticHash { target: target(0, 64), perturbation, ways: 1 });
    pipeline
}

fn queue_of(perturbation: Option<u32>, packet: TestPacket) -> u16 {
    let mut tc = control(hashed(perturbation));
    tc.ingress(packet, 0, &mut ());
    tc.status(0).queues[0].id
}

#[test]
fn the_hash_keeps_a_flow_together_and_spreads_flows() {
    let mut per_queue = BTreeMap::<u16, u32>::new();
    for n in 0..640 {
        let queue = queue_of(None, packet(n, 100, 0));
        assert_eq!(queue, queue_of(None, packet(n, 1500, 1)));
        *per_queue.entry(queue).or_default() += 1;
    }
    // Ten expected with a standard deviation of 3.1.
    assert!(per_queue.len() >= 62, "{} of 64 queues", per_queue.len());
    assert!(per_queue.values().all(|&flows| flows <= 26), "{per_queue:?}");
}

#[test]
fn the_hash_tells_ipv6_flows_apart() {
    let queues: std::collections::BTreeSet<_> = (0..64)
        .map(|n| queue_of(None, TestPacket { flow: flow_v6(n), ..packet(0, 100, 0) }))
        .collect();
    assert!(queues.len() >= 32, "{} queues for 64 flows", queues.len());
}

#[test]
fn another_perturbation_parts_colliding_flows() {
    let collide = |perturbation, n| {
        queue_of(perturbation, packet(0, 100, 0)) == queue_of(perturbation, packet(n, 100, 0))
    };
    let colliding: Vec<u16> = (1..640).filter(|&n| collide(Some(1), n)).collect();
    assert!(!colliding.is_empty());
    let still = colliding.iter().filter(|&&n| collide(Some(2), n)).count();
    assert!(still * 4 < colliding.len() + 4, "{still} of {}", colliding.len());
}
