//! Inelastic flows first, within a part of what the bearer drains.

use std::collections::BTreeMap;

use crate::util::*;
use e2sm_tc::v1::*;
use proptest::prelude::*;

/// Drained by the radio in a millisecond: 40 Mbit/s.
const RADIO: u32 = 5_000;
/// Sent by a backlogged flow in a millisecond: three of them exceed the fastest radio here.
const GREEDY: u32 = 3_000;
/// EF (RFC 3246) and CS1.
const MARKED: u8 = 46;
const BULK: u8 = 8;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The first of the flows of TCP that are always backlogged.
const FIRST_BULK: u16 = 100;

fn pipeline(part_milli: u16, isolation: Option<Isolation>) -> Pipeline {
    let hash = StochasticHash { ways: 8, isolation, ..StochasticHash::plain(target(0, 512)) };
    Pipeline {
        classifier: Classifier::StochasticHash(hash),
        queues: vec![QueueSet { limit_packets: Some(100), ..fifo(0, 512) }],
        scheduler: Scheduler::InelasticFirst(InelasticFirst {
            quantum_bytes: 300,
            part_milli,
            qfis: vec![1],
        }),
        pacer: Pacer::Drql { mtu_bytes: 1500 },
        ..by_port(512)
    }
}

/// A sender: bytes in a millisecond, in packets of 1500 at most.
#[derive(Clone, Debug)]
struct Sender {
    dscp: u8,
    qfi: Option<u8>,
    protocol: u8,
    bytes: Vec<u32>,
}

impl Sender {
    /// The rates repeat, each for a millisecond.
    fn new(dscp: u8, protocol: u8, bytes: impl IntoIterator<Item = u32>) -> Self {
        Self { dscp, qfi: None, protocol, bytes: bytes.into_iter().collect() }
    }

    /// Rate of a UDP sender; 1500 bytes in a millisecond are 12 Mbit/s.
    fn constant(dscp: u8, bytes: u32) -> Self {
        Self::new(dscp, UDP, [bytes])
    }

