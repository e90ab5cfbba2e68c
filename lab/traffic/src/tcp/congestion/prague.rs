//! Prague: draft-briscoe-iccrg-prague-congestion-control-03, the sender of L4S (RFC 9330, RFC 9331).
//!
//! Needs AccECN (RFC 9768), which reports the number of marks. Does not detect classic ECN bottlenecks,
//! which the draft leaves to research: every mark counts as an L4S mark, so the bottleneck must isolate
//! or support L4S.

use super::path::{self, Sizes};
use super::{
    CongestionController, CongestionSignal, ConnectionConfig, DeliveryEvent, MIN_SSTHRESH_SEGMENTS,
    RestartEvent, SenderPhase,
};

/// §2.3.2: gain of the moving average, as in DCTCP (RFC 8257 §3.3).
const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// §2.4.4: minimum virtual RTT.
const RTT_VIRT_MIN_US: u64 = 25_000;
/// Rounds after slow start until RTT independence applies, so that it does not slow short flows: the
/// value of the reference implementation.
const RTT_TRANSITION_ROUNDS: u32 = 4;
/// §2.4.1: multiplicative decrease after a loss, as Reno.
const LOSS_BETA: f64 = 0.5;

/// Reduces by half the fraction marked once per round; grows by one segment per round.
#[derive(Debug, Clone)]
pub struct Prague {
    sizes: Sizes,
    /// Segments, fractional because that matters at small windows.
    cwnd: f64,
    ssthresh: Option<f64>,
    /// Moving average of the fraction marked.
    alpha: f64,
    /// Period of the marking fraction.
    period_start_us: u64,
    period_end_seq: u64,
    period_delivered_bytes: u64,
    period_ce_bytes: u64,
    /// A mark was received: the path has an AQM, so α is meaningful.
    saw_ce: bool,
    /// Rounds since slow start ended.
    rounds: u32,
    round_end: u64,
    /// After a reduction: time and acknowledged byte before which marks do not reduce again.
    reduced: Option<(u64, u64)>,
    /// The window was full in the round that ends with this byte.
    limited_until: u64,
    srtt_us: u64,
}

impl Prague {
    /// The state in slow start with the initial window, and α = 1, so that the first mark halves
    /// (§2.3.2).
    pub fn new(connection: &ConnectionConfig) -> Self {
        Self {
            sizes: Sizes::new(connection),
            cwnd: f64::from(connection.initial_window_segments),
            ssthresh: None,
            alpha: 1.0,
            period_start_us: 0,
            period_end_seq: 0,
            period_delivered_bytes: 0,
            period_ce_bytes: 0,
            saw_ce: false,
            rounds: 0,
            round_end: 0,
            reduced: None,
            limited_until: 0,
            srtt_us: 0,
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// Virtual RTT, §2.4.4.
    fn rtt_virt_us(&self) -> u64 {
        let is_rtt_independent = self.rounds >= RTT_TRANSITION_ROUNDS;
        if is_rtt_independent { self.srtt_us.max(RTT_VIRT_MIN_US) } else { self.srtt_us }
    }

    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.sizes.mss_bytes as f64
    }

    fn count_rounds(&mut self, event: &DeliveryEvent) {
        if event.una > self.round_end {
            self.round_end = event.next;
            if !self.is_in_slow_start() {
                self.rounds = self.rounds.saturating_add(1);
            }
        }
    }

    /// §2.3.2: α changes once per virtual round trip and at most once per real one.
    fn update_alpha(&mut self, event: &DeliveryEvent) {
        self.period_delivered_bytes += event.newly_delivered_bytes;
        self.period_ce_bytes += event.newly_ce_bytes;
        self.saw_ce |= event.newly_ce_bytes > 0;
        let elapsed_us = event.now_us.saturating_sub(self.period_start_us);
        if event.una < self.period_end_seq || elapsed_us < self.rtt_virt_us() {
            return;
        }
        // α stays 1 until the first mark, else a long slow start would decay it.
        if self.saw_ce && self.period_delivered_bytes > 0 {
            let fraction =
                (self.period_ce_bytes as f64 / self.period_delivered_bytes as f64).min(1.0);
            self.alpha += ALPHA_GAIN * (fraction - self.alpha);
        }
        self.period_start_us = event.now_us;
        self.period_end_seq = event.next;
        self.period_delivered_bytes = 0;
        self.period_ce_bytes = 0;
    }

    /// §2.4.2: reduces by α/2 with the first mark, and at most once per virtual round trip.
    fn reduce_for_marks(&mut self, event: &DeliveryEvent) {
        if self.reduced.is_some_and(|(at_us, seq)| event.now_us >= at_us && event.una >= seq) {
            self.reduced = None;
        }
        if event.newly_ce_bytes == 0 || self.reduced.is_some() {
            return;
        }
        self.cwnd = (self.cwnd * (1.0 - self.alpha / 2.0)).max(MIN_SSTHRESH_SEGMENTS as f64);
        self.ssthresh = Some(self.cwnd);
        self.reduced = Some((event.now_us + self.rtt_virt_us(), event.next));
    }

    /// §2.4.3 and §2.4.4: one segment per virtual round trip squared, by unmarked data, also in the round
    /// of a reduction.
    fn grow(&mut self, event: &DeliveryEvent) {
        let unmarked = event.newly_delivered_bytes.saturating_sub(event.newly_ce_bytes);
        let mut acked = self.segments(unmarked);
        if self.is_in_slow_start() {
            let room = self.ssthresh.map_or(f64::INFINITY, |it| it - self.cwnd);
            let growth = acked.min(room);
            self.cwnd += growth;
            acked -= growth;
        }
        if acked > 0.0 {
            let ratio = self.srtt_us as f64 / self.rtt_virt_us().max(1) as f64;
            self.cwnd += acked * ratio * ratio / self.cwnd;
        }
    }
}

impl CongestionController for Prague {
    fn on_delivery(&mut self, event: &DeliveryEvent) {
        self.srtt_us = event.srtt_us;
        self.count_rounds(event);
        self.update_alpha(event);
        if matches!(event.phase, SenderPhase::Recovery) {
            return;
        }
        self.reduce_for_marks(event);
        // Paced at the window's own rate, the flow seldom fills the window at the very moment of an
        // acknowledgement. As in Linux (`tcp_cwnd_validate`), a window full once is used all round.
        if event.is_window_limited {
            self.limited_until = event.next;
        }
        if event.una <= self.limited_until {
            self.grow(event);
        }
    }

