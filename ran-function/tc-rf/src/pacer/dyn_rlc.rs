//! DynRLC: a limit on the SDUs in the RLC that follows how long they stay there (kumar2018 §III,
//! Algorithm 1), with all four delay metrics the paper compares, and with the threshold taken from
//! the gaps between status PDUs (kumar2018 §IV). irazabal2021 §V-D runs it with an update each
//! 10 ms, a target of 3 ms, 1 to 10 SDUs and α 0.05. No pacing: up to the limit, packets go at once.
//!
//! What the papers leave open, decided here:
//! - QLT is a real number; the limit is its nearest integer.
//! - Both moving averages (of the delays, of the status PDU gaps) have a weight of 1/8. Samples
//!   that one status reports together count as so many of their mean.
//! - The EWMA of the gaps begins with the value that gives the configured threshold ("at least as
//!   large as γ + SRP"). A gap in which the RLC was empty and nothing was held back belongs to no "active
//!   connection" and is no sample. With few SDUs allowed each status PDU acknowledges them all, so an empty
//!   RLC alone says nothing.
//! - The removal of SDUs and the clock are the DU's; what is on F1-U counts as in the buffer, since
//!   it cannot be recalled.

use e2sm_tc::v1::DelayMetric;

use super::held_sdus::HeldSdus;
use super::{Algorithm, ReceivedStatus, SduDelays};

/// Weight of the newest sample in the moving averages.
const EWMA_WEIGHT: f64 = 1.0 / 8.0;

/// Parameters; names are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    /// T.
    pub(super) interval_us: u32,
    /// DLT, or what it is until the first status PDU gap.
    pub(super) threshold_us: u32,
    /// QLT_min.
    pub(super) min_sdus: u16,
    /// QLT_max.
    pub(super) max_sdus: u16,
    /// α.
    pub(super) alpha: f64,
    /// What DLM is.
    pub(super) metric: DelayMetric,
    /// β; the threshold is fixed without.
    pub(super) beta: Option<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct DynRlc {
    parameters: Parameters,
    qlt: f64,
    /// `t_prev`; absent before the first status.
    previous_us: Option<u64>,
    /// Samples since the previous update.
    samples: SduDelays,
    /// EWMA(τ); absent before the first sample.
    mean_delay_us: Option<f64>,
    gaps: Option<StatusGaps>,
    held: HeldSdus,
    /// Whether the limit held a packet back since the last status.
    held_back: bool,
}

impl DynRlc {
    pub(super) fn new(parameters: Parameters, received: Option<&ReceivedStatus>) -> Self {
        Self {
            // Algorithm 1, line 1.
            qlt: f64::from(parameters.max_sdus),
            previous_us: received.map(|received| received.status.at_us),
            samples: SduDelays::default(),
            mean_delay_us: None,
            gaps: parameters.beta.map(|beta| StatusGaps::new(parameters.threshold_us, beta)),
            held: HeldSdus::of(received),
            held_back: false,
            parameters,
        }
    }

    /// DLT.
    fn threshold_us(&self) -> f64 {
        match &self.gaps {
            Some(gaps) => gaps.threshold_us(),
            None => f64::from(self.parameters.threshold_us),
        }
    }

    /// DLM.
    fn delay_us(&self) -> Option<f64> {
        match self.parameters.metric {
            DelayMetric::IntervalAverage => self.samples.mean_us(),
            DelayMetric::IntervalMinimum => {
                (self.samples.count > 0).then(|| f64::from(self.samples.min_us))
            }
            DelayMetric::IntervalMaximum => {
                (self.samples.count > 0).then(|| f64::from(self.samples.max_us))
            }
            DelayMetric::Ewma => self.mean_delay_us,
        }
    }

    /// Algorithm 1, lines 3–14, for the SDUs removed since the last status.
    fn removed(&mut self, removed: &SduDelays, now_us: u64) {
        let Some(mean_us) = removed.mean_us() else { return };
        // Lines 4–5.
        self.samples.merge(removed);
        let weight = weight_left(removed.count);
        let before_us = self.mean_delay_us.unwrap_or(mean_us);
        self.mean_delay_us = Some(mean_us + weight * (before_us - mean_us));
        // Line 6. A clock that went back restarts the interval.
        let previous_us = *self.previous_us.get_or_insert(now_us);
        if now_us < previous_us {
            self.previous_us = Some(now_us);
        }
        if now_us <= previous_us.saturating_add(u64::from(self.parameters.interval_us)) {
            return;
        }
        // Lines 7–12.
        let Some(delay_us) = self.delay_us() else { return };
        let Parameters { alpha, min_sdus, max_sdus, .. } = self.parameters;
        if delay_us < self.threshold_us() {
            self.qlt += alpha * (f64::from(max_sdus) - self.qlt);
        } else {
            self.qlt -= alpha * (self.qlt - f64::from(min_sdus));
        }
        self.previous_us = Some(now_us);
        self.samples = SduDelays::default();
    }

