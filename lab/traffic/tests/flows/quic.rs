//! QUIC over links: throughput, loss detection, probes, acknowledgements, bursts and marks.

use traffic::quic::AckFrequencyConfig;
use traffic::tcp::TcpStats;
use traffic::tcp::congestion::Form;
use traffic::{
    AppConfig, Body, CongestionControl, CongestionKeys, Direction, Flow, FlowConfig, Packet,
    QuicConfig, ServerSide, UeSide,
};

use crate::pair::{ALL, Link, LinkAction, Pair, coin};

/// Payload of a full datagram, by default.
const DATAGRAM_BYTES: f64 = 1_452.0 + 28.0;
/// Bytes of the stream in it: less header, tag and STREAM frame.
const DATA_BYTES: f64 = 1_452.0 - 27.0 - 6.0;

fn with(congestion: CongestionControl) -> QuicConfig {
    let keys = CongestionKeys { congestion_control: congestion, ..CongestionKeys::default() };
    QuicConfig { congestion: keys.config(Form::Rfc).unwrap(), ..QuicConfig::default() }
}

fn download(bytes: u64) -> QuicConfig {
    QuicConfig { total_bytes: Some(bytes), ..with(CongestionControl::Cubic) }
}

/// A download; the uplink is not limited.
fn quic(config: QuicConfig, rate_bps: u64, rtt_us: u64, buffer_packets: usize) -> Pair {
    Pair::new(
        AppConfig::Quic(config),
        Link::new(rate_bps, rtt_us / 2, buffer_packets),
        Link::new(1_000_000_000_000, rtt_us - rtt_us / 2, usize::MAX),
    )
}

fn is_finished(pair: &Pair) -> bool {
    let ServerSide::Quic(sender) = &pair.flow.server else { panic!("not QUIC") };
    sender.is_finished()
}

fn acks_sent(pair: &Pair) -> u64 {
    let UeSide::Quic(receiver) = &pair.flow.ue else { panic!("not QUIC") };
    receiver.acks_sent()
}

/// Runs to `end_us`, by which everything must be delivered and acknowledged; returns the statistics.
fn finish(pair: &mut Pair, end_us: u64) -> TcpStats {
    pair.run_until(end_us);
    let stats = pair.tcp_stats();
    assert!(is_finished(pair), "{stats:?}");
    assert_eq!(pair.flow.goodput_bytes(), stats.acked_bytes);
    assert_eq!(stats.in_flight_bytes, 0);
    stats
}

fn utilisation(pair: &Pair, from_us: u64, to_us: u64) -> f64 {
    pair.goodput_bps(from_us, to_us) * DATAGRAM_BYTES / DATA_BYTES / pair.down.rate_bps as f64
}

#[test]
fn a_transfer_without_loss_fills_the_link_and_sends_every_byte_once() {
    for congestion in [CongestionControl::Cubic, CongestionControl::Bbr3] {
        let mut pair = quic(with(congestion), 50_000_000, 40_000, 2_000);
        pair.run_until(10_000_000);
        let stats = pair.tcp_stats();
        assert_eq!((stats.lost_packets, stats.retransmitted_packets), (0, 0), "{congestion:?}");
        let used = utilisation(&pair, 1_000_000, 10_000_000);
        assert!(used > 0.97, "{congestion:?}: {used:.3}");
    }
}

#[test]
fn all_congestion_controls_deliver_over_a_link_with_loss_and_reordering() {
    for congestion in ALL {
        let config = QuicConfig { total_bytes: Some(4_000_000), ..with(congestion) };
        let mut pair = quic(config, 20_000_000, 40_000, 200);
        pair.down.judge = |_, n, _| match n {
            _ if coin(n, 5_000) => LinkAction::Drop,
            _ if coin(n + 1_000_000, 5_000) => LinkAction::Late(9_000),
            _ if coin(n + 2_000_000, 5_000) => LinkAction::Twice(3_000),
            _ => LinkAction::Deliver,
        };
        pair.up.judge = |_, n, _| LinkAction::Drop.when(coin(n, 50_000));
        let stats = finish(&mut pair, 60_000_000);
        assert_eq!(stats.acked_bytes, 4_000_000, "{congestion:?}");
        assert!(stats.retransmitted_packets > 0, "{congestion:?}");
    }
}

