//! Vegas, C2TCP and Westwood: properties of queue and goodput under loss.

use traffic::tcp::congestion::{C2TcpConfig, CongestionConfig};
use traffic::{CongestionControl, TcpConfig};

use crate::pair::{Judge, LinkAction, Pair, coin, with};

const RATE_BPS: u64 = 20_000_000;
/// 1500 B at 20 Mbit/s.
const PACKET_US: f64 = 600.0;

/// Queueing delays sampled every millisecond, sorted.
fn waits_us(pair: &mut Pair, from_us: u64, to_us: u64) -> Vec<u64> {
    let mut waits: Vec<u64> = (from_us / 1_000..to_us / 1_000)
        .map(|ms| {
            pair.run_until(ms * 1_000);
            pair.down.wait_us(pair.now_us)
        })
        .collect();
    waits.sort_unstable();
    waits
}

/// Brakmo and Peterson 1995, §3.2.
#[test]
fn vegas_queues_between_alpha_and_beta_segments() {
    let mut pair = Pair::tcp(with(CongestionControl::Vegas), RATE_BPS, 40_000, 1_000);
    let waits = waits_us(&mut pair, 10_000_000, 60_000_000);
    let packets = |quantile: usize| waits[waits.len() * quantile / 100] as f64 / PACKET_US;
    // α = 2, β = 4; delayed acknowledgements release two at a time.
    assert!((1.0..=4.5).contains(&packets(50)), "{}", packets(50));
    assert!(packets(99) <= 6.0, "{}", packets(99));
    let utilisation = pair.utilisation(10_000_000, 60_000_000);
    assert!(utilisation > 0.99, "{utilisation:.4}");
    assert_eq!(pair.tcp_stats().lost_packets, 0);
}

/// Vegas follows Reno with losses and an empty queue, also with too few samples per round.
#[test]
fn vegas_under_random_loss_is_about_as_fast_as_reno() {
    let run = |congestion, loss: Judge| {
        let mut pair = Pair::tcp(with(congestion), RATE_BPS, 40_000, 1_000);
        pair.down.judge = loss;
        pair.run_until(120_000_000);
        pair.goodput_bps(5_000_000, 120_000_000)
    };
    let losses: [Judge; 2] = [
        |_, n, _| LinkAction::Drop.when(coin(n, 2_000)),
        |_, n, _| LinkAction::Drop.when(coin(n, 20_000)),
    ];
    for loss in losses {
        let ratio = run(CongestionControl::Vegas, loss) / run(CongestionControl::Reno, loss);
        assert!((0.6..1.3).contains(&ratio), "{ratio:.2}");
    }
}

/// Mascolo et al. 2004, §4: losses without congestion.
#[test]
fn westwood_is_faster_than_reno_under_random_loss() {
    let run = |congestion, delay_us| {
        let mut pair = Pair::tcp(with(congestion), RATE_BPS, delay_us, 1_000);
        pair.down.judge = |_, n, _| LinkAction::Drop.when(coin(n, 5_000));
        pair.run_until(120_000_000);
        pair.utilisation(5_000_000, 120_000_000)
    };
    for delay_us in [40_000, 100_000] {
        let (westwood, reno) =
            (run(CongestionControl::Westwood, delay_us), run(CongestionControl::Reno, delay_us));
        assert!(westwood > 1.5 * reno, "{delay_us}: {westwood:.3} {reno:.3}");
    }
}

/// Westwood fills the link under congestive losses, as Reno, with a buffer of one BDP.
#[test]
fn westwood_fills_a_link_with_tail_drop() {
    let mut pair = Pair::tcp(with(CongestionControl::Westwood), RATE_BPS, 50_000, 84);
    pair.run_until(60_000_000);
    let utilisation = pair.utilisation(10_000_000, 60_000_000);
    assert!(utilisation > 0.97, "{utilisation:.4}");
}

fn c2tcp(config: C2TcpConfig) -> TcpConfig {
    TcpConfig { congestion: CongestionConfig::C2tcp(config), ..TcpConfig::default() }
}

/// Abbasloo et al. 2018: the RTT stays around the setpoint with any buffer.
#[test]
fn c2tcp_holds_the_round_trip_at_its_setpoint() {
    let config = c2tcp(C2TcpConfig { setpoint_ms: Some(80), ..C2TcpConfig::default() });
    let mut pair = Pair::tcp(config, RATE_BPS, 40_000, 5_000);
    let waits = waits_us(&mut pair, 10_000_000, 60_000_000);
    let rtt_us = |quantile: usize| 40_000 + waits[waits.len() * quantile / 100];
    let mean_us = 40_000 + waits.iter().sum::<u64>() / waits.len() as u64;
    assert!((50_000..=88_000).contains(&mean_us), "{mean_us}");
    assert!(rtt_us(95) < 125_000, "{}", rtt_us(95));
    let utilisation = pair.utilisation(10_000_000, 60_000_000);
    assert!(utilisation > 0.8, "{utilisation:.4}");
}

/// Abbasloo et al. 2019: the tuner moves the average RTT to the target.
#[test]
fn c2tcp_tunes_itself_to_the_target() {
    for target_ms in [60, 120] {
        let config = c2tcp(C2TcpConfig { target_ms: Some(target_ms), ..C2TcpConfig::default() });
        let mut pair = Pair::tcp(config, RATE_BPS, 40_000, 5_000);
        let waits = waits_us(&mut pair, 60_000_000, 160_000_000);
        let mean_us = 40_000 + waits.iter().sum::<u64>() / waits.len() as u64;
        let ratio = mean_us as f64 / f64::from(1_000 * target_ms);
        assert!((0.7..1.2).contains(&ratio), "{target_ms}: {mean_us}");
    }
}