    fn bytes(&self, ms: u64) -> u32 {
        self.bytes[ms as usize % self.bytes.len()]
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Received {
    bytes: u64,
    worst_us: u64,
}

/// A bearer with senders beside flows of TCP that always have something to send.
struct Bearer {
    tc: tc_rf::TrafficControl<TestPacket>,
    rlc: Rlc,
    senders: Vec<Sender>,
    /// Flows of TCP, and from when.
    bulk: (u16, u64),
    ms: u64,
    arrived: u64,
    events: Recorder,
}

impl Bearer {
    fn new(pipeline: Pipeline, senders: &[Sender]) -> Self {
        Self {
            tc: control(pipeline),
            rlc: Rlc::fdd(RADIO),
            senders: senders.to_vec(),
            bulk: (8, 0),
            ms: 0,
            arrived: 0,
            events: Recorder::default(),
        }
    }

    fn arrive(&mut self, n: u16, sender: &Sender, bytes: u32) {
        let now_us = self.ms * 1000;
        let mut left = bytes;
        while left > 0 {
            let len_bytes = left.min(1500);
            left -= len_bytes;
            let of =
                TestPacket { dscp: sender.dscp, qfi: sender.qfi, ..packet(n, len_bytes, now_us) };
            let flow = FiveTuple { protocol: sender.protocol, ..of.flow };
            self.arrived += u64::from(len_bytes);
            self.tc.ingress(TestPacket { flow, ..of }, now_us, &mut self.events);
        }
    }

    /// What each flow receives until `to_ms`.
    fn until(&mut self, to_ms: u64, radio: impl Fn(u64) -> u32) -> BTreeMap<u16, Received> {
        let mut all = BTreeMap::<u16, Received>::new();
        let greedy = Sender::new(BULK, TCP, [GREEDY]);
        while self.ms < to_ms {
            for n in 0..self.bulk.0 {
                if self.ms >= self.bulk.1 {
                    self.arrive(FIRST_BULK + n, &greedy, GREEDY);
                }
            }
            for (n, sender) in (0..).zip(self.senders.clone()) {
                self.arrive(n, &sender, sender.bytes(self.ms));
            }
            self.rlc.bytes_per_slot = radio(self.ms);
            let slot = (self.ms * 1000, (self.ms + 1) * 1000);
            let Self { tc, rlc, .. } = self;
            run(
                tc,
                rlc,
                slot,
                |_, _| {},
                |packet, now_us| {
                    let received = all.entry(packet.flow.source_port - 10_000).or_default();
                    received.bytes += u64::from(packet.len_bytes);
                    received.worst_us = received.worst_us.max(now_us - packet.number);
                },
            );
            self.ms += 1;
        }
        all
    }

    /// What is reported of a flow.
    fn verdict(&mut self, n: u16) -> Option<Inelastic> {
        let flows = self.tc.flow_inventory(256, self.ms * 1000).flows;
        flows.iter().find(|it| it.flow.source_port == 10_000 + n).and_then(|it| it.inelastic)
    }
}

fn steady(_: u64) -> u32 {
    RADIO
}

#[test]
fn a_marked_flow_within_the_part_keeps_its_rate_and_bulk_does_not() {
    for isolation in [None, Some(Isolation::DualHosts)] {
        let senders = [Sender::constant(MARKED, 1500), Sender::new(0, TCP, [1500])];
        let mut bearer = Bearer::new(pipeline(500, isolation), &senders);
        bearer.until(1_500, steady);
        let all = bearer.until(3_500, steady);
        // 12 of 40 Mbit/s; the other nine share 28.
        assert!(all[&0].bytes >= 2_990 * 1_000, "{}", all[&0].bytes);
        assert!(all[&0].worst_us < 20_000, "{}", all[&0].worst_us);
        assert!(all[&1].bytes < 1_000_000, "{}", all[&1].bytes);
        assert_eq!(bearer.verdict(0), Some(Inelastic::Admitted));
        assert_eq!((bearer.verdict(1), bearer.verdict(FIRST_BULK)), (None, None));
    }
}

#[test]
fn qos_flows_and_bearers_of_guaranteed_rate_count_as_marked() {
    let received = |qfi, five_qis: &[u8]| {
        let sender = Sender { qfi: Some(qfi), ..Sender::new(0, TCP, [1_400]) };
        let mut bearer = Bearer::new(pipeline(500, None), &[sender]);
        bearer.tc.set_qos(BearerQos { five_qis: five_qis.to_vec(), s_nssai: None });
        bearer.until(1_500, steady);
        bearer.until(3_500, steady)[&0].bytes
    };
    assert!(received(1, &[]) >= 1_990 * 1_400);
    assert!(received(2, &[]) < 1_300_000);
    // On a bearer of guaranteed rates all are marked, and the least goes first.
    assert!(received(2, &[1, 2]) >= 1_990 * 1_400);
    assert!(received(2, &[1, 9]) < 1_300_000);
}

#[test]
fn one_without_a_mark_that_kept_its_rate_alone_keeps_it_beside_others() {
    for protocol in [UDP, TCP] {
        // 60 frames of 25 kB in a second.
        let frames = (0..50).map(|ms| if ms % 17 == 0 { 25_000 } else { 0 });
        let mut bearer = Bearer::new(pipeline(500, None), &[Sender::new(0, protocol, frames)]);
        bearer.bulk = (8, 2_000);
        bearer.until(2_000, steady);
        let all = bearer.until(5_000, steady);
        let whole = 3_000 / 50 * 3 * 25_000;
        if protocol == UDP {
            assert!(all[&0].bytes >= whole - 25_000, "{} of {whole}", all[&0].bytes);
            assert!(all[&0].worst_us < 20_000, "{}", all[&0].worst_us);
        } else {
            assert!(all[&0].bytes < whole / 2, "{}", all[&0].bytes);
        }
    }
}

#[test]
fn one_without_a_mark_that_drops_do_not_slow_is_recognised_in_three_seconds() {
    let mut bearer = Bearer::new(pipeline(500, None), &[Sender::constant(0, 1500)]);
    let before = bearer.until(2_000, steady);
    assert!(before[&0].bytes < 2_000 * 700, "{}", before[&0].bytes);
    bearer.until(3_000, steady);
    assert!(bearer.until(5_000, steady)[&0].bytes >= 2_990 * 1_000);
}

#[test]
fn one_that_takes_more_than_the_part_is_bulk() {
    // 24 of 40 Mbit/s, more than the 20 that may go first.
    for dscp in [MARKED, 0] {
        let mut bearer = Bearer::new(pipeline(500, None), &[Sender::constant(dscp, 3_000)]);
        bearer.until(4_000, steady);
        let all = bearer.until(8_000, steady);
        let fair = all[&FIRST_BULK].bytes;
        assert!(all[&0].bytes < fair * 11 / 10, "{} of {fair}", all[&0].bytes);
        assert_eq!(bearer.verdict(0), Some(Inelastic::OverPart));
    }
}

#[test]
fn of_two_that_do_not_fit_together_the_lesser_goes_first() {
    let senders = [Sender::constant(MARKED, 1_600), Sender::constant(MARKED, 1_400)];
    let mut bearer = Bearer::new(pipeline(500, None), &senders);
    bearer.until(2_000, steady);
    let all = bearer.until(4_000, steady);
    assert!(all[&1].bytes >= 1_990 * 1_400, "{}", all[&1].bytes);
    assert!(all[&0].bytes < 1_200_000, "{}", all[&0].bytes);
    assert_eq!(bearer.verdict(0), Some(Inelastic::OverPart));
}

#[test]
fn one_that_sends_more_once_it_goes_first_is_bulk_whatever_its_mark_says() {
    for (dscp, protocol) in [(MARKED, UDP), (MARKED, TCP), (0, UDP)] {
        // A second and a half at its fair share of 4.4 Mbit/s, then 14, which fits, again and again.
        let bytes = (0..3_000).map(|ms| if ms < 1_500 { 550 } else { 1_750 });
        let mut bearer = Bearer::new(pipeline(500, None), &[Sender::new(dscp, protocol, bytes)]);
        bearer.until(6_000, steady);
        let all = bearer.until(18_000, steady);
        let fair = all[&FIRST_BULK].bytes;
        assert!(all[&0].bytes < fair * 12 / 10, "{} of {fair}", all[&0].bytes);
        if dscp == MARKED {
            assert_eq!(bearer.verdict(0), Some(Inelastic::Grew));
        }
    }
}

#[test]
fn a_mark_is_believed_of_what_keeps_its_rate() {
    let bytes = (0..2_000).map(|ms| if ms < 700 { 100 } else { 2_000 });
    let mut bearer = Bearer::new(pipeline(500, None), &[Sender::new(MARKED, UDP, bytes)]);
    bearer.until(900, steady);
    assert_eq!(bearer.verdict(0), Some(Inelastic::Unsteady));
}

#[test]
fn a_dip_of_the_radio_is_no_lie() {
    // For half a second the radio carries 16 Mbit/s, of which 12 do not fit in half.
    let radio = |ms| if (4_000..4_500).contains(&ms) { 2_000 } else { RADIO };
    let mut bearer = Bearer::new(pipeline(500, None), &[Sender::constant(MARKED, 1500)]);
    bearer.until(3_900, radio);
    let all = bearer.until(6_000, radio);
    assert!(all[&0].worst_us < 20_000, "{}", all[&0].worst_us);
    assert!(all[&0].bytes >= 2_090 * 1_500, "{}", all[&0].bytes);
}

#[test]
fn a_radio_that_stays_slow_carries_it_as_bulk_and_takes_it_back() {
    let radio = |ms| if (4_000..16_000).contains(&ms) { 2_000 } else { RADIO };
    let mut bearer = Bearer::new(pipeline(500, None), &[Sender::constant(MARKED, 1500)]);
    bearer.until(13_000, radio);
    let slow = bearer.until(16_000, radio);
    assert!(slow[&0].bytes < slow[&FIRST_BULK].bytes * 11 / 10, "{}", slow[&0].bytes);
    assert_eq!(bearer.verdict(0), Some(Inelastic::OverPart));
    bearer.until(22_000, radio);
    assert!(bearer.until(24_000, radio)[&0].bytes >= 1_990 * 1_500);
}

#[test]
fn a_sparse_flow_does_not_wait_for_a_frame() {
    let frames = (0..50).map(|ms| if ms % 17 == 0 { 25_000 } else { 0 });
    let ping = (0..51).map(|ms| if ms == 18 { 100 } else { 0 });
    let senders = [Sender::new(MARKED, UDP, frames), Sender::new(0, UDP, ping)];
    let mut bearer = Bearer::new(pipeline(500, None), &senders);
    bearer.until(2_000, steady);
    let all = bearer.until(8_000, steady);
    assert!(all[&1].worst_us <= 2_000, "{}", all[&1].worst_us);
}

#[test]
fn more_candidates_than_are_watched_are_bulk() {
    let senders = vec![Sender::constant(MARKED, 40); 64];
    let mut bearer = Bearer::new(pipeline(500, None), &senders);
    let all = bearer.until(1_500, steady);
    assert_eq!(all.len(), 64 + 8, "all are served");
    let admitted = (0..64).filter(|n| bearer.verdict(*n) == Some(Inelastic::Admitted)).count();
    assert_eq!(admitted, 32);
}

#[test]
fn other_parameters_of_the_scheduler_lose_no_packet_and_hosts_keep_their_turns() {
    let senders = [Sender::constant(MARKED, 1500), Sender::constant(0, 1500)];
    let mut bearer = Bearer::new(pipeline(500, Some(Isolation::DualHosts)), &senders);
    bearer.until(2_000, steady);
    for part_milli in [100, 900, 500] {
        let edit =
            PipelineEdit::SetScheduler(pipeline(part_milli, Some(Isolation::DualHosts)).scheduler);
        let outcome = bearer.tc.apply(&delta(vec![edit]), bearer.ms * 1000, &mut ());
        assert!(matches!(outcome, ControlOutcome::Accepted { .. }), "{outcome:?}");
        let until_ms = bearer.ms + 2_000;
        let all = bearer.until(until_ms, steady);
        let rates = (0..8).map(|n| all[&(FIRST_BULK + n)].bytes);
        let (least, most) = (rates.clone().min().unwrap(), rates.max().unwrap());
        assert!(most < least * 11 / 10, "{least} to {most}");
    }
}

/// Rates of a sender, each for 100 ms.
fn sender() -> impl Strategy<Value = Sender> {
    let dscp = prop_oneof![Just(0), Just(MARKED), Just(34)];
    let protocol = prop_oneof![Just(UDP), Just(TCP)];
    let constant = (1u32..4_000).prop_map(|bytes| vec![bytes]);
    let varying = proptest::collection::vec(0u32..5_000, 1..40);
    let rates = prop_oneof![constant, varying];
    (dscp, protocol, rates).prop_map(|(dscp, protocol, rates)| {
        Sender::new(
            dscp,
            protocol,
            rates.into_iter().flat_map(|rate| std::iter::repeat_n(rate, 100)),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever calls itself inelastic, and whatever the radio does, the others keep what the part leaves
    /// them, in equal shares, and no packet is lost without notice.
    #[test]
    fn what_goes_first_takes_no_more_than_the_part(
        senders in proptest::collection::vec(sender(), 1..6),
        part_milli in 100u16..900,
        by_host in any::<bool>(),
        radio in proptest::collection::vec(500u32..8_000, 1..30),
    ) {
        let isolation = by_host.then_some(Isolation::DualHosts);
        let mut bearer = Bearer::new(pipeline(part_milli, isolation), &senders);
        bearer.bulk = (3, 0);
        let rate = |ms: u64| radio[(ms / 200) as usize % radio.len()];
        let mut all = BTreeMap::<u16, Received>::new();
        for to_ms in (500..=8_000).step_by(500) {
            for (n, received) in bearer.until(to_ms, rate) {
                all.entry(n).or_default().bytes += received.bytes;
            }
        }
        let total: u64 = all.values().map(|it| it.bytes).sum();
        let others: u64 = (0..3).map(|n| all[&(FIRST_BULK + n)].bytes).sum();
        // A second of the part may have been saved up when the others came; a packet more for each queue.
        let saved = u64::from(part_milli) * u64::from(*radio.iter().max().unwrap_or(&0));
        let left = (total * u64::from(1_000 - part_milli) / 1_000).saturating_sub(saved);
        let fair = left * 3 / (3 + senders.len() as u64);
        prop_assert!(others + 20_000 >= fair, "{others} of {fair}");
        for n in 1..3 {
            let (one, other) = (all[&FIRST_BULK].bytes, all[&(FIRST_BULK + n)].bytes);
            prop_assert!(one.abs_diff(other) <= 5 * 1500, "{one} and {other}");
        }
        let dropped: u64 =
            bearer.events.drops.iter().map(|(packet, ..)| u64::from(packet.len_bytes)).sum();
        let queued: u64 =
            bearer.tc.status(bearer.ms * 1000).queues.iter().map(|it| u64::from(it.backlog_bytes)).sum();
        prop_assert_eq!(bearer.arrived, total + dropped + queued);
    }
}
