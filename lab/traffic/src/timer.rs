//! Transmissions at a fixed rate, without drift.

/// Fires at `start + n · period` for n = 0, 1, … until `stop`. The period is a fraction, so that a
/// rate whose packet spacing is no whole number of microseconds is still met exactly.
#[derive(Debug, Clone)]
pub(crate) struct Periodic {
    start_us: u64,
    stop_us: Option<u64>,
    period_numerator: u64,
    period_denominator: u64,
    fired: u64,
}

impl Periodic {
    /// One firing each `numerator / denominator` µs in `[start_us, stop_us)`.
    ///
    /// Both must be positive; the validation of the configuration ensures it.
    pub(crate) fn new(
        start_us: u64,
        stop_us: Option<u64>,
        numerator: u64,
        denominator: u64,
    ) -> Self {
        Self {
            start_us,
            stop_us,
            period_numerator: numerator.max(1),
            period_denominator: denominator.max(1),
            fired: 0,
        }
    }

    /// Time of the next firing.
    pub(crate) fn next_us(&self) -> Option<u64> {
        let offset = u128::from(self.fired) * u128::from(self.period_numerator)
            / u128::from(self.period_denominator);
        let at_us = self.start_us.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX));
        match self.stop_us {
            Some(stop_us) if at_us >= stop_us => None,
            _ => Some(at_us),
        }
    }

    /// Consumes one firing that is due; returns its number.
    pub(crate) fn fire(&mut self, now_us: u64) -> Option<u64> {
        if self.next_us()? > now_us {
            return None;
        }
        let number = self.fired;
        self.fired += 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractional_periods_do_not_drift() {
        // 3 packets each 100 µs.
        let mut timer = Periodic::new(10, None, 100, 3);
        let mut times = Vec::new();
        for _ in 0..7 {
            let at = timer.next_us().unwrap();
            times.push(at);
            assert!(timer.fire(at).is_some());
        }
        assert_eq!(times, [10, 43, 76, 110, 143, 176, 210]);
    }

    #[test]
    fn stops_before_its_stop_time() {
        let mut timer = Periodic::new(0, Some(40), 20, 1);
        assert_eq!(timer.fire(0), Some(0));
        assert_eq!(timer.fire(19), None);
        assert_eq!(timer.fire(25), Some(1));
        assert_eq!(timer.next_us(), None);
        assert_eq!(timer.fire(1_000), None);
    }
}
