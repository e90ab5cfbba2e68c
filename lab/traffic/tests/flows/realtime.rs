//! A cloud game, a call with audio, a shared screen and a download manager.

use traffic::{
    AppConfig, CallConfig, CloudGameConfig, DownloadConfig, FlowConfig, FlowStats, ScreenConfig,
    TcpConfig, UeSide,
};

use crate::pair::{Link, LinkAction, Pair, coin};

const UP: u64 = 1_000_000_000;

fn pair(app: AppConfig, rate_bps: u64, buffer_packets: usize) -> Pair {
    Pair::new(app, Link::new(rate_bps, 10_000, buffer_packets), Link::new(UP, 10_000, 100_000))
}

fn app(stats: &FlowStats, name: &str) -> f64 {
    stats.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", stats.app))
}

/// A cloud game whose path of 10 ms is known to it.
fn game(deadline_us: Option<u64>, rate_bps: u64) -> Pair {
    let mut config = FlowConfig::new(AppConfig::CloudGame(CloudGameConfig::default()));
    config.core_delay_us = 10_000;
    config.stop_us = Some(60_000_000);
    config.deadline_us = deadline_us;
    let down = Link::new(rate_bps, 10_000, 10_000);
    Pair::with_config(&config, down, Link::new(UP, 10_000, 100_000))
}

/// Frames due, late and lost after a minute.
fn frames(pair: &mut Pair) -> (u64, u64, u64) {
    pair.run_until(61_000_000);
    let deadlines = pair.flow.deadlines(61_000_000).unwrap();
    (deadlines.due, deadlines.late, deadlines.lost())
}

#[test]
fn a_cloud_game_on_a_fast_path_is_in_time() {
    let mut pair = game(None, 100_000_000);
    assert_eq!(frames(&mut pair), (3_600, 0, 0));
    let stats = pair.flow.stats();
    assert_eq!(app(&stats, "frames_sent_count"), 3_600.0);
    // 25 kB paced at 30 Mbit/s take 6.7 ms; 36 kB in the largest I-frames.
    let delay_ms = app(&stats, "frame_delay_p50_ms") - 10.0;
    assert!((6.0..7.5).contains(&delay_ms), "{delay_ms}");
    let mbps = stats.goodput_bytes as f64 * 8.0 / 60e6;
    assert!((mbps / 12.0 - 1.0).abs() < 0.01, "{mbps}");
    assert_eq!(stats.uplink_delay.unwrap().count, 15_000);
}

#[test]
fn a_frame_later_than_its_deadline_is_late_and_one_with_a_lost_packet_is_lost() {
    // A stall of 500 ms, after which the queue of 30 frames drains at 48 Mbit/s.
    let mut pair = game(None, 48_000_000);
    pair.down.stall_us = (10_000_000, 10_500_000);
    let (due, late, lost) = frames(&mut pair);
    assert_eq!((due, lost), (3_600, 0));
    assert!((30..45).contains(&late), "{late}");
    // A deadline below the time of pacing fails all frames.
    let (_, late, lost) = frames(&mut game(Some(13_000), 48_000_000));
    assert!(late > 3_500 && lost == 0, "{late} {lost}");
    // One of 21 packets is lost in about a fifth of the frames.
    let mut lossy = game(None, 48_000_000);
    lossy.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 10_000));
    let (due, late, lost) = frames(&mut lossy);
    assert_eq!((due, late), (3_600, 0));
    assert!((540..830).contains(&lost), "{lost}");
}

#[test]
fn frames_that_never_come_are_lost_without_a_packet_that_says_so() {
    let mut pair = game(None, 48_000_000);
    pair.down.judge = |_, _, now_us| LinkAction::Drop.when(now_us >= 30_000_000);
    let (due, _, lost) = frames(&mut pair);
    assert_eq!(due, 3_600);
    assert!((1_799..=1_802).contains(&lost), "{lost}");
}

#[test]
fn the_audio_of_a_call_comes_beside_its_video() {
    let call = CallConfig { audio_kbps: Some(32), max_bps: 1_500_000, ..CallConfig::default() };
    let mut with = pair(AppConfig::Call(call.clone()), 10_000_000, 1_000);
    with.down.judge = |packet, n, _| LinkAction::Drop.when(packet.len_bytes == 128 && n % 50 == 0);
    with.run_until(60_000_000);
    let stats = with.flow.stats();
    // 80 bytes of Opus, RTP, UDP and IP each 20 ms.
    assert!(app(&stats, "audio_lost_pct") > 0.5 && app(&stats, "audio_lost_pct") < 4.0);
    let audio_ms = app(&stats, "audio_delay_p95_ms");
    assert!((10.1..13.0).contains(&audio_ms), "{audio_ms}");
    let mut without =
        pair(AppConfig::Call(CallConfig { audio_kbps: None, ..call }), 10_000_000, 1_000);
    without.run_until(60_000_000);
    let plain = without.flow.stats();
    assert!(plain.app.get("audio_delay_p95_ms").is_none());
    assert!(stats.sent_packets > plain.sent_packets + 2_900);
    let shown = |stats| app(stats, "frames_shown_count");
    assert_eq!(shown(&stats), shown(&plain), "the video is not disturbed");
}

