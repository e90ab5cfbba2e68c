//! CUBIC, RFC 9438. In the form of Linux it leaves slow start by Linux's HyStart, not by RFC 9406, and
//! grows at least 5 % per RTT before the first reduction.

use super::hystart::{Growth, HyStart, growth};
use super::linux_hystart::LinuxHyStart;
use super::{
    AckEvent, CongestionController, CongestionSignal, ConnectionConfig, Form,
    MIN_SSTHRESH_SEGMENTS, RestartEvent, slow_start_limit_segments,
};

/// Aggressiveness, segments per second cubed (RFC 9438 §5: 0.4).
const C: f64 = 0.4;
/// Multiplicative decrease for losses and marks (RFC 9438 §4.6; the 0.85 of RFC 8511 for marks is
/// experimental and not in Linux).
const BETA: f64 = 0.7;
/// α of the Reno-friendly estimate: 3 (1 − β) / (1 + β), RFC 9438 §4.3.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Linux, `bictcp_update`: at least 5 % per RTT before the first reduction, as the curve is flat there.
const LINUX_LEAST_GROWTH: f64 = 0.05;

/// Growth as a cubic function of the time since the last reduction. Windows are in segments, as in the
/// formulas of the RFC.
#[derive(Debug, Clone)]
pub struct Cubic {
    mss_bytes: u64,
    initial_window: f64,
    slow_start_limit: f64,
    cwnd: f64,
    ssthresh: Option<f64>,
    w_max: f64,
    /// The window before the last reduction; above it `w_est` grows as fast as Reno.
    cwnd_prior: f64,
    /// `None` until the first acknowledgement in congestion avoidance.
    epoch: Option<Epoch>,
    hystart: Option<HyStart>,
    linux_hystart: Option<LinuxHyStart>,
    /// Growth per window at the least while no reduction has shown a maximum, `bictcp_update` of Linux.
    least_growth: Option<f64>,
    /// No reduction since the beginning or the last time-out.
    is_maximum_unknown: bool,
}

/// Congestion avoidance between two reductions.
#[derive(Debug, Clone)]
struct Epoch {
    start_us: u64,
    /// End of the time that counts, see [`Cubic::on_underuse`].
    used_until_us: u64,
    /// Seconds until the curve reaches `w_max`.
    k_s: f64,
    /// Window of Reno in the same conditions.
    w_est: f64,
}

impl Cubic {
    /// The state in slow start with the initial window.
    pub fn new(form: Form, connection: &ConnectionConfig) -> Self {
        let as_in_linux = form == Form::Linux;
        Self {
            mss_bytes: u64::from(connection.mss_bytes),
            initial_window: f64::from(connection.initial_window_segments),
            slow_start_limit: slow_start_limit_segments(form, connection) as f64,
            cwnd: f64::from(connection.initial_window_segments),
            ssthresh: None,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            hystart: (connection.hystart && !as_in_linux).then(HyStart::new),
            linux_hystart: (connection.hystart && as_in_linux)
                .then(|| LinuxHyStart::new(connection.pacing)),
            least_growth: as_in_linux.then_some(LINUX_LEAST_GROWTH),
            is_maximum_unknown: true,
        }
    }

    /// Growth for one acknowledgement, of `segments` per window acknowledged.
    pub(super) fn add_per_window(&mut self, segments: f64) {
        self.cwnd += segments / self.cwnd;
    }

    /// The window falls to one segment; ssthresh stays.
    pub(super) fn restart_from_one(&mut self) {
        self.cwnd = 1.0;
    }

    /// Linux's HyStart ends the initial slow start.
    fn end_as_linux(&mut self, ack: &AckEvent) {
        if let Some(hystart) = &mut self.linux_hystart
            && hystart.on_ack(ack, self.ssthresh.is_none().then_some(self.cwnd))
        {
            self.ssthresh = Some(self.cwnd);
        }
    }