#[test]
fn the_ue_sends_up() {
    let config = FlowConfig {
        direction: Direction::Up,
        ..FlowConfig::new(AppConfig::Quic(download(1_000_000)))
    };
    let (down, up) = (Link::new(1_000_000_000, 20_000, 1_000), Link::new(10_000_000, 20_000, 100));
    let mut pair = Pair::with_config(&config, down, up);
    pair.run_until(5_000_000);
    let stats = pair.flow.stats();
    assert_eq!((stats.direction, stats.goodput_bytes), (Direction::Up, 1_000_000));
}

/// Lost packets and time of the first retransmission when packet 20 of the first flight is lost and
/// `after` more follow it.
fn loss_of_one(after: u64) -> (TcpStats, u64) {
    let config = QuicConfig {
        initial_window_segments: 100,
        total_bytes: Some((21 + after) * 1_419),
        ..with(CongestionControl::Cubic)
    };
    let mut pair = quic(config, 100_000_000, 40_000, 1_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when(n == 20);
    while pair.tcp_stats().retransmitted_packets == 0 {
        assert!(pair.step());
    }
    let at_us = pair.now_us;
    (finish(&mut pair, 5_000_000), at_us)
}

/// RFC 9002 §6.1.1 and §6.1.2: with three packets after it the loss is found a round trip after sending, with
/// one when 9/8 of the round trip have passed.
#[test]
fn a_loss_is_found_by_the_packet_threshold_or_else_by_the_time_threshold() {
    let (by_packets, at_us) = loss_of_one(10);
    assert_eq!((by_packets.lost_packets, by_packets.tail_loss_probes), (1, 0));
    assert!((40_000..45_000).contains(&at_us), "{at_us}");
    let (by_time, at_us) = loss_of_one(1);
    assert_eq!((by_time.lost_packets, by_time.tail_loss_probes), (1, 0));
    // The round trip of the acknowledgement is up to 43 ms, as 22 packets take 2.6 ms.
    assert!((45_000..52_000).contains(&at_us), "{at_us}");
}

/// RFC 9002 §6.2: nothing after a lost tail is acknowledged; the probe time-out sends, without declaring
/// packets lost or reducing the window before an acknowledgement says so.
#[test]
fn a_lost_tail_is_probed() {
    let mut pair = quic(download(300_000), 100_000_000, 40_000, 1_000);
    // 300 kB are 212 packets.
    pair.down.judge = |_, n, _| LinkAction::Drop.when((205..212).contains(&n));
    let mut lost_before_probe = 0;
    while pair.tcp_stats().tail_loss_probes == 0 {
        lost_before_probe = pair.tcp_stats().lost_packets;
        assert!(pair.step());
    }
    let probe = pair.tcp_stats();
    assert_eq!((probe.tail_loss_probes, lost_before_probe, probe.lost_packets), (2, 0, 0));
    let stats = finish(&mut pair, 5_000_000);
    assert_eq!(stats.timeouts, 0);
    assert!(stats.lost_packets >= 5, "{stats:?}");
}

/// RFC 9002 §6.2.1: the probe time-out doubles while nothing is acknowledged.
#[test]
fn probes_back_off_in_an_outage_and_the_transfer_ends_after_it() {
    let mut pair = quic(download(2_000_000), 10_000_000, 40_000, 1_000);
    pair.down.judge = |_, _, now_us| LinkAction::Drop.when((500_000..8_500_000).contains(&now_us));
    let mut probes_us = Vec::new();
    while pair.now_us < 8_500_000 && pair.step() {
        let probes = pair.tcp_stats().tail_loss_probes;
        if probes > 2 * probes_us.len() as u64 {
            probes_us.push(pair.now_us);
        }
    }
    let gaps: Vec<u64> = probes_us.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 4, "{probes_us:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    finish(&mut pair, 40_000_000);
}

/// RFC 9002 §7.6: losses over more than three probe time-outs leave the minimum window of two datagrams,
/// a shorter outage does not.
#[test]
fn persistent_congestion_leaves_two_datagrams() {
    let run = |outage_us: u64| {
        let mut pair = quic(with(CongestionControl::Reno), 10_000_000, 40_000, 1_000);
        pair.run_until(1_000_000);
        pair.down.script = Vec::new();
        pair.down.judge = if outage_us > 1_000_000 {
            |_, _, now_us| LinkAction::Drop.when((1_000_000..4_000_000).contains(&now_us))
        } else {
            |_, _, now_us| LinkAction::Drop.when((1_000_000..1_050_000).contains(&now_us))
        };
        let mut least = u64::MAX;
        while pair.now_us < 12_000_000 && pair.step() {
            least = least.min(pair.tcp_stats().cwnd_bytes);
        }
        (pair.tcp_stats().timeouts, least, utilisation(&pair, 10_000_000, 12_000_000))
    };
    let (episodes, least, used) = run(3_000_000);
    assert_eq!((episodes, least), (1, 2 * 1_452));
    assert!(used > 0.9, "{used:.3}");
    let (episodes, least, _) = run(50_000);
    assert_eq!(episodes, 0);
    assert!(least > 2 * 1_452, "{least}");
}

/// RFC 9000 §13.2.2 and draft-ietf-quic-ack-frequency.
#[test]
fn acknowledgements_come_for_each_second_packet_or_as_rarely_as_asked_for() {
    let run = |packets: Option<u32>| {
        let ack_frequency =
            packets.map(|packets| AckFrequencyConfig { packets, ..AckFrequencyConfig::default() });
        let config = QuicConfig { ack_frequency, ..download(10_000_000) };
        let mut pair = quic(config, 50_000_000, 40_000, 5_000);
        let stats = finish(&mut pair, 10_000_000);
        assert_eq!(stats.lost_packets, 0);
        assert!(utilisation(&pair, 500_000, 1_500_000) > 0.95);
        stats.sent_packets as f64 / acks_sent(&pair) as f64
    };
    let (unasked, asked) = (run(None), run(Some(10)));
    assert!((1.9..=2.1).contains(&unasked), "{unasked}");
    assert!((9.0..=10.1).contains(&asked), "{asked}");
}

/// A lost packet is reported when three follow it, although only each 50th is acknowledged.
#[test]
fn a_loss_is_reported_at_once_however_rare_acknowledgements_are() {
    let ack_frequency = AckFrequencyConfig {
        packets: 50,
        max_ack_delay_us: 200_000,
        ..AckFrequencyConfig::default()
    };
    let found_us = |reordering_packets, lost| {
        let asked = AckFrequencyConfig { reordering_packets, ..ack_frequency };
        let config = QuicConfig { ack_frequency: Some(asked), ..download(3_000_000) };
        let mut pair = quic(config, 50_000_000, 40_000, 5_000);
        pair.down.script = vec![LinkAction::Deliver; lost];
        pair.down.script.push(LinkAction::Drop);
        while pair.tcp_stats().lost_packets == 0 {
            assert!(pair.step());
        }
        let at_us = pair.now_us;
        finish(&mut pair, 10_000_000);
        at_us
    };
    // 50 packets take 12 ms, of which the loss waits for half in the mean.
    let sooner_us: u64 = (1_000..1_050).step_by(10).map(|n| found_us(0, n) - found_us(3, n)).sum();
    assert!((15_000..50_000).contains(&sooner_us), "{sooner_us}");
}

#[test]
fn datagrams_leave_in_bursts_of_segmentation_offload() {
    let run = |gso_segments| {
        let config = QuicConfig { gso_segments, ..with(CongestionControl::Cubic) };
        let mut pair = quic(config, 50_000_000, 40_000, 1_000);
        // Acknowledgements arrive together every 20 ms, as from a scheduled uplink.
        pair.up.judge = |_, _, now_us| LinkAction::Late(20_000 - now_us % 20_000);
        pair.run_until(3_000_000);
        pair.largest_burst = 0;
        pair.run_until(10_000_000);
        assert!(utilisation(&pair, 3_000_000, 10_000_000) > 0.9);
        pair.largest_burst
    };
    assert_eq!((run(1), run(10), run(16)), (1, 10, 16));
}

/// RFC 9000 §12.3 and §13.3: what is lost is sent in packets with new numbers.
#[test]
fn packet_numbers_are_never_used_again() {
    let mut flow = Flow::new(1, &FlowConfig::new(AppConfig::Quic(download(200_000))), 0).unwrap();
    let (mut now_us, mut numbers, mut offsets) = (0, Vec::new(), Vec::new());
    let (mut down, mut up) = (Vec::new(), Vec::new());
    while now_us < 3_000_000 {
        traffic::Endpoint::poll(&mut flow.server, now_us, &mut down);
        traffic::Endpoint::poll(&mut flow.ue, now_us, &mut up);
        for packet in down.drain(..) {
            let Body::Quic(quic) = &packet.body else { panic!("{packet:?}") };
            numbers.push(quic.number);
            offsets.extend(quic.stream.map(|frame| frame.offset));
            if quic.number % 17 != 5 {
                traffic::Endpoint::on_packet(&mut flow.ue, &packet, now_us, &mut up);
            }
        }
        for packet in up.drain(..) {
            traffic::Endpoint::on_packet(&mut flow.server, &packet, now_us + 10_000, &mut down);
        }
        now_us += 10_000;
    }
    assert_eq!(flow.goodput_bytes(), 200_000);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64));
    let sent = offsets.len();
    offsets.sort_unstable();
    offsets.dedup();
    assert!(offsets.len() < sent, "some are sent again");
}

