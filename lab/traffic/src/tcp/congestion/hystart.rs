//! HyStart++ (RFC 9406): leaving slow start before the first loss.
//!
//! A radio scheduler delivers in TDD periods of 5 to 10 ms, so single RTT samples vary by that much.
//! HyStart++ compares the *minima* of rounds, and conservative slow start reverts a premature exit when
//! the RTT falls again; the original HyStart does neither.

use super::AckEvent;

// Values of RFC 9406 §4.3.
const MIN_RTT_THRESH_US: u64 = 4_000;
const MAX_RTT_THRESH_US: u64 = 16_000;
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// Growth of the window for an acknowledgement in slow start, by `hystart` only in the initial one,
/// before ssthresh is known (RFC 9406 §4.2).
pub(super) fn growth(hystart: &mut Option<HyStart>, is_initial: bool, ack: &AckEvent) -> Growth {
    match hystart {
        Some(hystart) if is_initial => hystart.on_ack(ack.rtt_us, ack.una, ack.next),
        _ => Growth::DividedBy(1),
    }
}

/// Growth of the window in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// The acknowledged bytes divided by this.
    DividedBy(u64),
    /// ssthresh becomes the window; congestion avoidance follows.
    Exit,
}

#[derive(Debug, Clone)]
pub(super) struct HyStart {
    /// The round ends when this byte is acknowledged.
    window_end: u64,
    last_round_min_us: u64,
    current_round_min_us: u64,
    samples: u32,
    /// Conservative slow start.
    css: Option<Css>,
}

#[derive(Debug, Clone, Copy)]
struct Css {
    baseline_min_us: u64,
    rounds: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            window_end: 0,
            last_round_min_us: u64::MAX,
            current_round_min_us: u64::MAX,
            samples: 0,
            css: None,
        }
    }

    /// `una` and `next`: first byte not acknowledged and never sent.
    fn on_ack(&mut self, rtt_us: Option<u64>, una: u64, next: u64) -> Growth {
        if una > self.window_end {
            // §4.2: a round is one flight long.
            self.window_end = next;
            self.last_round_min_us = self.current_round_min_us;
            self.current_round_min_us = u64::MAX;
            self.samples = 0;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    return Growth::Exit;
                }
            }
        }
        if let Some(rtt_us) = rtt_us {
            self.current_round_min_us = self.current_round_min_us.min(rtt_us);
            self.samples += 1;
        }
        if self.samples >= N_RTT_SAMPLE {
            self.update_css();
        }
        Growth::DividedBy(if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 })
    }

    fn update_css(&mut self) {
        match self.css {
            Some(css) if self.current_round_min_us < css.baseline_min_us => {
                // §4.2: the exit was spurious; slow start resumes.
                self.css = None;
            }
            Some(_) => {}
            None if self.last_round_min_us != u64::MAX => {
                let thresh_us = (self.last_round_min_us / MIN_RTT_DIVISOR)
                    .clamp(MIN_RTT_THRESH_US, MAX_RTT_THRESH_US);
                if self.current_round_min_us >= self.last_round_min_us + thresh_us {
                    self.css = Some(Css { baseline_min_us: self.current_round_min_us, rounds: 0 });
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One round of ten acknowledgements; returns the growth of the last.
    fn round(hystart: &mut HyStart, number: u64, rtts_us: [u64; 10]) -> Growth {
        let mut growth = Growth::DividedBy(1);
        for (i, rtt_us) in rtts_us.into_iter().enumerate() {
            growth = hystart.on_ack(Some(rtt_us), number * 10 + i as u64 + 1, number * 10 + 10);
            if growth == Growth::Exit {
                break;
            }
        }
        growth
    }

    #[test]
    fn a_rising_rtt_exits_after_five_conservative_rounds() {
        let mut hystart = HyStart::new();
        assert_eq!(round(&mut hystart, 0, [40_000; 10]), Growth::DividedBy(1));
        assert_eq!(round(&mut hystart, 1, [50_000; 10]), Growth::DividedBy(4));
        for number in 2..6 {
            assert_eq!(round(&mut hystart, number, [50_000; 10]), Growth::DividedBy(4));
        }
        assert_eq!(round(&mut hystart, 6, [50_000; 10]), Growth::Exit);
    }

    #[test]
    fn ten_milliseconds_of_tdd_jitter_do_not_end_slow_start() {
        let mut hystart = HyStart::new();
        let jitter = [20, 30, 25, 22, 30, 30, 21, 28, 20, 29].map(|ms| ms * 1_000);
        for number in 0..20 {
            assert_eq!(round(&mut hystart, number, jitter), Growth::DividedBy(1));
        }
    }

    #[test]
    fn an_rtt_that_falls_again_resumes_slow_start() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 0, [40_000; 10]);
        assert_eq!(round(&mut hystart, 1, [60_000; 10]), Growth::DividedBy(4));
        assert_eq!(round(&mut hystart, 2, [41_000; 10]), Growth::DividedBy(1));
    }

    #[test]
    fn seven_samples_are_too_few() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 0, [40_000; 10]);
        for i in 0..7 {
            assert_eq!(hystart.on_ack(Some(90_000), 11 + i, 20), Growth::DividedBy(1));
        }
        assert_eq!(hystart.on_ack(Some(90_000), 18, 20), Growth::DividedBy(4));
    }
}
