//! BBR and Prague: what they promise about queues, losses and marks.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{LinkAction, Pair, coin, with};

const RATE_BPS: u64 = 20_000_000;
const RTT_US: u64 = 40_000;
const FULL_BPS: f64 = 20e6 * 1448.0 / 1500.0;

/// What was seen between two times.
struct Seen {
    utilisation: f64,
    mean_wait_us: f64,
    max_wait_us: u64,
    /// States in the order of their beginning, with that time.
    states: Vec<(u64, &'static str)>,
}

fn watch(pair: &mut Pair, from_us: u64, to_us: u64) -> Seen {
    pair.run_until(from_us);
    let (mut area, mut max_wait_us, mut last_us) = (0.0, 0, from_us);
    let mut states: Vec<(u64, &'static str)> = Vec::new();
    while pair.now_us < to_us && pair.step() {
        let wait_us = pair.down.wait_us(pair.now_us);
        area += wait_us as f64 * (pair.now_us - last_us) as f64;
        max_wait_us = max_wait_us.max(wait_us);
        last_us = pair.now_us;
        let state = pair.tcp_stats().congestion_state;
        if states.last().is_none_or(|last| last.1 != state) {
            states.push((pair.now_us, state));
        }
    }
    Seen {
        utilisation: pair.goodput_bps(from_us, to_us) / FULL_BPS,
        mean_wait_us: area / (to_us - from_us) as f64,
        max_wait_us,
        states,
    }
}

/// A buffer of 15 BDP, which Cubic would fill.
fn deep(congestion: CongestionControl) -> Pair {
    Pair::tcp(with(congestion), RATE_BPS, RTT_US, 1_000)
}

#[test]
fn bbr_fills_the_link_with_less_than_a_bdp_queued() {
    for congestion in [CongestionControl::Bbr, CongestionControl::Bbr3] {
        let seen = watch(&mut deep(congestion), 3_000_000, 40_000_000);
        assert!(seen.utilisation > 0.95, "{congestion:?}: {:.3}", seen.utilisation);
        // Twice the BDP and three quanta are the most that may be in flight.
        assert!(seen.max_wait_us < RTT_US + 5_000, "{congestion:?}: {}", seen.max_wait_us);
        assert!(seen.mean_wait_us < 0.3 * RTT_US as f64, "{congestion:?}: {}", seen.mean_wait_us);
    }
}

#[test]
fn probe_rtt_comes_in_time_and_is_left_again() {
    for (congestion, interval_s) in [(CongestionControl::Bbr, 10), (CongestionControl::Bbr3, 5)] {
        let seen = watch(&mut deep(congestion), 100_000, 42_000_000);
        let visits: Vec<(u64, u64)> = seen
            .states
            .windows(2)
            .filter(|pair| pair[0].1 == "PROBE_RTT")
            .map(|pair| (pair[0].0, pair[1].0 - pair[0].0))
            .collect();
        assert!((40 / interval_s - 2..=40 / interval_s + 1).contains(&(visits.len() as u64)));
        for (at_us, lasted_us) in visits {
            // 200 ms at the low volume, a round trip to get there and one to notice.
            assert!((200_000..350_000).contains(&lasted_us), "{congestion:?} {at_us}: {lasted_us}");
        }
    }
}

#[test]
fn one_per_cent_of_random_loss_does_not_hold_bbr_back() {
    let run = |congestion| {
        let mut pair = deep(congestion);
        pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 10_000));
        watch(&mut pair, 5_000_000, 60_000_000).utilisation
    };
    let bbr = run(CongestionControl::Bbr);
    assert!(bbr > 0.9, "{bbr:.3}");
    // draft-ietf-ccwg-bbr-02 §4.3.3.5.3: version 3 gives way by as much as is lost each round it
    // cruises, and comes back with the next probe: (1 − 1 %)⁶² at the end of a cycle.
    let bbr3 = run(CongestionControl::Bbr3);
    assert!(bbr3 > 0.7, "{bbr3:.3}");
    let cubic = run(CongestionControl::Cubic);
    assert!(cubic < 0.5, "{cubic:.3}");
}

/// draft-ietf-ccwg-bbr-02 §4.5.10: version 3 learns what a shallow buffer holds.
#[test]
fn in_a_shallow_buffer_version_three_loses_far_less_than_version_one() {
    let run = |congestion| {
        // A quarter of a BDP.
        let mut pair = Pair::tcp(with(congestion), RATE_BPS, RTT_US, 17);
        let seen = watch(&mut pair, 5_000_000, 60_000_000);
        let stats = pair.tcp_stats();
        (seen.utilisation, stats.lost_packets as f64 / stats.sent_packets as f64)
    };
    let (bbr, bbr_loss) = run(CongestionControl::Bbr);
    let (bbr3, bbr3_loss) = run(CongestionControl::Bbr3);
    assert!(bbr > 0.85 && bbr3 > 0.8, "{bbr:.3} {bbr3:.3}");
    assert!(bbr3_loss < 0.02 && bbr3_loss < 0.4 * bbr_loss, "{bbr_loss:.4} {bbr3_loss:.4}");
}

