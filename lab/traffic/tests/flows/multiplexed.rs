//! Streams that share one connection: a page beside a download over HTTP/2 and HTTP/3.

use std::num::NonZeroU32;

use traffic::tcp::congestion::{CongestionConfig, Form};
use traffic::{
    AppConfig, Body, FlowConfig, FlowStats, HttpConfig, HttpVersion, TcpConfig, TunnelConfig,
    UeSide, VideoConfig, WebConfig,
};

use crate::pair::{Link, LinkAction, Pair, coin};

const HTTP2: HttpConfig =
    HttpConfig { version: HttpVersion::V2, loss_isolation: None, unsent_bytes: None };
const QUIC: HttpConfig =
    HttpConfig { version: HttpVersion::V3, loss_isolation: None, unsent_bytes: None };
const QUIC_IN_ORDER: HttpConfig =
    HttpConfig { version: HttpVersion::V3, loss_isolation: Some(false), unsent_bytes: None };

/// Small pages of about five objects, often; beside them a download without end.
fn config(http: HttpConfig, download: bool) -> FlowConfig {
    let web = WebConfig {
        http,
        reading_mean_s: 0.5,
        parsing_mean_s: 0.0,
        download_bytes: NonZeroU32::new(1_000_000_000).filter(|_| download),
        ..WebConfig::default()
    };
    FlowConfig::new(AppConfig::Web { web, tcp: TcpConfig::default() })
}

fn pair(http: HttpConfig, buffer_packets: usize) -> Pair {
    let down = Link::new(20_000_000, 10_000, buffer_packets);
    Pair::with_config(&config(http, true), down, Link::new(1_000_000_000, 10_000, 100_000))
}

fn run(mut pair: Pair, until_us: u64) -> FlowStats {
    pair.run_until(until_us);
    pair.flow.stats()
}

fn app(stats: &FlowStats, name: &str) -> f64 {
    stats.app.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", stats.app))
}

#[test]
fn every_object_and_every_byte_arrives_once_whatever_the_network_does() {
    for http in [HTTP2, QUIC, QUIC_IN_ORDER] {
        let web = WebConfig {
            http,
            reading_mean_s: 0.1,
            download_bytes: NonZeroU32::new(100_000),
            ..WebConfig::default()
        };
        let mut config = FlowConfig::new(AppConfig::Web { web, tcp: TcpConfig::default() });
        config.stop_us = Some(60_000_000);
        let down = Link::new(20_000_000, 10_000, 500);
        let mut pair = Pair::with_config(&config, down, Link::new(10_000_000, 10_000, 500));
        pair.down.judge = |_, n, _| match n % 97 {
            3 => LinkAction::Drop,
            11 => LinkAction::Late(30_000),
            13 => LinkAction::Twice(15_000),
            _ => LinkAction::Deliver,
        };
        pair.up.judge = |_, n, _| LinkAction::Drop.when(coin(n, 30_000));
        pair.run_until(200_000_000);
        let UeSide::Web(browser) = &pair.flow.ue else { panic!() };
        let (pages, objects, bytes) = browser.loaded();
        assert!(pages > 50 && objects > 5 * pages, "{http:?}: {pages} {objects}");
        let stats = pair.flow.stats();
        let downloads = app(&stats, "downloads_count");
        assert!(downloads > 50.0, "{http:?}: {downloads}");
        // What was under way at the stop has come in part.
        let complete = bytes + downloads as u64 * 100_000;
        assert!(stats.goodput_bytes >= complete, "{http:?}");
        assert!(stats.goodput_bytes - complete < 100_000 + 2_000_001, "{http:?}");
    }
}

#[test]
fn a_page_waits_for_a_lost_segment_of_the_download_unless_streams_are_isolated() {
    // BBR keeps a window of 50 segments at this loss, so that there is one in most round trips.
    let load_s = |http| {
        let mut config = config(http, true);
        let AppConfig::Web { tcp, .. } = &mut config.app else { panic!() };
        tcp.congestion = CongestionConfig::Bbr(Form::Rfc);
        let down = Link::new(20_000_000, 10_000, 500);
        let mut pair = Pair::with_config(&config, down, Link::new(1_000_000_000, 10_000, 100_000));
        pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 20_000));
        app(&run(pair, 100_000_000), "object_load_p50_s")
    };
    let (http2, in_order, isolated) = (load_s(HTTP2), load_s(QUIC_IN_ORDER), load_s(QUIC));
    assert!(isolated < 0.8 * in_order, "{isolated} {in_order}");
    // HTTP/2 has written a window of the download to the socket as well.
    assert!(isolated < 0.5 * http2, "{isolated} {http2}");
}

