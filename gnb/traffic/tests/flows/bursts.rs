//! Nothing leaves as a burst that the network has not acknowledged as one.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{ALL, LinkAction, Pair, with};

/// The receive window stops the flow behind a hole; its repair comes half a second late, and then all
/// is acknowledged at once, with nothing left in flight.
fn behind_a_hole(config: TcpConfig) -> Pair {
    let config = TcpConfig { receive_window_bytes: 400_000, min_rto_us: 3_000_000, ..config };
    let mut pair = Pair::tcp(config, 50_000_000, 40_000, 10_000);
    pair.down.judge = |packet, n, _| {
        let traffic::Body::Tcp(segment) = &packet.body else { return LinkAction::Deliver };
        match segment.seq == 5_000 * 1448 {
            // Nothing was sent twice before, so the packet's number is its segment's.
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
        let mut pair = behind_a_hole(with(congestion));
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
        // What two acknowledgements bring in slow start, and no window of a hundred segments.
        assert!(pair.largest_burst <= 20, "{congestion:?}: {}", pair.largest_burst);
        let rate_bps = pair.goodput_bps(repair_us + 1_500_000, repair_us + 3_000_000);
        assert!(rate_bps > 0.2 * 50e6, "{congestion:?}: {rate_bps}");
    }
}

/// RFC 4015 §3: a packet is late, not lost. When that shows, the window of before comes back by slow
/// start and not at once.
#[test]
fn a_reduction_taken_back_releases_no_burst() {
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
        let config = TcpConfig { pacing, ..with(CongestionControl::Cubic) };
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 1_000);
        // All acknowledgements of 20 ms come at once, as from an uplink that is scheduled so.
        pair.up.judge = |_, _, now_us| LinkAction::Late(20_000 - now_us % 20_000);
        pair.run_until(1_000_000);
        pair.largest_burst = 0;
        pair.run_until(10_000_000);
        let rate_bps = pair.goodput_bps(2_000_000, 10_000_000);
        assert!(rate_bps > 0.95 * 50e6 * 1448.0 / 1500.0, "pacing {pacing}: {rate_bps}");
        pair.largest_burst
    };
    assert!(largest(false) > 60);
    assert!(largest(true) <= 2, "one, and one more with a probe or a forced retransmission");
}

/// RFC 5681 §4.1: after silence the window starts again from the initial one.
#[test]
fn a_connection_that_was_silent_starts_with_the_restart_window() {
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
