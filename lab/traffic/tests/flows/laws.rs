//! Throughput and period according to the literature.

use traffic::{CongestionControl, TcpConfig};

use crate::pair::{Judge, LinkAction, Pair, coin, with};

const MSS_BITS: f64 = 1448.0 * 8.0;

/// Times of the fast recoveries in 200 s, without the first 30 s.
fn steady_reductions_us(pair: &mut Pair) -> Vec<u64> {
    let (mut reductions_us, mut recoveries) = (Vec::new(), 0);
    while pair.now_us < 200_000_000 && pair.step() {
        if pair.tcp_stats().fast_recoveries > recoveries {
            recoveries = pair.tcp_stats().fast_recoveries;
            reductions_us.push(pair.now_us);
        }
    }
    reductions_us.retain(|&at_us| at_us > 30_000_000);
    reductions_us
}

/// Mathis et al. 1997: BW = MSS/RTT · √(3/2) / √p.
#[test]
fn reno_obeys_the_square_root_law() {
    let cases: [(u64, Judge); 2] = [
        (300, |_, n, _| LinkAction::Drop.when(coin(n, 300))),
        (3_000, |_, n, _| LinkAction::Drop.when(coin(n, 3_000))),
    ];
    for (per_million, judge) in cases {
        let mut pair = Pair::tcp(with(CongestionControl::Reno), 1_000_000_000, 100_000, 100_000);
        pair.down.judge = judge;
        pair.run_until(1_000_000_000);
        let expected = MSS_BITS / 0.1 * 1.5_f64.sqrt() / (per_million as f64 * 1e-6).sqrt();
        let ratio = pair.goodput_bps(20_000_000, 1_000_000_000) / expected;
        assert!((0.85..1.15).contains(&ratio), "p = {per_million} ppm: ratio {ratio:.3}");
    }
}

/// RFC 9438 §5.1: with a loss every 1/p packets the mean window is 1.054 (RTT/p)^(3/4) segments. The curve
/// is flat at the loss, so convergence takes hundreds of epochs; after sixty the window is within 1/7.
#[test]
fn cubic_obeys_its_response_function() {
    let mut pair = Pair::tcp(with(CongestionControl::Cubic), 1_000_000_000, 100_000, 100_000);
    pair.down.judge = |_, n, _| LinkAction::Drop.when(n % 10_000 == 9_999);
    pair.run_until(400_000_000);
    let window = 1.054 * (0.1_f64 / 1e-4).powf(0.75);
    let ratio = pair.goodput_bps(50_000_000, 400_000_000) / (window * MSS_BITS / 0.1);
    assert!((0.85..1.15).contains(&ratio), "ratio {ratio:.3}");
}

/// RFC 9438 §5.1: with a small BDP CUBIC is at least as fast as Reno.
#[test]
fn cubic_matches_reno_on_a_short_path() {
    let goodput = |congestion| {
        let mut pair = Pair::tcp(with(congestion), 1_000_000_000, 10_000, 100_000);
        pair.down.judge = |_, n, _| LinkAction::Drop.when(n % 1_000 == 999);
        pair.run_until(60_000_000);
        pair.goodput_bps(5_000_000, 60_000_000)
    };
    let ratio = goodput(CongestionControl::Cubic) / goodput(CongestionControl::Reno);
    assert!((0.9..1.3).contains(&ratio), "ratio {ratio:.3}");
}

/// RFC 9438 §4.2: K = ∛(W_max (1 − β) / C) is the time from one peak to the next.
#[test]
fn the_sawtooth_of_cubic_has_the_period_k() {
    // BDP 167 packets, buffer 100: W_max ≈ 267 segments, K ≈ 5.85 s.
    let mut pair = Pair::tcp(with(CongestionControl::Cubic), 20_000_000, 100_000, 100);
    let reductions_us = steady_reductions_us(&mut pair);
    let steady: Vec<f64> =
        reductions_us.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-6).collect();
    assert!(steady.len() >= 10, "{reductions_us:?}");
    let k_s = (267.0_f64 * 0.3 / 0.4).cbrt();
    let mean_s = steady.iter().sum::<f64>() / steady.len() as f64;
    assert!((0.8..1.4).contains(&(mean_s / k_s)), "mean {mean_s:.2} s, K {k_s:.2} s: {steady:?}");
    assert_eq!(pair.tcp_stats().timeouts, 0);
}

/// RFC 5681: one segment per round from half the peak to the peak, BDP plus buffer. The RTT grows with the
/// queue.
#[test]
fn the_sawtooth_of_reno_has_the_period_of_its_rounds() {
    // 1200 µs per packet: BDP 83 packets, buffer 40.
    let mut pair = Pair::tcp(with(CongestionControl::Reno), 10_000_000, 100_000, 40);
    let steady = steady_reductions_us(&mut pair);
    let periods = (steady.len() - 1) as f64;
    let mean_s = (steady[steady.len() - 1] - steady[0]) as f64 * 1e-6 / periods;
    let expected_s: f64 = (62..=124).map(|window| f64::max(0.1012, window as f64 * 0.0012)).sum();
    let ratio = mean_s / expected_s;
    assert!((0.9..1.1).contains(&ratio), "{mean_s:.2} s, expected {expected_s:.2} s");
}

/// Reno's sawtooth on a buffer of one BDP never leaves the link idle (Appenzeller et al. 2004).
#[test]
fn reno_with_a_buffer_of_one_bdp_fills_the_link() {
    let mut pair = Pair::tcp(with(CongestionControl::Reno), 20_000_000, 50_000, 84);
    pair.run_until(60_000_000);
    let utilisation = pair.utilisation(10_000_000, 60_000_000);
    assert!(utilisation > 0.99, "{utilisation:.4}");
}

/// RFC 9406: the RTT rises before the buffer is full and ends slow start.
#[test]
fn hystart_ends_slow_start_without_a_loss() {
    let losses = |hystart| {
        let config = TcpConfig { hystart, ..TcpConfig::default() };
        // BDP 167 packets; the buffer holds the five rounds of conservative slow start after the RTT rise.
        let mut pair = Pair::tcp(config, 50_000_000, 40_000, 2_000);
        pair.run_until(3_000_000);
        pair.tcp_stats().lost_packets
    };
    assert_eq!(losses(true), 0);
    assert!(losses(false) > 100);
}
