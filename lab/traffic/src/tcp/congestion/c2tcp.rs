//! C2TCP: Abbasloo, Xu, Chao, "C2TCP: A Flexible Cellular TCP to Meet Stringent Delay Requirements"
//! (IEEE JSAC 37, 2019), and its first form, Abbasloo, Li, Xu, Chao, "Cellular Controlled Delay TCP"
//! (IFIP Networking 2018). Applies CoDel at the sender to RTTs that stay above a setpoint.
//!
//! Extends Cubic. `setpoint_ms` fixes the setpoint, as in IFIP 2018. If unset, the setpoint is
//! α · RTTmin, and a tuner moves α so that the average RTT meets `target_ms`, as in JSAC 2019.

use super::cubic::Cubic;
use super::{
    AckEvent, CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, Form,
    RestartEvent, SenderPhase,
};

/// JSAC 2019, tuner: initial α and its bounds.
const ALPHA_INITIAL: f64 = 1.5;
const ALPHA_MIN: f64 = 1.0;
const ALPHA_MAX: f64 = 10.0;
/// Default target of the average RTT (the example of JSAC 2019).
const DEFAULT_TARGET_MS: u32 = 50;
/// Period of the tuner: the report period of the authors' code.
const TUNER_PERIOD_US: u64 = 5_000_000;

/// Options of [`C2Tcp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct C2TcpConfig {
    /// Form of the Cubic that it extends. The authors' code is a patch of Linux.
    pub form: Form,
    /// Average RTT to which the setpoint is tuned; 50 if unset.
    pub target_ms: Option<u32>,
    /// Fixed setpoint of the RTT; tuned if unset.
    pub setpoint_ms: Option<u32>,
    /// Time for which the RTT may exceed the setpoint; the setpoint if unset.
    pub interval_ms: Option<u32>,
}

/// Cubic with a condition detector.
#[derive(Debug, Clone)]
pub struct C2Tcp {
    cubic: Cubic,
    fixed_setpoint_us: Option<u64>,
    fixed_interval_us: Option<u64>,
    min_rtt_us: Option<u64>,
    /// Time at which an RTT above the setpoint becomes a bad condition; `None` below it.
    bad_at_us: Option<u64>,
    /// num_backoffs: consecutive bad conditions plus one.
    backoffs: u32,
    tuner: Tuner,
}

/// Adapts α to the target of the average RTT.
#[derive(Debug, Clone)]
struct Tuner {
    target_us: u64,
    alpha: f64,
    period_start_us: Option<u64>,
    sum_us: u64,
    samples: u64,
}

impl Tuner {
    fn on_rtt(&mut self, rtt_us: u64, now_us: u64) {
        let start_us = *self.period_start_us.get_or_insert(now_us);
        self.sum_us += rtt_us;
        self.samples += 1;
        if now_us.saturating_sub(start_us) < TUNER_PERIOD_US {
            return;
        }
        let (average, target) = (self.sum_us as f64 / self.samples as f64, self.target_us as f64);
        // Decreases by twice the relative excess, increases by half the relative slack.
        let change = if target < average {
            -2.0 * (average - target) / average
        } else {
            (target - average) / (2.0 * average)
        };
        self.alpha = (self.alpha * (1.0 + change)).clamp(ALPHA_MIN, ALPHA_MAX);
        self.period_start_us = Some(now_us);
        self.sum_us = 0;
        self.samples = 0;
    }
}

impl C2Tcp {
    /// The state in slow start with the initial window.
    pub fn new(config: C2TcpConfig, connection: &ConnectionConfig) -> Self {
        let us = |ms: u32| u64::from(ms) * 1_000;
        Self {
            cubic: Cubic::new(config.form, connection),
            fixed_setpoint_us: config.setpoint_ms.map(us),
            fixed_interval_us: config.interval_ms.map(us),
            min_rtt_us: None,
            bad_at_us: None,
            backoffs: 1,
            tuner: Tuner {
                target_us: us(config.target_ms.unwrap_or(DEFAULT_TARGET_MS)),
                alpha: ALPHA_INITIAL,
                period_start_us: None,
                sum_us: 0,
                samples: 0,
            },
        }
    }

    fn setpoint_us(&self, min_rtt_us: u64) -> u64 {
        self.fixed_setpoint_us.unwrap_or((min_rtt_us as f64 * self.tuner.alpha) as u64).max(1)
    }