    /// A loss; [`Prague::on_delivery`] handles marks.
    fn on_congestion_event(&mut self, now_us: u64, _signal: CongestionSignal) {
        self.cwnd = (self.cwnd * LOSS_BETA).max(MIN_SSTHRESH_SEGMENTS as f64);
        self.ssthresh = Some(self.cwnd);
        // Marks of the same round trip signal the same congestion.
        self.reduced = Some((now_us + self.rtt_virt_us(), self.round_end));
    }

    fn on_retransmission_timeout(&mut self, _now_us: u64) {
        self.cwnd = 1.0;
    }

    /// RFC 5681 §4.1.
    fn on_restart(&mut self, event: &RestartEvent) {
        let initial = self.segments(self.sizes.initial_window_bytes);
        if event.idle_us > event.rto_us && self.cwnd > initial {
            self.ssthresh = self.ssthresh.map(|it| it.max(0.75 * self.cwnd));
            self.cwnd = initial;
        }
    }

    fn limit_window(&mut self, bytes: u64) {
        let limit = self.segments(bytes).max(1.0);
        if limit < self.cwnd {
            self.ssthresh = self.ssthresh.map(|it| it.max(self.cwnd));
            self.cwnd = limit;
        }
    }

    fn window_bytes(&self) -> u64 {
        (self.cwnd * self.sizes.mss_bytes as f64) as u64
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh.map(|it| (it * self.sizes.mss_bytes as f64) as u64)
    }

    /// §2.5.1: the window per smoothed RTT; twice that in slow start, which doubles per round.
    fn pacing_rate_bps(&self) -> Option<u64> {
        if self.srtt_us == 0 {
            return None;
        }
        let rate_bps = path::rate_bps(self.window_bytes(), self.srtt_us);
        let gain = if self.ssthresh.is_none_or(|it| self.cwnd < it / 2.0) { 2.0 } else { 1.0 };
        Some(self.sizes.with_headers(path::scaled(rate_bps, gain)).max(1))
    }

    fn handles_ecn(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// A connection of constant RTT.
    struct Connection {
        prague: Prague,
        now_us: u64,
        rtt_us: u64,
        delivered: u64,
    }

    impl Connection {
        fn new(rtt_us: u64) -> Self {
            Self {
                prague: Prague::new(&ConnectionConfig::default()),
                now_us: 0,
                rtt_us,
                delivered: 0,
            }
        }

        /// Acknowledges one segment, with a mark if `ce`.
        fn ack(&mut self, ce: bool) {
            self.delivered += MSS;
            let window = self.prague.window_bytes();
            self.prague.on_delivery(&DeliveryEvent {
                now_us: self.now_us,
                newly_delivered_bytes: MSS,
                newly_ce_bytes: u64::from(ce) * MSS,
                rtt_us: Some(self.rtt_us),
                srtt_us: self.rtt_us,
                is_window_limited: true,
                una: self.delivered,
                next: self.delivered + window,
                ..DeliveryEvent::default()
            });
            self.now_us += self.rtt_us * MSS / window.max(1);
        }
    }

    #[test]
    fn alpha_converges_to_the_fraction_marked() {
        for every in [1, 2, 4, 10] {
            let mut connection = Connection::new(40_000);
            for n in 0..200_000 {
                connection.ack(n % every == 0);
            }
            let alpha = connection.prague.alpha;
            let expected = 1.0 / every as f64;
            assert!((alpha - expected).abs() < 0.1 * expected, "1/{every}: {alpha}");
        }
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut connection = Connection::new(40_000);
        for _ in 0..30 {
            connection.ack(false);
        }
        assert!((connection.prague.cwnd - 40.0).abs() < 1e-9);
        connection.ack(true);
        assert!(
            connection.prague.cwnd >= 20.0 && connection.prague.cwnd < 22.0,
            "{}",
            connection.prague.cwnd
        );
        assert!(connection.prague.ssthresh.is_some());
        // More marks in the same round change nothing.
        let before = connection.prague.cwnd;
        connection.ack(true);
        assert!(connection.prague.cwnd >= before);
    }

    #[test]
    fn growth_is_one_segment_per_round_above_the_minimum_virtual_rtt_and_quadratic_below() {
        for (rtt_us, expected) in [(50_000, 1.0), (25_000, 1.0), (5_000, 0.04)] {
            let mut connection = Connection::new(rtt_us);
            connection.prague.ssthresh = Some(100.0);
            connection.prague.cwnd = 100.0;
            connection.prague.rounds = RTT_TRANSITION_ROUNDS;
            for _ in 0..10 {
                for _ in 0..100 {
                    connection.ack(false);
                }
            }
            let growth = (connection.prague.cwnd - 100.0) / 10.0;
            assert!((growth / expected - 1.0).abs() < 0.1, "{rtt_us}: {growth}");
        }
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut prague = Prague::new(&ConnectionConfig::default());
        prague.alpha = 0.1;
        prague.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(prague.window_bytes(), 5 * MSS);
    }
}
