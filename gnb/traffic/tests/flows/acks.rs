//! How often the receiver speaks.

use traffic::TcpConfig;

use crate::pair::{LinkAction, Pair};

fn download(segments: u64) -> TcpConfig {
    TcpConfig { total_bytes: Some(segments * 1448), ..TcpConfig::default() }
}

#[test]
fn every_second_segment_is_acknowledged_after_the_first_sixteen() {
    let mut pair = Pair::tcp(download(1_016), 50_000_000, 20_000, 10_000);
    pair.run_until(10_000_000);
    assert!(pair.is_finished());
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
    // Ten segments, half an RTT there and half back, seven more there, the delay, and back.
    let expected_us = 10_000 + 10_000 + 10_000 + 40_000 + 10_000;
    assert!(last_us.abs_diff(expected_us) < 1_000, "{last_us}");
    assert_eq!(pair.tcp_stats().tail_loss_probes, 0);
}

#[test]
fn a_gap_is_reported_at_each_arrival() {
    let mut pair = Pair::tcp(download(100), 50_000_000, 20_000, 10_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when(n == 40);
    pair.run_until(10_000_000);
    let stats = pair.tcp_stats();
    assert!(pair.is_finished());
    assert_eq!((stats.retransmitted_packets, stats.timeouts), (1, 0));
    // 16 one by one, 12 in pairs, then one for each arrival until the gap is closed.
    assert!(pair.acks_sent() > 16 + 12 + 10, "{}", pair.acks_sent());
}
