//! Delay statistics of an RLC entity.

use std::collections::VecDeque;

/// Delays of SDUs in the RLC buffer: "the difference between the time of removal of the SDU from
/// the buffer and the time of its arrival" (kumar2018 §III). In AM an SDU is removed when a status
/// report acknowledges it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SduDelays {
    /// SDUs removed.
    pub count: u32,
    /// Sum of their delays.
    pub sum_us: u64,
    /// Shortest delay; 0 without any.
    pub min_us: u64,
    /// Longest delay.
    pub max_us: u64,
}

impl SduDelays {
    /// Adds one SDU.
    pub fn add(&mut self, delay_us: u64) {
        self.min_us = if self.count == 0 { delay_us } else { self.min_us.min(delay_us) };
        self.max_us = self.max_us.max(delay_us);
        self.count = self.count.saturating_add(1);
        self.sum_us = self.sum_us.saturating_add(delay_us);
    }
}

/// Length of the window.
const WINDOW_US: u64 = 100_000;

/// Mean over the last 100 ms, as OAI's RLC reports it.
#[derive(Debug, Clone, Default)]
pub struct SojournWindow {
    samples: VecDeque<(u64, u64)>,
    sum_us: u64,
}

impl SojournWindow {
    /// Adds an SDU that left at `now_us` after waiting `waited_us`.
    pub fn add(&mut self, now_us: u64, waited_us: u64) {
        self.drop_expired(now_us);
        self.samples.push_back((now_us, waited_us));
        self.sum_us += waited_us;
    }

    /// Mean wait in µs of the SDUs that left in the window before `now_us`; 0 without any.
    pub fn mean_us(&mut self, now_us: u64) -> f64 {
        self.drop_expired(now_us);
        if self.samples.is_empty() {
            return 0.0;
        }
        self.sum_us as f64 / self.samples.len() as f64
    }

    fn drop_expired(&mut self, now_us: u64) {
        let since_us = now_us.saturating_sub(WINDOW_US);
        while let Some((_, waited_us)) = self.samples.front().filter(|(at, _)| *at < since_us) {
            self.sum_us -= waited_us;
            self.samples.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_covers_100_ms() {
        let mut window = SojournWindow::default();
        assert_eq!(window.mean_us(0), 0.0);
        window.add(1_000, 10);
        window.add(50_000, 20);
        assert_eq!(window.mean_us(101_000), 15.0);
        assert_eq!(window.mean_us(101_001), 20.0);
        assert_eq!(window.mean_us(150_001), 0.0);
    }
}
