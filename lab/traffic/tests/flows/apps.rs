//! The flows that do not answer to congestion.

use traffic::{
    AppConfig, Direction, FlowConfig, FlowStats, PingConfig, TcpConfig, UdpCbrConfig, VoipConfig,
};

use crate::pair::{Link, LinkAction, Pair};

fn path(rate_bps: u64, buffer_packets: usize) -> (Link, Link) {
    (Link::new(rate_bps, 7_000, buffer_packets), Link::new(1_000_000_000, 8_000, 1_000))
}

#[test]
fn ping_on_an_idle_path_measures_the_floor() {
    let (down, up) = path(1_000_000_000, 100);
    let mut pair = Pair::new(AppConfig::Ping(PingConfig::default()), down, up);
    pair.run_until(10_000_000);
    let rtt = pair.flow.rtt().unwrap().summary();
    // 84 B at 1 Gbit/s take less than a microsecond each way, counted as one.
    assert_eq!((rtt.count, rtt.min_us, rtt.max_us), (100, 15_002, 15_002));
    assert_eq!(pair.flow.stats().lost_packets, 0);
}

#[test]
fn ping_counts_what_is_lost_either_way() {
    let (mut down, mut up) = path(1_000_000_000, 100);
    down.judge = |_, n, _| if n % 10 == 3 { LinkAction::Drop } else { LinkAction::Deliver };
    up.judge = |_, n, _| if n % 9 == 5 { LinkAction::Drop } else { LinkAction::Deliver };
    let mut pair = Pair::new(AppConfig::Ping(PingConfig::default()), down, up);
    pair.run_until(10_000_000);
    assert_eq!(pair.flow.rtt().unwrap().count(), 80);
    assert_eq!(pair.flow.stats().lost_packets, 20);
}

#[test]
fn udp_faster_than_the_link_fills_the_buffer_and_loses_the_excess() {
    let (down, up) = path(10_000_000, 100);
    let cbr = UdpCbrConfig { rate_kbps: 20_000, packet_bytes: 1_500 };
    let mut pair = Pair::new(AppConfig::UdpCbr(cbr), down, up);
    pair.run_until(10_000_000);
    let stats = pair.flow.stats();
    let received = stats.received_packets as f64 / stats.sent_packets as f64;
    assert!((0.48..0.51).contains(&received), "{received}");
    // A full buffer of 100 datagrams of 1500 B at 10 Mbit/s, and the path.
    let expected_us = 100 * 1_200 + 7_000;
    assert!(stats.one_way_delay.p50_us.abs_diff(expected_us) < 2_000, "{stats:?}");
    // The hundred still queued stand for as many again lost between them.
    let unsettled = stats.sent_packets - stats.received_packets - stats.lost_packets;
    assert!((190..=220).contains(&unsettled), "{unsettled}");
}

#[test]
fn a_call_shows_the_gaps_and_delays_of_its_path() {
    let (mut down, up) = path(1_000_000, 100);
    down.judge = |_, n, _| match n % 50 {
        10 => LinkAction::Drop,
        20 => LinkAction::Late(50_000),
        _ => LinkAction::Deliver,
    };
    let voip = VoipConfig { bidirectional: true, ..VoipConfig::default() };
    let mut pair = Pair::new(AppConfig::Voip(voip), down, up);
    pair.run_until(20_000_000);
    let stats = pair.flow.stats();
    assert_eq!(stats.sent_packets, 1_001);
    assert_eq!(stats.lost_packets, 20);
    // 200 B at 1 Mbit/s are 1.6 ms.
    assert!(stats.one_way_delay.p50_us.abs_diff(8_600) <= 9, "to 0.1 %");
    assert_eq!((stats.one_way_delay.min_us, stats.one_way_delay.max_us), (8_600, 58_600));
    assert_eq!(stats.uplink_delay.unwrap().count, 1_000);
}

/// The statistics of a flow over a link of 10 Mbit/s in the direction of its data, whose deadline is
/// 60 ms for datagrams.
fn over_slow_link(app: AppConfig, deadline_us: Option<u64>, direction: Direction) -> FlowStats {
    let config = FlowConfig { direction, deadline_us, ..FlowConfig::new(app) };
    let data = Link::new(10_000_000, 7_000, 100);
    let answers = Link::new(1_000_000_000, 8_000, 1_000);
    let (down, up) = match direction {
        Direction::Down => (data, answers),
        Direction::Up => (answers, data),
    };
    let mut pair = Pair::with_config(&config, down, up);
    pair.run_until(10_000_000);
    if let Some(deadlines) = pair.flow.deadlines(10_000_000) {
        assert!(deadlines.due > 0, "{direction:?}: {deadlines:?}");
        assert_eq!(deadline_us.is_some(), deadlines.late + deadlines.lost() > 0, "{deadlines:?}");
    }
    pair.flow.stats()
}

/// All figures of the data are those of the same flow down; only the names of a call's figures say that the
/// UE talks.
#[test]
fn a_flow_up_is_a_flow_down_with_its_ends_exchanged() {
    let cbr = UdpCbrConfig { rate_kbps: 20_000, packet_bytes: 1_500 };
    for (app, deadline_us) in [
        (AppConfig::Tcp(TcpConfig::default()), None),
        (AppConfig::UdpCbr(cbr), Some(60_000)),
        (AppConfig::Voip(VoipConfig::default()), None),
    ] {
        let down = over_slow_link(app.clone(), deadline_us, Direction::Down);
        let up = over_slow_link(app, deadline_us, Direction::Up);
        assert!(down.received_packets > 400, "{down:?}");
        assert_eq!(up.uplink_delay, Some(up.one_way_delay), "the UE originates all");
        if down.kind == "voip" {
            assert_eq!(down.app.get("mos"), up.app.get("uplink_mos"));
            assert!(up.app.get("mos").is_none() && up.app.get("uplink_mos") > Some(4.0), "{up:?}");
        }
        let with = FlowStats {
            direction: Direction::Down,
            uplink_delay: down.uplink_delay,
            app: down.app.clone(),
            ..up
        };
        assert_eq!(with, down);
    }
}
