//! Limits on bursts after recovery, undoing, idle periods and with pacing.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{ALL, LinkAction, Pair, as_in_rfc, with};

/// The receive window stops the flow after a loss; the retransmission arrives half a second late, and its
/// acknowledgement covers all data in flight.
fn stopped_by_a_loss(config: TcpConfig) -> Pair {
    let config = TcpConfig { receive_window_bytes: 400_000, min_rto_us: 3_000_000, ..config };
    let mut pair = Pair::tcp(config, 50_000_000, 40_000, 10_000);
    pair.down.judge = |packet, n, _| {
        let traffic::Body::Tcp(segment) = &packet.body else { return LinkAction::Deliver };
        match segment.seq == 5_000 * 1448 {
            // Without earlier retransmissions the packet number is the segment number.
            true if n == 5_000 => LinkAction::Drop,
            true => LinkAction::Late(500_000),
            false => LinkAction::Deliver,
        }
    };
    pair
}

/// RFC 6582 §3.2 step 3, option 1.
#[test]
fn the_end_of_a_recovery_releases_no_burst() {
    for congestion in ALL {
        let mut pair = stopped_by_a_loss(with(congestion));
        while pair.tcp_stats().fast_recoveries == 0 {
            assert!(pair.step());
        }
        let repair_us = pair.now_us;
        pair.run_until(repair_us + 300_000);
        let stalled = pair.tcp_stats();
        assert_eq!(stalled.timeouts, 0, "{congestion:?}");
        if congestion == CongestionControl::Cubic {
            assert!(stalled.in_flight_bytes <= 2 * 1448, "{stalled:?}");
        }
        pair.largest_burst = 0;
        pair.run_until(repair_us + 3_000_000);
        // Slow start sends this for two acknowledgements; the window holds a hundred segments.
        assert!(pair.largest_burst <= 20, "{congestion:?}: {}", pair.largest_burst);
        let rate_bps = pair.goodput_bps(repair_us + 1_500_000, repair_us + 3_000_000);
        assert!(rate_bps > 0.2 * 50e6, "{congestion:?}: {rate_bps}");
    }
}

/// RFC 4015 §3: after a spurious reduction the window returns by slow start, not at once.
#[test]
fn an_undone_reduction_releases_no_burst() {
    for congestion in ALL {
        let config = TcpConfig { receive_window_bytes: 400_000, ..with(congestion) };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 10_000);
        pair.down.judge = |_, n, _| LinkAction::Late(60_000).when(n == 5_000);
        while pair.tcp_stats().fast_recoveries == 0 {
            assert!(pair.step());
        }
        let repair_us = pair.now_us;
        pair.largest_burst = 0;
        pair.run_until(repair_us + 3_000_000);
        assert_eq!(pair.tcp_stats().undone_reductions, 1, "{congestion:?}");
        assert!(pair.largest_burst <= 20, "{congestion:?}: {}", pair.largest_burst);
    }
}

/// Linux, `sk_pacing_rate`.
#[test]
fn pacing_spreads_the_window_over_the_round_trip() {
    let largest = |pacing| {
        // Linux's HyStart takes the grouping for a queue.
        let config = TcpConfig { pacing, ..as_in_rfc(CongestionControl::Cubic) };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 1_000);
        // Acknowledgements arrive together every 20 ms, as from a scheduled uplink.
        pair.up.judge = |_, _, now_us| LinkAction::Late(20_000 - now_us % 20_000);
        pair.run_until(1_000_000);
        pair.largest_burst = 0;
        pair.run_until(10_000_000);
        let utilisation = pair.utilisation(2_000_000, 10_000_000);
        assert!(utilisation > 0.95, "pacing {pacing}: {utilisation}");
        pair.largest_burst
    };
    assert!(largest(false) > 60);
    assert!(largest(true) <= 2, "plus a probe or a forced retransmission");
}

/// RFC 5681 §4.1: after an idle period the window restarts at the initial window.
#[test]
fn an_idle_connection_restarts_with_the_restart_window() {
    let config = TcpConfig { total_bytes: Some(4_000_000), ..with(CongestionControl::Cubic) };
    let mut pair = Pair::tcp(config, 50_000_000, 40_000, 10_000);
    pair.run_until(5_000_000);
    assert!(pair.is_finished());
    assert!(pair.tcp_stats().cwnd_bytes > 40 * 1448);
    let traffic::ServerSide::Tcp(sender) = &mut pair.flow.server else { panic!("not TCP") };
    sender.write(1_000_000, 5_000_000);
    pair.largest_burst = 0;
    let mut out = Vec::new();
    traffic::Endpoint::poll(&mut pair.flow.server, 5_000_000, &mut out);
    assert_eq!(out.len(), 10);
}
