//! Which packet goes to which queue.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::util::*;
use e2sm_tc::v1::*;
use tc_rf::templates::{BodeDiffserv, CakeDiffserv, LowLatency};
use tc_rf::{InnerFlow, TrafficControl};

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
        inner: None,
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
    pipeline.classifier = Classifier::StochasticHash(StochasticHash {
        perturbation,
        ..StochasticHash::plain(target(0, 64))
    });
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

fn with_ecn(n: u16, ecn: Ecn) -> TestPacket {
    TestPacket { ecn, ..packet(n, 100, 0) }
}

/// L in queue 1, classic in queue 0.
fn l4s_by_ecn() -> TrafficControl<TestPacket> {
    let classifier = L4sEcnClassifier::new(target(1, 1), target(0, 1), None);
    control(Pipeline { classifier: Classifier::L4sEcn(classifier), ..by_port(2) })
}

#[test]
fn ect1_and_ce_go_to_the_l_queue() {
    for (ecn, is_l) in
        [(Ecn::NotEct, false), (Ecn::Ect0, false), (Ecn::Ect1, true), (Ecn::Ce, true)]
    {
        let mut tc = l4s_by_ecn();
        tc.ingress(with_ecn(1, ecn), 0, &mut ());
        let queues = tc.status(0).queues;
        assert_eq!(queues[0].id, u16::from(is_l), "{ecn:?}");
    }
}

/// The same by filters.
fn l4s_by_filters() -> TrafficControl<TestPacket> {
    let filters = [Ecn::Ect1, Ecn::Ce]
        .map(|ecn| (FlowMatch { ecn: Some(ecn), ..FlowMatch::default() }, target(1, 1)));
    control(Pipeline { classifier: osi(filters.to_vec(), target(0, 1)), ..by_port(2) })
}

#[test]
fn a_flow_of_ect0_keeps_its_ce_packets_and_others_do_not() {
    for control in [l4s_by_ecn, l4s_by_filters] {
        ce_of_ect0_flows_is_classic(control);
    }
}

fn ce_of_ect0_flows_is_classic(control: fn() -> TrafficControl<TestPacket>) {
    let ce_goes_to_l = |before: &[Ecn]| {
        let mut tc = control();
        for &ecn in before {
            tc.ingress(with_ecn(1, ecn), 0, &mut ());
        }
        egress(&mut tc, 0);
        tc.ingress(with_ecn(1, Ecn::Ce), 0, &mut ());
        let held = tc.status(0).queues.into_iter().find(|queue| queue.backlog_packets > 0);
        held.expect("the CE packet").id == 1
    };
    // RFC 9331 §5.3: "if all the ECT packets in a flow have been ECT(0)".
    assert!(!ce_goes_to_l(&[Ecn::NotEct, Ecn::Ect0]));
    assert!(ce_goes_to_l(&[Ecn::NotEct]), "no ECT packet at all");
    assert!(ce_goes_to_l(&[Ecn::Ect1]));
    assert!(ce_goes_to_l(&[Ecn::Ect0, Ecn::Ect1]));
}

#[test]
fn a_mark_of_our_own_keeps_a_packet_with_its_flow() {
    // CoDel marks at once whatever waited a second.
    let codel =
        Codel { target_us: 1, interval_us: 1, ecn: true, ce_threshold_us: Some(1_000), l4s: false };
    let mut pipeline = by_port(1);
    pipeline.queues[0].discipline = QueueDiscipline::Codel(codel);
    let mut tc = control(pipeline);
    for number in 0..10 {
        let late = TestPacket { ecn: Ecn::Ect0, ..packet(0, 1500, number) };
        tc.ingress(late, 0, &mut ());
    }
    let marked = egress(&mut tc, 1_000_000);
    assert!(marked.iter().all(|packet| packet.ecn == Ecn::Ce));
    tc.ingress(TestPacket { ecn: Ecn::Ect0, ..packet(0, 1500, 10) }, 1_000_000, &mut ());
    tc.recall_unsent(marked.into_iter().map(|packet| (packet, 0)), 1_000_000);
    // All in the classic queue, which strict priority puts last.
    let classifier = L4sEcnClassifier::new(target(1, 1), target(0, 1), None);
    let l4s = Pipeline {
        classifier: Classifier::L4sEcn(classifier),
        scheduler: Scheduler::StrictPriority { order: vec![target(1, 1)] },
        ..by_port(2)
    };
    tc.apply(&replace(l4s), 1_000_000, &mut ());
    tc.ingress(TestPacket { ecn: Ecn::Ect1, ..packet(1, 100, 99) }, 1_000_000, &mut ());
    let order = numbers(&egress(&mut tc, 1_000_000));
    assert_eq!(order, std::iter::once(99).chain(0..=10).collect::<Vec<_>>());
}

