//! The Sprout-like and the Vivace-like rate controllers over links.

use traffic::{AppConfig, ServerSide, SproutConfig, UeSide, VivaceConfig};

use crate::pair::{Link, Pair};
use crate::shared::{Shared, jain};

fn pair(app: AppConfig, rate_bps: u64, buffer_packets: usize) -> Pair {
    Pair::new(
        app,
        Link::new(rate_bps, 10_000, buffer_packets),
        Link::new(1_000_000_000, 10_000, 100_000),
    )
}

fn sprout() -> AppConfig {
    AppConfig::Sprout(SproutConfig::default())
}

fn vivace() -> AppConfig {
    AppConfig::Vivace(VivaceConfig::default())
}

#[test]
fn sprout_fills_most_of_a_link_at_a_tenth_of_a_second_of_queue() {
    for rate_bps in [1_500_000, 5_000_000, 9_000_000] {
        let mut pair = pair(sprout(), rate_bps, 10_000);
        pair.run_until(60_000_000);
        let share = pair.goodput_bps(10_000_000, 60_000_000) / rate_bps as f64;
        assert!((0.5..1.0).contains(&share), "{rate_bps}: {share}");
        let delay = pair.flow.one_way_delay().summary_between(10_000_000, 60_000_000);
        // 100 ms of queue at 95 %, 10 ms of path and the time of the packets themselves.
        assert!(delay.p95_us < 125_000, "{rate_bps}: {delay:?}");
    }
}

#[test]
fn sprout_stays_within_its_model() {
    let mut pair = pair(sprout(), 100_000_000, 10_000);
    pair.run_until(30_000_000);
    let goodput = pair.goodput_bps(10_000_000, 30_000_000);
    // A window of 100 packets each round trip of 20 ms and tick of 20 ms is the most.
    assert!((10e6..30e6).contains(&goodput), "{goodput}");
}

#[test]
fn sprout_stops_in_an_outage_and_comes_back() {
    let mut pair = pair(sprout(), 5_000_000, 10_000);
    pair.down.stall_us = (20_000_000, 25_000_000);
    pair.run_until(20_500_000);
    let UeSide::Sprout(receiver) = &pair.flow.ue else { panic!() };
    assert!(receiver.belief().mean() < 60.0, "{}", receiver.belief().mean());
    let sent = pair.flow.stats().sent_bytes;
    pair.run_until(25_000_000);
    let in_outage = pair.flow.stats().sent_bytes - sent;
    // Heartbeats of 68 B each 20 ms, and next to nothing else.
    assert!(in_outage < 68 * 230 + 30_000, "{in_outage}");
    pair.run_until(40_000_000);
    assert!(pair.goodput_bps(30_000_000, 40_000_000) > 2.5e6);
}

#[test]
fn vivace_finds_the_capacity_without_filling_the_buffer() {
    for rate_bps in [3_000_000, 20_000_000] {
        let mut pair = pair(vivace(), rate_bps, 10_000);
        pair.run_until(60_000_000);
        let share = pair.goodput_bps(20_000_000, 60_000_000) / rate_bps as f64;
        assert!((0.7..1.0).contains(&share), "{rate_bps}: {share}");
        let delay = pair.flow.one_way_delay().summary_between(20_000_000, 60_000_000);
        assert!(delay.p95_us < 150_000, "{rate_bps}: {delay:?}");
    }
}

#[test]
fn vivace_falls_in_an_outage_and_climbs_again() {
    let mut pair = pair(vivace(), 10_000_000, 10_000);
    pair.down.stall_us = (30_000_000, 34_000_000);
    pair.run_until(34_000_000);
    pair.run_until(90_000_000);
    let share = pair.goodput_bps(70_000_000, 90_000_000) / 1e7;
    assert!(share > 0.6, "{share}");
    let ServerSide::Vivace(sender) = &pair.flow.server else { panic!() };
    assert!(sender.rate_mbps() < 13.0);
}

#[test]
fn vivace_flows_share_a_link_fairly() {
    // Some 200 packets an interval: with few, the noise of the RTT gradient hides the utility.
    let apps = vec![(vivace(), 0, 60_000); 3];
    let mut shared = Shared::of(Link::new(60_000_000, 0, 10_000), &apps);
    shared.run_until(200_000_000);
    let rates = shared.goodputs_bps(100_000_000, 200_000_000);
    assert!(jain(&rates) > 0.9, "{rates:?}");
    assert!(rates.iter().sum::<f64>() > 0.75 * 60e6, "{rates:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for app in [sprout(), vivace()] {
        let run = || {
            let mut pair = pair(app.clone(), 6_000_000, 100);
            pair.run_until(20_000_000);
            (pair.fingerprint, pair.flow.stats())
        };
        assert_eq!(run(), run());
    }
}
