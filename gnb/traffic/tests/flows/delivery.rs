//! Whatever the network does, every byte arrives, in order and once.

use proptest::prelude::*;
use traffic::TcpConfig;

use crate::pair::{ALL, LinkAction, Pair};

fn fate() -> impl Strategy<Value = LinkAction> {
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
        down in prop::collection::vec(fate(), 0..400),
        up in prop::collection::vec(fate(), 0..200),
        total_bytes in 1_u64..600_000,
        algorithm in prop::sample::select(&ALL[..]),
        (ecn, accecn, accecn_option, pacing) in any::<(bool, bool, bool, bool)>(),
        rate_bps in 500_000_u64..200_000_000,
        rtt_us in 2_u64..400_000,
        buffer_packets in 1_usize..200,
    ) {
        let config = TcpConfig {
            congestion_control: algorithm,
            ecn: ecn.then_some(true),
            accecn: accecn.then_some(true),
            accecn_option,
            pacing,
            total_bytes: Some(total_bytes),
            ..TcpConfig::default()
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
