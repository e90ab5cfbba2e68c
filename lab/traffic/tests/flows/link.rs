//! Bulk over a link with a deep buffer; forks and repeats.

use traffic::{AppConfig, CongestionControl, FlowConfig, TcpConfig};

use crate::pair::{ALL, Link, LinkAction, Pair, coin, with};

#[test]
fn a_deep_buffer_fills_the_link_and_grows_seconds_of_queue() {
    // 16 Mbit/s behind 10 MB of buffer, as kumar2018 and irazabal2024 found it.
    let mut pair = Pair::tcp(TcpConfig::default(), 16_000_000, 30_000, 7_000);
    pair.run_until(60_000_000);
    let utilisation = pair.goodput_bps(2_000_000, 60_000_000) / (16e6 * 1448.0 / 1500.0);
    assert!(utilisation > 0.995, "{utilisation}");
    let delay = pair.flow.one_way_delay().summary();
    assert!(delay.max_us > 1_000_000, "{delay:?}");
    assert_eq!(pair.tcp_stats().timeouts, 0);
}

#[test]
fn the_receive_window_bounds_the_queue() {
    let config = TcpConfig { receive_window_bytes: 200_000, ..TcpConfig::default() };
    let mut pair = Pair::tcp(config, 16_000_000, 30_000, 7_000);
    pair.run_until(10_000_000);
    let delay = pair.flow.one_way_delay().summary();
    // 200 kB at 16 Mbit/s are 100 ms, of which 30 ms are the path.
    assert!((80_000..95_000).contains(&delay.max_us), "{delay:?}");
    assert!(pair.goodput_bps(1_000_000, 10_000_000) > 0.99 * 16e6 * 1448.0 / 1500.0);
}

#[test]
fn an_acceleration_after_loss_in_a_deep_buffer_does_not_stall() {
    let mut pair = Pair::tcp(TcpConfig::default(), 16_000_000, 30_000, 1_000);
    pair.run_until(120_000_000);
    let stats = pair.tcp_stats();
    assert!(stats.fast_recoveries > 0);
    assert_eq!(stats.timeouts, 0);
    assert_eq!(stats.lost_packets, pair.down.tail_drops);
    let utilisation = pair.goodput_bps(2_000_000, 120_000_000) / (16e6 * 1448.0 / 1500.0);
    assert!(utilisation > 0.99, "{utilisation}");
}

fn noisy(congestion: CongestionControl) -> Pair {
    let mut pair = Pair::tcp(with(congestion), 16_000_000, 30_000, 300);
    pair.down.judge = |_, n, _| {
        if coin(n, 2_000) {
            LinkAction::Drop
        } else if coin(n + 1_000_000, 5_000) {
            LinkAction::Late(9_000)
        } else {
            LinkAction::Deliver
        }
    };
    pair
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    for congestion in ALL {
        let run = || {
            let mut pair = noisy(congestion);
            pair.run_until(10_000_000);
            (pair.fingerprint, pair.tcp_stats())
        };
        assert_eq!(run(), run(), "{congestion:?}");
    }
}

#[test]
fn a_fork_has_the_future_of_its_original() {
    for congestion in ALL {
        let mut original = noisy(congestion);
        original.run_until(4_321_000);
        let mut fork = original.clone();
        original.run_until(10_000_000);
        let parked = fork.fingerprint;
        fork.run_until(4_321_000);
        assert_eq!(fork.fingerprint, parked, "nothing happens to a fork that is not run");
        fork.run_until(10_000_000);
        assert_eq!(fork.fingerprint, original.fingerprint, "{congestion:?}");
        assert_eq!(fork.tcp_stats(), original.tcp_stats(), "{congestion:?}");
    }
}

#[test]
fn a_flow_keeps_to_its_hours() {
    let mut config = FlowConfig::new(AppConfig::Tcp(TcpConfig::default()));
    config.start_us = 2_000_000;
    config.stop_us = Some(5_000_000);
    let mut pair = Pair::with_config(
        &config,
        Link::new(16_000_000, 15_000, 1_000),
        Link::new(1_000_000_000, 15_000, 1_000),
    );
    pair.run_until(1_999_999);
    assert_eq!(pair.tcp_stats().sent_packets, 0);
    pair.run_until(20_000_000);
    assert!(pair.is_finished());
    assert_eq!(pair.flow.goodput_bytes(), pair.tcp_stats().acked_bytes);
    let bins = pair.flow.arrivals().goodput();
    assert_eq!(bins.mean_bps(0, 2_000_000), 0.0);
    assert!(bins.bins().len() < 70, "silent after the queue has drained");
}
