//! Prague: draft-briscoe-iccrg-prague-congestion-control-03, the sender of L4S (RFC 9330, RFC 9331).
//!
//! Needs AccECN (RFC 9768), which says how much was marked. There is no fall-back on detecting a
//! classic ECN bottleneck, which the draft leaves to research: it answers marks as L4S marks, so it is
//! for bottlenecks that isolate or know L4S.

use super::path::{self, Sizes};
use super::{
    AckEvent, CongestionController, CongestionSignal, DeliveryEvent, MIN_SSTHRESH_SEGMENTS,
    RestartEvent, SenderPhase,
};
use crate::tcp::config::TcpConfig;

/// §2.3.2: gain of the moving average, as in DCTCP (RFC 8257 §3.3).
const ALPHA_GAIN: f64 = 1.0 / 16.0;
/// §2.4.4: below this round trip a flow behaves as if it had this one.
const RTT_VIRT_MIN_US: u64 = 25_000;
/// Rounds after slow start until RTT independence sets in, so that short flows start unhindered:
/// the reference implementation's value.
const RTT_TRANSITION_ROUNDS: u32 = 4;
/// §2.4.1: the answer to a loss is Reno's.
const LOSS_BETA: f64 = 0.5;

/// Reduces by half the fraction marked, once a round; grows by a segment a round whatever the marks.
#[derive(Debug, Clone)]
pub struct Prague {
    sizes: Sizes,
    /// Segments, with their fraction: at small windows that matters.
    cwnd: f64,
    ssthresh: Option<f64>,
    alpha: f64,
    /// The period over which the marking fraction is taken.
    period_start_us: u64,
    period_end_seq: u64,
    period_delivered_bytes: u64,
    period_ce_bytes: u64,
    /// A mark was seen: there is an AQM on the path, and α means something.
    saw_ce: bool,
    /// Rounds since slow start ended.
    rounds: u32,
    round_end: u64,
    /// The window was reduced because of marks; not again before this time and this byte.
    reduced: Option<(u64, u64)>,
    srtt_us: u64,
}