fn set_hash(ways: u8, count: u16) -> StochasticHash {
    StochasticHash { ways, ..StochasticHash::plain(target(0, count)) }
}

/// How many queues `flows` flows with one packet each occupy.
fn occupied(classifier: Classifier, count: u16, flows: u16) -> usize {
    let mut tc = control(Pipeline { classifier, ..by_port(count) });
    for n in 0..flows {
        tc.ingress(packet(n, 100, 0), 0, &mut ());
    }
    tc.status(0).queues.len()
}

#[test]
fn a_set_associative_hash_tells_more_flows_apart() {
    // 64 flows over 128 queues: a plain hash puts them in 128·(1 − (127/128)^64) ≈ 50 queues.
    let plain = occupied(Classifier::StochasticHash(set_hash(1, 128)), 128, 64);
    let sets = occupied(Classifier::StochasticHash(set_hash(8, 128)), 128, 64);
    assert!((42..58).contains(&plain), "{plain}");
    assert!(sets >= 63, "{sets}: a set of eight is hardly ever full at half load");
    assert_eq!(occupied(Classifier::StochasticHash(set_hash(64, 64)), 64, 64), 64);
}

#[test]
fn each_of_64_flows_has_a_queue_of_its_own_under_the_sojourn_template() {
    let mut tc = control(LowLatency { pacer: Pacer::None, ..LowLatency::default() }.pipeline());
    for n in 0..64 {
        tc.ingress(with_ecn(n, if n < 32 { Ecn::NotEct } else { Ecn::Ect1 }), 0, &mut ());
    }
    assert_eq!(
        tc.status(0).queues.len(),
        64,
        "a plain hash into twice 1024 puts two of them together"
    );
}

#[test]
fn a_host_with_many_flows_stays_in_its_share() {
    let mut tc =
        control(Pipeline { classifier: Classifier::HostThenFlow(set_hash(4, 64)), ..by_port(64) });
    for n in 0..40 {
        tc.ingress(packet(n, 100, 0), 0, &mut ());
    }
    let mut ids: Vec<_> = tc.status(0).queues.iter().map(|queue| queue.id).collect();
    ids.sort_unstable();
    assert_eq!(ids.len(), 4, "its share is used to the full");
    assert!(ids[0].is_multiple_of(4) && ids[3] == ids[0] + 3, "{ids:?}");
}

#[test]
fn hosts_get_the_same_however_many_flows_they_have() {
    for scheduler in [
        Scheduler::DeficitRoundRobin { quantum_bytes: 1514 },
        Scheduler::Weighted { quantum_bytes: 1514, weights: vec![] },
    ] {
        let mut tc = control(Pipeline {
            classifier: Classifier::HostThenFlow(set_hash(8, 512)),
            scheduler,
            pacer: Pacer::Drql { mtu_bytes: 1500 },
            ..by_port(512)
        });
        let to_host = |host: u8, port: u16| {
            let flow = flow(port);
            let destination = IpAddr::V4(Ipv4Addr::new(10, 0, 0, host));
            TestPacket { flow: FiveTuple { destination, ..flow }, ..packet(port, 1500, 0) }
        };
        // Host 1 has one flow, host 2 seven; all of them always have packets.
        let mut rlc = Rlc::fdd(3_000);
        let mut bytes = [0u64; 3];
        for port in 0..8 {
            for _ in 0..2_000 {
                tc.ingress(to_host(if port == 0 { 1 } else { 2 }, port), 0, &mut ());
            }
        }
        run(
            &mut tc,
            &mut rlc,
            (0, 1_000_000),
            |_, _| {},
            |packet, _| {
                let IpAddr::V4(v4) = packet.flow.destination else { return };
                bytes[usize::from(v4.octets()[3])] += u64::from(packet.len_bytes);
            },
        );
        assert!(bytes[1] > 1_000_000, "{bytes:?}");
        // One turn more, and a packet overdrawn on each side.
        assert!(bytes[1].abs_diff(bytes[2]) <= 1_514 + 2 * 1_500, "{bytes:?}");
    }
}