#[test]
fn a_response_waits_behind_what_http2_has_written_to_the_socket() {
    // No loss, and a queue of at most 60 ms.
    let load_s = |http| app(&run(pair(http, 100_000), 20_000_000), "object_load_p50_s");
    let unsent = |bytes| HttpConfig { unsent_bytes: Some(bytes), ..HTTP2 };
    let (small, large) = (load_s(unsent(16_384)), load_s(unsent(1_000_000)));
    // 984 kB at 20 Mbit/s, of which a page's own streams have little.
    assert!((0.25..0.45).contains(&(large - small)), "{small} {large}");
    let quic = load_s(QUIC);
    assert!(quic < small + 0.005, "{quic} {small}");
}

#[test]
fn a_page_waits_in_the_queue_of_the_download_in_the_same_connection() {
    let load_s = |buffer| app(&run(pair(QUIC, buffer), 60_000_000), "object_load_p50_s");
    let (short, long) = (load_s(50), load_s(1_000));
    assert!(long > short + 0.2, "{short} {long}");
}

#[test]
fn a_download_and_pages_fill_the_link() {
    for http in [HTTP2, QUIC] {
        let stats = run(pair(http, 200), 30_000_000);
        let mbps = stats.goodput_bytes as f64 * 8.0 / 30e6;
        assert!((17.5..19.3).contains(&mbps), "{http:?}: {mbps}");
        let download = app(&stats, "download_mean_mbps");
        assert!(download < mbps && download > 0.8 * mbps, "{http:?}: {download} of {mbps}");
    }
}

#[test]
fn quic_has_the_lengths_of_its_headers_over_udp() {
    let lengths = |config: &FlowConfig| {
        let mut longest = 0;
        let down = Link::new(20_000_000, 10_000, 500);
        let mut pair = Pair::with_config(config, down, Link::new(1_000_000_000, 10_000, 100));
        pair.down.judge = |packet, _, _| {
            assert!(matches!(&packet.body, Body::Streams(it) if it.is_quic));
            assert_eq!(packet.body.protocol(), 17);
            LinkAction::Deliver
        };
        pair.run_until(2_000_000);
        let stats = pair.flow.stats();
        longest = longest.max(stats.sent_bytes / stats.sent_packets);
        (longest, stats.goodput_bytes as f64 / stats.received_bytes as f64)
    };
    // 64 bytes of headers.
    let (mean, share) = lengths(&config(QUIC, true));
    assert!((1_490..=1_500).contains(&mean), "{mean}");
    assert!((share - 1_436.0 / 1_500.0).abs() < 0.003, "{share}");
    let inside = FlowConfig { tunnel: Some(TunnelConfig::default()), ..config(QUIC, true) };
    assert!((1_410..=1_420).contains(&lengths(&inside).0));
}

#[test]
fn a_film_with_its_audio_apart_comes_over_one_quic_connection() {
    for (http, connections) in [(HttpConfig::default(), 2), (HTTP2, 1), (QUIC, 1)] {
        let video =
            VideoConfig { http, audio_kbps: Some(128), chunks: 20, ..VideoConfig::default() };
        let app_config = AppConfig::Video { video, tcp: TcpConfig::default() };
        assert_eq!(app_config.connections(), connections);
        let down = Link::new(10_000_000, 10_000, 500);
        let mut pair = Pair::new(app_config, down, Link::new(1_000_000_000, 10_000, 100_000));
        pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 5_000));
        pair.run_until(200_000_000);
        let UeSide::Video(player) = &pair.flow.ue else { panic!() };
        assert_eq!(player.log().len(), 20, "{http:?}");
        for chunk in player.log() {
            let size = player.manifest().chunk_bytes(chunk.chunk as usize, chunk.rung.into());
            assert_eq!(chunk.bytes, size.get() + 64_000, "{http:?}");
        }
        assert_eq!(app(&pair.flow.stats(), "stalled_s"), 0.0, "{http:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for http in [HTTP2, QUIC, QUIC_IN_ORDER] {
        let once = || {
            let mut pair = pair(http, 100);
            pair.run_until(10_000_000);
            (pair.fingerprint, pair.flow.stats())
        };
        assert_eq!(once(), once(), "{http:?}");
    }
}