#[test]
fn bbr_finds_a_rate_that_rises_and_falls() {
    for congestion in [CongestionControl::Bbr, CongestionControl::Bbr3] {
        let mut pair = deep(congestion);
        pair.run_until(10_000_000);
        pair.down.rate_bps = 2 * RATE_BPS;
        pair.run_until(30_000_000);
        let risen = pair.goodput_bps(20_000_000, 30_000_000) / (2.0 * FULL_BPS);
        assert!(risen > 0.9, "{congestion:?}: {risen:.3}");
        pair.down.rate_bps = RATE_BPS;
        let seen = watch(&mut pair, 45_000_000, 60_000_000);
        assert!(seen.utilisation > 0.95, "{congestion:?}: {:.3}", seen.utilisation);
        assert!(seen.mean_wait_us < 0.7 * RTT_US as f64, "{congestion:?}: {}", seen.mean_wait_us);
    }
}

/// RFC 9331: a step at 1 ms, round trip 20 ms.
#[test]
fn prague_fills_a_step_marked_link_with_a_millisecond_of_queue() {
    for accecn_option in [true, false] {
        let config = TcpConfig { accecn_option, ..with(CongestionControl::Prague) };
        let mut pair = Pair::tcp(config, RATE_BPS, 20_000, 1_000);
        pair.down.mark_above_us = Some(1_000);
        let seen = watch(&mut pair, 5_000_000, 40_000_000);
        assert!(seen.utilisation > 0.97, "{:.4}", seen.utilisation);
        assert!(seen.mean_wait_us < 1_500.0, "{}", seen.mean_wait_us);
        assert!(seen.max_wait_us < 6_000, "{}", seen.max_wait_us);
        let stats = pair.tcp_stats();
        assert_eq!((stats.lost_packets, stats.timeouts), (0, 0));
        assert!(stats.ce_packets > 100);
    }
}

/// BBRv3 with ECN keeps what its own model would queue below the step.
#[test]
fn marks_shorten_the_queue_of_bbr3() {
    let run = |ecn| {
        let config = TcpConfig { ecn: Some(ecn), ..with(CongestionControl::Bbr3) };
        let mut pair = Pair::tcp(config, RATE_BPS, 20_000, 1_000);
        pair.down.mark_above_us = Some(1_000);
        watch(&mut pair, 5_000_000, 40_000_000)
    };
    let (with_ecn, without) = (run(true), run(false));
    assert!(with_ecn.utilisation > 0.85, "{:.3}", with_ecn.utilisation);
    assert!(with_ecn.mean_wait_us < 0.7 * without.mean_wait_us);
}

/// Acknowledgements leave each 8 ms, on a path of 2 ms that carries 50 Mbit/s.
fn acknowledged_in_heaps(config: TcpConfig) -> f64 {
    let mut pair = Pair::tcp(config, 50_000_000, 2_000, 1_000);
    pair.up.judge = |_, _, now_us| LinkAction::Late(now_us.next_multiple_of(8_000) - now_us);
    pair.run_until(20_000_000);
    pair.goodput_bps(2_000_000, 20_000_000) / (50e6 * 1448.0 / 1500.0)
}

/// The draft's window is by the least round trip, which is that of the last segment of a heap; Linux
/// adds what comes in a heap.
#[test]
fn bbr_fills_a_path_that_acknowledges_in_heaps_when_it_counts_them() {
    let draft = with(CongestionControl::Bbr);
    let linux = TcpConfig { bbr_ack_aggregation: true, ..draft.clone() };
    let (without, counted) = (acknowledged_in_heaps(draft), acknowledged_in_heaps(linux));
    assert!(without < 0.5, "{without:.3}");
    assert!(counted > 0.9, "{counted:.3}");
}

/// After the bottleneck has fallen to an eighth, without losses: when the pacing rate was last above
/// one and a half times what is left.
fn leaves_a_rate_eight_times_too_high_after_us(congestion: CongestionControl) -> u64 {
    let mut pair = Pair::tcp(with(congestion), 8 * RATE_BPS, RTT_US, 20_000);
    pair.run_until(10_000_000);
    pair.down.rate_bps = RATE_BPS;
    let mut last_us = 0;
    for after_us in (0..30_000_000).step_by(10_000) {
        pair.run_until(10_000_000 + after_us);
        if pair.tcp_stats().pacing_rate_bps.unwrap() > RATE_BPS * 3 / 2 {
            last_us = after_us;
        }
    }
    assert_eq!(pair.tcp_stats().lost_packets, 0);
    last_us
}

/// BBR v1 forgets a bandwidth after ten rounds (draft-00 §4.1.1.2), which here are of sixteen round
/// trips at first. BBR v3 does after two cycles of its probing, each of up to 3 s and some five such
/// rounds (draft-ietf-ccwg-bbr-02, MaxBwFilterLen), although PROBE_RTT comes before a cycle ends.
#[test]
fn bbr_leaves_a_rate_that_is_not_there_any_more() {
    let v1_us = leaves_a_rate_eight_times_too_high_after_us(CongestionControl::Bbr);
    let v3_us = leaves_a_rate_eight_times_too_high_after_us(CongestionControl::Bbr3);
    let queued_round_us = 16 * RTT_US;
    assert!(v1_us <= 10 * queued_round_us, "{v1_us}");
    assert!(v3_us <= 2 * (3_000_000 + 5 * queued_round_us), "{v3_us}");
}
