//! The game and the video call over links.

use traffic::{AppConfig, CallConfig, FlowStats, GameConfig, UeSide};

use crate::pair::{Link, LinkAction, Pair, coin};

fn pair(app: AppConfig, rate_bps: u64, buffer_packets: usize) -> Pair {
    Pair::new(
        app,
        Link::new(rate_bps, 10_000, buffer_packets),
        Link::new(1_000_000_000, 10_000, 10_000),
    )
}

fn app(stats: &FlowStats, name: &str) -> f64 {
    stats.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", stats.app))
}

#[test]
fn a_game_has_the_rates_of_its_model() {
    let mut pair = pair(AppConfig::Game(GameConfig::default()), 100_000_000, 1_000);
    pair.run_until(600_000_000);
    let stats = pair.flow.stats();
    // Gumbel means: 55 + 6 γ ms between states of 120 + 36 γ B and 28 B of headers.
    let interval_s = 0.055 + 0.006 * 0.577_215_665;
    let states = 600.0 / interval_s;
    assert!((stats.sent_packets as f64 / states - 1.0).abs() < 0.01, "{}", stats.sent_packets);
    let size = stats.sent_bytes as f64 / stats.sent_packets as f64;
    assert!((size / (120.0 + 36.0 * 0.577_215_665 + 28.0) - 1.0).abs() < 0.01, "{size}");
    assert_eq!(stats.uplink_delay.unwrap().count, 15_000, "an action each 40 ms");
    assert_eq!(stats.lost_packets, 0);
}

#[test]
fn actions_show_after_the_round_trip_and_the_tick() {
    let mut pair = pair(AppConfig::Game(GameConfig::default()), 100_000_000, 1_000);
    pair.run_until(60_000_000);
    let stats = pair.flow.stats();
    let rtt = stats.rtt.unwrap();
    assert!(rtt.min_us >= 20_000 && rtt.max_us < 20_100, "{rtt:?}");
    // The newest of the actions each 40 ms waited between nothing and 40 ms for the tick.
    assert!(app(&stats, "action_to_screen_max_ms") < 20.1 + 40.1, "{stats:?}");
    let mean = app(&stats, "action_to_screen_mean_ms");
    assert!((36.0..44.0).contains(&mean), "{mean}");
}

#[test]
fn a_frozen_link_freezes_the_game_and_no_longer() {
    let mut pair = pair(AppConfig::Game(GameConfig::default()), 10_000_000, 1_000);
    pair.down.stall_us = (10_000_000, 13_000_000);
    pair.run_until(30_000_000);
    let stats = pair.flow.stats();
    let gap = app(&stats, "state_gap_max_ms");
    assert!((2_900.0..3_100.0).contains(&gap), "{gap}");
    assert_eq!(stats.lost_packets, 0);
    let UeSide::Game(game) = &pair.flow.ue else { panic!() };
    let after = game.response().summary_between(14_000_000, 30_000_000);
    assert!(after.count > 200 && after.max_us < 70_000, "{after:?}");
}

fn call() -> AppConfig {
    AppConfig::Call(CallConfig::default())
}

#[test]
fn a_call_finds_the_rate_of_its_link_and_keeps_the_queue_short() {
    let mut pair = pair(call(), 2_000_000, 1_000);
    pair.run_until(120_000_000);
    let goodput = pair.goodput_bps(60_000_000, 120_000_000);
    assert!((0.6 * 2e6..2e6).contains(&goodput), "{goodput}");
    let delay = pair.flow.one_way_delay().summary_between(60_000_000, 120_000_000);
    // 10 ms of path; a full buffer would be 6 s.
    assert!(delay.p95_us < 250_000, "{delay:?}");
    let stats = pair.flow.stats();
    assert_eq!(app(&stats, "frames_sent_count"), 3_601.0);
    assert!(app(&stats, "frames_shown_count") > 3_590.0, "{stats:?}");
}

#[test]
fn a_call_on_a_wide_link_uses_what_its_encoder_needs() {
    let mut pair = pair(call(), 100_000_000, 1_000);
    pair.run_until(120_000_000);
    let goodput = pair.goodput_bps(90_000_000, 120_000_000);
    assert!((goodput / 6e6 - 1.0).abs() < 0.03, "{goodput}");
    let stats = pair.flow.stats();
    // A frame is paced over 0.4 of its interval, a key frame over four times that.
    assert!(app(&stats, "frame_delay_p50_ms") < 30.0, "{stats:?}");
    assert_eq!(app(&stats, "freezes_count"), 0.0);
}

#[test]
fn a_call_gives_way_when_the_link_shrinks_and_comes_back() {
    // 4 Mbit/s, for ten seconds a fifth of that by losing four packets of five, then all again.
    let mut pair = pair(call(), 4_000_000, 1_000);
    pair.down.judge = |_, number, now_us| {
        let narrow = (60_000_000..70_000_000).contains(&now_us);
        if narrow && coin(number, 300_000) { LinkAction::Drop } else { LinkAction::Deliver }
    };
    pair.run_until(60_000_000);
    let before = pair.goodput_bps(50_000_000, 60_000_000);
    pair.run_until(70_000_000);
    let during = pair.goodput_bps(67_000_000, 70_000_000);
    assert!(during < 0.5 * before, "{during} of {before}: losses of 30 % are congestion");
    pair.run_until(160_000_000);
    let after = pair.goodput_bps(150_000_000, 160_000_000);
    assert!(after > 0.7 * before, "{after} of {before}");
    let stats = pair.flow.stats();
    assert!(app(&stats, "key_frames_count") > 13.0, "lost pictures were asked for: {stats:?}");
    assert!(app(&stats, "frames_undecodable_count") > 0.0);
}

#[test]
fn a_call_survives_an_outage() {
    let mut pair = pair(call(), 3_000_000, 20_000);
    pair.down.stall_us = (30_000_000, 35_000_000);
    pair.run_until(90_000_000);
    let stats = pair.flow.stats();
    assert!(app(&stats, "frame_delay_max_ms") > 4_900.0);
    assert!(app(&stats, "freezes_count") >= 1.0 && app(&stats, "frozen_s") >= 4.9);
    let late = pair.flow.one_way_delay().summary_between(60_000_000, 90_000_000);
    assert!(late.p95_us < 300_000, "{late:?}");
    assert!(pair.goodput_bps(60_000_000, 90_000_000) > 1e6);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for app in [call(), AppConfig::Game(GameConfig::default())] {
        let run = || {
            let mut pair = pair(app.clone(), 1_500_000, 50);
            pair.down.judge =
                |_, n, _| if coin(n, 10_000) { LinkAction::Drop } else { LinkAction::Deliver };
            pair.run_until(40_000_000);
            (pair.fingerprint, pair.flow.stats())
        };
        assert_eq!(run(), run());
    }
}
