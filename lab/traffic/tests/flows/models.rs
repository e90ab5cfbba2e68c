//! BBR and Prague: properties of queue, goodput under loss, and response to marks.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{LinkAction, Pair, as_in_rfc, coin, with};

const RATE_BPS: u64 = 20_000_000;
const RTT_US: u64 = 40_000;

/// Observations over a period.
struct Observed {
    utilisation: f64,
    mean_wait_us: f64,
    max_wait_us: u64,
    /// Start times and names of the states.
    states: Vec<(u64, &'static str)>,
}

fn observe(pair: &mut Pair, from_us: u64, to_us: u64) -> Observed {
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
    Observed {
        utilisation: pair.utilisation(from_us, to_us),
        mean_wait_us: area / (to_us - from_us) as f64,
        max_wait_us,
        states,
    }
}

/// A buffer of 15 BDP.
fn deep(congestion: CongestionControl) -> Pair {
    Pair::tcp(with(congestion), RATE_BPS, RTT_US, 1_000)
}

#[test]
fn bbr_fills_the_link_with_less_than_a_bdp_queued() {
    for congestion in [CongestionControl::Bbr, CongestionControl::Bbr2, CongestionControl::Bbr3] {
        let observed = observe(&mut deep(congestion), 3_000_000, 40_000_000);
        assert!(observed.utilisation > 0.95, "{congestion:?}: {:.3}", observed.utilisation);
        // At most two BDPs and three quanta are in flight.
        assert!(observed.max_wait_us < RTT_US + 5_000, "{congestion:?}: {}", observed.max_wait_us);
        assert!(
            observed.mean_wait_us < 0.3 * RTT_US as f64,
            "{congestion:?}: {}",
            observed.mean_wait_us
        );
    }
}

/// BBR v1 by its draft and as in Linux.
fn both_forms() -> [TcpConfig; 2] {
    [as_in_rfc(CongestionControl::Bbr), with(CongestionControl::Bbr)]
}

/// The queue that probing leaves drains with a margin in the cycles that follow; without it it
/// stands.
#[test]
fn the_pacing_margin_of_bbr_in_linux_drains_its_standing_queue() {
    let [without, paced_below] = both_forms().map(|config| {
        observe(&mut Pair::tcp(config, RATE_BPS, RTT_US, 1_000), 3_000_000, 40_000_000)
    });
    assert!(paced_below.utilisation > 0.95, "{:.3}", paced_below.utilisation);
    assert!(
        paced_below.mean_wait_us < 0.8 * without.mean_wait_us,
        "{:.0} {:.0}",
        paced_below.mean_wait_us,
        without.mean_wait_us
    );
}

#[test]
fn probe_rtt_follows_its_interval_and_lasts_200_ms() {
    // With the margin of Linux version 1 sees its minimum RTT again without PROBE_RTT.
    for (config, interval_s) in [
        (as_in_rfc(CongestionControl::Bbr), 10),
        (with(CongestionControl::Bbr2), 5),
        (with(CongestionControl::Bbr3), 5),
    ] {
        let congestion = config.congestion;
        let mut pair = Pair::tcp(config, RATE_BPS, RTT_US, 1_000);
        let observed = observe(&mut pair, 100_000, 42_000_000);
        let visits: Vec<(u64, u64)> = observed
            .states
            .windows(2)
            .filter(|pair| pair[0].1 == "PROBE_RTT")
            .map(|pair| (pair[0].0, pair[1].0 - pair[0].0))
            .collect();
        assert!((40 / interval_s - 2..=40 / interval_s + 1).contains(&(visits.len() as u64)));
        for (at_us, lasted_us) in visits {
            // 200 ms at the low volume, plus a round trip to reach and one to leave it.
            assert!((200_000..350_000).contains(&lasted_us), "{congestion:?} {at_us}: {lasted_us}");
        }
    }
}

#[test]
fn one_per_cent_of_random_loss_barely_slows_bbr() {
    let run = |congestion| {
        let mut pair = deep(congestion);
        pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 10_000));
        observe(&mut pair, 5_000_000, 60_000_000).utilisation
    };
    let bbr = run(CongestionControl::Bbr);
    assert!(bbr > 0.9, "{bbr:.3}");
    // draft-ietf-ccwg-bbr-02 §4.3.3.5.3: version 3 reduces by the loss of each round in CRUISE and
    // recovers with the next probe: (1 − 1 %)⁶² at the end of a cycle.
    let bbr3 = run(CongestionControl::Bbr3);
    assert!(bbr3 > 0.7, "{bbr3:.3}");
    let cubic = run(CongestionControl::Cubic);
    assert!(cubic < 0.5, "{cubic:.3}");
}