#[test]
fn a_slide_change_is_a_burst_whose_delay_is_that_of_its_bytes() {
    let screen = ScreenConfig { change_mean_s: 5.0, change_sigma: 0.0, ..ScreenConfig::default() };
    let config = AppConfig::Screen { screen, tcp: TcpConfig::default() };
    let mut fast = pair(config.clone(), 20_000_000, 1_000);
    fast.run_until(300_000_000);
    let stats = fast.flow.stats();
    let changes = app(&stats, "changes_count");
    assert!((40.0..80.0).contains(&changes), "{changes}");
    // 300 kB at 20 Mbit/s take 124 ms with headers: the updates keep the window open (RFC 5681 §4.1).
    let delay_s = app(&stats, "change_delay_p50_s");
    assert!((0.13..0.15).contains(&delay_s), "{delay_s}");
    // From the initial window the first takes some round trips more.
    assert!(app(&stats, "change_delay_max_s") > 0.17);
    assert!(app(&stats, "update_delay_p50_ms") < 12.0);
    // The sender is idle most of the time: 60 kB/s of changes and 5 kB/s of updates.
    let mean_bps = stats.goodput_bytes as f64 * 8.0 / 300.0;
    assert!((300e3..700e3).contains(&mean_bps), "{mean_bps}");
    let mut lossy = pair(config, 20_000_000, 1_000);
    lossy.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 20_000));
    lossy.run_until(300_000_000);
    let seen = app(&lossy.flow.stats(), "changes_count");
    assert!(seen >= changes - 1.0, "{seen} of {changes}: lost segments are sent again");
}

#[test]
fn a_download_manager_completes_one_file_over_its_connections() {
    let with = |connections, judge: fn(u64) -> bool| {
        let download = DownloadConfig { connections, file_bytes: 30_000_001, ..Default::default() };
        let config = AppConfig::Download { download, tcp: TcpConfig::default() };
        assert_eq!(config.connections(), connections);
        let mut pair = pair(config, 40_000_000, 100);
        pair.down.judge = match judge(0) {
            true => |_, n, _| LinkAction::Drop.when(coin(n, 5_000)),
            false => |_, _, _| LinkAction::Deliver,
        };
        pair.run_until(120_000_000);
        let UeSide::Download(client) = &pair.flow.ue else { panic!() };
        assert!(client.complete_us().is_some(), "{connections}");
        let stats = pair.flow.stats();
        assert_eq!(stats.goodput_bytes, 30_000_001, "each byte once");
        assert_eq!(app(&stats, "parts_count"), 29.0);
        app(&stats, "download_s")
    };
    let clean = with(8, |_| false);
    // 30 MB at 40 Mbit/s with headers.
    assert!((6.2..7.5).contains(&clean), "{clean}");
    let (one, eight) = (with(1, |_| true), with(8, |_| true));
    assert!(eight < 0.5 * one, "{eight} {one}: losses halve one window of eight");
}

#[test]
fn a_download_that_stops_requests_no_more_parts() {
    let download = DownloadConfig { connections: 2, ..DownloadConfig::default() };
    let mut config = FlowConfig::new(AppConfig::Download { download, tcp: TcpConfig::default() });
    config.stop_us = Some(5_000_000);
    let down = Link::new(20_000_000, 10_000, 200);
    let mut pair = Pair::with_config(&config, down, Link::new(UP, 10_000, 100_000));
    pair.run_until(60_000_000);
    let bytes = pair.flow.goodput_bytes();
    assert!((11_000_000..15_000_000).contains(&bytes), "{bytes}");
    assert_eq!(bytes % (1 << 20), 0, "parts that have begun are fetched");
    assert!(pair.flow.stats().app.get("download_s").is_none());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for config in [
        AppConfig::CloudGame(CloudGameConfig::default()),
        AppConfig::Screen { screen: ScreenConfig::default(), tcp: TcpConfig::default() },
        AppConfig::Download { download: DownloadConfig::default(), tcp: TcpConfig::default() },
    ] {
        let once = || {
            let mut pair = pair(config.clone(), 20_000_000, 100);
            pair.run_until(10_000_000);
            (pair.fingerprint, pair.flow.stats())
        };
        assert_eq!(once(), once());
    }
}