    fn limit_packets(&self) -> u64 {
        // At least one: QLT never falls below QLT_min, which is.
        self.qlt.round() as u64
    }
}

impl Algorithm for DynRlc {
    fn status(&mut self, received: &ReceivedStatus) {
        let status = &received.status;
        let held_back = std::mem::take(&mut self.held_back);
        if let Some(gaps) = &mut self.gaps {
            gaps.status(received, held_back);
        }
        self.removed(&status.removed, status.at_us);
        self.held = HeldSdus::of(Some(received));
    }

    fn sent(&mut self, len_bytes: u64, _now_us: u64) {
        self.held.sent(len_bytes);
    }

    fn may_send(&mut self, _len_bytes: u64, _now_us: u64) -> bool {
        let may = self.held.packets() < self.limit_packets();
        self.held_back |= !may;
        may
    }

    /// QLT in packets of the size that is held now.
    fn limit_bytes(&self) -> u64 {
        self.held.bytes_of(self.limit_packets())
    }
}

/// What is left of an average's past after so many samples.
fn weight_left(samples: u32) -> f64 {
    // Of a thousand samples nothing is left that a float could hold beside them.
    (0..samples.min(1_000)).fold(1.0, |left, _| left * (1.0 - EWMA_WEIGHT))
}

/// "A moving average of the time gap Δ_sPDU between consecutive arrivals of status PDUs", times β
/// (kumar2018 §IV).
#[derive(Clone, Debug)]
struct StatusGaps {
    beta: f64,
    mean_us: f64,
    last_us: Option<u64>,
    /// Whether the RLC was empty since the last status PDU, and nothing waited for it.
    idle: bool,
}

impl StatusGaps {
    fn new(threshold_us: u32, beta: f64) -> Self {
        Self { beta, mean_us: f64::from(threshold_us) / beta, last_us: None, idle: false }
    }

    fn status(&mut self, received: &ReceivedStatus, held_back: bool) {
        if received.status.status_pdu_at_us != self.last_us {
            if let (Some(last_us), Some(at_us)) = (self.last_us, received.status.status_pdu_at_us)
                && at_us > last_us
                && !self.idle
            {
                self.mean_us += EWMA_WEIGHT * ((at_us - last_us) as f64 - self.mean_us);
            }
            self.last_us = received.status.status_pdu_at_us;
            self.idle = false;
        }
        self.idle |= received.held_packets() == 0 && !held_back;
    }

