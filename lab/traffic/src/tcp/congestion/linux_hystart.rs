//! HyStart of Linux's Cubic (Ha and Rhee 2011; `tcp_cubic.c`, `hystart_update`): slow start ends at
//! once when the acknowledgements of a round come back to back for longer than half the minimum RTT, or
//! when eight RTTs of a round are all above the minimum RTT by an eighth of it.

use super::AckEvent;

/// `hystart_low_window`: smaller windows stay in slow start.
const LOW_WINDOW_SEGMENTS: f64 = 16.0;
/// `hystart_ack_delta_us`: acknowledgements nearer than this are one train.
const ACK_DELTA_US: u64 = 2_000;
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAY_MIN_US: u64 = 4_000;
const DELAY_MAX_US: u64 = 16_000;
/// Bytes of `hystart_ack_delay`: four frames of 64 KiB, which segmentation offload sends at once.
const OFFLOADED_BYTES: u64 = 4 * 65_536;
const MAX_ACK_DELAY_US: u64 = 1_000;

#[derive(Debug, Clone)]
pub(super) struct LinuxHyStart {
    /// Half the minimum RTT ends a train where nothing paces the sender; the whole where it is paced.
    is_paced: bool,
    /// Minimum RTT of the connection.
    delay_min_us: u64,
    /// The round ends when this byte is acknowledged.
    window_end: u64,
    round_start_us: u64,
    last_ack_us: u64,
    current_rtt_us: u64,
    samples: u32,
}

impl LinuxHyStart {
    pub(super) fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            delay_min_us: u64::MAX,
            window_end: 0,
            round_start_us: 0,
            last_ack_us: 0,
            current_rtt_us: u64::MAX,
            samples: 0,
        }
    }

    /// An acknowledgement, in slow start if `window_segments` is given. True if slow start ends.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, window_segments: Option<f64>) -> bool {
        let Some(rtt_us) = ack.rtt_us else { return false };
        self.delay_min_us = self.delay_min_us.min(rtt_us);
        match window_segments {
            Some(window) if window >= LOW_WINDOW_SEGMENTS => self.is_found(ack, rtt_us, window),
            _ => false,
        }
    }

    fn is_found(&mut self, ack: &AckEvent, rtt_us: u64, window_segments: f64) -> bool {
        if ack.una > self.window_end {
            self.window_end = ack.next;
            self.round_start_us = ack.now_us;
            self.last_ack_us = ack.now_us;
            self.current_rtt_us = u64::MAX;
            self.samples = 0;
        }
        if ack.now_us - self.last_ack_us <= ACK_DELTA_US {
            self.last_ack_us = ack.now_us;
            let delay_us = self.delay_min_us + ack_delay_us(ack.srtt_us, window_segments);
            let train_us = if self.is_paced { delay_us } else { delay_us / 2 };
            if ack.now_us - self.round_start_us > train_us {
                return true;
            }
        }
        self.current_rtt_us = self.current_rtt_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let above_us = (self.delay_min_us / 8).clamp(DELAY_MIN_US, DELAY_MAX_US);
        self.current_rtt_us > self.delay_min_us + above_us
    }
}

/// `hystart_ack_delay`: what offloaded segments take at the rate of slow start, two windows per RTT.
fn ack_delay_us(srtt_us: u64, window_segments: f64) -> u64 {
    let window_bytes = (window_segments * 1_500.0) as u64;
    (OFFLOADED_BYTES * srtt_us / (2 * window_bytes).max(1)).min(MAX_ACK_DELAY_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT_US: u64 = 40_000;

    /// A round of `count` acknowledgements, `gap_us` apart; the one that ends slow start.
    fn round(
        hystart: &mut LinuxHyStart,
        number: u64,
        (count, gap_us): (u64, u64),
        rtt_us: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        (0..count).find(|&at| {
            let ack = AckEvent {
                now_us: number * RTT_US + at * gap_us,
                rtt_us: Some(rtt_us(at)),
                srtt_us: RTT_US,
                una: number * 1_000 + at + 1,
                next: number * 1_000 + 1_000,
                ..AckEvent::default()
            };
            hystart.on_ack(&ack, Some(32.0))
        })
    }

    #[test]
    fn eight_rtts_above_the_minimum_by_an_eighth_end_slow_start_at_once() {
        let mut hystart = LinuxHyStart::new(false);
        assert_eq!(round(&mut hystart, 0, (20, 100), |_| RTT_US), None);
        let above = |_| RTT_US + 5_001;
        assert_eq!(round(&mut hystart, 1, (20, 100), above), Some(8));
        let mut other = LinuxHyStart::new(false);
        assert_eq!(round(&mut other, 0, (20, 100), |_| RTT_US), None);
        assert_eq!(round(&mut other, 1, (20, 100), |_| RTT_US + 5_000), None);
    }

    #[test]
    fn one_low_rtt_of_the_round_keeps_slow_start() {
        let mut hystart = LinuxHyStart::new(false);
        assert_eq!(round(&mut hystart, 0, (20, 100), |_| RTT_US), None);
        let jitter = |at| if at == 3 { RTT_US + 4_000 } else { RTT_US + 10_000 };
        assert_eq!(round(&mut hystart, 1, (20, 100), jitter), None);
    }

    #[test]
    fn a_train_longer_than_half_the_minimum_rtt_ends_slow_start() {
        let at = |is_paced| {
            let mut hystart = LinuxHyStart::new(is_paced);
            assert_eq!(round(&mut hystart, 0, (5, 1_000), |_| RTT_US), None);
            round(&mut hystart, 1, (100, 1_000), |_| RTT_US)
        };
        // (40 + 1 ms of offload) / 2 = 20.5 ms; the pacing of slow start stretches a train to an RTT.
        assert_eq!((at(false), at(true)), (Some(21), Some(42)));
    }

    #[test]
    fn acknowledgements_three_milliseconds_apart_are_no_train() {
        let mut hystart = LinuxHyStart::new(false);
        assert_eq!(round(&mut hystart, 0, (100, 3_000), |_| RTT_US), None);
    }

    #[test]
    fn a_window_below_sixteen_segments_stays_in_slow_start() {
        let mut hystart = LinuxHyStart::new(false);
        for at in 0..100 {
            let rtt_us = Some(if at == 0 { RTT_US } else { 3 * RTT_US });
            let ack =
                AckEvent { now_us: at, rtt_us, una: at + 1, next: 1_000, ..AckEvent::default() };
            assert!(!hystart.on_ack(&ack, Some(15.0)));
        }
    }
}
