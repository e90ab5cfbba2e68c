//! Congestion marks, RFC 3168.

use traffic::{CongestionControl, Ecn, TcpConfig};

use crate::pair::{LinkAction, Pair, coin, with};

fn reno() -> TcpConfig {
    TcpConfig { ecn: Some(true), hystart: false, ..with(CongestionControl::Reno) }
}

#[test]
fn a_burst_of_marks_halves_the_window_once() {
    let mut pair = Pair::tcp(reno(), 1_000_000_000, 100_000, 100_000);
    pair.down.judge = |_, n, _| LinkAction::Mark.when((300..340).contains(&n));
    let mut peak = 0;
    while pair.now_us < 2_000_000 && pair.step() {
        let stats = pair.tcp_stats();
        if stats.ecn_reductions == 0 {
            peak = stats.cwnd_bytes;
        }
    }
    let stats = pair.tcp_stats();
    assert_eq!((stats.ecn_reductions, stats.lost_packets, stats.timeouts), (1, 0, 0));
    let ssthresh = stats.ssthresh_bytes.unwrap();
    assert!(ssthresh.abs_diff(peak / 2) <= 2 * 1448, "{ssthresh} of {peak}");
    assert!(stats.cwnd_bytes > ssthresh, "grows again");
}

#[test]
fn marks_on_all_packets_reduce_at_most_once_per_round_trip() {
    let mut pair = Pair::tcp(reno(), 1_000_000_000, 100_000, 100_000);
    pair.down.judge = |_, _, now_us| LinkAction::Mark.when(now_us > 500_000);
    pair.run_until(3_500_000);
    let reductions = pair.tcp_stats().ecn_reductions;
    assert!((15..=30).contains(&reductions), "{reductions} in 30 round trips");
    assert!(pair.tcp_stats().cwnd_bytes <= 4 * 1448);
    assert_eq!(pair.tcp_stats().timeouts, 0);
}

/// RFC 3168 §6.1: marks signal congestion without loss.
#[test]
fn periodic_marks_give_the_goodput_of_periodic_losses_without_a_loss() {
    let run = |ecn| {
        let mut pair =
            Pair::tcp(TcpConfig { ecn: Some(ecn), ..reno() }, 1_000_000_000, 50_000, 2_000);
        // The link drops a marked packet that is not ECN-capable.
        pair.down.judge = |_, n, _| LinkAction::Mark.when(n % 1_000 == 999);
        pair.run_until(60_000_000);
        (pair.tcp_stats(), pair.goodput_bps(5_000_000, 60_000_000))
    };
    let ((marked, with_marks), (dropped, with_drops)) = (run(true), run(false));
    assert_eq!((marked.retransmitted_packets, dropped.ecn_reductions), (0, 0));
    assert!(marked.ecn_reductions > 20 && dropped.fast_recoveries > 20);
    let ratio = with_marks / with_drops;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

#[test]
fn packets_are_ecn_capable_only_with_ecn() {
    let capable = |ecn| {
        let config = TcpConfig { ecn: Some(ecn), ..TcpConfig::default() };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 1_000);
        pair.down.judge =
            |packet, n, _| LinkAction::Drop.when(n == 50 && packet.ecn == Ecn::NotEct);
        pair.run_until(500_000);
        pair.tcp_stats().retransmitted_packets == 0
    };
    assert!(capable(true));
    assert!(!capable(false));
}

/// RFC 9768: every mark counts once despite lost and delayed acknowledgements.
#[test]
fn accurate_feedback_counts_each_mark() {
    for congestion in [CongestionControl::Reno, CongestionControl::Prague] {
        let config =
            TcpConfig { accecn: Some(true), total_bytes: Some(20_000_000), ..with(congestion) };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 2_000);
        pair.down.judge = |_, n, _| LinkAction::Mark.when(n % 50 == 7);
        pair.up.judge = |_, n, _| LinkAction::Drop.when(coin(n, 200_000));
        while !pair.is_finished() {
            assert!(pair.step());
        }
        let stats = pair.tcp_stats();
        assert_eq!(stats.ce_packets, pair.down.marked, "{congestion:?}");
        assert!(stats.ce_packets > 200, "{stats:?}");
    }
}

/// RFC 9768 §2.5: for a controller without its own response, marks remain congestion events.
#[test]
fn accurate_feedback_changes_nothing_for_reno() {
    let run = |accecn| {
        let mut pair =
            Pair::tcp(TcpConfig { accecn: Some(accecn), ..reno() }, 1_000_000_000, 50_000, 2_000);
        pair.down.judge = |_, n, _| LinkAction::Mark.when(n % 1_000 == 999);
        pair.run_until(60_000_000);
        pair.goodput_bps(5_000_000, 60_000_000)
    };
    let ratio = run(true) / run(false);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

/// RFC 9331 §4.1, RFC 3168 §6.1.1.
#[test]
fn each_controller_sends_data_with_its_codepoint() {
    for (congestion, ecn, expected) in [
        (CongestionControl::Prague, false, Ecn::Ect1),
        (CongestionControl::Bbr3, true, Ecn::Ect1),
        (CongestionControl::Bbr3, false, Ecn::NotEct),
        (CongestionControl::Cubic, true, Ecn::Ect0),
    ] {
        let config = TcpConfig { ecn: ecn.then_some(true), ..with(congestion) };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 1_000);
        let mut out = Vec::new();
        traffic::Endpoint::poll(&mut pair.flow.server, 0, &mut out);
        assert!(out.iter().all(|packet| packet.ecn == expected), "{congestion:?}");
    }
}