impl Prague {
    /// In slow start with the initial window, and α = 1, so that the first mark halves (§2.3.2).
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            sizes: Sizes::new(config),
            cwnd: f64::from(config.initial_window_segments),
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
            srtt_us: 0,
        }
    }

    /// The moving average of the fraction marked.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn is_in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    fn is_rtt_independent(&self) -> bool {
        self.rounds >= RTT_TRANSITION_ROUNDS
    }

    /// The round trip that the flow behaves as if it had.
    fn rtt_virt_us(&self) -> u64 {
        if self.is_rtt_independent() { self.srtt_us.max(RTT_VIRT_MIN_US) } else { self.srtt_us }
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

    /// §2.3.2: α moves once per virtual round trip, and not within a real one.
    fn update_alpha(&mut self, event: &DeliveryEvent) {
        self.period_delivered_bytes += event.newly_delivered_bytes;
        self.period_ce_bytes += event.newly_ce_bytes;
        self.saw_ce |= event.newly_ce_bytes > 0;
        let elapsed_us = event.now_us.saturating_sub(self.period_start_us);
        if event.una < self.period_end_seq || elapsed_us < self.rtt_virt_us() {
            return;
        }
        // Until the first mark α stays at 1, or a long slow start would wear it down.
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
    fn answer_marks(&mut self, event: &DeliveryEvent) {
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

    /// §2.4.3 and §2.4.4: a segment per virtual round trip squared, on what was not marked, also in
    /// the round of a reduction.
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
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_delivery(&mut self, event: &DeliveryEvent) {
        self.srtt_us = event.srtt_us;
        self.count_rounds(event);
        self.update_alpha(event);
        if matches!(event.phase, SenderPhase::Recovery) {
            return;
        }
        self.answer_marks(event);
        if event.is_window_limited {
            self.grow(event);
        }
    }

    /// A loss; marks are answered in [`Prague::on_delivery`].
    fn on_congestion_event(&mut self, now_us: u64, _signal: CongestionSignal) {
        self.cwnd = (self.cwnd * LOSS_BETA).max(MIN_SSTHRESH_SEGMENTS as f64);
        self.ssthresh = Some(self.cwnd);
        // Marks of the same round trip are of the same congestion.
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

    /// §2.5.1: at the window's own rate; twice that in slow start, which doubles in a round.
    fn pacing_rate_bps(&self) -> Option<u64> {
        if self.srtt_us == 0 {
            return None;
        }
        let rate_bps = path::rate_bps(self.window_bytes(), self.srtt_us);
        let gain = if self.ssthresh.is_none_or(|it| self.cwnd < it / 2.0) { 2.0 } else { 1.0 };
        Some(self.sizes.on_the_wire(path::scaled(rate_bps, gain)).max(1))
    }

    fn answers_marks(&self) -> bool {
        true
    }

    fn clone_box(&self) -> Box<dyn CongestionController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// A connection that acknowledges segment after segment, with marks where `marked` says so.
    struct Drive {
        prague: Prague,
        now_us: u64,
        rtt_us: u64,
        delivered: u64,
    }

    impl Drive {
        fn new(rtt_us: u64) -> Self {
            Self { prague: Prague::new(&TcpConfig::default()), now_us: 0, rtt_us, delivered: 0 }
        }

        fn ack(&mut self, segments: u64, ce_segments: u64) {
            self.delivered += segments * MSS;
            let window = self.prague.window_bytes();
            self.prague.on_delivery(&DeliveryEvent {
                now_us: self.now_us,
                newly_delivered_bytes: segments * MSS,
                newly_lost_bytes: 0,
                newly_ce_bytes: ce_segments * MSS,
                total_delivered_bytes: self.delivered,
                prior_in_flight_bytes: window,
                in_flight_bytes: window,
                rtt_us: Some(self.rtt_us),
                srtt_us: self.rtt_us,
                rate: None,
                is_window_limited: true,
                phase: SenderPhase::Open,
                una: self.delivered,
                next: self.delivered + window,
            });
            self.now_us += self.rtt_us * segments * MSS / window.max(1);
        }
    }

    #[test]
    fn alpha_converges_to_the_fraction_marked() {
        for every in [1, 2, 4, 10] {
            let mut drive = Drive::new(40_000);
            for n in 0..200_000 {
                drive.ack(1, u64::from(n % every == 0));
            }
            let alpha = drive.prague.alpha();
            let expected = 1.0 / every as f64;
            assert!((alpha - expected).abs() < 0.1 * expected, "1/{every}: {alpha}");
        }
    }

    #[test]
    fn the_first_mark_halves_and_ends_slow_start() {
        let mut drive = Drive::new(40_000);
        for _ in 0..30 {
            drive.ack(1, 0);
        }
        assert!((drive.prague.cwnd - 40.0).abs() < 1e-9);
        drive.ack(1, 1);
        assert!(drive.prague.cwnd >= 20.0 && drive.prague.cwnd < 22.0, "{}", drive.prague.cwnd);
        assert!(drive.prague.ssthresh.is_some());
        // More marks in the same round change nothing.
        let before = drive.prague.cwnd;
        drive.ack(1, 1);
        assert!(drive.prague.cwnd >= before);
    }

    #[test]
    fn growth_is_a_segment_a_round_above_the_virtual_rtt_and_its_square_below() {
        for (rtt_us, expected) in [(50_000, 1.0), (25_000, 1.0), (5_000, 0.04)] {
            let mut drive = Drive::new(rtt_us);
            drive.prague.ssthresh = Some(100.0);
            drive.prague.cwnd = 100.0;
            drive.prague.rounds = RTT_TRANSITION_ROUNDS;
            for _ in 0..10 {
                for _ in 0..100 {
                    drive.ack(1, 0);
                }
            }
            let growth = (drive.prague.cwnd - 100.0) / 10.0;
            assert!((growth / expected - 1.0).abs() < 0.1, "{rtt_us}: {growth}");
        }
    }

    #[test]
    fn a_loss_halves() {
        let mut prague = Prague::new(&TcpConfig::default());
        prague.alpha = 0.1;
        prague.on_congestion_event(0, CongestionSignal::Loss);
        assert_eq!(prague.window_bytes(), 5 * MSS);
    }
}
