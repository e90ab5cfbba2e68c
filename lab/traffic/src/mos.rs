//! Quality of a call: the E-model of ITU-T G.107.

use crate::stats::DelayRecorder;

/// R of a connection without any impairment by delay or coding: G.107 with all parameters at their
/// defaults (its Table 3), rounded.
const R_UNIMPAIRED: f64 = 93.2;
/// G.711 has to fill a frame before it can be sent.
const PACKETISATION_US: u64 = 20_000;
/// Packet-loss robustness of G.711 with the concealment of its Appendix I (G.113 Appendix I).
const BPL: f64 = 25.1;

/// Quality of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Voice {
    /// Transmission rating R, 0 to 93.2.
    pub r: f64,
    /// Mean opinion score, 1 to 4.5 (G.107 Annex B).
    pub mos: f64,
    /// The constant play-out delay assumed, counted from the sending of a frame.
    pub playout_us: u64,
    /// Frames lost or later than that, as a share.
    pub loss: f64,
}

/// Impairment by absolute delay, G.107 §7.4.1 (Idd); perfect echo cancellation, so the other parts
/// of Id are zero.
fn delay_impairment(mouth_to_ear_ms: f64) -> f64 {
    if mouth_to_ear_ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(mouth_to_ear_ms / 100.0);
    let sixth = |y: f64| libm::pow(1.0 + libm::pow(y, 6.0), 1.0 / 6.0);
    25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0)
}

/// Effective equipment impairment, G.107 §7.5, for a codec without impairment of its own (Ie = 0)
/// and losses that are independent (BurstR = 1).
fn loss_impairment(loss: f64) -> f64 {
    let percent = 100.0 * loss;
    95.0 * percent / (percent + BPL)
}

/// G.107 Annex B.
fn opinion(r: f64) -> f64 {
    match r {
        _ if r <= 0.0 => 1.0,
        _ if r >= 100.0 => 4.5,
        _ => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// The best quality with a constant play-out delay: later frames are lost, a longer delay reduces R.
/// `None` without a frame.
pub fn rate_call(one_way: &DelayRecorder, lost_frames: u64) -> Option<Voice> {
    let frames = one_way.count() + lost_frames;
    one_way
        .steps()
        .map(|(playout_us, in_time)| {
            let loss = (frames - in_time) as f64 / frames as f64;
            let mouth_to_ear_ms = playout_us.saturating_add(PACKETISATION_US) as f64 / 1e3;
            let r = R_UNIMPAIRED - delay_impairment(mouth_to_ear_ms) - loss_impairment(loss);
            Voice { r: r.max(0.0), mos: opinion(r), playout_us, loss }
        })
        .max_by(|a, b| a.r.total_cmp(&b.r))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(delays_ms: &[(u64, u64)]) -> DelayRecorder {
        let mut delay = DelayRecorder::new();
        for (count, ms) in delays_ms {
            (0..*count).for_each(|_| delay.record(0, ms * 1_000));
        }
        delay
    }

    #[test]
    fn a_good_network_leaves_the_best_score_of_g711() {
        let voice = rate_call(&call(&[(1_000, 20)]), 0).unwrap();
        assert!((voice.r - 93.2).abs() < 1e-9);
        // G.107 Annex B: R = 93.2 is MOS 4.41.
        assert!((voice.mos - 4.41).abs() < 0.005, "{voice:?}");
    }

    #[test]
    fn impairments_are_those_of_the_recommendation() {
        // G.107 §7.4.1 at Ta = 200 ms: X = 1.
        assert!((delay_impairment(200.0) - 3.04).abs() < 0.02, "{}", delay_impairment(200.0));
        assert!((delay_impairment(400.0) - 24.12).abs() < 0.3, "{}", delay_impairment(400.0));
        // G.107 §7.5: 1 % of random loss costs 95 / 26.1.
        assert!((loss_impairment(0.01) - 3.64).abs() < 0.01);
        assert_eq!(loss_impairment(0.0), 0.0);
    }

    #[test]
    fn a_few_late_frames_are_better_lost_than_waited_for() {
        let voice = rate_call(&call(&[(995, 30), (5, 2_000)]), 0).unwrap();
        assert!(voice.playout_us <= 30_030);
        assert!((voice.loss - 0.005).abs() < 1e-9);
        let voice = rate_call(&call(&[(500, 30), (500, 150)]), 0).unwrap();
        assert!(voice.playout_us >= 149_000, "half of the frames are worth waiting for");
    }

    #[test]
    fn no_frame_is_no_call_and_only_lost_frames_no_sound() {
        assert_eq!(rate_call(&DelayRecorder::new(), 10), None);
        let voice = rate_call(&call(&[(1, 10_000)]), 999).unwrap();
        assert_eq!((voice.mos, voice.r), (1.0, 0.0));
    }
}