#[test]
fn cake_diffserv_gives_each_class_its_part_however_many_flows_it_has() {
    let mut pipeline = CakeDiffserv::default().pipeline();
    pipeline.pacer = Pacer::Drql { mtu_bytes: 1500 };
    // FIFOs, so that no AQM takes part in the sharing.
    for set in &mut pipeline.queues {
        set.discipline = QueueDiscipline::Fifo { drop: FifoDrop::Tail };
    }
    let mut tc = control(pipeline);
    // Best effort with eight flows, bulk, video and voice with one each; all always have packets.
    let dscps = [(0u8, 8u16), (8, 1), (34, 1), (46, 1)];
    for (index, (dscp, flows)) in (0u16..).zip(dscps) {
        for k in 0..flows {
            for number in 0..900 / u64::from(flows) {
                let packet = TestPacket { dscp, ..packet(index * 100 + k, 1500, number) };
                tc.ingress(packet, 0, &mut ());
            }
        }
    }
    let mut rlc = Rlc::fdd(3_000);
    let mut bytes = BTreeMap::new();
    run(
        &mut tc,
        &mut rlc,
        (0, 600_000),
        |_, _| {},
        |packet, _| {
            *bytes.entry(packet.dscp).or_insert(0u64) += u64::from(packet.len_bytes);
        },
    );
    // 16 : 1 : 8 : 4, with a turn and two packets either way.
    let part = |dscp: u8, weight: u64| bytes[&dscp] / weight;
    for (dscp, weight) in [(8, 1), (34, 8), (46, 4)] {
        let lead = part(dscp, weight).abs_diff(part(0, 16));
        let turn = 256 + 1_500 / weight + 1_500 / 16;
        assert!(lead <= turn, "DSCP {dscp}: {lead} bytes per weight, {bytes:?}");
    }
}

#[test]
fn bode_diffserv_serves_its_classes_in_order() {
    let mut tc = control(BodeDiffserv { pacer: Pacer::None, ..BodeDiffserv::default() }.pipeline());
    for (number, dscp) in [0, 34, 46, 0, 46, 34].into_iter().enumerate() {
        let packet = TestPacket { dscp, ..packet(number as u16, 100, number as u64) };
        tc.ingress(packet, 0, &mut ());
    }
    assert_eq!(numbers(&egress(&mut tc, 0)), [2, 4, 1, 5, 0, 3]);
}

/// A packet of the tunnel between hosts 1, with flow `n` in it.
fn tunnelled(n: u16, label: u64) -> TestPacket {
    let inner = InnerFlow { flow: flow(n), dscp: 46, label };
    let outer = FiveTuple { source_port: 0, destination_port: 0, protocol: 47, ..flow(0) };
    TestPacket { flow: outer, inner: Some(inner), ..packet(n, 100, 0) }
}

/// Each classifier that hashes, over 256 queues.
fn hashing(tunnels: Option<Tunnels>) -> Vec<Classifier> {
    let (all, half) = (target(0, 256), target(0, 128));
    let hash = StochasticHash { tunnels, ..StochasticHash::plain(all) };
    vec![
        Classifier::StochasticHash(hash),
        Classifier::StochasticHash(StochasticHash { ways: 8, ..hash }),
        Classifier::HostThenFlow(StochasticHash { ways: 64, ..hash }),
        Classifier::L4sEcn(L4sEcnClassifier {
            tunnels,
            ..L4sEcnClassifier::new(target(128, 128), half, None)
        }),
        Classifier::Osi(OsiClassifier { tunnels, ..OsiClassifier::new(Vec::new(), all) }),
    ]
}

/// How many queues these packets occupy.
fn queues_of(classifier: Classifier, packets: impl Iterator<Item = TestPacket>) -> usize {
    let mut tc = control(Pipeline { classifier, ..by_port(256) });
    packets.for_each(|packet| tc.ingress(packet, 0, &mut ()));
    tc.status(0).queues.len()
}

#[test]
fn flows_in_a_tunnel_are_told_apart_unless_it_is_to_be_one_flow() {
    for (inner, outer) in hashing(None).into_iter().zip(hashing(Some(Tunnels::Outer))) {
        let flows = || (0..16).map(|n| tunnelled(n, 0));
        assert!(queues_of(inner.clone(), flows()) > 12, "{inner:?}");
        assert_eq!(queues_of(outer.clone(), flows()), 1, "{outer:?}");
    }
    assert_eq!(hashing(Some(Tunnels::Inner)).len(), 5);
}

