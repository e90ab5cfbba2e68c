//! Every byte arrives, in order and once, over any network, and is acknowledged at the right time.

use proptest::prelude::*;
use traffic::TcpConfig;

use crate::pair::{ALL, LinkAction, Pair, download, with};

fn action() -> impl Strategy<Value = LinkAction> {
    prop_oneof![
        6 => Just(LinkAction::Deliver),
        3 => Just(LinkAction::Drop),
        1 => Just(LinkAction::Mark),
        2 => (1_u64..200_000).prop_map(LinkAction::Late),
        1 => (1_u64..50_000).prop_map(LinkAction::Twice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_pattern_of_loss_and_reordering_stops_a_transfer(
        down in prop::collection::vec(action(), 0..400),
        up in prop::collection::vec(action(), 0..200),
        total_bytes in 1_u64..600_000,
        algorithm in prop::sample::select(&ALL[..]),
        (ecn, accecn, accecn_option, pacing) in any::<(bool, bool, bool, bool)>(),
        rate_bps in 500_000_u64..200_000_000,
        rtt_us in 2_u64..400_000,
        buffer_packets in 1_usize..200,
    ) {
        let config = TcpConfig {
            ecn: ecn.then_some(true),
            accecn: accecn.then_some(true),
            accecn_option,
            pacing,
            total_bytes: Some(total_bytes),
            ..with(algorithm)
        };
        let mut pair = Pair::tcp(config, rate_bps, rtt_us, buffer_packets);
        pair.down.script = down;
        pair.up.script = up;
        let mut delivered = 0;
        while !pair.is_finished() {
            prop_assert!(pair.step(), "deadlock at {} µs: {:?}", pair.now_us, pair.tcp_stats());
            prop_assert!(pair.now_us < 20_000_000_000, "no progress: {:?}", pair.tcp_stats());
            let now = pair.flow.goodput_bytes();
            prop_assert!(now >= delivered && now <= total_bytes);
            delivered = now;
        }
        prop_assert_eq!(delivered, total_bytes);
        let stats = pair.tcp_stats();
        prop_assert_eq!(stats.acked_bytes, total_bytes);
        prop_assert_eq!(stats.in_flight_bytes, 0);
    }
}

#[test]
fn every_second_segment_is_acknowledged_after_the_first_sixteen() {
    let mut pair = Pair::tcp(download(1_016), 50_000_000, 20_000, 10_000);
    pair.finish(10_000_000);
    assert_eq!(pair.acks_sent(), 16 + 1_000 / 2);
}

#[test]
fn an_odd_last_segment_is_acknowledged_after_40_ms() {
    let mut pair = Pair::tcp(download(17), 1_000_000_000, 20_000, 10_000);
    let mut last_us = 0;
    while pair.step() {
        last_us = pair.now_us;
    }
    assert!(pair.is_finished());
    assert_eq!(pair.acks_sent(), 17);
    // Ten segments one way, ACKs back, seven more segments one way, the delay, and ACKs back.
    let expected_us = 10_000 + 10_000 + 10_000 + 40_000 + 10_000;
    assert!(last_us.abs_diff(expected_us) < 1_000, "{last_us}");
    assert_eq!(pair.tcp_stats().tail_loss_probes, 0);
}

#[test]
fn a_gap_is_reported_at_each_arrival() {
    let mut pair = Pair::tcp(download(100), 50_000_000, 20_000, 10_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when(n == 40);
    let stats = pair.finish(10_000_000);
    assert_eq!((stats.retransmitted_packets, stats.timeouts), (1, 0));
    // 16 one by one, 12 in pairs, then one per arrival until the gap is closed.
    assert!(pair.acks_sent() > 16 + 12 + 10, "{}", pair.acks_sent());
}