/// draft-ietf-ccwg-bbr-02 §4.5.10: version 3 bounds the volume to a shallow buffer.
#[test]
fn in_a_shallow_buffer_version_three_loses_far_less_than_version_one() {
    let run = |congestion| {
        // A quarter of a BDP.
        let mut pair = Pair::tcp(with(congestion), RATE_BPS, RTT_US, 17);
        let observed = observe(&mut pair, 5_000_000, 60_000_000);
        let stats = pair.tcp_stats();
        (observed.utilisation, stats.lost_packets as f64 / stats.sent_packets as f64)
    };
    let (bbr, bbr_loss) = run(CongestionControl::Bbr);
    let (bbr3, bbr3_loss) = run(CongestionControl::Bbr3);
    assert!(bbr > 0.85 && bbr3 > 0.8, "{bbr:.3} {bbr3:.3}");
    assert!(bbr3_loss < 0.02 && bbr3_loss < 0.4 * bbr_loss, "{bbr_loss:.4} {bbr3_loss:.4}");
}

#[test]
fn bbr_follows_a_rate_that_rises_and_falls() {
    for congestion in [CongestionControl::Bbr, CongestionControl::Bbr3] {
        let mut pair = deep(congestion);
        pair.run_until(10_000_000);
        pair.down.rate_bps = 2 * RATE_BPS;
        pair.run_until(30_000_000);
        let risen = pair.utilisation(20_000_000, 30_000_000);
        assert!(risen > 0.9, "{congestion:?}: {risen:.3}");
        pair.down.rate_bps = RATE_BPS;
        let observed = observe(&mut pair, 45_000_000, 60_000_000);
        assert!(observed.utilisation > 0.95, "{congestion:?}: {:.3}", observed.utilisation);
        assert!(
            observed.mean_wait_us < 0.7 * RTT_US as f64,
            "{congestion:?}: {}",
            observed.mean_wait_us
        );
    }
}

/// RFC 9331: a step at 1 ms, round trip 20 ms.
#[test]
fn prague_fills_a_step_marked_link_with_a_millisecond_of_queue() {
    for accecn_option in [true, false] {
        let config = TcpConfig { accecn_option, ..with(CongestionControl::Prague) };
        let mut pair = Pair::tcp(config, RATE_BPS, 20_000, 1_000);
        pair.down.mark_above_us = Some(1_000);
        let observed = observe(&mut pair, 5_000_000, 40_000_000);
        assert!(observed.utilisation > 0.97, "{:.4}", observed.utilisation);
        assert!(observed.mean_wait_us < 1_500.0, "{}", observed.mean_wait_us);
        assert!(observed.max_wait_us < 6_000, "{}", observed.max_wait_us);
        let stats = pair.tcp_stats();
        assert_eq!((stats.lost_packets, stats.timeouts), (0, 0));
        assert!(stats.ce_packets > 100);
    }
}

/// BBRv3 with ECN queues less than by its model alone.
#[test]
fn marks_shorten_the_queue_of_bbr3() {
    let run = |ecn| {
        let config = TcpConfig { ecn: Some(ecn), ..with(CongestionControl::Bbr3) };
        let mut pair = Pair::tcp(config, RATE_BPS, 20_000, 1_000);
        pair.down.mark_above_us = Some(1_000);
        observe(&mut pair, 5_000_000, 40_000_000)
    };
    let (with_ecn, without) = (run(true), run(false));
    assert!(with_ecn.utilisation > 0.85, "{:.3}", with_ecn.utilisation);
    assert!(with_ecn.mean_wait_us < 0.7 * without.mean_wait_us);
}

/// Utilisation of 50 Mbit/s and 2 ms with acknowledgements aggregated over 8 ms.
fn utilisation_with_aggregated_acks(config: TcpConfig) -> f64 {
    let mut pair = Pair::tcp(config, 50_000_000, 2_000, 1_000);
    pair.up.judge = |_, _, now_us| LinkAction::Late(now_us.next_multiple_of(8_000) - now_us);
    pair.run_until(20_000_000);
    pair.utilisation(2_000_000, 20_000_000)
}

/// The window of the draft follows the minimum RTT, of the last segment of an aggregate; Linux adds the
/// aggregated data.
#[test]
fn bbr_fills_a_path_with_aggregated_acks_if_it_counts_them() {
    let [without, counted] = both_forms().map(utilisation_with_aggregated_acks);
    assert!(without < 0.5, "{without:.3}");
    assert!(counted > 0.9, "{counted:.3}");
}

/// Time after the bottleneck falls to an eighth, without losses, until the pacing rate stays below 1.5
/// times the new rate.
fn rate_convergence_us(congestion: CongestionControl) -> u64 {
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

/// The bandwidth filter of BBR v1 holds ten rounds (draft-00 §4.1.1.2), here of sixteen RTTs at first, that
/// of BBR v3 two probing cycles, each of up to 3 s and about five such rounds (draft-ietf-ccwg-bbr-02,
/// MaxBwFilterLen), even though PROBE_RTT precedes the end of a cycle.
#[test]
fn bbr_follows_a_rate_that_falls_to_an_eighth() {
    let v1_us = rate_convergence_us(CongestionControl::Bbr);
    let v3_us = rate_convergence_us(CongestionControl::Bbr3);
    let queued_round_us = 16 * RTT_US;
    assert!(v1_us <= 10 * queued_round_us, "{v1_us}");
    assert!(v3_us <= 2 * (3_000_000 + 5 * queued_round_us), "{v3_us}");
}