    /// Slow start; returns the acknowledged segments left for congestion avoidance.
    fn slow_start(&mut self, ack: &AckEvent, acked: f64) -> f64 {
        let is_initial = self.ssthresh.is_none();
        let Growth::DividedBy(divisor) = growth(&mut self.hystart, is_initial, ack) else {
            self.ssthresh = Some(self.cwnd);
            return acked;
        };
        let growth = acked.min(self.slow_start_limit) / divisor as f64;
        match self.ssthresh {
            Some(ssthresh) if self.cwnd + growth >= ssthresh => {
                let left = acked - (ssthresh - self.cwnd);
                self.cwnd = ssthresh;
                left
            }
            _ => {
                self.cwnd += growth;
                0.0
            }
        }
    }

    fn congestion_avoidance(&mut self, ack: &AckEvent, acked: f64) {
        let epoch = self.epoch.get_or_insert_with(|| {
            // §4.2. Without a preceding reduction (slow start ended by HyStart or after a time-out,
            // §4.8) the curve starts at its plateau: K = 0, W_max = cwnd.
            self.w_max = self.w_max.max(self.cwnd);
            Epoch {
                start_us: ack.now_us,
                used_until_us: ack.now_us,
                k_s: cube_root((self.w_max - self.cwnd) / C),
                w_est: self.cwnd,
            }
        });
        epoch.used_until_us = ack.now_us;
        let t_s = ack.now_us.saturating_sub(epoch.start_us) as f64 * 1e-6;
        let w_cubic = |t_s: f64| {
            let d = t_s - epoch.k_s;
            C * d * d * d + self.w_max
        };
        // §4.3: the estimate grows as Reno with this β, and as Reno itself above the window of the
        // last reduction.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        let w_est = epoch.w_est + alpha * acked / self.cwnd;
        let now = w_cubic(t_s);
        // §4.2: the curve one RTT later, between the window and 1.5 times the window.
        let target = w_cubic(t_s + ack.srtt_us as f64 * 1e-6).clamp(self.cwnd, 1.5 * self.cwnd);
        epoch.w_est = w_est;
        let least =
            self.least_growth.filter(|_| self.is_maximum_unknown).unwrap_or_default() * acked;
        let grown = self.cwnd + least;
        if now < w_est {
            self.cwnd = grown.max(w_est);
        } else {
            self.cwnd = grown.max(self.cwnd + (target - self.cwnd) / self.cwnd * acked);
        }
    }
}

impl CongestionController for Cubic {
    fn on_ack(&mut self, ack: &AckEvent) {
        let mut acked = ack.delivered_bytes as f64 / self.mss_bytes as f64;
        self.end_as_linux(ack);
        if self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh) {
            acked = self.slow_start(ack, acked);
        }
        if acked > 0.0 {
            self.congestion_avoidance(ack, acked);
        }
    }

    fn on_congestion_event(&mut self, _now_us: u64, _signal: CongestionSignal) {
        // §4.7, fast convergence: a window below W_max releases bandwidth to other flows.
        self.w_max =
            if self.cwnd < self.w_max { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        self.cwnd_prior = self.cwnd;
        self.is_maximum_unknown = false;
        // §4.6. Whole segments, as in Linux.
        let ssthresh = (self.cwnd * BETA).floor().max(MIN_SSTHRESH_SEGMENTS as f64);
        self.ssthresh = Some(ssthresh);
        self.cwnd = ssthresh;
        self.epoch = None;
    }

    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.cwnd = 1.0;
        // §4.8: after a time-out congestion avoidance starts at its plateau.
        self.w_max = 0.0;
        self.is_maximum_unknown = true;
        self.epoch = None;
    }

    /// §5.8: time during which the application limits the flow does not count.
    fn on_underuse(&mut self, now_us: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start_us += now_us.saturating_sub(epoch.used_until_us);
            epoch.used_until_us = now_us;
        }
    }

    /// §5.8, and RFC 5681 §4.1: after an RTO without sending the window is the restart window.
    fn on_restart(&mut self, event: &RestartEvent) {
        self.on_underuse(event.now_us);
        if event.idle_us > event.rto_us && self.cwnd > self.initial_window {
            // RFC 7661 §4.4.3: ssthresh stores the part of the window that was used.
            self.ssthresh = self.ssthresh.map(|it| it.max(0.75 * self.cwnd));
            self.cwnd = self.initial_window;
        }
    }

    fn limit_window(&mut self, bytes: u64) {
        let limit = (bytes as f64 / self.mss_bytes as f64).max(1.0);
        if limit < self.cwnd {
            self.ssthresh = self.ssthresh.map(|it| it.max(self.cwnd));
            self.cwnd = limit;
        }
    }

    fn window_bytes(&self) -> u64 {
        (self.cwnd * self.mss_bytes as f64) as u64
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh.map(|ssthresh| (ssthresh * self.mss_bytes as f64) as u64)
    }
}

