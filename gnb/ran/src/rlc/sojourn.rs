//! Mean over the last 100 ms, as OAI's RLC reports it.

use std::collections::VecDeque;

/// Length of the window.
pub const WINDOW_US: u64 = 100_000;

/// Samples of the last [`WINDOW_US`] and their sum.
#[derive(Debug, Clone, Default)]
pub struct SojournWindow {
    samples: VecDeque<(u64, u64)>,
    sum_us: u64,
}

impl SojournWindow {
    /// An SDU that left at `now_us` had waited `waited_us`.
    pub fn add(&mut self, now_us: u64, waited_us: u64) {
        self.forget(now_us);
        self.samples.push_back((now_us, waited_us));
        self.sum_us += waited_us;
    }

    /// Mean wait in µs of what left in the window before `now_us`; 0 when nothing did.
    pub fn mean_us(&mut self, now_us: u64) -> f64 {
        self.forget(now_us);
        if self.samples.is_empty() {
            return 0.0;
        }
        self.sum_us as f64 / self.samples.len() as f64
    }

    fn forget(&mut self, now_us: u64) {
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
    fn the_mean_covers_100_ms_and_no_more() {
        let mut window = SojournWindow::default();
        assert_eq!(window.mean_us(0), 0.0);
        window.add(1_000, 10);
        window.add(50_000, 20);
        assert_eq!(window.mean_us(101_000), 15.0);
        assert_eq!(window.mean_us(101_001), 20.0);
        assert_eq!(window.mean_us(150_001), 0.0);
    }
}