    /// The condition detector, Algorithm 1 of both papers.
    fn detect(&mut self, rtt_us: u64, now_us: u64) {
        let min_rtt_us = self.min_rtt_us.map_or(rtt_us, |it| it.min(rtt_us));
        self.min_rtt_us = Some(min_rtt_us);
        let setpoint_us = self.setpoint_us(min_rtt_us);
        let interval_us = self.fixed_interval_us.unwrap_or(setpoint_us);
        if rtt_us <= setpoint_us {
            // Good condition: Setpoint/RTT segments per window in addition to Cubic.
            self.bad_at_us = None;
            self.backoffs = 1;
            self.cubic.add_per_window(setpoint_us as f64 / rtt_us as f64);
            return;
        }
        match self.bad_at_us {
            // Normal condition: Cubic alone.
            None => self.bad_at_us = Some(now_us + interval_us),
            Some(at_us) if now_us > at_us => {
                // Bad condition: ssthresh as after a loss, and start from one segment.
                let wait_us = (interval_us as f64 / f64::from(self.backoffs).sqrt()) as u64;
                self.bad_at_us = Some(now_us + wait_us);
                self.backoffs = self.backoffs.saturating_add(1);
                self.cubic.on_congestion_event(now_us, CongestionSignal::Loss);
                self.cubic.restart_from_one();
            }
            Some(_) => {}
        }
    }
}

impl CongestionController for C2Tcp {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.cubic.on_ack(ack);
    }

    fn on_delivery(&mut self, event: &DeliveryEvent) {
        let Some(rtt_us) = event.rtt_us.map(|it| it.max(1)) else { return };
        self.tuner.on_rtt(rtt_us, event.now_us);
        // Cubic responds to the loss; a second reduction for the same queue would be too much.
        if matches!(event.phase, SenderPhase::Open) {
            self.detect(rtt_us, event.now_us);
        } else {
            self.bad_at_us = None;
        }
    }

    fn on_congestion_event(&mut self, now_us: u64, signal: CongestionSignal) {
        self.cubic.on_congestion_event(now_us, signal);
    }

    fn on_retransmission_timeout(&mut self, now_us: u64) {
        self.cubic.on_retransmission_timeout(now_us);
    }

    fn on_underuse(&mut self, now_us: u64) {
        self.cubic.on_underuse(now_us);
    }

    fn on_restart(&mut self, event: &RestartEvent) {
        self.bad_at_us = None;
        self.cubic.on_restart(event);
    }

    fn limit_window(&mut self, bytes: u64) {
        self.cubic.limit_window(bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.cubic.window_bytes()
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.cubic.ssthresh_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn c2tcp() -> C2Tcp {
        let config = C2TcpConfig { setpoint_ms: Some(100), ..C2TcpConfig::default() };
        C2Tcp::new(
            config,
            &ConnectionConfig { initial_window_segments: 100, ..ConnectionConfig::default() },
        )
    }

    /// Bad conditions follow after an interval, then after interval/√n, as the drops of CoDel.
    #[test]
    fn bad_conditions_follow_the_control_law_of_codel() {
        let mut c2tcp = c2tcp();
        let mut backoffs = Vec::new();
        for ms in 0..500 {
            let before = c2tcp.backoffs;
            c2tcp.detect(150_000, ms * 1_000);
            if c2tcp.backoffs > before {
                backoffs.push(ms);
                assert_eq!(c2tcp.window_bytes(), MSS);
            }
        }
        // 100, then after 100/√1, 100/√2, 100/√3, 100/√4, each detected at the next millisecond.
        assert_eq!(backoffs, [101, 202, 273, 331, 382, 427, 468]);
    }

    #[test]
    fn one_rtt_below_the_setpoint_is_a_good_condition_and_restarts_the_interval() {
        let mut c2tcp = c2tcp();
        for ms in 0..100 {
            c2tcp.detect(150_000, ms * 1_000);
        }
        let window = c2tcp.window_bytes();
        c2tcp.detect(50_000, 100_000);
        // Setpoint / RTT = 2 segments per window of 100.
        assert!((c2tcp.window_bytes() - window).abs_diff(2 * MSS / 100) <= 1);
        for ms in 101..=201 {
            c2tcp.detect(150_000, ms * 1_000);
        }
        assert!(c2tcp.window_bytes() > MSS);
    }

    #[test]
    fn the_tuner_moves_alpha_towards_the_target() {
        let mut tuner = C2Tcp::new(C2TcpConfig::default(), &ConnectionConfig::default()).tuner;
        let target_us = tuner.target_us;
        let feed = |tuner: &mut Tuner, rtt_us, from_ms: u64| {
            for ms in 0..=5_000 {
                tuner.on_rtt(rtt_us, (from_ms + ms) * 1_000);
            }
            tuner.alpha
        };
        let relaxed = feed(&mut tuner, target_us / 2, 0);
        // (t − a) / 2a = 1/2.
        assert!((relaxed - ALPHA_INITIAL * 1.5).abs() < 1e-9, "{relaxed}");
        let strict = feed(&mut tuner, target_us * 5 / 4, 5_001);
        // 2 (a − t) / a = 0.4.
        assert!((strict - relaxed * 0.6).abs() < 1e-3, "{strict}");
    }
}