#[test]
fn flow_control_limits_what_is_in_flight_and_a_lost_extension_stops_nothing() {
    let config = QuicConfig { receive_window_bytes: 50_000, ..download(2_000_000) };
    let mut pair = quic(config, 100_000_000, 40_000, 1_000);
    // Half of what extends the window is lost.
    pair.up.judge = |packet, n, _| {
        let Body::Quic(quic) = &packet.body else { return LinkAction::Deliver };
        LinkAction::Drop.when(quic.max_data.is_some() && coin(n, 500_000))
    };
    let mut most = 0;
    while !is_finished(&pair) && pair.step() {
        most = most.max(pair.tcp_stats().in_flight_bytes);
    }
    assert!(most < 56_000, "{most}");
    assert_eq!(finish(&mut pair, 60_000_000).acked_bytes, 2_000_000);
}

/// RFC 9002 §7.1 and RFC 9331.
#[test]
fn marks_reduce_cubic_and_prague_without_loss() {
    for (congestion, most_us) in
        [(CongestionControl::Cubic, 60_000), (CongestionControl::Prague, 8_000)]
    {
        let config = QuicConfig { ecn: Some(true), gso_segments: 1, ..with(congestion) };
        let mut pair = quic(config, 20_000_000, 20_000, 1_000);
        pair.down.mark_above_us = Some(1_000);
        pair.run_until(5_000_000);
        let mut longest_us = 0;
        while pair.now_us < 20_000_000 && pair.step() {
            longest_us = longest_us.max(pair.down.wait_us(pair.now_us));
        }
        let stats = pair.tcp_stats();
        assert_eq!(stats.lost_packets, 0, "{congestion:?}");
        // The last ones are under way.
        let unreported = pair.down.marked - stats.ce_packets;
        assert!(stats.ce_packets > 10 && unreported < 50, "{congestion:?}: {unreported}");
        assert!(longest_us < most_us, "{congestion:?}: {longest_us}");
        let used = utilisation(&pair, 5_000_000, 20_000_000);
        assert!(used > 0.7, "{congestion:?}: {used:.3}");
    }
}

