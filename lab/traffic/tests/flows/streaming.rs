//! Web pages and video over TCP.

use traffic::{
    AbrAlgorithm, AppConfig, Flow, FlowConfig, FlowStats, TcpConfig, UeSide, VideoConfig, WebConfig,
};

use crate::pair::{Link, LinkAction, Pair, coin};

fn pair(app: AppConfig, rate_bps: u64) -> Pair {
    Pair::new(app, Link::new(rate_bps, 10_000, 500), Link::new(1_000_000_000, 10_000, 100_000))
}

fn video(controller: AbrAlgorithm) -> VideoConfig {
    VideoConfig { controller, ..VideoConfig::default() }
}

fn stream(video: VideoConfig, rate_bps: u64) -> Pair {
    pair(AppConfig::Video { video, tcp: TcpConfig::default() }, rate_bps)
}

fn app(stats: &FlowStats, name: &str) -> f64 {
    stats.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", stats.app))
}

const CONTROLLERS: [AbrAlgorithm; 4] =
    [AbrAlgorithm::Bb, AbrAlgorithm::Festive, AbrAlgorithm::Bola, AbrAlgorithm::RobustMpc];

#[test]
fn every_chunk_is_delivered_once_and_in_full() {
    for controller in CONTROLLERS {
        let mut pair = stream(video(controller), 3_000_000);
        pair.down.judge =
            |_, n, _| if coin(n, 5_000) { LinkAction::Drop } else { LinkAction::Deliver };
        pair.run_until(400_000_000);
        let UeSide::Video(player) = &pair.flow.ue else { panic!() };
        let log = player.log();
        assert!(log.iter().map(|chunk| chunk.chunk).eq(0..48), "{controller:?}");
        for chunk in log {
            let size = player.manifest().chunk_bytes(chunk.chunk as usize, chunk.rung.into());
            assert_eq!(chunk.bytes, size.get());
        }
        let bytes: u64 = log.iter().map(|chunk| u64::from(chunk.bytes)).sum();
        assert_eq!(pair.flow.goodput_bytes(), bytes, "{controller:?}");
        assert!(player.player().unwrap().has_ended());
        assert_eq!(app(&pair.flow.stats(), "played_s"), 192.0);
    }
}

#[test]
fn controllers_use_a_link_without_stalls_worth_mentioning() {
    for controller in CONTROLLERS {
        for rate_bps in [1_000_000, 2_500_000, 20_000_000] {
            let mut pair = stream(video(controller), rate_bps);
            pair.run_until(400_000_000);
            let stats = pair.flow.stats();
            let who = format!("{controller:?} at {rate_bps}");
            // MPC weighs a moment of stalling against quality; the others avoid it.
            assert!(app(&stats, "stalled_s") < 0.2, "{who}: {:?}", stats.app);
            let mean_bps = app(&stats, "bitrate_mean_kbps") * 1e3;
            assert!(mean_bps < 1.2 * rate_bps as f64, "{who}: {mean_bps}");
            assert!(mean_bps > 0.35 * rate_bps.min(4_300_000) as f64, "{who}: {mean_bps}");
        }
    }
}

#[test]
fn the_buffer_is_bounded_and_start_up_is_the_first_chunk() {
    for controller in CONTROLLERS {
        let mut pair = stream(video(controller), 50_000_000);
        pair.run_until(400_000_000);
        let UeSide::Video(player) = &pair.flow.ue else { panic!() };
        assert!(player.log().iter().all(|chunk| chunk.buffer_us <= 60_000_000), "{controller:?}");
        let startup_us = player.player().unwrap().startup_us();
        assert_eq!(startup_us, player.log()[0].at_us);
    }
}

#[test]
fn an_outage_stalls_the_player_and_it_recovers() {
    for controller in CONTROLLERS {
        let mut pair = stream(video(controller), 4_000_000);
        pair.down.stall_us = (20_000_000, 110_000_000);
        pair.run_until(100_000_000);
        let stats = pair.flow.stats();
        // The buffer holds a minute at most; the stall is counted while it lasts.
        assert!(app(&stats, "stalled_s") > 15.0, "{controller:?} {:?}", stats.app);
        let so_far = app(&stats, "chunks_count");
        pair.run_until(600_000_000);
        let stats = pair.flow.stats();
        assert!(so_far < 48.0);
        assert_eq!(app(&stats, "chunks_count"), 48.0, "{controller:?}");
        assert_eq!(app(&stats, "played_s"), 192.0);
        assert!(app(&stats, "stalls_count") >= 1.0);
    }
}