    fn threshold_us(&self) -> f64 {
        self.beta * self.mean_us
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{received, removed};
    use super::*;
    use crate::RlcStatus;

    /// kumar2018's T with round numbers for what the paper leaves to the operator.
    fn kumar2018(metric: DelayMetric, beta: Option<f64>) -> DynRlc {
        let parameters = Parameters {
            interval_us: 200_000,
            threshold_us: 40_000,
            min_sdus: 10,
            max_sdus: 110,
            alpha: 0.5,
            metric,
            beta,
        };
        DynRlc::new(parameters, Some(&received(0, 0)))
    }

    fn after(pacer: &mut DynRlc, at_ms: u64, delays_ms: &[u64]) -> f64 {
        pacer.status(&removed(received(at_ms * 1_000, 0), delays_ms));
        pacer.qlt
    }

    #[test]
    fn algorithm_1_by_hand() {
        let mut pacer = kumar2018(DelayMetric::IntervalAverage, None);
        assert_eq!(pacer.limit_packets(), 110, "line 1: QLT = QLT_max");
        assert_eq!(after(&mut pacer, 100, &[90]), 110.0, "no update within T");
        assert_eq!(after(&mut pacer, 200, &[90]), 110.0, "t_now must be greater than t_prev + T");
        assert_eq!(after(&mut pacer, 250, &[]), 110.0, "no SDU removed, no update");
        assert_eq!(after(&mut pacer, 300, &[90]), 60.0, "line 10: 110 − ½ · (110 − 10)");
        assert_eq!(after(&mut pacer, 490, &[90]), 60.0);
        assert_eq!(after(&mut pacer, 501, &[10]), 35.0, "average of 90 and 10 is not below 40");
        assert_eq!(after(&mut pacer, 702, &[10]), 72.5, "line 8: 35 + ½ · (110 − 35)");
        assert_eq!(pacer.limit_packets(), 73);
    }

    #[test]
    fn each_metric_is_what_the_paper_says() {
        // Two samples below and one far above 40 ms: minimum 10, average 40, maximum 100 ms.
        let samples = [10, 10, 100];
        let of = |metric| {
            let mut pacer = kumar2018(metric, None);
            after(&mut pacer, 201, &samples)
        };
        assert_eq!(of(DelayMetric::IntervalMinimum), 110.0, "grows, at its maximum already");
        assert_eq!(of(DelayMetric::IntervalAverage), 60.0, "40 is not below 40");
        assert_eq!(of(DelayMetric::IntervalMaximum), 60.0);
        // The EWMA remembers what was before the interval, the others do not.
        let remembers = |metric| {
            let mut pacer = kumar2018(metric, None);
            after(&mut pacer, 201, &[400; 8]);
            after(&mut pacer, 402, &[10])
        };
        assert_eq!(remembers(DelayMetric::Ewma), 35.0, "10 + 7/8 · 390 is far above 40");
        assert_eq!(remembers(DelayMetric::IntervalMaximum), 85.0);
    }

    #[test]
    fn the_ewma_of_many_samples_is_that_of_one_after_the_other() {
        let mut pacer = kumar2018(DelayMetric::Ewma, None);
        after(&mut pacer, 1, &[80]);
        after(&mut pacer, 2, &[16, 16, 16]);
        let one_by_one = (0..3).fold(80_000.0, |mean, _| mean + (16_000.0 - mean) / 8.0);
        assert!((pacer.mean_delay_us.unwrap() - one_by_one).abs() < 1e-6);
    }

    #[test]
    fn the_threshold_follows_the_gaps_between_status_pdus() {
        let mut pacer = kumar2018(DelayMetric::IntervalAverage, Some(1.75));
        assert!((pacer.threshold_us() - 40_000.0).abs() < 1e-6, "as configured at first");
        let mut status_pdu = |at_ms: u64, occupancy_bytes| {
            let received = received(at_ms * 1_000, occupancy_bytes);
            let status_pdu_at_us = Some(at_ms * 1_000);
            pacer.status(&ReceivedStatus {
                status: RlcStatus { status_pdu_at_us, ..received.status },
                ..received
            });
            pacer.threshold_us()
        };
        status_pdu(100, 3_000);
        let mut threshold_us = 0.0;
        for gap in 1..=60 {
            threshold_us = status_pdu(100 + 12 * gap, 3_000);
        }
        assert!((threshold_us - 1.75 * 12_000.0).abs() < 20.0, "{threshold_us}");
        // 12 ms after the last, the RLC runs empty; five seconds later it starts again.
        let before_us = status_pdu(832, 0);
        assert_eq!(status_pdu(5_832, 3_000), before_us, "an idle gap is no sample");
        assert!(status_pdu(5_932, 3_000) > before_us);
    }

    #[test]
    fn a_limit_below_what_a_status_pdu_acknowledges_does_not_hide_the_gaps() {
        let mut pacer = kumar2018(DelayMetric::IntervalAverage, Some(1.75));
        pacer.qlt = 1.0;
        for gap in 0..60 {
            // One SDU is sent and acknowledged 60 ms later, while the next one waits.
            let at_us = gap * 60_000;
            let mut now = received(at_us, 0);
            now.status.status_pdu_at_us = Some(at_us);
            pacer.status(&now);
            assert!(pacer.may_send(1_500, at_us));
            pacer.sent(1_500, at_us);
            assert!(!pacer.may_send(1_500, at_us));
        }
        assert!(pacer.threshold_us() > 1.7 * 60_000.0, "{}", pacer.threshold_us());
    }

    #[test]
    fn sdus_in_the_buffer_on_f1_and_unacknowledged_count() {
        let mut pacer = kumar2018(DelayMetric::IntervalAverage, None);
        pacer.qlt = 10.0;
        let mut now = received(1_000, 3 * 1500);
        now.status.occupancy_packets = 3;
        now.status.unacknowledged_packets = 4;
        now.in_flight.packets = 2;
        pacer.status(&now);
        assert!(pacer.may_send(1500, 1_000));
        pacer.sent(1500, 1_000);
        assert!(!pacer.may_send(1, 1_000), "ten SDUs, however small the next");
    }

    #[test]
    fn a_clock_that_jumps_makes_one_update() {
        let mut pacer = kumar2018(DelayMetric::IntervalAverage, None);
        assert_eq!(after(&mut pacer, 10_000_000, &[90]), 60.0);
        assert_eq!(after(&mut pacer, 1, &[90]), 60.0);
        assert_eq!(after(&mut pacer, 202, &[90]), 35.0, "the interval restarted");
    }
}