#[test]
fn full_datagrams_have_the_size_that_path_and_key_allow() {
    let longest = |config: &FlowConfig| {
        let mut flow = Flow::new(1, config, 0).unwrap();
        let mut out: Vec<Packet> = Vec::new();
        traffic::Endpoint::poll(&mut flow.server, 0, &mut out);
        out.iter().map(|packet| packet.len_bytes).max().unwrap()
    };
    let quic = |max_udp_payload_bytes| {
        let config = QuicConfig { max_udp_payload_bytes, ..QuicConfig::default() };
        FlowConfig::new(AppConfig::Quic(config))
    };
    assert_eq!(longest(&quic(None)), 1_480);
    assert_eq!(longest(&quic(Some(1_200))), 1_228);
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_a_fork_has_the_same_future() {
    for congestion in ALL {
        let noisy = || {
            let mut pair = quic(with(congestion), 16_000_000, 30_000, 300);
            pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 2_000));
            pair
        };
        let (mut one, mut two) = (noisy(), noisy());
        one.run_until(5_000_000);
        two.run_until(2_345_000);
        let mut fork = two.clone();
        for pair in [&mut two, &mut fork] {
            pair.run_until(5_000_000);
            assert_eq!(pair.fingerprint, one.fingerprint, "{congestion:?}");
            assert_eq!(pair.tcp_stats(), one.tcp_stats(), "{congestion:?}");
        }
    }
}
