//! Recovery from loss, reordering and outages.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{ALL, LinkAction, Pair, coin, download, with};

#[test]
fn many_losses_in_one_round_trip_are_repaired_without_a_time_out() {
    let mut pair = Pair::tcp(download(2_000), 50_000_000, 40_000, 10_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when((100..140).contains(&n) && n % 3 != 0);
    let stats = pair.finish(20_000_000);
    assert_eq!(stats.timeouts, 0);
    assert_eq!(stats.fast_recoveries, 1);
    assert_eq!(stats.retransmitted_packets, 27, "each lost segment once");
    assert_eq!(stats.lost_packets, 27);
}

#[test]
fn a_lost_retransmission_is_found_without_a_time_out() {
    let mut pair = Pair::tcp(download(2_000), 50_000_000, 40_000, 10_000);
    pair.down.judge = |packet, n, now_us| {
        let traffic::Body::Tcp(segment) = &packet.body else { return LinkAction::Deliver };
        // The first two transmissions of this segment.
        let first = segment.seq == 200 * 1448 && n < 700;
        LinkAction::Drop.when(first && now_us < 250_000)
    };
    let stats = pair.finish(20_000_000);
    assert!(stats.retransmitted_packets >= 2, "{stats:?}");
    assert_eq!(stats.timeouts, 0);
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    for lost in [1, 3] {
        let mut pair = Pair::tcp(download(60), 50_000_000, 40_000, 10_000);
        pair.down.script = (0..60).map(|n| LinkAction::Drop.when(n >= 60 - lost)).collect();
        let mut end_us = 0;
        while !pair.is_finished() {
            assert!(pair.step());
            end_us = pair.now_us;
        }
        let stats = pair.tcp_stats();
        assert_eq!((stats.timeouts, stats.tail_loss_probes), (0, 1), "{lost} lost");
        assert_eq!(stats.retransmitted_packets, lost);
        // Three rounds of data, 2 SRTT and up to 200 ms for the probe, a round or two to repair.
        assert!(end_us < 500_000, "{lost} lost: {end_us}");
    }
}

#[test]
fn two_packets_of_reordering_retransmit_nothing() {
    let mut pair = Pair::tcp(download(5_000), 50_000_000, 40_000, 10_000);
    // A packet takes 240 µs, so two overtake.
    pair.down.judge = |_, n, _| LinkAction::Late(600).when(n % 50 == 25);
    let stats = pair.finish(20_000_000);
    assert_eq!((stats.retransmitted_packets, stats.lost_packets), (0, 0));
}

#[test]
fn reordering_within_a_quarter_rtt_is_detected_and_its_reduction_undone() {
    let mut pair = Pair::tcp(download(20_000), 50_000_000, 40_000, 10_000);
    pair.down.judge = |_, n, _| LinkAction::Late(8_000).when(n % 50 == 25);
    let stats = pair.finish(30_000_000);
    // Until reordering has been seen, three SACKs mean loss (RFC 8985 §6.2 step 4).
    assert!(stats.retransmitted_packets <= 3, "{stats:?}");
    assert_eq!(stats.undone_reductions, stats.fast_recoveries, "{stats:?}");
    assert_eq!(stats.timeouts, 0);
}

#[test]
fn a_stalled_link_causes_a_time_out_whose_reduction_is_undone() {
    let mut pair = Pair::tcp(TcpConfig::default(), 20_000_000, 40_000, 5_000);
    pair.down.stall_us = (5_000_000, 8_000_000);
    pair.run_until(4_900_000);
    let before = pair.tcp_stats();
    pair.run_until(20_000_000);
    let after = pair.tcp_stats();
    assert!(after.timeouts > before.timeouts);
    assert_eq!(after.undone_reductions, 1);
    assert!(after.retransmitted_packets - before.retransmitted_packets <= 5, "{after:?}");
    let utilisation = pair.utilisation(9_000_000, 20_000_000);
    assert!(utilisation > 0.98, "{utilisation}");
}

#[test]
fn after_an_outage_the_flow_recovers() {
    let mut pair = Pair::tcp(TcpConfig::default(), 20_000_000, 40_000, 200);
    pair.down.judge =
        |_, _, now_us| LinkAction::Drop.when((5_000_000..9_000_000).contains(&now_us));
    pair.run_until(30_000_000);
    // The timer backs off to 0.24 · 2ⁿ s: it fires at most one outage duration after the end.
    let utilisation = pair.utilisation(15_000_000, 30_000_000);
    assert!(utilisation > 0.9, "{utilisation}");
    assert!(pair.tcp_stats().timeouts >= 3);
}

/// RFC 6298 §5: an outage of ten seconds, as after a radio link failure.
#[test]
fn all_recover_from_an_outage_of_ten_seconds() {
    for congestion in ALL {
        for dropped in [false, true] {
            let mut pair = Pair::tcp(with(congestion), 20_000_000, 40_000, 200);
            if dropped {
                pair.down.judge =
                    |_, _, now_us| LinkAction::Drop.when((5_000_000..15_000_000).contains(&now_us));
            } else {
                pair.down.stall_us = (5_000_000, 15_000_000);
            }
            pair.run_until(60_000_000);
            assert!(pair.tcp_stats().timeouts > 0, "{congestion:?}");
            // The timer fires at most one outage duration after the end.
            let utilisation = pair.utilisation(40_000_000, 60_000_000);
            assert!(utilisation > 0.7, "{congestion:?}, dropped {dropped}: {utilisation}");
        }
    }
}

#[test]
fn lost_acknowledgements_barely_reduce_the_goodput() {
    let mut pair = Pair::tcp(TcpConfig::default(), 20_000_000, 40_000, 200);
    pair.up.judge = |_, n, _| LinkAction::Drop.when(coin(n, 300_000));
    pair.run_until(20_000_000);
    let utilisation = pair.utilisation(2_000_000, 20_000_000);
    assert!(utilisation > 0.95, "{utilisation}");
    assert_eq!(pair.tcp_stats().timeouts, 0);
}

#[test]
fn a_time_out_in_the_middle_of_reno_recovery_does_not_reduce_twice() {
    let config = TcpConfig { total_bytes: Some(3_000 * 1448), ..with(CongestionControl::Reno) };
    let mut pair = Pair::tcp(config, 50_000_000, 40_000, 10_000);
    pair.down.judge = |packet, _, now_us| {
        let traffic::Body::Tcp(segment) = &packet.body else { return LinkAction::Deliver };
        let hole = segment.seq == 100 * 1448 && now_us < 500_000;
        // All packets are lost for a while after the loss is detected.
        LinkAction::Drop.when(hole || (200_000..500_000).contains(&now_us))
    };
    let mut window_before = 0;
    let mut ssthresh = Vec::new();
    while !pair.is_finished() && pair.step() {
        let stats = pair.tcp_stats();
        match stats.ssthresh_bytes {
            None => window_before = stats.cwnd_bytes,
            Some(it) if ssthresh.last() != Some(&it) => ssthresh.push(it),
            Some(_) => {}
        }
    }
    assert!(pair.is_finished());
    assert!(pair.tcp_stats().timeouts >= 1);
    assert!(ssthresh[0] >= window_before / 2 - 1448, "{ssthresh:?} from {window_before}");
    assert_eq!(ssthresh.len(), 1, "{ssthresh:?}");
}