#[test]
fn equal_flows_of_two_tunnels_are_told_apart_by_the_label() {
    for classifier in hashing(None) {
        let labels = || (0..16).map(|label| tunnelled(1, label));
        assert!(queues_of(classifier.clone(), labels()) > 8, "{classifier:?}");
        let same = (0..16).map(|_| tunnelled(1, 7));
        assert_eq!(queues_of(classifier.clone(), same), 1, "{classifier:?}");
    }
}

#[test]
fn a_filter_matches_the_inner_header_where_it_says_so() {
    let packet = || tunnelled(5, 0);
    let outer = |rule: FlowMatch| matches(rule, packet());
    let inner = |rule: FlowMatch| matches(FlowMatch { inner: Some(true), ..rule }, packet());
    let dscp = |dscp| FlowMatch { dscp: Some(dscp), ..FlowMatch::default() };
    assert!(outer(dscp(0)) && !outer(dscp(46)));
    assert!(inner(dscp(46)) && !inner(dscp(0)));
    let port = PortRange { low: 443, high: 443 };
    let https = FlowMatch { destination_port: Some(port), ..FlowMatch::default() };
    assert!(inner(https.clone()) && !outer(https.clone()));
    // Without a tunnel the only header is the innermost.
    assert!(matches(FlowMatch { inner: Some(true), ..https }, self::packet(5, 100, 0)));
}

#[test]
fn one_tunnel_is_one_flow_of_the_inventory() {
    let mut tc = control(Pipeline { classifier: hashing(None).swap_remove(0), ..by_port(256) });
    (0..16).for_each(|n| tc.ingress(tunnelled(n, 0), 0, &mut ()));
    let inventory = tc.flow_inventory(32, 1000);
    assert_eq!((inventory.active_flows, inventory.flows[0].flow), (1, tunnelled(0, 0).flow));
}

/// Bytes that each of these flows gets in a second, all of which always have packets.
fn shares(isolation: Isolation, flows: &[(u8, u8)]) -> Vec<u64> {
    let classifier = Classifier::StochasticHash(StochasticHash {
        isolation: Some(isolation),
        ..set_hash(8, 512)
    });
    let mut tc = control(Pipeline {
        classifier,
        scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
        pacer: Pacer::Drql { mtu_bytes: 1500 },
        ..by_port(512)
    });
    for number in 0..2_000 {
        for (n, &(server, host)) in (0..).zip(flows) {
            let [source, destination] = [[192, 0, 2, server], [10, 0, 0, host]].map(IpAddr::from);
            let flow = FiveTuple { source, destination, ..flow(n) };
            tc.ingress(TestPacket { flow, ..packet(n, 1500, number) }, 0, &mut ());
        }
    }
    let mut bytes = vec![0; flows.len()];
    run(
        &mut tc,
        &mut Rlc::fdd(3_000),
        (0, 1_000_000),
        |_, _| {},
        |packet, _| {
            bytes[usize::from(packet.flow.source_port - 10_000)] += u64::from(packet.len_bytes);
        },
    );
    bytes
}

/// Whether shares are in these proportions, within two packets of each and one turn of all.
fn in_proportion(bytes: &[u64], parts: &[u64]) -> bool {
    let (all, whole) = (bytes.iter().sum::<u64>(), parts.iter().sum::<u64>());
    let near = |(bytes, part): (&u64, &u64)| bytes.abs_diff(all * part / whole) <= 6_000;
    all > 2_000_000 && bytes.iter().zip(parts).all(near)
}

#[test]
fn shares_are_between_flows_hosts_or_both() {
    // Server, host: a film, a download of three connections, a download of another host by one.
    let flows = [(1, 1), (2, 1), (2, 1), (2, 1), (2, 2)];
    for (isolation, parts) in [
        (Isolation::Flows, [12, 12, 12, 12, 12]),
        // Servers 1 and 2.
        (Isolation::DualSrcHost, [4, 1, 1, 1, 1]),
        // Hosts 1 and 2.
        (Isolation::DualDstHost, [1, 1, 1, 1, 4]),
        // Three pairs.
        (Isolation::DualHosts, [3, 1, 1, 1, 3]),
        // All four of host 1 by its count of four, that of host 2 by the four of server 2.
        (Isolation::Triple, [1, 1, 1, 1, 1]),
    ] {
        let bytes = shares(isolation, &flows);
        assert!(in_proportion(&bytes, &parts), "{isolation:?}: {bytes:?}");
    }
    // Server 2 has two flows, host 1 three: the flow to host 2 counts by its server.
    let bytes = shares(Isolation::Triple, &[(1, 1), (2, 1), (3, 1), (2, 2)]);
    assert!(in_proportion(&bytes, &[2, 2, 2, 3]), "{bytes:?}");
}