/// Cube root of a non-negative number by Newton's iteration. `f64::cbrt` uses the platform's libm, whose
/// last bit may differ between machines; runs must be byte-identical on all of them.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // The iteration falls monotonically from max(x, 1), which is above the root.
    let mut root = x.max(1.0);
    loop {
        let next = (2.0 * root + x / (root * root)) / 3.0;
        if next < root {
            root = next;
        } else {
            return root;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn ack(now_us: u64, segments: u64, srtt_us: u64) -> AckEvent {
        AckEvent { now_us, delivered_bytes: segments * MSS, srtt_us, ..AckEvent::default() }
    }

    fn cubic(window: u32) -> Cubic {
        let connection = ConnectionConfig {
            initial_window_segments: window,
            hystart: false,
            ..ConnectionConfig::default()
        };
        Cubic::new(Form::Rfc, &connection)
    }

    #[test]
    fn the_cube_root_inverts_the_cube() {
        for x in [0.0, 1e-9, 0.001, 0.5, 1.0, 2.0, 27.0, 1e3, 1e9] {
            let root = cube_root(x);
            assert!((root * root * root - x).abs() <= 1e-12 * x.max(1e-9), "{x}: {root}");
        }
    }

    #[test]
    fn the_window_reaches_w_max_after_k_seconds() {
        let mut cubic = cubic(1_000);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(cubic.window_bytes(), 700 * MSS);
        // §4.2: K = ∛(W_max (1 − β) / C) = ∛750 ≈ 9.09 s.
        let (rtt_us, mut now_us) = (100_000, 0);
        while now_us < 9_085_603 {
            cubic.on_ack(&ack(now_us, cubic.window_bytes() / MSS, rtt_us));
            now_us += rtt_us;
        }
        let window = cubic.window_bytes() as f64 / MSS as f64;
        assert!((window - 1_000.0).abs() < 1.0, "{window}");
    }

    #[test]
    fn as_in_linux_a_delay_ends_slow_start_at_once() {
        let exited = |form| {
            let connection =
                ConnectionConfig { initial_window_segments: 32, ..ConnectionConfig::default() };
            let mut cubic = Cubic::new(form, &connection);
            for at in 0..20 {
                let rtt_us = Some(if at == 0 { 40_000 } else { 60_000 });
                // The first is a round of its own.
                let (una, next) = (at * MSS + 1, if at == 0 { MSS } else { 100 * MSS });
                cubic.on_ack(&AckEvent { rtt_us, una, next, ..ack(at, 1, 60_000) });
            }
            cubic.ssthresh.is_some()
        };
        assert_eq!((exited(Form::Linux), exited(Form::Rfc)), (true, false));
    }

    #[test]
    fn as_in_linux_the_window_grows_by_a_twentieth_per_rtt_until_a_reduction() {
        let connection = ConnectionConfig {
            initial_window_segments: 100,
            hystart: false,
            ..ConnectionConfig::default()
        };
        let cubic = |form| Cubic::new(form, &connection);
        let grown = |cubic: &mut Cubic| {
            let before = cubic.cwnd;
            cubic.congestion_avoidance(&ack(0, before as u64, 40_000), before);
            cubic.cwnd / before
        };
        let mut linux = cubic(Form::Linux);
        assert!((grown(&mut linux) - 1.05).abs() < 1e-9);
        assert!(grown(&mut cubic(Form::Rfc)) < 1.02);
        linux.on_congestion_event(0, CongestionSignal::Loss);
        assert!(grown(&mut linux) < 1.05);
        linux.on_retransmission_timeout(0);
        linux.cwnd = 100.0;
        assert!(grown(&mut linux) >= 1.05);
    }

    #[test]
    fn a_small_bdp_grows_like_reno() {
        // At 10 ms and ten segments the cubic curve is far below Reno (§5.1).
        let mut cubic = cubic(10);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        let before = cubic.cwnd;
        for round in 0..8 {
            cubic.on_ack(&ack(round * 10_000, 7, 10_000));
        }
        let growth = cubic.cwnd - before;
        // 7 segments acknowledged of a window of 7..11 give a little less than α per round.
        assert!(growth > 8.0 * ALPHA * 0.75 && growth < 8.0 * ALPHA, "{growth}");
    }

    #[test]
    fn fast_convergence_lowers_w_max_below_an_unreached_peak() {
        let mut cubic = cubic(100);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(cubic.w_max, 100.0);
        cubic.on_congestion_event(1, CongestionSignal::Loss);
        assert!((cubic.w_max - 70.0 * 0.85).abs() < 1e-9);
    }

    #[test]
    fn after_a_time_out_avoidance_starts_at_its_plateau() {
        let mut cubic = cubic(100);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        cubic.on_retransmission_timeout(0);
        assert_eq!(cubic.window_bytes(), MSS);
        let mut now_us = 0;
        while cubic.cwnd < 70.0 {
            cubic.on_ack(&ack(now_us, (cubic.cwnd as u64).max(1), 50_000));
            now_us += 50_000;
        }
        cubic.on_ack(&ack(now_us, 1, 50_000));
        let epoch = cubic.epoch.as_ref().unwrap();
        assert_eq!(epoch.k_s, 0.0);
        assert!(cubic.cwnd < 71.0, "{}", cubic.cwnd);
    }

    /// RFC 9438 §5.8.
    #[test]
    fn a_minute_of_underuse_does_not_move_the_curve() {
        let run = |pause_us: u64| {
            let mut cubic = cubic(1_000);
            cubic.on_congestion_event(0, CongestionSignal::Loss);
            let mut now_us = 0;
            for round in 0..60 {
                if round == 30 {
                    for _ in 0..10 {
                        now_us += pause_us / 10;
                        cubic.on_underuse(now_us);
                    }
                }
                cubic.on_ack(&ack(now_us, cubic.window_bytes() / MSS, 100_000));
                now_us += 100_000;
            }
            cubic.cwnd
        };
        assert!((run(0) - run(60_000_000)).abs() < 1e-6);
    }

    /// RFC 5681 §4.1.
    #[test]
    fn after_an_rto_without_sending_the_window_is_the_restart_window() {
        let mut cubic = cubic(10);
        cubic.cwnd = 100.0;
        cubic.ssthresh = Some(50.0);
        let restart = |idle_us| RestartEvent {
            now_us: 5_000_000,
            idle_us,
            rto_us: 300_000,
            is_app_limited: true,
        };
        cubic.on_restart(&restart(300_000));
        assert_eq!(cubic.cwnd, 100.0);
        cubic.on_restart(&restart(300_001));
        assert_eq!((cubic.cwnd, cubic.ssthresh), (10.0, Some(75.0)));
    }

    #[test]
    fn a_limited_window_grows_back_by_slow_start() {
        let mut cubic = cubic(100);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        cubic.limit_window(20 * MSS);
        assert_eq!((cubic.cwnd, cubic.ssthresh), (20.0, Some(70.0)));
        cubic.on_ack(&ack(0, 8, 50_000));
        assert_eq!(cubic.cwnd, 28.0);
    }

    #[test]
    fn a_window_grows_by_at_most_half_per_round() {
        let mut cubic = cubic(10);
        cubic.on_congestion_event(0, CongestionSignal::Loss);
        cubic.on_ack(&ack(0, 1, 100_000));
        let before = cubic.cwnd;
        cubic.on_ack(&ack(3_600_000_000, before as u64, 100_000));
        assert!(cubic.cwnd <= 1.5 * before);
    }
}
