//! Responsiveness under load over links.

use traffic::responsiveness::{Confidence, Score};
use traffic::{AppConfig, ResponsivenessConfig, TcpConfig, UeSide};

use crate::pair::{Link, LinkAction, Pair, coin};

/// A test with intervals of a second over a link of 20 Mbit/s and 10 ms each way.
fn pair(test: ResponsivenessConfig, buffer_packets: usize) -> Pair {
    let test = ResponsivenessConfig { interval_ms: 1_000, ..test };
    let app = AppConfig::Responsiveness { test, tcp: TcpConfig::default() };
    let down = Link::new(20_000_000, 10_000, buffer_packets);
    Pair::new(app, down, Link::new(1_000_000_000, 10_000, 10_000))
}

fn one_load() -> ResponsivenessConfig {
    ResponsivenessConfig { connections: 1, ..ResponsivenessConfig::default() }
}

fn score(pair: &Pair) -> Score {
    let UeSide::Responsiveness(client) = &pair.flow.ue else { panic!() };
    client.score().unwrap()
}

fn figure(pair: &Pair, name: &str) -> f64 {
    let stats = pair.flow.stats();
    stats.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", stats.app))
}

#[test]
fn a_queue_that_all_share_slows_both_halves_by_its_delay() {
    for buffer_packets in [100, 400] {
        let mut pair = pair(one_load(), buffer_packets);
        pair.run_until(30_000_000);
        // A packet of 1500 bytes takes 0.6 ms; the path without a queue 20 ms and what is sent.
        let full_ms = 20.0 + 0.6 * buffer_packets as f64;
        for name in ["tcp_ms", "http_ms"] {
            let ms = figure(&pair, name);
            assert!((0.6 * full_ms..1.05 * full_ms).contains(&ms), "{name}: {ms} of {full_ms}");
        }
        let loaded_ms = figure(&pair, "loaded_http_ms");
        assert!(loaded_ms > 0.6 * full_ms, "{loaded_ms} of {full_ms}");
        let Score { foreign, loaded } = score(&pair);
        let three = figure(&pair, "tcp_ms") + figure(&pair, "tls_ms") + figure(&pair, "http_ms");
        assert!((foreign.rpm - 60_000.0 / (three / 3.0)).abs() < 1e-6);
        assert!((loaded.rpm - 60_000.0 / loaded_ms).abs() < 1e-6);
        assert_eq!(figure(&pair, "rpm"), (foreign.rpm + loaded.rpm) / 2.0);
    }
}

#[test]
fn a_path_that_is_not_filled_has_the_rpm_of_its_round_trip() {
    // The receive window is half of the bandwidth-delay product: no queue.
    let test = ResponsivenessConfig { interval_ms: 1_000, ..one_load() };
    let tcp = TcpConfig { receive_window_bytes: 25_000, ..TcpConfig::default() };
    let app = AppConfig::Responsiveness { test, tcp };
    let down = Link::new(20_000_000, 10_000, 1_000);
    let mut pair = Pair::new(app, down, Link::new(1_000_000_000, 10_000, 10_000));
    pair.run_until(10_500_000);
    let Score { foreign, loaded } = score(&pair);
    // TLS has three segments; what waits before a response in the server is a frame at 10 Mbit/s.
    assert!((2_600.0..3_000.0).contains(&foreign.rpm), "{foreign:?}");
    assert!((1_500.0..3_000.0).contains(&loaded.rpm), "{loaded:?}");
    assert_eq!((foreign.confidence, loaded.confidence), (Confidence::High, Confidence::High));
}

#[test]
fn probes_take_a_twentieth_of_the_capacity_and_both_kinds_are_equally_many() {
    let mut pair = pair(one_load(), 200);
    pair.run_until(20_500_000);
    let (foreign, own) =
        (figure(&pair, "foreign_probes_count"), figure(&pair, "self_probes_count"));
    // 20 Mbit/s: 5 % of it for pairs of 6000 bytes.
    assert!((16.0 * 20.0..21.0 * 20.0).contains(&foreign), "{foreign}");
    assert!((foreign - own).abs() < 20.0, "{foreign} {own}");
    let goodput = pair.goodput_bps(5_000_000, 20_000_000);
    assert!(goodput > 0.9 * 20e6 * 1448.0 / 1500.0, "{goodput}");
}

#[test]
fn every_self_probe_is_answered_when_segments_are_lost() {
    let mut pair = pair(ResponsivenessConfig::default(), 1_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 10_000));
    pair.up.judge = |_, n, _| LinkAction::Drop.when(coin(n + 7, 10_000));
    pair.run_until(20_000_000);
    let (foreign, own) =
        (figure(&pair, "foreign_probes_count"), figure(&pair, "self_probes_count"));
    assert!(own > 100.0 && (own / foreign - 1.0).abs() < 0.1, "{own} {foreign}");
}

#[test]
fn a_path_that_stops_answering_is_not_called_fast() {
    let mut pair = pair(one_load(), 50);
    pair.run_until(12_000_000);
    let before = score(&pair).rpm();
    pair.down.judge = |_, _, _| LinkAction::Drop;
    pair.run_until(18_500_000);
    let Score { foreign, loaded } = score(&pair);
    assert!(foreign.rpm < 0.1 * before && loaded.rpm < 0.1 * before, "{foreign:?} {loaded:?}");
}

#[test]
fn a_loading_connection_is_added_each_interval() {
    let mut pair = pair(ResponsivenessConfig::default(), 200);
    for (until_us, connections) in [(5_500_000, 6), (30_000_000, 16)] {
        pair.run_until(until_us);
        let UeSide::Responsiveness(client) = &pair.flow.ue else { panic!() };
        assert_eq!(client.loading_connections(), connections);
    }
}