#[test]
fn isolation_by_host_alone_gives_each_host_one_queue() {
    for (isolation, queues) in [
        (Isolation::SrcHost, 2),
        (Isolation::DstHost, 2),
        (Isolation::Hosts, 3),
        (Isolation::Flows, 5),
        (Isolation::DualHosts, 5),
    ] {
        let hash = StochasticHash { isolation: Some(isolation), ..set_hash(8, 256) };
        let packets = [(1, 1), (2, 1), (2, 1), (2, 1), (2, 2)].into_iter().zip(0..).map(
            |((server, host), n)| {
                let [source, destination] =
                    [[192, 0, 2, server], [10, 0, 0, host]].map(IpAddr::from);
                let flow = FiveTuple { source, destination, ..flow(n) };
                TestPacket { flow, ..packet(n, 100, 0) }
            },
        );
        let scheduler = Scheduler::DeficitRoundRobin { quantum_bytes: 300 };
        let classifier = Classifier::StochasticHash(hash);
        let mut tc = control(Pipeline { classifier, scheduler, ..by_port(256) });
        packets.for_each(|packet| tc.ingress(packet, 0, &mut ()));
        assert_eq!(tc.status(0).queues.len(), queues, "{isolation:?}");
    }
}

#[test]
fn a_sparse_flow_of_a_busy_host_does_not_wait_for_its_turn() {
    let hash = StochasticHash { isolation: Some(Isolation::DualSrcHost), ..set_hash(8, 256) };
    let mut tc = control(Pipeline {
        classifier: Classifier::StochasticHash(hash),
        scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
        pacer: Pacer::None,
        ..by_port(256)
    });
    // All of one server; nothing leaves in between.
    for number in 0..40 {
        (0..8).for_each(|n| tc.ingress(packet(n, 1500, number), 0, &mut ()));
    }
    for _ in 0..100 {
        assert!(tc.egress_one(1_000, &mut ()).is_some());
    }
    tc.ingress(packet(9, 200, 0), 2_000, &mut ());
    let next = tc.egress_one(2_000, &mut ()).expect("a packet");
    assert_eq!(next.flow, flow(9), "a new queue goes before the old ones");
}

#[test]
fn hosts_are_known_after_a_change_of_the_scheduler() {
    let hash = StochasticHash { isolation: Some(Isolation::DualDstHost), ..set_hash(8, 512) };
    let isolated = Pipeline {
        classifier: Classifier::StochasticHash(hash),
        scheduler: Scheduler::DeficitRoundRobin { quantum_bytes: 300 },
        pacer: Pacer::Drql { mtu_bytes: 1500 },
        ..by_port(512)
    };
    let mut tc = control(isolated.clone());
    let to_host = |host: u8, port: u16| {
        let destination = IpAddr::from([10, 0, 0, host]);
        TestPacket { flow: FiveTuple { destination, ..flow(port) }, ..packet(port, 1500, 0) }
    };
    for port in 0..4 {
        (0..2_000).for_each(|_| tc.ingress(to_host(u8::from(port == 0), port), 0, &mut ()));
    }
    let other = Scheduler::DeficitRoundRobin { quantum_bytes: 600 };
    let outcome = tc.apply(&replace(Pipeline { scheduler: other, ..isolated }), 1, &mut ());
    assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
    let mut bytes = [0_u64; 2];
    run(
        &mut tc,
        &mut Rlc::fdd(3_000),
        (1_000, 1_001_000),
        |_, _| {},
        |packet, _| {
            let IpAddr::V4(v4) = packet.flow.destination else { return };
            bytes[usize::from(v4.octets()[3])] += u64::from(packet.len_bytes);
        },
    );
    assert!(bytes[0] > 1_000_000 && bytes[0].abs_diff(bytes[1]) <= 6_000, "{bytes:?}");
}