#[test]
fn the_qoe_is_that_of_its_parts() {
    let mut pair = stream(video(AbrAlgorithm::RobustMpc), 2_000_000);
    pair.run_until(400_000_000);
    let stats = pair.flow.stats();
    let UeSide::Video(player) = &pair.flow.ue else { panic!() };
    let rates: Vec<f64> = player
        .log()
        .iter()
        .map(|chunk| player.manifest().rates_bps()[usize::from(chunk.rung)] / 1e6)
        .collect();
    let quality: f64 = rates.iter().sum();
    let change: f64 = rates.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
    let waiting = app(&stats, "stalled_s") + app(&stats, "startup_s");
    assert!((app(&stats, "qoe_total") - (quality - change - 4.3 * waiting)).abs() < 1e-6);
}

fn web(config: WebConfig) -> AppConfig {
    AppConfig::Web { web: config, tcp: TcpConfig::default() }
}

#[test]
fn pages_load_and_every_object_comes_once() {
    let config = WebConfig { reading_mean_s: 1.0, ..WebConfig::default() };
    let mut pair = pair(web(config), 20_000_000);
    pair.down.judge = |_, n, _| if coin(n, 3_000) { LinkAction::Drop } else { LinkAction::Deliver };
    pair.run_until(600_000_000);
    let UeSide::Web(browser) = &pair.flow.ue else { panic!() };
    let (pages, objects, bytes) = browser.loaded();
    assert!(pages > 300, "{pages}");
    assert!(browser.page_load().count() >= pages - 1);
    assert!(objects > 5 * pages);
    // What is under way at the end has come in part.
    let goodput = pair.flow.goodput_bytes();
    assert!(goodput >= bytes && goodput - bytes < 12_000_001, "{goodput} {bytes}");
}

#[test]
fn a_small_page_takes_two_round_trips_and_its_parsing() {
    // Two objects at most (m − k = 1.4, rounded), all small, no parsing.
    let config = WebConfig {
        reading_mean_s: 0.5,
        parsing_mean_s: 0.0,
        embedded_k: 2.0,
        embedded_m: 3.4,
        scale: 0.001,
        ..WebConfig::default()
    };
    let mut pair = pair(web(config), 1_000_000_000);
    pair.run_until(100_000_000);
    let UeSide::Web(browser) = &pair.flow.ue else { panic!() };
    let load = browser.page_load().summary();
    assert!(load.min_us >= 20_000 && load.max_us < 40_200, "{load:?}");
}

#[test]
fn a_browser_waits_out_an_outage() {
    let config = WebConfig { reading_mean_s: 2.0, ..WebConfig::default() };
    let mut pair = pair(web(config), 10_000_000);
    pair.down.stall_us = (20_000_000, 30_000_000);
    pair.run_until(200_000_000);
    let UeSide::Web(browser) = &pair.flow.ue else { panic!() };
    assert!(browser.page_load().summary().max_us > 5_000_000);
    assert!(browser.page_load().summary_between(60_000_000, 200_000_000).count > 20);
}

#[test]
fn every_connection_has_a_number_of_its_own() {
    let config = FlowConfig::new(web(WebConfig { connections: Some(4), ..WebConfig::default() }));
    assert_eq!(config.app.connections(), 4);
    let flow = Flow::new(40, &config, 1).unwrap();
    assert_eq!(flow.kind(), "web");
    assert!(flow.stats().tcp.is_none(), "four connections have no one window");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let apps = [
        web(WebConfig { reading_mean_s: 1.0, ..WebConfig::default() }),
        AppConfig::Video { video: video(AbrAlgorithm::Festive), tcp: TcpConfig::default() },
    ];
    for app in apps {
        let run = || {
            let mut pair = pair(app.clone(), 5_000_000);
            pair.run_until(60_000_000);
            (pair.fingerprint, pair.flow.stats())
        };
        assert_eq!(run(), run());
    }
}
